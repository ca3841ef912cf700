//! cubeFTL, an FTL that knows how alike the word lines of a horizontal layer are (cubeFTL, sections 4 and 5), and with other settings those
//! that it is compared with.
//!
//! It is one design: the [`Opm`] says with which parameters word lines are programmed, the [`Ort`] with which levels pages are read,
//! and the WAM ([`wam`]) which word line of an open block is next.

mod config;
mod metrics;
mod opm;
mod ort;
pub mod wam;

use wordline_kernel::metrics::Value;
use wordline_kernel::{Duration, Metric, state};
use wordline_nand::{BlockSetId, Layers, Location, Outcome, Parameters, Pools};
use wordline_ssd::design::{Needs, Observes, ProgrammedPage, Seam, Seen, View};
use wordline_ssd::policy::frontier::OpenBlock;
use wordline_ssd::policy::tuner::{ReadOutcome, ReadParameters, SensedPage};
use wordline_ssd::{Config, Design};

use crate::DesignType;
pub use config::{CubeFile, LayerMargin, OfCollector, Order, Sensed, Source};
use metrics::Counts;
pub use opm::{Opm, Programmer};
pub use ort::Ort;
use wam::Choice;

/// cubeFTL.
pub struct CubeFtl {
    opm: Opm,
    /// None where reads begin with the default levels.
    ort: Option<Ort>,
    counts: Counts,
    settings: CubeFile,
    /// By pool; none where programs follow from no cells.
    parts: Vec<Option<Programmer>>,
}

state!(CubeFtl { values { counts } parts { opm, ort } fixed { settings, parts } });

impl CubeFtl {
    /// At its start, in a device of `config`. `file` is checked.
    pub fn new(file: &CubeFile, config: &Config) -> Self {
        Self {
            opm: Opm::new(file),
            ort: file.read_levels.then(|| Ort::new(Layers::of(&config.pools))),
            counts: Counts::default(),
            settings: file.clone(),
            parts: config.pools.iter().map(|pool| Programmer::of(&pool.part)).collect(),
        }
    }

    /// Whether programs are told of.
    fn monitors(&self) -> bool {
        self.settings.parameters != Source::DataSheet
    }

    /// A word line was programmed.
    fn programmed(&mut self, first: Location, array: Duration, outcome: &Outcome, pools: &Pools) {
        let Some(part) = &self.parts[pools.number_of_location(first)] else { return };
        let page = pools.page_of(first);
        let block = pools.block_of_page(page);
        let geometry = &pools.of_block(block).geometry;
        let word_line = geometry.page_in_block(geometry.split(page).1) / part.bits;
        let layer = part.layer(word_line);
        if self.settings.parameters == Source::Layer || self.opm.kept(block, layer).is_some() {
            self.counts.followers.add(array);
        } else {
            self.counts.leaders.add(array);
            let kept = self.opm.learn(block, layer, part, outcome);
            self.counts.most_kept = self.counts.most_kept.max(kept as u64);
        }
        if (word_line + 1).is_multiple_of(part.per_layer) {
            self.opm.drop_layer(block, layer);
        }
    }

    fn closed(&mut self, block: BlockSetId) {
        self.opm.drop_block(block);
    }
}

impl Design for CubeFtl {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        let orders = (self.settings.order != Order::Horizontal).then_some(Seam::Frontier);
        let answers: Vec<Seam> = [orders, Some(Seam::Tune)].into_iter().flatten().collect();
        let programs = Observes::PROGRAMMED | Observes::BLOCKS;
        let observes = Observes::ERASED | Observes::POWER_LOST;
        let observes = if self.monitors() { observes | programs } else { observes };
        Needs { observes, ..Needs::of(&answers) }
    }

    fn word_line(&mut self, open: &OpenBlock<'_>, view: &mut View<'_>) -> u32 {
        let is_full = view.buffer().share() > self.settings.full_above;
        self.counts.chosen[usize::from(is_full)] += 1;
        let leaders = open.is_gc && self.settings.of_collector == OfCollector::Leaders;
        let known = self.opm.layers(open.block);
        let is_known = |layer: u32| known.get(layer as usize).is_some_and(Option::is_some);
        let choice = Choice::of(open, &is_known);
        choice.next(self.settings.order, is_full && !leaders).unwrap_or_else(|| open.first_unprogrammed())
    }

    fn read_parameters(&self, page: &SensedPage) -> ReadParameters {
        ReadParameters { level: self.ort.as_ref().map_or(0, |ort| ort.level(page.layer, page.highest)) }
    }

    fn read_over(&mut self, page: &SensedPage, outcome: &ReadOutcome) {
        if let Some(ort) = self.ort.as_mut().filter(|_| outcome.is_read) {
            ort.learn(page.layer, outcome.parameters.level, page.highest);
        }
    }

    fn program_parameters(&self, page: &ProgrammedPage) -> Parameters {
        let Some(part) = &self.parts[usize::from(page.pool)] else { return Parameters::DATA_SHEET };
        self.opm.parameters(page.block, part.layer(page.number / part.bits), part)
    }

    fn observe(&mut self, seen: &Seen<'_>, view: &mut View<'_>) {
        match *seen {
            // What was programmed in another mode of its cells shows nothing.
            Seen::Programmed { first, failed: false, array, outcome: Some(outcome), .. }
                if outcome.loops > 0 =>
            {
                self.programmed(first, array, outcome, view.pools());
            }
            Seen::Closed { block } => self.closed(block),
            Seen::Erased { block, .. } => {
                self.closed(block);
                if let Some(ort) = &mut self.ort {
                    ort.erased(block);
                }
            }
            Seen::PowerLost => {
                self.opm.forget();
                if let Some(ort) = &mut self.ort {
                    ort.forget();
                }
            }
            _ => {}
        }
    }

    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        self.counts.measure(self.ort.as_ref().map_or(0, Ort::bytes))
    }
}
