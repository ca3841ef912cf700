//! Design that randomly suspends blocks before they are full, resumes them, and selects them as victims. It
//! checks everything that it is shown.

use wordline_ftl::Design;
use wordline_ftl::blocks::State;
use wordline_ftl::design::{
    DeviceEvent, EventMask, ExtensionPoint, Needs, SuspendedBlocks, View, WriteStream,
};
use wordline_ftl::policy::frontier::OpenBlock;
use wordline_ftl::policy::relocator::RelocatedPage;
use wordline_ftl::policy::router::HostPage;
use wordline_ftl::policy::victim::Candidates;
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::{Metric, state};
use wordline_nand::{BlockSetId, CellMode, PlaneGroupId};

/// Settings of the design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Number of blocks of a plane group that each stream may suspend.
    pub limit: u16,
    /// Open blocks of each stream.
    pub open_blocks: u8,
    /// Number of host streams, and of GC streams, in each pool.
    pub streams: u8,
    /// Number of pools.
    pub pools: u8,
    /// Whether the second host stream and the second GC stream are in SLC mode.
    pub slc: bool,
    /// Reprogram passes of word lines of the second host stream, in MLC mode; 0 for none.
    pub again: u8,
    /// Percentage of queries in which the design suspends a block, resumes a block, and selects a suspended
    /// victim.
    pub chances: [u8; 3],
}

impl Settings {
    /// Settings with one host stream and one GC stream, which may suspend `limit` blocks. Every decision has
    /// a chance of 50 %.
    pub const fn suspending(limit: u16) -> Self {
        Self { limit, open_blocks: 1, streams: 1, pools: 1, slc: false, again: 0, chances: [50; 3] }
    }

    /// Design with these settings.
    pub fn design(self) -> Box<dyn Design> {
        Box::new(SetsAside { settings: self, counts: [0; 4] })
    }
}

/// Design that draws its decisions.
pub struct SetsAside {
    pub settings: Settings,
    /// Counts of blocks suspended, blocks resumed, pages that suspended blocks lost, and suspended victims.
    pub counts: [u64; 4],
}

state!(SetsAside { values { counts } fixed { settings } });

const fn count(name: &'static str) -> Metric {
    Metric::new(name, Unit::Count, "How often a test design did this, or was told of it.")
}

static COUNTS: [Metric; 4] = [
    count("sets_aside.suspended"),
    count("sets_aside.resumed"),
    count("sets_aside.lost_pages"),
    count("sets_aside.victims"),
];

/// Random decision, which is `true` in `chance` percent of cases.
fn is_drawn(chance: u8, view: &mut View<'_>) -> bool {
    view.random().below(100) < u64::from(chance)
}

/// Random item of a list; `None` if it is empty.
fn one_of<T: Copy>(all: &[T], view: &mut View<'_>) -> Option<T> {
    (!all.is_empty()).then(|| all[view.random().below(all.len() as u64) as usize])
}

/// Checks that the view of an open block agrees with the view of the same block in the device.
fn check(shown: &OpenBlock<'_>, state: State, view: &View<'_>) {
    let facts = view.block(shown.block);
    assert_eq!((facts.state, facts.opened_by.gc().is_some()), (state, shown.is_gc), "{:?}", shown.block);
    let programmed: u32 = shown.programmed.iter().map(|word| word.count_ones()).sum();
    assert_eq!(programmed, shown.written, "{:?}", shown.block);
    let may_be_full = facts.mode == CellMode::Mlc;
    assert!(shown.written < shown.shape.count() || may_be_full, "{:?} is not full", shown.block);
    for line in shown.again.word_lines {
        let facts = view.word_line(shown.block, *line);
        assert!(shown.is_programmed(*line) && facts.again.is_some() && facts.valid.contains(&0), "{facts:?}");
    }
}

impl SetsAside {
    fn check_suspended(&self, suspended: &SuspendedBlocks<'_>, view: &View<'_>) {
        assert!(suspended.iter().count() == suspended.count());
        assert!(suspended.count() <= usize::from(self.settings.limit));
        for one in suspended.iter() {
            check(&one, State::Suspended, view);
            assert!(one.written > 0 && suspended.has(one.block) && one.again.word_lines.is_empty());
        }
    }
}

impl Design for SetsAside {
    fn name(&self) -> &'static str {
        "sets-aside"
    }

    fn needs(&self) -> Needs {
        let Settings { limit, open_blocks, streams, pools, slc, again, .. } = self.settings;
        let mode = move |n: u8, again: u8| match n {
            1 if slc => CellMode::Slc,
            1 if again > 0 => CellMode::Reprogrammed(again),
            _ => CellMode::Native,
        };
        let stream =
            move |n, again, pool| WriteStream { mode: mode(n, again), ..WriteStream::native("one", pool) };
        let in_pool = |pool, again| (0..streams).map(move |n| stream(n, again, pool).suspending(limit));
        let of_all = |again| (0..pools).flat_map(|pool| in_pool(pool, again)).collect();
        Needs {
            gc_streams: of_all(0),
            streams: of_all(again),
            open_blocks,
            observes: EventMask::BLOCKS | EventMask::LOST_PAGES,
            ..Needs::of(&[
                ExtensionPoint::Stream,
                ExtensionPoint::Frontier,
                ExtensionPoint::Victim,
                ExtensionPoint::Relocate,
            ])
        }
    }

    fn stream(&mut self, written: &HostPage<'_>, _: u8, _: &mut View<'_>) -> u8 {
        (written.logical % u32::from(self.settings.streams)) as u8
    }

    fn relocate(&mut self, page: &RelocatedPage, _: u8, _: &mut View<'_>) -> u8 {
        (page.logical % u32::from(self.settings.streams)) as u8
    }

    fn open_block(&mut self, open: &[OpenBlock<'_>], view: &mut View<'_>) -> usize {
        // The list includes suspended blocks with a word line that can be reprogrammed.
        let state = |one: &OpenBlock<'_>, view: &View<'_>| match one.again.word_lines {
            [] => State::Open,
            _ => view.block(one.block).state,
        };
        open.iter().for_each(|one| check(one, state(one, view), view));
        view.random().below(open.len() as u64) as usize
    }

    fn word_line(&mut self, open: &OpenBlock<'_>, view: &mut View<'_>) -> u32 {
        let is_suspended =
            !open.again.word_lines.is_empty() && view.block(open.block).state == State::Suspended;
        check(open, if is_suspended { State::Suspended } else { State::Open }, view);
        let left = (0..open.shape.count()).filter(|line| !open.is_programmed(*line));
        let left: Vec<u32> = left.chain(open.again.word_lines.iter().copied()).collect();
        one_of(&left, view).expect("some word line can be programmed")
    }

    fn select_to_suspend(
        &mut self,
        open: &[OpenBlock<'_>],
        suspended: &SuspendedBlocks<'_>,
        view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        self.check_suspended(suspended, view);
        open.iter().for_each(|one| check(one, State::Open, view));
        assert!(suspended.count() < usize::from(self.settings.limit));
        let written: Vec<BlockSetId> =
            open.iter().filter(|one| one.written > 0).map(|one| one.block).collect();
        is_drawn(self.settings.chances[0], view).then(|| one_of(&written, view)).flatten()
    }

    fn select_to_reclaim(
        &mut self,
        open: &[OpenBlock<'_>],
        suspended: &SuspendedBlocks<'_>,
        view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        self.check_suspended(suspended, view);
        open.iter().for_each(|one| check(one, State::Open, view));
        assert!(suspended.count() > 0);
        let all: Vec<BlockSetId> = suspended.iter().map(|one| one.block).collect();
        is_drawn(self.settings.chances[1], view).then(|| one_of(&all, view)).flatten()
    }

    fn select_to_resume(
        &mut self,
        suspended: &SuspendedBlocks<'_>,
        view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        self.check_suspended(suspended, view);
        let all: Vec<BlockSetId> = suspended.iter().map(|one| one.block).collect();
        assert!(!all.is_empty() && suspended.iter().all(|one| one.written < one.shape.count()));
        is_drawn(self.settings.chances[1], view).then(|| one_of(&all, view)).flatten()
    }

    fn victim(&mut self, from: Candidates<'_>, row: PlaneGroupId, view: &mut View<'_>) -> Option<BlockSetId> {
        let resting: Vec<BlockSetId> = from.suspended().collect();
        assert!(resting.iter().all(|block| view.block(*block).state == State::Suspended));
        assert!(resting.iter().all(|block| view.pools().group_of_block(*block) == row));
        let drawn = is_drawn(self.settings.chances[2], view).then(|| one_of(&resting, view)).flatten();
        self.counts[3] += u64::from(drawn.is_some());
        drawn.or_else(|| from.fewest_valid())
    }

    fn observe(&mut self, seen: &DeviceEvent<'_>, view: &mut View<'_>) {
        match seen {
            DeviceEvent::Suspended { .. } => self.counts[0] += 1,
            DeviceEvent::Resumed { .. } => self.counts[1] += 1,
            DeviceEvent::LostPage { block, location, valid } => {
                self.counts[2] += 1;
                assert_eq!(view.pools().block_of(*location), *block);
                assert!(*valid < view.pools().per_block(*block));
            }
            _ => {}
        }
    }

    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        COUNTS.iter().zip(self.counts).map(|(metric, count)| (metric, Value::Count(count))).collect()
    }
}
