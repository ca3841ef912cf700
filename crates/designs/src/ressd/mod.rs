//! ReSSD: blocks for frequently updated data store two bits a cell, so that their word lines can be
//! reprogrammed without an erase (ReSSD, section 4).
//!
//! Host pages are separated into *levels* by the age of the data that they replace: hot data in three levels,
//! and normal data. Each level has its own blocks. The blocks of hot data are in MLC mode. Their word lines
//! are programmed one *super layer* (a group of layers) at a time. Then the word lines of this super layer
//! that have an invalid page are reprogrammed, before the next super layer begins. If all pages of the super
//! layer are valid, the block is suspended as a *candidate* for later reprograms.
//!
//! Without reprogram passes the design is the baseline of the paper: it separates writes by level and does
//! nothing else. `docs/designs/ressd.md` describes the rules.

mod config;
mod entry;
mod metrics;
mod overhead;

use wordline_ftl::blocks::State;
use wordline_ftl::design::{
    DeviceEvent, EventMask, ExtensionPoint, Needs, SuspendedBlocks, View, WriteStream,
};
use wordline_ftl::policy::frontier::OpenBlock;
use wordline_ftl::policy::router::HostPage;
use wordline_ftl::{Config, Design};
use wordline_kernel::metrics::Value;
use wordline_kernel::{Duration, Instant, Metric, state};
use wordline_nand::{BlockSetId, CellMode, Location};

use crate::design_type::DesignType;
pub use config::{LEVELS, ReSsdFile, WhenAllValid};
use metrics::Counts;
pub use overhead::Overhead;

/// Names of the streams: normal data, then the levels from the hottest on.
const NAMES: [&str; LEVELS + 1] = ["normal", "hot-1", "hot-2", "hot-3"];

/// Time stamp of a block that was not written in this run.
const NEVER: u64 = u64::MAX;

/// ReSSD as a design.
pub struct ReSsd {
    settings: ReSsdFile,
    /// By block: the time at which its last super layer was begun, in picoseconds. Before the first super
    /// layer, and in blocks of normal data: the time at which the block was opened. [`NEVER`] for a block
    /// that was not opened in this run.
    stamps: Vec<u64>,
    /// By block: number of super layers begun.
    begun: Vec<u32>,
    counts: Counts,
    overhead: Overhead,
}

state!(ReSsd { values { stamps, begun, counts } fixed { settings, overhead } });

impl ReSsd {
    /// ReSSD in its initial state, in a device of `config`. Expects a checked `file`.
    pub fn new(file: &ReSsdFile, config: &Config) -> Self {
        let blocks = config.pools.block_sets() as usize;
        Self {
            settings: file.clone(),
            stamps: vec![NEVER; blocks],
            begun: vec![0; blocks],
            counts: Counts::default(),
            overhead: Overhead::of(config, file.rewrites),
        }
    }

    /// The level of a write that replaces data of this age, counted from 0. `None` for normal data.
    fn level_of(&self, age: Duration) -> Option<usize> {
        self.settings.thresholds.iter().position(|threshold| age < *threshold)
    }

    /// The age of the data at a location. `None` if they were written before the run.
    fn age(&self, from: Location, view: &View<'_>) -> Option<Duration> {
        let stamp = self.stamps[view.pools().block_of(from).0 as usize];
        (stamp != NEVER).then(|| view.now().since(Instant::from_ps(stamp)))
    }

    /// Sets the time stamp of a block. Blocks written during preconditioning get none.
    fn set_time_stamp(&mut self, block: BlockSetId, view: &View<'_>) {
        self.stamps[block.0 as usize] = if view.is_preconditioning() { NEVER } else { view.now().ps() };
    }

    /// Notes a programmed word line of a hot block. The first word line of a super layer begins it.
    fn programmed(&mut self, first: Location, view: &View<'_>) {
        let pools = view.pools();
        let block = pools.block_of(first);
        let Some(per_super_layer) = view.super_layer(block) else { return };
        if view.block(block).mode != CellMode::Mlc {
            return;
        }
        let pool = pools.of_location(first);
        let side = pool.locations.of_adjacent_pages(pool.geometry.planes_per_row);
        let super_layer = pool.locations.split(first).1 / (2 * side) / per_super_layer;
        let begun = &mut self.begun[block.0 as usize];
        if super_layer >= *begun {
            *begun = super_layer + 1;
            self.counts.super_layers += 1;
            self.set_time_stamp(block, view);
        }
    }

    /// Whether a word line of a hot block has a reprogram pass left, in the super layer that was begun last.
    fn has_reprogram_left(&self, open: &OpenBlock<'_>, view: &View<'_>) -> bool {
        let Some(per) = view.super_layer(open.block) else { return false };
        let Some(last) = (0..open.shape.count()).rev().find(|line| open.is_programmed(*line)) else {
            return false;
        };
        let begin = last / per * per;
        (begin..begin + per).any(|line| {
            let again = view.word_line(open.block, line).again;
            again.is_some_and(|times| times < self.settings.rewrites)
        })
    }

    /// Whether all word lines of the super layers begun in a hot block are programmed.
    fn is_between_super_layers(open: &OpenBlock<'_>, view: &View<'_>) -> bool {
        open.written.is_multiple_of(view.super_layer(open.block).unwrap_or(1))
    }

    /// A candidate that has no reprogram pass left and whose next super layer can begin.
    fn next_to_resume(&self, suspended: &SuspendedBlocks<'_>, view: &View<'_>) -> Option<BlockSetId> {
        let can_open =
            |one: &OpenBlock<'_>| one.written < one.shape.count() && !self.has_reprogram_left(one, view);
        suspended.iter().find(can_open).map(|one| one.block)
    }

    fn is_hot(block: BlockSetId, view: &View<'_>) -> bool {
        view.block(block).mode == CellMode::Mlc
    }
}

impl Design for ReSsd {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        let ReSsdFile { rewrites, candidates, when_all_valid, .. } = self.settings;
        // One more suspended block than candidates: a new candidate is suspended before the candidate that it
        // replaces is resumed.
        let suspended =
            if when_all_valid == WhenAllValid::Suspend && candidates > 0 { candidates + 1 } else { 0 };
        let stream = |(level, name)| match rewrites {
            times @ 1.. if level > 0 => WriteStream {
                mode: CellMode::Reprogrammed(times),
                ..WriteStream::native(name, 0).suspending(suspended)
            },
            _ => WriteStream::native(name, 0),
        };
        let streams = NAMES.into_iter().enumerate().map(stream).collect();
        let decisions: &[ExtensionPoint] = if rewrites > 0 {
            &[ExtensionPoint::Stream, ExtensionPoint::Frontier]
        } else {
            &[ExtensionPoint::Stream]
        };
        let of_rewrites = if rewrites > 0 { EventMask::PROGRAMMED } else { EventMask::NOTHING };
        Needs { streams, observes: EventMask::BLOCKS | of_rewrites, ..Needs::of(decisions) }
    }

    fn stream(&mut self, written: &HostPage<'_>, _pool: u8, view: &mut View<'_>) -> u8 {
        self.counts.updates += u64::from(written.from.is_some());
        let age = written.from.and_then(|from| self.age(from, view));
        let stream = age.and_then(|age| self.level_of(age)).map_or(0, |level| level + 1);
        self.counts.pages[stream] += 1;
        stream as u8
    }

    /// Among the blocks with a word line to reprogram, the block that was opened first. If there is none, the
    /// open block.
    fn open_block(&mut self, open: &[OpenBlock<'_>], view: &mut View<'_>) -> usize {
        let is_open = |one: &OpenBlock<'_>| {
            one.written < one.shape.count() && view.block(one.block).state == State::Open
        };
        open.iter()
            .position(|one| one.due_reprogram().is_some())
            .or_else(|| open.iter().position(is_open))
            .unwrap_or(0)
    }

    /// The word line with the fewest reprogram passes, once all word lines of the super layer are programmed
    /// (figure 9).
    fn word_line(&mut self, open: &OpenBlock<'_>, view: &mut View<'_>) -> u32 {
        if open.due_reprogram().is_none() {
            return open.first_unprogrammed();
        }
        let times = |line: &u32| view.word_line(open.block, *line).again.unwrap_or(u8::MAX);
        let next = open.again.word_lines.iter().copied().min_by_key(times);
        next.unwrap_or_else(|| open.first_unprogrammed())
    }

    /// Selects an open block whose super layers are all programmed so far, and whose last super layer has a
    /// reprogram pass left. The level must have space for another candidate, or a candidate without a pass
    /// left. Such a candidate is then resumed.
    fn select_to_suspend(
        &mut self,
        open: &[OpenBlock<'_>],
        suspended: &SuspendedBlocks<'_>,
        view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        let has_room = suspended.count() < usize::from(self.settings.candidates);
        if !has_room && self.next_to_resume(suspended, view).is_none() {
            return None;
        }
        let is_candidate = |one: &&OpenBlock<'_>| {
            one.written > 0
                && Self::is_hot(one.block, view)
                && Self::is_between_super_layers(one, view)
                && self.has_reprogram_left(one, view)
        };
        open.iter().find(is_candidate).map(|one| one.block)
    }

    /// Passive reclaim: when a block of the level is about to begin a super layer, selects the candidate with
    /// the fewest valid pages among the candidates with a reprogram pass left.
    fn select_to_reclaim(
        &mut self,
        open: &[OpenBlock<'_>],
        suspended: &SuspendedBlocks<'_>,
        view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        let begins_super_layer =
            |one: &OpenBlock<'_>| Self::is_hot(one.block, view) && Self::is_between_super_layers(one, view);
        if !self.settings.passive_reclaim || !open.iter().any(begins_super_layer) {
            return None;
        }
        let candidates = suspended.iter().filter(|one| self.has_reprogram_left(one, view));
        let vacated = candidates.map(|one| one.block).min_by_key(|block| view.block(*block).valid);
        self.counts.vacated += u64::from(vacated.is_some());
        vacated
    }

    fn select_to_resume(
        &mut self,
        suspended: &SuspendedBlocks<'_>,
        view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        self.next_to_resume(suspended, view)
    }

    fn observe(&mut self, seen: &DeviceEvent<'_>, view: &mut View<'_>) {
        match seen {
            DeviceEvent::Opened { block, .. } => {
                self.begun[block.0 as usize] = 0;
                self.set_time_stamp(*block, view);
            }
            DeviceEvent::Programmed { first, failed: false, .. } => self.programmed(*first, view),
            DeviceEvent::Suspended { .. } => self.counts.suspended += 1,
            DeviceEvent::Resumed { .. } => self.counts.resumed += 1,
            _ => {}
        }
    }

    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        self.counts.measure(&self.overhead)
    }
}
