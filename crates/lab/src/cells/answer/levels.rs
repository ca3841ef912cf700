//! Threshold-voltage states, and the error rates of pages and layers.

use serde::Serialize;
use wordline_kernel::Seed;
use wordline_nand::cell::{CellLocation, CellSet, Level, Levels, drawn_count};

use super::super::question::CheckedQuestion;
use super::Evaluation;
use super::places::{PlaceResult, is_same_block};

/// A state of the cells at the first place.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StateResult {
    /// Name of the state: ER, P1, P2 ...
    pub name: String,
    /// Mean threshold voltage of its cells.
    pub mean: f64,
    /// Standard deviation of the threshold voltage.
    pub deviation: f64,
    /// Share of its cells that a reprogram left at a lower threshold voltage than the other cells of the
    /// state.
    pub left: f64,
}

/// A page of a word line.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PageResult {
    /// Name of the page, from the lowest bit: p0, p1 ...
    pub name: String,
    /// Number of sensings that a read of the page needs.
    pub senses: u64,
    /// Bit error rate at the references of the question.
    pub error_rate: f64,
    /// Bit error rate at the best references.
    pub best_error_rate: f64,
}

/// Distribution of a value over the places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The first percentile.
    pub p1: f64,
    /// The 99th percentile.
    pub p99: f64,
}

impl Evaluation {
    pub(super) fn set_levels(
        &mut self,
        set: &CellSet,
        asked: &CheckedQuestion,
        references: &[f64],
        (found, best): (&[PlaceResult], &[Vec<f64>]),
    ) {
        let first = &found[0].levels;
        let base = asked.two_bits.as_ref().map_or(0, |(base, _)| *base);
        let state = |(n, level): (usize, &Level)| StateResult {
            name: state_name(base + n),
            mean: level.mean,
            deviation: level.deviation,
            left: level.left.share,
        };
        self.states = first.states.iter().enumerate().map(state).collect();
        self.references = references.to_vec();
        self.best_references.clone_from(&best[0]);
        let places = found.len() as f64;
        for page in 0..first.coding.bits() {
            let default = found.iter().map(|found| found.levels.page_error(page, references)).sum::<f64>();
            let at_best = found.iter().zip(best);
            let at_best = at_best.map(|(found, best)| found.levels.page_error(page, best)).sum::<f64>();
            self.pages.push(PageResult {
                name: format!("p{page}"),
                senses: first.coding.sensed(page).count() as u64,
                error_rate: default / places,
                best_error_rate: at_best / places,
            });
        }
        let mean =
            |rate: fn(&PageResult) -> f64| self.pages.iter().map(rate).sum::<f64>() / self.pages.len() as f64;
        (self.error_rate, self.best_error_rate) = (mean(|p| p.error_rate), mean(|p| p.best_error_rate));
        let bits = (asked.question.page_size.0 * 8) as f64;
        (self.page_errors, self.best_page_errors) = (self.error_rate * bits, self.best_error_rate * bits);
        if asked.two_bits.is_some() {
            return;
        }
        self.erased_to_p1 = spread(found.iter().map(|found| set.erased_to_p1(&found.levels)).collect());
    }

    /// Sets the results that differ between layers.
    pub(super) fn set_layers(&mut self, set: &CellSet, found: &[PlaceResult]) {
        let by_block: Vec<&[PlaceResult]> = found.chunk_by(|a, b| is_same_block(a.place, b.place)).collect();
        let ratio = |block: &&[PlaceResult]| {
            let (worst, best) = worst_and_best(block);
            if best.error > 0.0 { worst.error / best.error } else { 1.0 }
        };
        let ratios: Vec<f64> = by_block.iter().map(ratio).collect();
        self.layer_ratio = ratios.iter().sum::<f64>() / ratios.len() as f64;
        let differs = ratios.windows(2).map(|pair| pair[0].max(pair[1]) / pair[0].min(pair[1]) - 1.0);
        self.layer_ratio_differs_percent = 100.0 * differs.fold(0.0, f64::max);
        let (worst, best) = worst_and_best(by_block[0]);
        (self.worst_layer, self.best_layer) = (layer_name(set, worst.place), layer_name(set, best.place));
    }

    /// Sets the errors of the worst page, with error counts drawn at random for every page.
    pub(super) fn set_worst_pages(
        &mut self,
        asked: &CheckedQuestion,
        references: &[f64],
        (found, best): (&[PlaceResult], &[Vec<f64>]),
        seed: Seed,
    ) {
        let bits = (asked.question.page_size.0 * 8) as f64;
        let word_lines = if found.len() > asked.places.len() { 1 } else { asked.word_lines };
        let mut random = seed.stream("cells.pages", 0);
        for (found, best) in found.iter().zip(best) {
            for page in 0..found.levels.coding.bits() {
                let rates = [references, best].map(|at| found.levels.page_error(page, at));
                for _ in 0..word_lines {
                    let [default, at_best] = rates.map(|rate| drawn_count(rate * bits, &mut random));
                    self.most_page_errors = self.most_page_errors.max(default);
                    self.best_most_page_errors = self.best_most_page_errors.max(at_best);
                }
            }
        }
    }

    /// Sets the greatest shares of cells beyond the best references, over all places.
    pub(super) fn set_crossed(&mut self, found: &[PlaceResult], best: &[Vec<f64>]) {
        for (found, best) in found.iter().zip(best) {
            let Levels { states, shape, .. } = &found.levels;
            for (pair, reference) in states.windows(2).zip(best) {
                self.crossed_left = self.crossed_left.max(pair[1].below(*reference, *shape));
                self.crossed_right = self.crossed_right.max(pair[0].above(*reference, *shape));
            }
        }
        if self.crossed_right > 0.0 {
            self.crossed_left_by_right = self.crossed_left / self.crossed_right;
        }
    }
}

pub(super) fn state_name(state: usize) -> String {
    if state == 0 { "ER".to_owned() } else { format!("P{state}") }
}

/// The places with the most and the fewest errors.
fn worst_and_best(found: &[PlaceResult]) -> (&PlaceResult, &PlaceResult) {
    let worst = found.iter().max_by(|a, b| a.error.total_cmp(&b.error)).expect("there is a place");
    let best = found.iter().min_by(|a, b| a.error.total_cmp(&b.error)).expect("there is a place");
    (worst, best)
}

fn layer_name(set: &CellSet, place: CellLocation) -> String {
    let roles = set.variation.iter().flat_map(|variation| &variation.anchors);
    let role = roles.into_iter().find(|anchor| anchor.layer == place.layer);
    role.map_or_else(|| place.layer.to_string(), |anchor| anchor.role.name().to_owned())
}

fn spread(mut values: Vec<f64>) -> Spread {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    Spread { mean: values.iter().sum::<f64>() / values.len() as f64, p1: at(0.01), p99: at(0.99) }
}
