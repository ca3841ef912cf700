//! cubeFTL, an FTL that exploits the similarity of the word lines of a horizontal layer (cubeFTL, sections 4
//! and 5). With other settings it is one of the FTLs that the paper compares it with.
//!
//! The first word line programmed in a layer of a block is the *leader* of the layer. The other word lines of
//! the layer are its *followers*. They are programmed with parameters that follow from the outcome of their
//! leader.
//!
//! The design has three parts. The [`Opm`] gives the program parameters of word lines. The [`Ort`] gives the
//! initial read offsets of pages. The WAM ([`wam`]) chooses the next word line of an open block.

mod config;
mod entry;
mod metrics;
mod opm;
mod ort;
pub mod wam;

use wordline_flash::policy::tuner::{ProgrammedPage, ReadOutcome, ReadParameters, SensedPage};
use wordline_ftl::design::{DeviceEvent, EventMask, ExtensionPoint, Needs, View};
use wordline_ftl::policy::frontier::OpenBlock;
use wordline_ftl::{Config, Design};
use wordline_kernel::metrics::Value;
use wordline_kernel::{Duration, Metric, state};
use wordline_nand::{BlockSetId, Layers, Location, Outcome, Parameters, Pools};

use crate::design_type::DesignType;
pub use config::{CubeFile, LayerMargin, OfCollector, Order, Sensed, Source};
use metrics::Counts;
pub use opm::{Opm, Programmer};
pub use ort::Ort;
use wam::Choice;

/// Outcome of a program.
struct CompletedProgram<'a> {
    failed: bool,
    array: Duration,
    outcome: &'a Outcome,
}

/// The word line that was found together with its block. The device asks for the block first and for the word
/// line directly afterwards.
#[derive(Clone, Copy)]
struct PendingChoice {
    block: BlockSetId,
    word_line: u32,
    /// Whether the write buffer was full.
    is_full: bool,
}

/// cubeFTL as a design.
pub struct CubeFtl {
    opm: Opm,
    /// `None` if reads start with the default read reference voltages.
    ort: Option<Ort>,
    counts: Counts,
    settings: CubeFile,
    /// By pool; `None` for parts without cells.
    parts: Vec<Option<Programmer>>,
    found: Option<PendingChoice>,
}

state!(CubeFtl { values { counts } parts { opm, ort } fixed { settings, parts, found } });

impl CubeFtl {
    /// cubeFTL in its initial state, in a device of `config`. Expects a checked `file`.
    pub fn new(file: &CubeFile, config: &Config) -> Self {
        Self {
            opm: Opm::new(file),
            ort: file.read_levels.then(|| Ort::new(Layers::of(&config.pools))),
            counts: Counts::default(),
            settings: file.clone(),
            parts: config.pools.iter().map(|pool| Programmer::of(&pool.part)).collect(),
            found: None,
        }
    }

    /// If the cells are modelled by fixed factors: the retry-table entry for the first retry of a read. The
    /// entry lies beyond the table and marks that the read has offsets from the ORT. Otherwise `None`.
    fn kept_entry(&self, page: &SensedPage) -> Option<u8> {
        self.ort.as_ref()?;
        self.parts[usize::from(page.pool)].as_ref()?.kept_entry
    }

    /// Whether the write buffer is full, by the share of it that belongs to the pool of this block.
    fn is_full(&self, block: BlockSetId, view: &View<'_>) -> bool {
        let pool = view.pools().number_of_block(block);
        view.buffer_of(pool).share() > self.settings.full_above
    }

    /// Counts a word line chosen in a block, if the block has layers.
    fn count(&mut self, block: BlockSetId, is_full: bool, view: &View<'_>) {
        if self.parts[view.pools().number_of_block(block)].is_some() {
            self.counts.chosen[usize::from(is_full)] += 1;
        }
    }

    /// Whether a block gets leaders regardless of the write buffer.
    fn always_leads(&self, open: &OpenBlock<'_>) -> bool {
        open.is_gc && self.settings.of_collector == OfCollector::Leaders
    }

    /// Whether the design monitors programs.
    fn is_monitoring(&self) -> bool {
        self.settings.parameters != Source::DataSheet
    }

    /// Learns from a completed program of a word line.
    fn programmed(&mut self, first: Location, over: &CompletedProgram<'_>, pools: &Pools) {
        let Some(part) = &self.parts[pools.number_of_location(first)] else { return };
        let page = pools.page_of(first);
        let block = pools.block_of_page(page);
        let geometry = &pools.of_block(block).geometry;
        let word_line = geometry.page_in_block(geometry.split(page).1) / part.bits;
        let layer = part.layer(word_line);
        let CompletedProgram { failed, array, outcome } = *over;
        if failed {
            // A program that failed for another reason gives no information about its layer.
            if !self.opm.accepts(block, layer, outcome) {
                self.counts.rejected += 1;
                self.opm.refused(block, layer);
            }
            return;
        }
        if self.settings.parameters == Source::Layer || self.opm.kept(block, layer).is_some() {
            self.counts.followers.add(array);
            self.opm.note_follower(block, layer, outcome);
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
        let orders = (self.settings.order != Order::Horizontal).then_some(ExtensionPoint::Frontier);
        let decisions: Vec<ExtensionPoint> =
            [orders, Some(ExtensionPoint::Tune)].into_iter().flatten().collect();
        let programs = EventMask::PROGRAMMED | EventMask::BLOCKS;
        let observes = EventMask::ERASED | EventMask::POWER_LOST;
        let observes = if self.is_monitoring() { observes | programs } else { observes };
        let several = self.settings.order == Order::Adaptive;
        let open_blocks = if several { self.settings.active_blocks } else { 1 };
        Needs { observes, open_blocks, ..Needs::of(&decisions) }
    }

    fn open_block(&mut self, open: &[OpenBlock<'_>], view: &mut View<'_>) -> usize {
        if let Some(again) = open.iter().position(|one| self.opm.has_rejected(one.block)) {
            return again;
        }
        let is_full = self.is_full(open[0].block, view);
        let follows = is_full && !self.always_leads(&open[0]);
        let of = |one: &OpenBlock<'_>, follows: bool| {
            let choice = Choice::of(one, self.opm.led(one.block));
            if follows { choice.follower() } else { choice.leader() }
        };
        // The older block is first. Chosen: the paper does not specify the order.
        for follows in [follows, !follows] {
            for (which, one) in open.iter().enumerate() {
                if let Some(word_line) = of(one, follows) {
                    self.found = Some(PendingChoice { block: one.block, word_line, is_full });
                    return which;
                }
            }
        }
        0
    }

    fn word_line(&mut self, open: &OpenBlock<'_>, view: &mut View<'_>) -> u32 {
        if let Some(found) = self.found.take() {
            debug_assert_eq!(
                found.block, open.block,
                "a word line is asked for of the block that was chosen"
            );
            self.count(open.block, found.is_full, view);
            return found.word_line;
        }
        let is_full = self.is_full(open.block, view);
        self.count(open.block, is_full, view);
        let leaders = self.always_leads(open);
        let again = self.opm.take_rejected(open.block);
        let choice = Choice::of(open, self.opm.led(open.block));
        // After a rejected follower the next free word line of its layer becomes the leader. Without one, any
        // leader is next.
        let next = match again.map(|layer| choice.free_of(layer).or_else(|| choice.leader())) {
            Some(leader) => leader.or_else(|| choice.follower()),
            None => choice.next(self.settings.order, is_full && !leaders),
        };
        let next = next.unwrap_or_else(|| open.first_unprogrammed());
        if again.is_some() {
            self.opm.drop_layer(open.block, next / open.shape.per_layer);
        }
        next
    }

    fn read_parameters(&self, page: &SensedPage) -> ReadParameters {
        let ort = self.ort.as_ref().filter(|_| self.kept_entry(page).is_none());
        ReadParameters { level: ort.map_or(0, |ort| ort.level(page.layer, page.highest)) }
    }

    fn read_again(&self, page: &SensedPage, so_far: &ReadOutcome) -> ReadParameters {
        match self.kept_entry(page).filter(|_| so_far.parameters.level == 0) {
            Some(level) => ReadParameters { level },
            None => ReadParameters::next(page, so_far),
        }
    }

    fn read_finished(&mut self, page: &SensedPage, outcome: &ReadOutcome) {
        if let Some(ort) = self.ort.as_mut().filter(|_| outcome.is_read) {
            ort.learn(page.layer, outcome.parameters.level, page.highest);
        }
    }

    fn program_parameters(&self, page: &ProgrammedPage) -> Parameters {
        let Some(part) = &self.parts[usize::from(page.pool)] else { return Parameters::DATA_SHEET };
        self.opm.parameters(page.block, part.layer(page.number / part.bits), part)
    }

    fn accepts(&self, page: &ProgrammedPage, outcome: &Outcome) -> bool {
        let Some(part) = &self.parts[usize::from(page.pool)] else { return true };
        self.opm.accepts(page.block, part.layer(page.number / part.bits), outcome)
    }

    fn observe(&mut self, seen: &DeviceEvent<'_>, view: &mut View<'_>) {
        match *seen {
            // A program in another cell mode has no loops, so there is no outcome to learn from.
            DeviceEvent::Programmed { first, failed, array, outcome: Some(outcome), .. }
                if outcome.loops > 0 =>
            {
                self.programmed(first, &CompletedProgram { failed, array, outcome }, view.pools());
            }
            DeviceEvent::Closed { block } => self.closed(block),
            DeviceEvent::Erased { block, .. } => {
                self.closed(block);
                if let Some(ort) = &mut self.ort {
                    ort.erased(block);
                }
            }
            DeviceEvent::PowerLost => {
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
