//! Designs: objects that make several decisions of a device and observe its events.
//!
//! A device queries its policies, each of which makes one decision ([`policy`](crate::policy)). A design
//! makes several decisions, which can share its state. It [declares once](Design::needs) which decisions it
//! makes and which events it observes. The device then builds a table: for each decision and each pool, the
//! design that makes the decision. Policies make the remaining decisions.
//!
//! A design receives a read-only [`View`] of the device and decides. The device checks the decision. A
//! decision that is not allowed is an [`InvalidDecision`](wordline_device::InvalidDecision).

mod coalesced_unit;
mod delivery;
mod extension_point;
mod maintenance;
mod query;
mod suspension;
mod table;
mod tuning;
mod view;
mod word_line_queries;

use wordline_flash::policy::failure::{Failure, FailureAction};
use wordline_flash::policy::tuner::{ErasedBlock, ProgrammedPage, ReadOutcome, ReadParameters, SensedPage};
use wordline_kernel::chart::ChartData;
use wordline_kernel::metrics::Value;
use wordline_kernel::snapshot::State;
use wordline_kernel::{Bytes, Duration, Metric};
use wordline_nand::{BlockSetId, CellMode, Outcome, Parameters, PlaneGroupId};

use crate::Config;
use crate::policy::background::IdleGroup;
use crate::policy::balancer::WaitingUnits;
use crate::policy::frontier::OpenBlock;
use crate::policy::mapper::{self, Mapper};
use crate::policy::placement::PlaneGroupSet;
use crate::policy::relocator::{MigrationTarget, RelocatedPage};
use crate::policy::router::HostPage;
use crate::policy::victim::{Candidates, Indexes};

pub use crate::blocks::{SuspendedBlocks, WordLineInfo};
pub use crate::policy::demands::Demands;
pub use crate::policy::event::{BufferOccupancy, DeviceEvent, EventMask, OpenedBy, ProgramSource};
pub use coalesced_unit::CoalescedUnit;
pub use extension_point::{ExtensionPoint, ExtensionPoints};
pub use maintenance::Maintenance;

pub use table::{Combination, Designs, PausedDecisions};

pub use view::{BlockInfo, DesignContext, View};
pub use word_line_queries::WordLineQueries;

/// A write stream of the host or of GC. It has a write frontier in each plane group of its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteStream {
    /// Name of the stream.
    pub name: &'static str,
    /// Pool of the stream, counted from 0.
    pub pool: u8,
    /// Cell mode in which its blocks are opened.
    ///
    /// Each plane group has a limited number of blocks for modes other than the native one: `ftl.slc_cache`
    /// and `ftl.two_bit` in the first pool, the keys of `pools` in another. Beyond this number the stream
    /// gets native blocks. A host stream in the mode [`CellMode::Reprogrammed`] has blocks in MLC mode; the
    /// mode's number is the most reprograms of each word line.
    pub mode: CellMode,
    /// Most blocks that the stream may have suspended in each plane group, if its design decides
    /// [`ExtensionPoint::Frontier`] there. All of them count as active blocks, for which
    /// `ftl.over_provisioning` must leave space.
    pub suspended: u16,
}

impl WriteStream {
    /// A stream in native blocks.
    pub const fn native(name: &'static str, pool: u8) -> Self {
        Self { name, pool, mode: CellMode::Native, suspended: 0 }
    }

    /// Sets the most blocks that the stream may have suspended in each plane group.
    #[must_use]
    pub const fn suspending(self, suspended: u16) -> Self {
        Self { suspended, ..self }
    }

    /// Whether the stream's blocks are opened in a mode.
    pub fn is_in(&self, mode: CellMode) -> bool {
        self.mode.of_block() == mode
    }

    /// Most reprograms of a word line of the stream's blocks.
    pub fn again(&self) -> u8 {
        match self.mode {
            CellMode::Reprogrammed(times) => times,
            _ => 0,
        }
    }
}

/// Decisions that a design makes, events that it observes, and its requirements on the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Decisions that the design makes.
    pub decisions: ExtensionPoints,
    /// Events that the design observes.
    pub observes: EventMask,
    /// Host streams of the design. It decides [`ExtensionPoint::Stream`] with the number of a stream within
    /// the pool.
    pub streams: Vec<WriteStream>,
    /// GC streams of the design, if it decides [`ExtensionPoint::Relocate`]: at least one in all, and up to
    /// 16 in a pool. The decision is the number of a stream within the pool. In each pool a native stream
    /// comes first. A pool without declared streams has one native stream.
    pub gc_streams: Vec<WriteStream>,
    /// Candidate indexes that the device maintains, if the design decides [`ExtensionPoint::Victim`].
    pub indexes: Indexes,
    /// Open blocks of each stream in a plane group, from 1 to 8, if the design decides
    /// [`ExtensionPoint::Frontier`].
    pub open_blocks: u8,
}

impl Needs {
    /// Needs of a design that makes these decisions and has no other requirements.
    pub fn of(decisions: &[ExtensionPoint]) -> Self {
        Self {
            decisions: ExtensionPoints::of(decisions),
            observes: EventMask::NOTHING,
            streams: Vec::new(),
            gc_streams: Vec::new(),
            indexes: Indexes::default(),
            open_blocks: 1,
        }
    }
}

/// Pages of a unit that wait for the first of several pools. Another pool may take them.
#[derive(Clone, Copy, Debug)]
pub struct WaitingPages {
    /// First logical page of the unit.
    pub logical: u32,
    /// Number of waiting pages.
    pub pages: u32,
}

/// A design. The device queries it only for the decisions that it [declares](Self::needs); all others have
/// defaults. Most queries come with a [`View`].
pub trait Design: State + Send {
    /// Name in a configuration.
    fn name(&self) -> &'static str;

    /// Returns the design's decisions, events and requirements. Called once, when the device is created.
    fn needs(&self) -> Needs;

    /// [`ExtensionPoint::Pool`]: selects the pool for a page or unit that is destaged, counted from 0.
    fn pool(&mut self, _written: &HostPage<'_>, _view: &mut View<'_>) -> u8 {
        0
    }

    /// Smallest written unit that goes to the first of several pools; `None` if sizes do not decide. For
    /// reports.
    fn min_size_for_first_pool(&self) -> Option<Bytes> {
        None
    }

    /// [`ExtensionPoint::Coalesce`]: decides whether the waiting pages of a unit are destaged now. Queried
    /// when the host has written a page of the unit that may stay in the buffer. If the decision is true,
    /// this page is destaged together with the pages that [`destages_with`](Self::destages_with) selects.
    /// Other pages are destaged when the buffer is too full or is flushed.
    fn destages_now(&mut self, _unit: &CoalescedUnit<'_>, _view: &mut View<'_>) -> bool {
        false
    }

    /// [`ExtensionPoint::Coalesce`]: decides whether the waiting page `other` is destaged with `page` of the
    /// same unit. With several pools, a page of a unit in which a program is in progress waits for the end of
    /// that program.
    fn destages_with(&mut self, _page: u32, _other: u32, _view: &mut View<'_>) -> bool {
        true
    }

    /// [`ExtensionPoint::Coalesce`], if the first of several pools has coarse-grained mapping. A part of the
    /// unit of `page` is about to be programmed in the first pool, and `page` is in another pool. Decides
    /// whether `page` is read and programmed with that part. Otherwise it stays in its pool. Pages in the
    /// first pool are always included.
    fn is_carried_along(&mut self, _page: u32, _view: &mut View<'_>) -> bool {
        true
    }

    /// [`ExtensionPoint::Stream`]: selects the stream of `pool` for a page, counted from 0 within the pool.
    fn stream(&mut self, _written: &HostPage<'_>, _pool: u8, _view: &mut View<'_>) -> u8 {
        0
    }

    /// [`ExtensionPoint::Frontier`]: selects one of several open blocks of a stream for the next program, by
    /// its index in the order of opening. There are as many open blocks as the design
    /// [needs](Needs::open_blocks). A plane group has fewer if its only free blocks are reserved for GC.
    fn open_block(&mut self, _open: &[OpenBlock<'_>], _view: &mut View<'_>) -> usize {
        0
    }

    /// [`ExtensionPoint::Frontier`]: selects the word line of that open block for the next program. The word
    /// line must be unprogrammed, or one that can be [reprogrammed](OpenBlock::again). The program of a
    /// reprogrammed word line replaces a page of it. If some word lines can be reprogrammed, the query may be
    /// repeated for one program.
    fn word_line(&mut self, open: &OpenBlock<'_>, _view: &mut View<'_>) -> u32 {
        open.next_word_line()
    }

    /// [`ExtensionPoint::Frontier`]: selects one of these open blocks of a stream to suspend before it is
    /// full; `None` if all stay open. At least one word line of the block must be programmed. If the block
    /// was the only open one, another is opened.
    ///
    /// Queried before each word line, if all of these are true:
    ///
    /// * The stream [may suspend](WriteStream::suspended) another block.
    /// * The plane group has more free blocks than are reserved for GC.
    /// * The next block would be opened in the same mode.
    fn select_to_suspend(
        &mut self,
        _open: &[OpenBlock<'_>],
        _suspended: &SuspendedBlocks<'_>,
        _view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        None
    }

    /// [`ExtensionPoint::Frontier`], if word lines of the stream's blocks are reprogrammed: selects one of
    /// these suspended blocks to reclaim; `None` to reclaim none.
    ///
    /// To reclaim a block, the device reads its valid pages, beginning with those of its last super layer. (A
    /// super layer is a group of word lines that may be reprogrammed until a later group is programmed.) It
    /// programs these pages together with host pages of the pool's first stream. The block's word lines can
    /// then be reprogrammed without an erase, and the block is soon empty. Host pages of the reclaimed
    /// block's stream that replace no page are programmed together with these pages.
    ///
    /// Queried before each unprogrammed word line, while the stream has suspended blocks and the plane group
    /// is not reclaiming one.
    fn select_to_reclaim(
        &mut self,
        _open: &[OpenBlock<'_>],
        _suspended: &SuspendedBlocks<'_>,
        _view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        None
    }

    /// [`ExtensionPoint::Frontier`]: selects one of these suspended blocks of a stream to resume; `None` to
    /// open a free block instead. Queried whenever the stream needs a block and has suspended ones. The query
    /// shows only blocks in the mode in which a free block would be opened.
    fn select_to_resume(
        &mut self,
        _suspended: &SuspendedBlocks<'_>,
        _view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        None
    }

    /// [`ExtensionPoint::Place`]: selects one of the plane groups that accept a program unit. There is at
    /// least one, and all are in one pool.
    fn place(&mut self, rows: &PlaneGroupSet, _view: &mut View<'_>) -> PlaneGroupId {
        rows.next_from(PlaneGroupId(0)).unwrap_or(PlaneGroupId(0))
    }

    /// [`ExtensionPoint::Victim`]: selects one of the candidates of a plane group; `None` if there are none.
    /// If there are some, `None` leaves the plane group without GC until the next query. It is an invalid decision
    /// once commands wait for free blocks and nothing else can happen.
    /// Candidates are closed blocks with at least one invalid page, and [suspended](Candidates::suspended)
    /// blocks. If superblocks are collected, the candidates are superblocks and the plane group is 0.
    fn victim(
        &mut self,
        from: Candidates<'_>,
        _row: PlaneGroupId,
        _view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        from.fewest_valid()
    }

    /// [`ExtensionPoint::Relocate`]: selects the GC stream in `pool` for a valid page of a victim in this
    /// pool, counted from 0 within the pool. If the victim is in a mode other than the native one, a
    /// non-native stream is replaced by the first stream, because GC must gain space.
    fn relocate(&mut self, _page: &RelocatedPage, _pool: u8, _view: &mut View<'_>) -> u8 {
        0
    }

    /// [`ExtensionPoint::Relocate`], with several pools: selects the pool and stream to which a valid page of
    /// a victim of `pool` is migrated. `None` if the page stays in its pool, where
    /// [`relocate`](Self::relocate) selects the stream.
    ///
    /// Queried for each page read, except in a pool with coarse-grained mapping. The page migrates in a
    /// program unit of such pages. It stays in its pool if the other pool has no space for this unit when the
    /// victim must be erased.
    fn migration_target(
        &mut self,
        _page: &RelocatedPage,
        _pool: u8,
        _view: &mut View<'_>,
    ) -> Option<MigrationTarget> {
        None
    }

    /// [`ExtensionPoint::Relocate`], with several pools: decides whether the valid pages of a victim are
    /// migrated to the first pool. The victim is in another pool, `pool`. Queried once for each victim. The
    /// pages are programmed with the rest of their units ([`is_carried_along`](Self::is_carried_along)).
    fn leaves(&mut self, _victim: BlockSetId, _pool: usize, _view: &mut View<'_>) -> bool {
        false
    }

    /// [`ExtensionPoint::Balance`], with static allocation: selects the plane group from which `idle` steals
    /// a program unit. The die of `idle` is idle, and no unit waits for `idle`.
    fn take(
        &mut self,
        _idle: PlaneGroupId,
        _waiting: &WaitingUnits<'_>,
        _view: &mut View<'_>,
    ) -> Option<PlaneGroupId> {
        None
    }

    /// [`ExtensionPoint::Balance`], with several pools: selects a sub-request that pool `to` steals, by its
    /// index in `waiting`. These sub-requests wait for the first pool, oldest first. `None` if `to` steals
    /// none. Queried for each other pool that has an idle die.
    fn steal(&mut self, _waiting: &[WaitingPages], _to: usize, _view: &mut View<'_>) -> Option<usize> {
        None
    }

    /// [`ExtensionPoint::Background`]: returns how long the host must be idle before background work starts;
    /// `None` if there is no background work.
    fn idle_delay(&self) -> Option<Duration> {
        None
    }

    /// [`ExtensionPoint::Background`]: returns the number of free blocks of a plane group up to which GC
    /// works while the host is idle.
    fn free_blocks(&mut self, _row: &IdleGroup, _view: &mut View<'_>) -> u32 {
        0
    }

    /// [`ExtensionPoint::Background`]: returns the number of SLC-cache blocks of a plane group that may stay
    /// while the host is idle.
    fn cached_blocks(&mut self, row: &IdleGroup, _view: &mut View<'_>) -> u32 {
        row.cached_blocks
    }

    /// [`ExtensionPoint::Tune`]: returns the read reference voltages of the first sense of a page. The query
    /// may be repeated for one read. It has no view, because the queue of the die may be changing.
    fn read_parameters(&self, _page: &SensedPage) -> ReadParameters {
        ReadParameters { level: 0 }
    }

    /// [`ExtensionPoint::Tune`]: returns the read reference voltages of a read retry.
    fn read_again(&self, page: &SensedPage, so_far: &ReadOutcome) -> ReadParameters {
        ReadParameters::next(page, so_far)
    }

    /// [`ExtensionPoint::Tune`]: reports that a page was read, or could not be read.
    fn read_finished(&mut self, _page: &SensedPage, _outcome: &ReadOutcome) {}

    /// [`ExtensionPoint::Tune`]: returns the parameters of a program, when its die begins it.
    /// [`DeviceEvent::Programmed`] reports the result. It includes the outcome if the parameters request it.
    fn program_parameters(&self, _page: &ProgrammedPage) -> Parameters {
        Parameters::DATA_SHEET
    }

    /// [`ExtensionPoint::Tune`]: decides whether the outcome of a program is accepted, if the program's
    /// parameters requested it. Data of a rejected program are programmed elsewhere, as after a program
    /// failure. [`ExtensionPoint::Fail`] is queried about the block, which by default stays in use.
    fn accepts(&self, _page: &ProgrammedPage, _outcome: &Outcome) -> bool {
        true
    }

    /// [`ExtensionPoint::Tune`]: returns the parameters of an erase, when its die begins it:
    /// [`Parameters::erase`] is its time, at most the [time of the data sheet](ErasedBlock::time).
    /// [`DeviceEvent::Erased`] reports the time used. Whether the time suffices is not modelled: an erase of
    /// any time succeeds and leaves no errors, unless a rule of `faults` lets it fail.
    fn erase_parameters(&self, _block: &ErasedBlock) -> Parameters {
        Parameters::DATA_SHEET
    }

    /// [`ExtensionPoint::Fail`]: selects the action for a block in which an operation failed.
    fn failed(&mut self, _failure: &Failure, _view: &mut View<'_>) -> FailureAction {
        FailureAction::Retire
    }

    /// [`ExtensionPoint::Maintain`]: selects a block to collect now, or pages to relocate now; `None` if there
    /// is nothing to do. The comments of [`Maintenance`] say which blocks and pages are allowed, and when the
    /// device carries the work out.
    ///
    /// Queried at the end of each simulated event in which the design observed something, until the decision
    /// is `None` or 64 requests were made; the others are made after the next event. Not queried while the
    /// device is preconditioned or recovers from a power cut: the query is made in the first event
    /// afterwards.
    fn maintenance(&mut self, _view: &mut View<'_>) -> Option<Maintenance> {
        None
    }

    /// [`ExtensionPoint::Map`]: makes the mapper, which decides which part of the map is in memory and may
    /// guess locations. Called once, when the device is created. `ftl.mapping.cache` must be set; it is the
    /// memory for the mapper.
    fn mapper(&self, config: &Config) -> Box<dyn Mapper> {
        mapper::build(config.map_cache())
    }

    /// Handles an event that the design [observes](Needs::observes).
    fn observe(&mut self, _seen: &DeviceEvent<'_>, _view: &mut View<'_>) {}

    /// Metrics of the design and their values. Counters start when the device is created. A run reports the
    /// increase of a counter during the run, and the final value of any other metric.
    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        Vec::new()
    }

    /// Charts for the report of a run, each with its current points.
    fn charts(&self) -> Vec<ChartData> {
        Vec::new()
    }
}
