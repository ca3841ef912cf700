//! Evaluates a parameter set for a question: means over the places that it names.

use serde::Serialize;
use wordline_kernel::{Seed, Stream};
use wordline_nand::cell::{
    CellSet, Condition, How, Levels, Place, Programmed, Reading, Role, Strength, Written, drawn_count,
};

use super::lines::LineAnswer;
use super::question::{Asked, Question};
use super::rewrite::RewriteAnswer;
use crate::error::Result;

/// A state of the first place.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StateAnswer {
    /// ER, P1, P2 ...
    pub name: String,
    /// The mean of its threshold voltages.
    pub mean: f64,
    /// Their deviation.
    pub deviation: f64,
    /// Share of its cells left behind by the background.
    pub left: f64,
}

/// A page of a word line.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PageAnswer {
    /// The page, the lowest first: p0, p1 ...
    pub name: String,
    /// How often the cells are sensed for it.
    pub senses: u64,
    /// The share of wrong bits at the references that are asked for.
    pub error_rate: f64,
    /// The same at the best references.
    pub best_error_rate: f64,
}

/// How something is distributed over places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The first percentile.
    pub p1: f64,
    /// The 99th percentile.
    pub p99: f64,
}

/// How word lines are programmed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProgramAnswer {
    /// Loops.
    pub loops: f64,
    /// Verifies.
    pub verifies: f64,
    /// Verifies that were skipped.
    pub skipped: f64,
    /// tPROG, in microseconds.
    pub time_us: f64,
    /// The shortest tPROG of a word line.
    pub least_us: f64,
    /// The longest.
    pub most_us: f64,
    /// By how much the window is narrower, in millivolts.
    pub margin_mv: f64,
    /// Share of the cells of all programmed states that lie a state or more too high.
    pub over_programmed: f64,
    /// Verifies that may be skipped of each programmed state, of the first place.
    pub safe_skips: Vec<u8>,
    /// For each programmed state the loops in which its cells pass, of the first place.
    pub first_loops: Vec<u32>,
    /// The last of them.
    pub last_loops: Vec<u32>,
}

/// How often reads are tried again, each page of each word line once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct RetryAnswer {
    /// The share of reads that are tried again.
    pub share: f64,
    /// Retries of those, on average.
    pub mean: f64,
    /// Retries on average over all reads.
    pub mean_of_all: f64,
    /// The share of reads that no read level corrects.
    pub uncorrectable: f64,
}

/// The results of a parameter set for a question. The field names are the columns of experiments.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Answer {
    /// The parameter set.
    pub set: String,
    /// How many places it is a mean over.
    pub places: u64,
    /// The states of the first place.
    pub states: Vec<StateAnswer>,
    /// The references that are asked for.
    pub references: Vec<f64>,
    /// The best ones for the first place.
    pub best_references: Vec<f64>,
    /// The pages of a word line.
    pub pages: Vec<PageAnswer>,
    /// The share of wrong bits, mean of the pages.
    pub error_rate: f64,
    /// The same at the best references.
    pub best_error_rate: f64,
    /// Bit errors of a page, on average.
    pub page_errors: f64,
    /// The same at the best references.
    pub best_page_errors: f64,
    /// Bit errors of the worst page of all places, as drawn.
    pub most_page_errors: u32,
    /// The same at the best references.
    pub best_most_page_errors: u32,
    /// How the word lines of a layer differ, where they are evaluated one by one.
    pub lines: LineAnswer,
    /// The greatest share of the cells of a state, of all places, that lie below the best reference under it.
    pub crossed_left: f64,
    /// The greatest share that lie above the best reference over it.
    pub crossed_right: f64,
    /// The former by the latter.
    pub crossed_left_by_right: f64,
    /// The bits that were rewritten in place; empty where none were.
    pub rewrite: RewriteAnswer,
    /// The error rate of the worst layer of a block by that of its best one: dV, mean over blocks; 1 for a single layer.
    pub layer_ratio: f64,
    /// By how many percent dV of one of two blocks that follow each other is greater than that of the other, at most.
    pub layer_ratio_differs_percent: f64,
    /// The worst layer's role, or its number, mostly.
    pub worst_layer: String,
    /// The best layer's.
    pub best_layer: String,
    /// BER_EP1: the share of cells of the erased state and P1 that are read as each other.
    pub erased_to_p1: Spread,
    /// Programs; zeros where the set says nothing of them.
    pub program: ProgramAnswer,
    /// Reads that begin with the references of the part; zeros where the set says nothing of them.
    pub retries: RetryAnswer,
    /// Reads that begin with what the last read of the layer ended with, in quarters of the table (two bits).
    pub aware_retries: RetryAnswer,
    /// By how many percent the mean retries of the latter lie below those of the former.
    pub aware_reduction_percent: f64,
    /// By how many millivolts VStart of the layer may be raised, in tens, before its errors are those of the worst layer; 0 where
    /// several layers are asked for.
    pub safe_start_mv: f64,
    /// The same of a lower VFinal.
    pub safe_final_mv: f64,
}

/// The results at one place.
struct Found {
    place: Place,
    levels: Levels,
    programmed: Option<Programmed>,
    /// By how much the window of its program is narrower, in millivolts.
    margin: f64,
    error: f64,
}

impl Answer {
    /// An answer of zeros of the shape that those of cells of three bits have, for the names of its columns.
    pub fn shape() -> Self {
        let state = |n: usize| StateAnswer { name: state_name(n), ..StateAnswer::default() };
        let page = |n: usize| PageAnswer { name: format!("p{n}"), ..PageAnswer::default() };
        let program = ProgramAnswer {
            safe_skips: vec![0; 7],
            first_loops: vec![0; 7],
            last_loops: vec![0; 7],
            ..ProgramAnswer::default()
        };
        Self {
            states: (0..8).map(state).collect(),
            pages: (0..3).map(page).collect(),
            references: vec![0.0; 7],
            best_references: vec![0.0; 7],
            program,
            ..Self::default()
        }
    }

    /// Evaluates `question` for `set`, with the random streams of `seed`.
    ///
    /// # Errors
    /// If the question does not fit the set.
    pub fn of(set: &CellSet, question: &Question, seed: u64) -> Result<Self> {
        let asked = question.check(set)?;
        let references = asked.references(set);
        let found = asked.all(set, &references, Seed(seed));
        let mut answer = Self { set: set.name.clone(), places: found.len() as u64, ..Self::default() };
        let best: Vec<Vec<f64>> = found.iter().map(|found| found.levels.optimal_references()).collect();
        answer.say_levels(set, &asked, &references, (&found, &best));
        answer.say_layers(set, &found);
        answer.say_worst_pages(&asked, &references, (&found, &best), Seed(seed));
        answer.say_crossed(&found, &best);
        if asked.question.lines {
            let rates: Vec<(Place, f64)> = found.iter().map(|found| (found.place, found.error)).collect();
            let bits = asked.question.page_size.0 * 8 * u64::from(set.coding.bits());
            answer.lines = LineAnswer::of(&rates, bits as f64, Seed(seed));
        }
        if let Some(rewritten) = &asked.rewritten {
            answer.rewrite = RewriteAnswer::of(set, rewritten);
        }
        if asked.moves > 0 || asked.two_bits.is_some() {
            return Ok(answer);
        }
        answer.program = program(set, &found);
        if let Some(reading) = &set.reading {
            answer.say_reads(reading, &asked, &references, &found, Seed(seed));
        }
        if question.layer.is_empty() || set.ispp.is_none() {
            return Ok(answer);
        }
        answer.safe_start_mv =
            asked.safe(set, &references, Seed(seed), |margin, how| how.start_margin = margin);
        answer.safe_final_mv =
            asked.safe(set, &references, Seed(seed), |margin, how| how.final_margin = margin);
        Ok(answer)
    }

    fn say_levels(
        &mut self,
        set: &CellSet,
        asked: &Asked,
        references: &[f64],
        (found, best): (&[Found], &[Vec<f64>]),
    ) {
        let first = &found[0].levels;
        let base = asked.two_bits.as_ref().map_or(0, |(base, _)| *base);
        let state = |(n, level): (usize, &wordline_nand::cell::Level)| StateAnswer {
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
            self.pages.push(PageAnswer {
                name: format!("p{page}"),
                senses: first.coding.sensed(page).count() as u64,
                error_rate: default / places,
                best_error_rate: at_best / places,
            });
        }
        let mean =
            |rate: fn(&PageAnswer) -> f64| self.pages.iter().map(rate).sum::<f64>() / self.pages.len() as f64;
        (self.error_rate, self.best_error_rate) = (mean(|p| p.error_rate), mean(|p| p.best_error_rate));
        let bits = (asked.question.page_size.0 * 8) as f64;
        (self.page_errors, self.best_page_errors) = (self.error_rate * bits, self.best_error_rate * bits);
        if asked.two_bits.is_some() {
            return;
        }
        self.erased_to_p1 = spread(found.iter().map(|found| set.erased_to_p1(&found.levels)).collect());
    }

    /// The results that differ from layer to layer. Word lines of a layer do not differ.
    fn say_layers(&mut self, set: &CellSet, found: &[Found]) {
        let by_block: Vec<&[Found]> = found.chunk_by(|a, b| is_same_block(a.place, b.place)).collect();
        let ratio = |block: &&[Found]| {
            let (worst, best) = ends(block);
            if best.error > 0.0 { worst.error / best.error } else { 1.0 }
        };
        let ratios: Vec<f64> = by_block.iter().map(ratio).collect();
        self.layer_ratio = ratios.iter().sum::<f64>() / ratios.len() as f64;
        let differs = ratios.windows(2).map(|pair| pair[0].max(pair[1]) / pair[0].min(pair[1]) - 1.0);
        self.layer_ratio_differs_percent = 100.0 * differs.fold(0.0, f64::max);
        let (worst, best) = ends(by_block[0]);
        (self.worst_layer, self.best_layer) = (layer_name(set, worst.place), layer_name(set, best.place));
    }

    /// The worst page of all, each with a number of errors that is drawn.
    fn say_worst_pages(
        &mut self,
        asked: &Asked,
        references: &[f64],
        (found, best): (&[Found], &[Vec<f64>]),
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

    /// How far states reach beyond the best references, at the worst place.
    fn say_crossed(&mut self, found: &[Found], best: &[Vec<f64>]) {
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

    fn say_reads(
        &mut self,
        reading: &Reading,
        asked: &Asked,
        references: &[f64],
        found: &[Found],
        seed: Seed,
    ) {
        let bits = asked.question.page_size.0 * 8;
        let word_lines = asked.word_lines;
        let (mut default, mut aware) = (Sum::default(), Sum::default());
        for found in found {
            let pages = 0..found.levels.coding.bits();
            let rates: Vec<Vec<f64>> =
                pages.map(|page| reading.rates(&found.levels, page, references)).collect();
            for rates in &rates {
                let retries = reading.retries(rates, 0, bits);
                default.add(retries.share, retries.share * retries.mean, retries.uncorrectable, 1.0);
            }
            let Place { chip, block, layer } = found.place;
            let index = (u64::from(chip) << 40) | (u64::from(block) << 8) | u64::from(layer);
            let mut random = seed.stream("cells.reads", index);
            // The first read of a layer knows nothing; each leaves what it ended with, rounded down to a quarter of the table.
            let (mut first, quarter) = (0, reading.entries().div_ceil(4));
            for _ in 0..word_lines {
                for rates in &rates {
                    let read = reading.read(rates, first, references.len(), bits, &mut random);
                    let steps = f64::from(read.steps);
                    aware.add(
                        f64::from(read.steps.min(1)),
                        steps,
                        f64::from(u8::from(read.uncorrectable)),
                        1.0,
                    );
                    first = (first + read.steps) / quarter * quarter;
                }
            }
        }
        (self.retries, self.aware_retries) = (default.answer(), aware.answer());
        if self.retries.mean > 0.0 {
            self.aware_reduction_percent = 100.0 * (1.0 - self.aware_retries.mean / self.retries.mean);
        }
    }
}

impl Asked {
    fn references(&self, set: &CellSet) -> Vec<f64> {
        let offset = |at: usize| self.question.offsets.get(at).copied().unwrap_or_default();
        let (base, count) = match &self.two_bits {
            Some((base, coding)) => (*base, coding.states() - 1),
            None => (0, set.references.len()),
        };
        let moved = set.references.iter().enumerate().skip(base).take(count);
        moved.map(|(at, reference)| reference + offset(at) + self.question.offset).collect()
    }

    fn strength(&self, set: &CellSet, place: Place, seed: Seed) -> Strength {
        let variation = set.variation.as_ref();
        variation.map_or(Strength::USUAL, |variation| variation.strength(place, self.effects, seed))
    }

    /// Every place; in super layers every word line, each with how often cells above were ahead of its own.
    fn all(&self, set: &CellSet, references: &[f64], seed: Seed) -> Vec<Found> {
        let layers = self.question.super_layer;
        if self.question.lines || self.order.is_some() {
            return self.by_line(set, references, seed);
        }
        if layers < 2 {
            return self.places.iter().map(|place| self.found(set, *place, references, seed)).collect();
        }
        let moves = self.moves as usize;
        let mut random = seed.stream("cells.order", 0);
        let mut all = Vec::new();
        let blocks = self.places.chunk_by(|a, b| is_same_block(*a, *b));
        for group in blocks.flat_map(|block| block.chunks(layers as usize)) {
            for _ in 0..self.word_lines {
                let ahead = ahead_of(group.len(), moves, &mut random);
                for (place, ahead) in group.iter().zip(ahead) {
                    let condition = Condition { ahead: f64::from(ahead), ..self.condition };
                    let asked = Self { condition, ..self.clone() };
                    all.push(asked.found(set, *place, references, seed));
                }
            }
        }
        all
    }

    /// Every word line of every place, with what its neighbours that are programmed after it do.
    fn by_line(&self, set: &CellSet, references: &[f64], seed: Seed) -> Vec<Found> {
        let variation = set.variation.as_ref().expect("questions of word lines are of sets with layers");
        let later = self.order.map(|order| order.later_neighbours(variation.layers, self.word_lines));
        let mut all = Vec::new();
        for place in &self.places {
            for line in 0..self.word_lines {
                let at = (place.layer * self.word_lines + line) as usize;
                let later = later.as_ref().map_or(0, |later| later[at]);
                let again = self.condition.again + f64::from(later);
                let asked = Self { condition: Condition { again, ..self.condition }, ..self.clone() };
                let mut strength = self.strength(set, *place, seed);
                strength.width *= variation.line_width(*place, line, seed);
                all.push(asked.found_of(set, *place, strength, references));
            }
        }
        all
    }

    fn found(&self, set: &CellSet, place: Place, references: &[f64], seed: Seed) -> Found {
        self.found_of(set, place, self.strength(set, place, seed), references)
    }

    /// The results at a place whose cells are of such a strength.
    fn found_of(&self, set: &CellSet, place: Place, strength: Strength, references: &[f64]) -> Found {
        let question = &self.question;
        let mut how = How {
            start_margin: question.start_margin,
            final_margin: question.final_margin,
            faster: strength.faster,
            early: 0,
            skipped: &[],
        };
        if question.follow {
            let margin = self.follower_margin(set, &strength);
            how.start_margin += margin * question.follow_start;
            how.final_margin += margin * (1.0 - question.follow_start);
        }
        let mut skipped = Vec::new();
        if let Some(ispp) = &set.ispp {
            let safe = ispp.safe_skips(&how);
            skipped = if question.skip { safe.clone() } else { vec![0; safe.len()] };
            if let Some(state) = (question.skip_state as usize).checked_sub(1) {
                skipped[state] = safe[state].saturating_add(question.skip_more);
            }
        }
        how.skipped = &skipped;
        let programmed = set.ispp.as_ref().map(|ispp| ispp.program(&how));
        let written = programmed.as_ref().map_or_else(Written::default, |done| Written::of(&how, done));
        let levels = set.levels(&strength, &self.condition, self.effects, &written);
        let levels = match &self.two_bits {
            Some((base, coding)) => levels.part(*base, coding.clone()),
            None => levels,
        };
        let error = levels.mean_error(references);
        let margin = how.start_margin + how.final_margin;
        Found { place, levels, programmed, margin, error }
    }

    /// By how much the window of word lines is narrower whose leader was programmed as the data sheet says: what its BER_EP1 leaves over,
    /// in proportion.
    fn follower_margin(&self, set: &CellSet, strength: &Strength) -> f64 {
        let Question { follow_limit, follow_spare, follow_margin, .. } = self.question;
        let after = Condition { hours: 0.0, ..self.condition };
        let leader = set.levels(strength, &after, self.effects, &Written::default());
        let spare = follow_limit - set.erased_to_p1(&leader);
        follow_margin * (spare / follow_spare).clamp(0.0, 1.0)
    }

    /// The greatest margin, in tens of millivolts, with which the layer that is asked for has no more errors than the worst layer
    /// has without: errors are balanced (cubeFTL, figure 9).
    fn safe(&self, set: &CellSet, references: &[f64], seed: Seed, put: impl Fn(f64, &mut Question)) -> f64 {
        let kappa = set.variation.as_ref().and_then(|variation| variation.layer_of(Role::Kappa));
        let (Some(worst), Some(place)) = (kappa, self.places.first()) else { return 0.0 };
        let error = |layer: u32, margin: f64| {
            let mut question = Question { start_margin: 0.0, final_margin: 0.0, ..self.question.clone() };
            put(margin, &mut question);
            let asked = Self { question, ..self.clone() };
            asked.found(set, Place { layer, ..*place }, references, seed).error
        };
        let most = error(worst, 0.0);
        let fits = |tens: &u32| error(place.layer, 10.0 * f64::from(*tens)) <= most;
        // The window ends somewhere; 100 tens are more than half of it.
        10.0 * f64::from((1..100).take_while(fits).last().unwrap_or_default())
    }
}

/// Word lines of a string of `layers` layers, the upper one first, are each programmed again `moves` times in an order that is drawn. For
/// each, over its moves, how many word lines above it were then ahead of it.
fn ahead_of(layers: usize, moves: usize, random: &mut Stream) -> Vec<u32> {
    let mut order: Vec<usize> = (0..layers).flat_map(|layer| vec![layer; moves]).collect();
    random.shuffle(&mut order);
    let (mut done, mut ahead) = (vec![0; layers], vec![0; layers]);
    for layer in order {
        ahead[layer] += done[..layer].iter().filter(|above| **above > done[layer]).count() as u32;
        done[layer] += 1;
    }
    ahead
}

fn state_name(state: usize) -> String {
    if state == 0 { "ER".to_owned() } else { format!("P{state}") }
}

fn is_same_block(a: Place, b: Place) -> bool {
    (a.chip, a.block) == (b.chip, b.block)
}

/// The places with the most and the fewest errors.
fn ends(found: &[Found]) -> (&Found, &Found) {
    let worst = found.iter().max_by(|a, b| a.error.total_cmp(&b.error)).expect("there is a place");
    let best = found.iter().min_by(|a, b| a.error.total_cmp(&b.error)).expect("there is a place");
    (worst, best)
}

fn layer_name(set: &CellSet, place: Place) -> String {
    let roles = set.variation.iter().flat_map(|variation| &variation.anchors);
    let role = roles.into_iter().find(|anchor| anchor.layer == place.layer);
    role.map_or_else(|| place.layer.to_string(), |anchor| anchor.role.name().to_owned())
}

fn spread(mut values: Vec<f64>) -> Spread {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    Spread { mean: values.iter().sum::<f64>() / values.len() as f64, p1: at(0.01), p99: at(0.99) }
}

fn program(set: &CellSet, found: &[Found]) -> ProgramAnswer {
    let done: Vec<&Programmed> = found.iter().filter_map(|found| found.programmed.as_ref()).collect();
    let (Some(first), Some(ispp)) = (done.first(), &set.ispp) else { return ProgramAnswer::default() };
    let mean = |value: &dyn Fn(&Programmed) -> f64| {
        done.iter().map(|one| value(one)).sum::<f64>() / done.len() as f64
    };
    let states = ispp.loops.len();
    let us = || done.iter().map(|one| one.time.us());
    let all = |one: &Programmed| one.loops.iter().map(|loops| loops.last).sum::<u32>();
    ProgramAnswer {
        loops: mean(&|one| one.verifies.len() as f64),
        verifies: mean(&|one| f64::from(one.all_verifies())),
        skipped: mean(&|one| f64::from(all(one) - one.all_verifies())),
        time_us: mean(&|one| one.time.us()),
        least_us: us().fold(f64::INFINITY, f64::min),
        most_us: us().fold(0.0, f64::max),
        margin_mv: found.iter().map(|found| found.margin).sum::<f64>() / found.len() as f64,
        over_programmed: mean(&|one| {
            (0..states).map(|state| one.over_programmed(state)).sum::<f64>() / states as f64
        }),
        safe_skips: first.loops.iter().map(|loops| (loops.first - 1) as u8).collect(),
        first_loops: first.loops.iter().map(|loops| loops.first).collect(),
        last_loops: first.loops.iter().map(|loops| loops.last).collect(),
    }
}

/// Reads that are summed up.
#[derive(Default)]
struct Sum {
    share: f64,
    retries: f64,
    uncorrectable: f64,
    reads: f64,
}

impl Sum {
    fn add(&mut self, share: f64, retries: f64, uncorrectable: f64, reads: f64) {
        self.share += share;
        self.retries += retries;
        self.uncorrectable += uncorrectable;
        self.reads += reads;
    }

    fn answer(&self) -> RetryAnswer {
        let mean = if self.share > 0.0 { self.retries / self.share } else { 0.0 };
        RetryAnswer {
            share: self.share / self.reads,
            mean,
            mean_of_all: self.retries / self.reads,
            uncorrectable: self.uncorrectable / self.reads,
        }
    }
}
