//! Designs: one object that makes several decisions of a device and observes its events.
//!
//! A device queries its policies, each of which makes one decision ([`policy`](crate::policy)). A design
//! makes several of these decisions itself, so that its state need not be shared. It [declares
//! once](Design::needs) which decisions it makes and which events it observes; from then on a table shows
//! which design decides in which pool. Policies make the other decisions.
//!
//! A design looks at a [`View`] and decides; the mechanism checks the decision. One that is not allowed is a
//! [`InvalidDecision`].

mod coalesced_unit;
mod extension_point;
mod invalid_decision;
mod query;
mod suspension;
mod table;
mod tuning;
mod view;

use wordline_kernel::chart::ChartData;
use wordline_kernel::metrics::Value;
use wordline_kernel::snapshot::State;
use wordline_kernel::{Bytes, Duration, Metric};
use wordline_nand::{BlockSetId, CellMode, Outcome, Parameters, PlaneGroupId};

use crate::policy::background::IdleGroup;
use crate::policy::balancer::WaitingUnits;
use crate::policy::failure::{Failure, FailureAction};
use crate::policy::frontier::OpenBlock;
use crate::policy::placement::PlaneGroupSet;
use crate::policy::relocator::{MigrationTarget, RelocatedPage};
use crate::policy::router::HostPage;
use crate::policy::tuner::{ReadOutcome, ReadParameters, SensedPage};
use crate::policy::victim::{Candidates, Indexes};

pub use crate::blocks::{SuspendedBlocks, WordLineInfo};
pub use crate::policy::demands::Demands;
pub use crate::policy::event::{BufferOccupancy, DeviceEvent, EventMask, ProgramSource};
pub use crate::policy::tuner::ProgrammedPage;
pub use coalesced_unit::CoalescedUnit;
pub use extension_point::{ExtensionPoint, ExtensionPoints};
pub use invalid_decision::InvalidDecision;
pub use table::Combination;
pub(crate) use table::{Designs, PausedDecisions};
pub(crate) use view::DesignContext;
pub use view::{BlockInfo, View};

/// A write stream of the host or of GC: a write frontier in each plane group of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteStream {
    /// Name of the stream.
    pub name: &'static str,
    /// Pool of the stream.
    pub pool: u8,
    /// Cell mode in which its blocks are opened. Each plane group has a share of blocks for other modes than
    /// the native one (`ftl.slc_cache` and `ftl.two_bit` in the first pool, the keys of `pools` in another);
    /// blocks beyond it are native. A host stream in the mode [`CellMode::Reprogrammed`] has blocks in MLC
    /// mode, of which each word line may be reprogrammed that many times.
    pub mode: CellMode,
    /// Most blocks that it may have suspended in each plane group, if its design decides [`ExtensionPoint::Frontier`]
    /// there. Room is reserved for all of them: they count as active blocks, for which
    /// `ftl.over_provisioning` must leave room.
    pub suspended: u16,
}

impl WriteStream {
    /// Stream in native blocks.
    pub const fn native(name: &'static str, pool: u8) -> Self {
        Self { name, pool, mode: CellMode::Native, suspended: 0 }
    }

    /// Sets the most blocks of a plane group that may be suspended.
    #[must_use]
    pub const fn suspending(self, suspended: u16) -> Self {
        Self { suspended, ..self }
    }

    /// Whether its blocks are opened in a mode.
    pub fn is_in(&self, mode: CellMode) -> bool {
        self.mode.of_block() == mode
    }

    /// Most reprograms of a word line of its blocks.
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
    /// Decisions that it makes.
    pub answers: ExtensionPoints,
    /// Events that it observes.
    pub observes: EventMask,
    /// Host streams that it distinguishes; it decides [`ExtensionPoint::Stream`] with the number of a stream within the
    /// pool.
    pub streams: Vec<WriteStream>,
    /// GC streams that it distinguishes, up to 16 in a pool and at least one in all, if it decides
    /// [`ExtensionPoint::Relocate`], with the number of a stream within the pool. A native one comes first. A pool
    /// without declared streams has a native one.
    pub collector_streams: Vec<WriteStream>,
    /// Candidate indexes maintained for it, if it decides [`ExtensionPoint::Victim`].
    pub indexes: Indexes,
    /// Open blocks of a stream in a plane group, from 1 to 8, if it decides [`ExtensionPoint::Frontier`].
    pub open_blocks: u8,
}

impl Needs {
    /// Makes these decisions, and needs nothing else.
    pub fn of(answers: &[ExtensionPoint]) -> Self {
        Self {
            answers: ExtensionPoints::of(answers),
            observes: EventMask::NOTHING,
            streams: Vec::new(),
            collector_streams: Vec::new(),
            indexes: Indexes::default(),
            open_blocks: 1,
        }
    }
}

/// Pages that wait for the first of several pools and that another pool could take.
#[derive(Clone, Copy, Debug)]
pub struct WaitingPages {
    /// First logical page of their unit.
    pub logical: u32,
    /// Number of waiting pages of the unit.
    pub pages: u32,
}

/// A design. Each decision has a default, because the device queries a design only for those that it
/// [declares](Self::needs); most come with a [`View`].
pub trait Design: State + Send {
    /// Name in a configuration.
    fn name(&self) -> &'static str;

    /// Decisions, events and requirements. Called once, when the device is created.
    fn needs(&self) -> Needs;

    /// [`ExtensionPoint::Pool`]: pool for a page or unit being destaged, counted from 0.
    fn pool(&mut self, _written: &HostPage<'_>, _view: &mut View<'_>) -> u8 {
        0
    }

    /// Smallest size of a written unit that goes to the first of several pools, if sizes decide. For reports.
    fn min_size_for_first_pool(&self) -> Option<Bytes> {
        None
    }

    /// [`ExtensionPoint::Coalesce`]: whether the waiting pages of a unit are destaged now. Queried when the host has
    /// written one of them that may wait; that page is destaged then, with those that are [destaged with
    /// it](Self::destages_with). Other pages are destaged when the buffer is too full, or is flushed.
    fn destages_now(&mut self, _unit: &CoalescedUnit<'_>, _view: &mut View<'_>) -> bool {
        false
    }

    /// [`ExtensionPoint::Coalesce`]: whether the page `other`, which waits in the buffer, is destaged with `page` of
    /// the same unit. With several pools, pages destaged while others of their unit are being programmed wait
    /// until that is done, and then go together.
    fn destages_with(&mut self, _page: u32, _other: u32, _view: &mut View<'_>) -> bool {
        true
    }

    /// [`ExtensionPoint::Coalesce`], where the first of several pools is coarsely mapped: whether `page`, which is in
    /// another pool, is read and programmed with the part of its unit that goes to the first pool, or stays
    /// where it is. Pages in the first pool are always included.
    fn is_carried_along(&mut self, _page: u32, _view: &mut View<'_>) -> bool {
        true
    }

    /// [`ExtensionPoint::Stream`]: stream of `pool` for a page, counted from 0 within the pool.
    fn stream(&mut self, _written: &HostPage<'_>, _pool: u8, _view: &mut View<'_>) -> u8 {
        0
    }

    /// [`ExtensionPoint::Frontier`]: index of the open block that is programmed next, among several of a stream in the
    /// order of opening. There are as many as it [needs](Needs::open_blocks), or fewer in a plane group
    /// without free blocks beyond those reserved for GC.
    fn open_block(&mut self, _open: &[OpenBlock<'_>], _view: &mut View<'_>) -> usize {
        0
    }

    /// [`ExtensionPoint::Frontier`]: a word line of that open block that is unprogrammed, or one that can be
    /// [reprogrammed](OpenBlock::again), so that the program replaces a page. If some can be, it may be
    /// queried more than once for a program.
    fn word_line(&mut self, open: &OpenBlock<'_>, _view: &mut View<'_>) -> u32 {
        open.next_word_line()
    }

    /// [`ExtensionPoint::Frontier`]: one of these open blocks of a stream to suspend before it is full; `None` if all
    /// stay open. At least one word line of the block must be programmed. Queried before each word line while
    /// the stream [may suspend](WriteStream::suspended) another block and more blocks are free than those
    /// reserved for GC; not while another block would be opened in another mode. If it was the only open
    /// block, another one is opened.
    fn select_to_suspend(
        &mut self,
        _open: &[OpenBlock<'_>],
        _suspended: &SuspendedBlocks<'_>,
        _view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        None
    }

    /// [`ExtensionPoint::Frontier`], where word lines of the stream's blocks are reprogrammed: one of these suspended
    /// blocks to reclaim; `None` to leave them as they are. Its valid pages are read, those of its last super
    /// layer first, and programmed together with host pages of the first stream of the pool, so that its word
    /// lines can be reprogrammed without an erase and the block is soon empty. Pages of this stream without a
    /// page to replace are programmed with them. Queried before each unprogrammed word line, while the stream
    /// has suspended blocks and the plane group is not reclaiming one.
    fn select_to_reclaim(
        &mut self,
        _open: &[OpenBlock<'_>],
        _suspended: &SuspendedBlocks<'_>,
        _view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        None
    }

    /// [`ExtensionPoint::Frontier`]: one of these suspended blocks of a stream to resume instead of opening a free one;
    /// `None` to open a free one. Queried whenever the stream needs a block and has suspended ones; only
    /// those in the mode in which a free one would be opened are shown.
    fn select_to_resume(
        &mut self,
        _suspended: &SuspendedBlocks<'_>,
        _view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        None
    }

    /// [`ExtensionPoint::Place`]: one of the plane groups that accept a program unit, of which there is at least one;
    /// all are of one pool.
    fn place(&mut self, rows: &PlaneGroupSet, _view: &mut View<'_>) -> PlaneGroupId {
        rows.next_from(PlaneGroupId(0)).unwrap_or(PlaneGroupId(0))
    }

    /// [`ExtensionPoint::Victim`]: one of the candidates of a plane group, which are closed blocks with at least one
    /// invalid page, or [suspended](Candidates::suspended) ones; `None` when there are none. Where
    /// superblocks are collected these are the candidates, and the plane group is 0.
    fn victim(
        &mut self,
        from: Candidates<'_>,
        _row: PlaneGroupId,
        _view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        from.fewest_valid()
    }

    /// [`ExtensionPoint::Relocate`]: GC stream in `pool` for a valid page of a victim there, counted from 0 within the
    /// pool. Pages of a block in another mode go to the first stream if a non-native one is selected, because
    /// GC must gain space.
    fn relocate(&mut self, _page: &RelocatedPage, _pool: u8, _view: &mut View<'_>) -> u8 {
        0
    }

    /// [`ExtensionPoint::Relocate`], with several pools: pool and stream to which a valid page of a victim of `pool` is
    /// migrated individually; `None` if it stays in its pool, where [`relocate`](Self::relocate) selects the
    /// stream. Queried for each page read, except in a coarsely mapped pool. The page migrates in a program
    /// unit of such pages, and stays if the other pool has no room for that unit when the victim must be
    /// erased.
    fn migration_target(
        &mut self,
        _page: &RelocatedPage,
        _pool: u8,
        _view: &mut View<'_>,
    ) -> Option<MigrationTarget> {
        None
    }

    /// [`ExtensionPoint::Relocate`]: whether the valid pages of a victim of `pool`, which is not the first of several,
    /// are migrated to the first. Queried once for each victim; pages are programmed there with the others of
    /// their unit ([`is_carried_along`](Self::is_carried_along)).
    fn leaves(&mut self, _victim: BlockSetId, _pool: usize, _view: &mut View<'_>) -> bool {
        false
    }

    /// [`ExtensionPoint::Balance`], with static allocation: plane group from which `idle` steals a program unit. The
    /// die of `idle` is idle, and no unit waits for that plane group.
    fn take(
        &mut self,
        _idle: PlaneGroupId,
        _waiting: &WaitingUnits<'_>,
        _view: &mut View<'_>,
    ) -> Option<PlaneGroupId> {
        None
    }

    /// [`ExtensionPoint::Balance`], with several pools: index of the sub-request waiting for the first pool, oldest
    /// first, that pool `to` takes instead, where a die is idle; `None` if it takes none. Queried for every
    /// other pool with an idle die in turn.
    fn steal(&mut self, _waiting: &[WaitingPages], _to: usize, _view: &mut View<'_>) -> Option<usize> {
        None
    }

    /// [`ExtensionPoint::Background`]: idle time of the host before background work starts; `None` if there is none.
    fn idle_delay(&self) -> Option<Duration> {
        None
    }

    /// [`ExtensionPoint::Background`]: goal for the free blocks of a plane group while the host is idle.
    fn free_blocks(&mut self, _row: &IdleGroup, _view: &mut View<'_>) -> u32 {
        0
    }

    /// [`ExtensionPoint::Background`]: number of blocks of a plane group that may stay in the SLC cache while the host
    /// is idle.
    fn cached_blocks(&mut self, row: &IdleGroup, _view: &mut View<'_>) -> u32 {
        row.cached_blocks
    }

    /// [`ExtensionPoint::Tune`]: read reference voltages of the first sense of a page. It may be queried more than once
    /// for a read, and while the queue of the die is being changed: there is no view.
    fn read_parameters(&self, _page: &SensedPage) -> ReadParameters {
        ReadParameters { level: 0 }
    }

    /// [`ExtensionPoint::Tune`]: read reference voltages of a read retry.
    fn read_again(&self, page: &SensedPage, so_far: &ReadOutcome) -> ReadParameters {
        ReadParameters::next(page, so_far)
    }

    /// [`ExtensionPoint::Tune`]: called when a page was read, or could not be read.
    fn read_finished(&mut self, _page: &SensedPage, _outcome: &ReadOutcome) {}

    /// [`ExtensionPoint::Tune`]: parameters of a program, when its die begins it. [`DeviceEvent::Programmed`] reports the
    /// result, with the outcome if the parameters request it.
    fn program_parameters(&self, _page: &ProgrammedPage) -> Parameters {
        Parameters::DATA_SHEET
    }

    /// [`ExtensionPoint::Tune`]: whether the outcome of a program is accepted, if its parameters requested it. If not,
    /// its data are dropped and programmed elsewhere, as after a failed program. [`ExtensionPoint::Fail`] is queried
    /// about the block, which by default stays in use.
    fn accepts(&self, _page: &ProgrammedPage, _outcome: &Outcome) -> bool {
        true
    }

    /// [`ExtensionPoint::Fail`]: action for a block in which an operation failed.
    fn failed(&mut self, _failure: &Failure, _view: &mut View<'_>) -> FailureAction {
        FailureAction::Retire
    }

    /// Handles an event that it [observes](Needs::observes).
    fn observe(&mut self, _seen: &DeviceEvent<'_>, _view: &mut View<'_>) {}

    /// Metrics of the design and their values. For a counter, which starts when the device is created, a run
    /// reports the increase during the run; for other metrics, the final value.
    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        Vec::new()
    }

    /// Charts for the report of a run, each with its current points.
    fn charts(&self) -> Vec<ChartData> {
        Vec::new()
    }
}
