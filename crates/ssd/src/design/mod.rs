//! A design: one object that answers several questions of a device, and is told what happens in it.
//!
//! A device asks its policies, each of which answers one question ([`policy`](crate::policy)). A design answers some of these
//! questions itself, so that what it knows need not be shared. It [says once](Design::needs) what it answers and what it observes;
//! a table says from then on which one to ask in which pool. Questions that no design answers go to the policies.
//!
//! A design looks at a [`View`] and answers; the mechanism checks the answer. One that is not allowed is a [`WrongAnswer`].

mod ask;
mod gathered;
mod seam;
mod suspending;
mod table;
mod view;
mod wrong;

use wordline_kernel::chart::Drawn;
use wordline_kernel::metrics::Value;
use wordline_kernel::snapshot::State;
use wordline_kernel::{Bytes, Duration, Metric};
use wordline_nand::{BlockSetId, CellMode, Outcome, Parameters, RowId};

use crate::policy::background::Resting;
use crate::policy::balancer::Waiting;
use crate::policy::failure::{After, Failure};
use crate::policy::frontier::OpenBlock;
use crate::policy::placement::RowSet;
use crate::policy::relocator::{Elsewhere, Leaving};
use crate::policy::router::Outgoing;
use crate::policy::tuner::{ReadOutcome, ReadParameters, SensedPage};
use crate::policy::victim::{Candidates, Indexes};

pub use crate::policy::demands::Demands;
pub use crate::policy::seen::{Level, Observes, Seen, Writes};
pub use crate::policy::tuner::ProgrammedPage;
pub use crate::space::{SuspendedBlocks, WordLineFacts};
pub use gathered::Gathered;
pub use seam::{Seam, Seams};
pub use table::Combination;
pub(crate) use table::{Designs, Unasked};
pub(crate) use view::Sight;
pub use view::{BlockFacts, View};
pub use wrong::WrongAnswer;

/// A write stream of the host or of the collector: a write point in each row of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteStream {
    /// Its name.
    pub name: &'static str,
    /// The pool that it is in.
    pub pool: u8,
    /// The mode in which its blocks are opened. Blocks are opened in another mode than the native one up to the share of each row for it
    /// (`ftl.slc_cache` and `ftl.two_bit` in the first pool, the keys of `pools` in another); beyond that they are native. A stream of the
    /// host in the mode [`CellMode::Reprogrammed`] has blocks in the two-bit mode, of which each word line may be programmed again so
    /// often.
    pub mode: CellMode,
    /// Blocks that it may have suspended at once in each row, if its design answers [`Seam::Frontier`] there. Room is kept for all of
    /// them: they count among the blocks at work, which `ftl.over_provisioning` has to leave.
    pub suspended: u16,
}

impl WriteStream {
    /// One in native blocks.
    pub const fn native(name: &'static str, pool: u8) -> Self {
        Self { name, pool, mode: CellMode::Native, suspended: 0 }
    }

    /// The same, with so many blocks of a row suspended at once.
    #[must_use]
    pub const fn suspending(self, suspended: u16) -> Self {
        Self { suspended, ..self }
    }

    /// Whether its blocks are opened in a mode.
    pub fn is_in(&self, mode: CellMode) -> bool {
        self.mode.of_block() == mode
    }

    /// How often a word line of its blocks may be programmed again.
    pub fn again(&self) -> u8 {
        match self.mode {
            CellMode::Reprogrammed(times) => times,
            _ => 0,
        }
    }
}

/// The questions that a design answers, the events that it observes, and its requirements on the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// The questions that it answers.
    pub answers: Seams,
    /// The events that it observes.
    pub observes: Observes,
    /// The host's streams that it tells apart; it answers [`Seam::Stream`] with the number of one of those of the pool.
    pub streams: Vec<WriteStream>,
    /// The collector's streams that it tells apart, up to 16 in a pool and at least one in all, if it answers [`Seam::Relocate`]: it answers
    /// with the number of one of those of the pool. One that is native comes first. A pool of which none is named has a native one.
    pub collector_streams: Vec<WriteStream>,
    /// The orders in which candidates are kept for it, if it answers [`Seam::Victim`].
    pub indexes: Indexes,
    /// Blocks that a stream of a row has open at once, from 1 to 8, if it answers [`Seam::Frontier`].
    pub open_blocks: u8,
}

impl Needs {
    /// It answers these questions, and needs nothing else.
    pub fn of(answers: &[Seam]) -> Self {
        Self {
            answers: Seams::of(answers),
            observes: Observes::NOTHING,
            streams: Vec::new(),
            collector_streams: Vec::new(),
            indexes: Indexes::default(),
            open_blocks: 1,
        }
    }
}

/// Pages that wait for the first of several pools and could be taken to another one.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// The first logical page of their unit.
    pub logical: u32,
    /// How many pages of it.
    pub pages: u32,
}

/// A design. Each question has a default, as none is asked that the design does not [say](Self::needs) that it answers; and each
/// comes with a [`View`].
pub trait Design: State + Send {
    /// Its name, as a configuration has it.
    fn name(&self) -> &'static str;

    /// Its questions, events and requirements. Called once, when the device is made.
    fn needs(&self) -> Needs;

    /// [`Seam::Pool`]: the pool that what leaves the buffer goes to, from 0 to one below their number.
    fn pool(&mut self, _written: &Outgoing<'_>, _view: &mut View<'_>) -> u8 {
        0
    }

    /// The size from which on what was written of a unit goes to the first of several pools, if sizes decide. For reports.
    fn least_of_first(&self) -> Option<Bytes> {
        None
    }

    /// [`Seam::Coalesce`]: whether the pages of a unit that wait in the buffer leave it now. Asked when the host has written one of them
    /// that may wait; it leaves then, with those that [leave with it](Self::leaves_with). A page that stays leaves when the buffer is
    /// too full, or is flushed.
    fn leaves_now(&mut self, _unit: &Gathered<'_>, _view: &mut View<'_>) -> bool {
        false
    }

    /// [`Seam::Coalesce`]: whether the page `other`, which waits in the buffer, leaves it with `page` of the same unit. With several
    /// pools, pages that leave while others of their unit are being programmed wait until that is over, and then go together.
    fn leaves_with(&mut self, _page: u32, _other: u32, _view: &mut View<'_>) -> bool {
        true
    }

    /// [`Seam::Coalesce`], where the first of several pools is mapped by whole units: whether `page`, which is in another pool, is read
    /// and programmed with what of its unit goes to the first, or stays where it is. Pages in the first pool always go along.
    fn goes_along(&mut self, _page: u32, _view: &mut View<'_>) -> bool {
        true
    }

    /// [`Seam::Stream`]: which of its streams of `pool` a page goes to, counted from 0 within the pool.
    fn stream(&mut self, _written: &Outgoing<'_>, _pool: u8, _view: &mut View<'_>) -> u8 {
        0
    }

    /// [`Seam::Frontier`]: which of several open blocks of a stream is programmed next. The one that was opened first comes first. There
    /// are as many as it [needs](Needs::open_blocks), or fewer where a row has no more free blocks than are kept for the collector.
    fn open_block(&mut self, _open: &[OpenBlock<'_>], _view: &mut View<'_>) -> usize {
        0
    }

    /// [`Seam::Frontier`]: a word line of that open block that is not programmed, or one that can be [programmed
    /// again](OpenBlock::again), of which the program replaces a page. Where some can be, it may be asked more than once for a program.
    fn word_line(&mut self, open: &OpenBlock<'_>, _view: &mut View<'_>) -> u32 {
        open.next_word_line()
    }

    /// [`Seam::Frontier`]: one of these open blocks of a stream to be set aside before it is full; none if they stay open. Of the one that is
    /// named, at least one word line is programmed. Asked before each word line while the stream [may suspend](WriteStream::suspended)
    /// another block, and more blocks are free than those kept for the collector; not while another block would be opened in another mode.
    /// If it was the only open one, another one is opened.
    fn suspends(
        &mut self,
        _open: &[OpenBlock<'_>],
        _suspended: &SuspendedBlocks<'_>,
        _view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        None
    }

    /// [`Seam::Frontier`], where word lines of the stream's blocks are programmed again: one of these suspended blocks to be vacated; none if
    /// they are left as they are. Its valid pages are read, those of its last super layer first, and programmed with pages of the host that go
    /// to the first stream of the pool, so that its word lines can be programmed again without an erase, and it holds nothing soon. A page of
    /// this stream that has no place to replace another goes there with them, too. Asked before each word line that is not programmed, while
    /// the stream has suspended blocks and none of the row is being vacated.
    fn vacates(
        &mut self,
        _open: &[OpenBlock<'_>],
        _suspended: &SuspendedBlocks<'_>,
        _view: &mut View<'_>,
    ) -> Option<BlockSetId> {
        None
    }

    /// [`Seam::Frontier`]: one of these suspended blocks of a stream to be opened again in place of a free one; none if a free one is
    /// opened. Asked whenever the stream wants a block and has suspended ones, of which those are shown that are in the mode in which a free
    /// one would be opened.
    fn resumes(&mut self, _suspended: &SuspendedBlocks<'_>, _view: &mut View<'_>) -> Option<BlockSetId> {
        None
    }

    /// [`Seam::Place`]: one of the rows that take a program unit, of which there is at least one; all are of one pool.
    fn place(&mut self, rows: &RowSet, _view: &mut View<'_>) -> RowId {
        rows.next_from(RowId(0)).unwrap_or(RowId(0))
    }

    /// [`Seam::Victim`]: one of the candidates of a row, which are closed and hold at least one invalid page, or
    /// [suspended](Candidates::suspended); `None` when there are none. Where super blocks are cleaned these are the candidates, and the row is 0.
    fn victim(&mut self, from: Candidates<'_>, _row: RowId, _view: &mut View<'_>) -> Option<BlockSetId> {
        from.fewest_valid()
    }

    /// [`Seam::Relocate`]: which of its streams of the collector in `pool` a valid page of a victim there goes to, counted from 0 within the
    /// pool. Pages of a block in another mode go to the first where one that is not native is named: cleaning has to gain space.
    fn relocate(&mut self, _page: &Leaving, _pool: u8, _view: &mut View<'_>) -> u8 {
        0
    }

    /// [`Seam::Relocate`], with several pools: the pool and the stream that a valid page of a victim of `pool` goes to alone; `None` if it
    /// stays in its pool, where [`relocate`](Self::relocate) says the stream. Asked for each page that was read, but in a pool of whole
    /// units. It leaves with a program unit of such pages, and stays where the other pool has no room for that when the victim has to be
    /// erased.
    fn moves_to(&mut self, _page: &Leaving, _pool: u8, _view: &mut View<'_>) -> Option<Elsewhere> {
        None
    }

    /// [`Seam::Relocate`]: whether the valid pages of a victim of `pool`, which is not the first of several, go to the first. Asked
    /// once for each victim; pages go there with the others of their unit, in one program ([`goes_along`](Self::goes_along)).
    fn leaves(&mut self, _victim: BlockSetId, _pool: usize, _view: &mut View<'_>) -> bool {
        false
    }

    /// [`Seam::Balance`], where pages have homes: the row from which `idle` takes a program unit. The die of `idle` has nothing to do, and
    /// nothing waits for that row.
    fn take(&mut self, _idle: RowId, _waiting: &Waiting<'_>, _view: &mut View<'_>) -> Option<RowId> {
        None
    }

    /// [`Seam::Balance`], with several pools: which of the sub-requests that wait for the first pool goes to pool `to` instead, where a
    /// die is idle. The oldest comes first; `None` if none goes there. Every other pool with an idle die is asked about in turn.
    fn steal(&mut self, _waiting: &[Waits], _to: usize, _view: &mut View<'_>) -> Option<usize> {
        None
    }

    /// [`Seam::Background`]: how long the host must have been idle; `None` if nothing is ever done then.
    fn rests_after(&self) -> Option<Duration> {
        None
    }

    /// [`Seam::Background`]: how many free blocks a row is to have while the host is idle.
    fn free_blocks(&mut self, _row: &Resting, _view: &mut View<'_>) -> u32 {
        0
    }

    /// [`Seam::Background`]: how many blocks of a row stay in the SLC cache while the host is idle.
    fn cached_blocks(&mut self, row: &Resting, _view: &mut View<'_>) -> u32 {
        row.cached_blocks
    }

    /// [`Seam::Tune`]: the read levels that a page is sensed with at first. It may be asked more than once for a read, and while
    /// the queue of the die is being changed: there is no view.
    fn read_parameters(&self, _page: &SensedPage) -> ReadParameters {
        ReadParameters { level: 0 }
    }

    /// [`Seam::Tune`]: the levels that a page is sensed with again, when it could not be read so far.
    fn read_again(&self, page: &SensedPage, so_far: &ReadOutcome) -> ReadParameters {
        ReadParameters::next(page, so_far)
    }

    /// [`Seam::Tune`]: a page was read, or given up.
    fn read_over(&mut self, _page: &SensedPage, _outcome: &ReadOutcome) {}

    /// [`Seam::Tune`]: the parameters of a program as its die begins it. How it went is told by [`Seen::Programmed`], with its
    /// outcome where the parameters ask for one.
    fn program_parameters(&self, _page: &ProgrammedPage) -> Parameters {
        Parameters::DATA_SHEET
    }

    /// [`Seam::Tune`]: whether the outcome of a program is accepted, where its parameters asked for one. If not, what the
    /// program wrote is given up, and its pages are written elsewhere, as after a program that failed. [`Seam::Fail`] is asked about the
    /// block, which by default is written on.
    fn accepts(&self, _page: &ProgrammedPage, _outcome: &Outcome) -> bool {
        true
    }

    /// [`Seam::Fail`]: what is done about a block in which something failed.
    fn failed(&mut self, _failure: &Failure, _view: &mut View<'_>) -> After {
        After::Retire
    }

    /// Something happened that it [observes](Needs::observes).
    fn observe(&mut self, _seen: &Seen<'_>, _view: &mut View<'_>) {}

    /// Its own metrics and what they say. Of a count, which goes on from when the device was made, a run reports what was added during
    /// the run; of another number, what it is in the end.
    fn measure(&self) -> Vec<(&'static Metric, Value)> {
        Vec::new()
    }

    /// Charts for the report of a run, each with its points as of now.
    fn charts(&self) -> Vec<Drawn> {
        Vec::new()
    }
}
