//! Recent commands of each die, for tail attribution: the commands for which a task waited.

use serde::Serialize;
use wordline_kernel::{Column, Duration, Instant};
use wordline_nand::{BlockSetId, DieId, Operation, PageId, Pools, Span};

use super::queue::Queues;
use super::task::Task;
use super::ticket::{Purpose, RequestId, Ticket};

/// Number of kinds of work.
pub const WORKS: usize = DieWork::ALL.len();

/// Commands kept for each die. Chosen: they take 24 KiB, and exceed the longest wait for one die on the
/// presets.
const KEPT: usize = 1024;

/// Kind of work that a die does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum DieWork {
    /// A host read.
    HostRead,
    /// A program of host data.
    HostProgram,
    /// An RMW read: of the rest of a page that the host wrote in part, or of the rest of a unit that is
    /// programmed as a whole.
    FillRead,
    /// A read-ahead.
    Prefetch,
    /// A read of the L2P map.
    MapRead,
    /// A program of the L2P map.
    MapProgram,
    /// A read of GC that gains free blocks.
    GcRead,
    /// A program or copyback of GC that gains free blocks.
    GcProgram,
    /// A read of an SLC-cache block that is folded.
    FoldingRead,
    /// A program of folded data.
    FoldingProgram,
    /// A read for wear levelling.
    LevellingRead,
    /// A program or copyback for wear levelling.
    LevellingProgram,
    /// A read of pages that must leave a failed or reclaimed block, or their pool.
    ReclaimRead,
    /// A program or copyback of such pages.
    ReclaimProgram,
    /// An erase.
    Erase,
    /// A read of the recovery scan after a power cut.
    Scan,
}

impl DieWork {
    /// All kinds of work, in the order of their numbers.
    pub const ALL: [Self; 16] = [
        Self::HostRead,
        Self::HostProgram,
        Self::FillRead,
        Self::Prefetch,
        Self::MapRead,
        Self::MapProgram,
        Self::GcRead,
        Self::GcProgram,
        Self::FoldingRead,
        Self::FoldingProgram,
        Self::LevellingRead,
        Self::LevellingProgram,
        Self::ReclaimRead,
        Self::ReclaimProgram,
        Self::Erase,
        Self::Scan,
    ];

    /// Name in results.
    pub fn name(self) -> &'static str {
        [
            "host_read",
            "host_program",
            "rmw_read",
            "prefetch",
            "map_read",
            "map_program",
            "gc_read",
            "gc_program",
            "folding_read",
            "folding_program",
            "levelling_read",
            "levelling_program",
            "reclaim_read",
            "reclaim_program",
            "erase",
            "scan",
        ][self as usize]
    }

    /// Kind of work of a task.
    #[inline]
    fn of(task: &Task) -> Self {
        let is_read = task.operation == Operation::Read;
        match task.ticket {
            _ if task.operation == Operation::Erase => Self::Erase,
            Ticket::Request(_) if is_read => Self::HostRead,
            Ticket::Request(_) | Ticket::HostUnit(_) => Self::HostProgram,
            Ticket::Rmw(_) | Ticket::UnitRmw(_) => Self::FillRead,
            Ticket::Prefetch(_) => Self::Prefetch,
            Ticket::Table(_) | Ticket::Guess(_) => Self::MapRead,
            Ticket::TableUnit(_) => Self::MapProgram,
            Ticket::Gc(_, purpose) => match (purpose, is_read) {
                (Purpose::Collecting, true) => Self::GcRead,
                (Purpose::Collecting, false) => Self::GcProgram,
                (Purpose::Folding, true) => Self::FoldingRead,
                (Purpose::Folding, false) => Self::FoldingProgram,
                (Purpose::Levelling, true) => Self::LevellingRead,
                (Purpose::Levelling, false) => Self::LevellingProgram,
                (Purpose::Reclaiming, true) => Self::ReclaimRead,
                (Purpose::Reclaiming, false) => Self::ReclaimProgram,
            },
            Ticket::Scan(_) => Self::Scan,
        }
    }
}

/// Time of dies at each kind of work.
pub type WorkTimes = [Duration; WORKS];

/// An interval in which a die worked on one command. A suspended command has several intervals.
#[derive(Clone, Copy, Debug)]
struct WorkInterval {
    from: Instant,
    to: Instant,
    page: PageId,
    planes: u8,
    /// Kind of work of the first task, and a bit for the kind of each task.
    work: DieWork,
    works: u16,
}

impl WorkInterval {
    fn is_of(&self, work: DieWork, page: PageId) -> bool {
        self.works >> work as u32 & 1 != 0 && page.0.wrapping_sub(self.page.0) < u32::from(self.planes).max(1)
    }
}

/// The recent commands of a die.
#[derive(Clone, Debug)]
struct RecentWork {
    /// When the die took or resumed its current command.
    began: Instant,
    /// Number of intervals so far. The last ones are kept in a ring.
    count: usize,
    stints: Box<[WorkInterval; KEPT]>,
}

impl RecentWork {
    const NONE: WorkInterval = WorkInterval {
        from: Instant::ZERO,
        to: Instant::ZERO,
        page: PageId(0),
        planes: 0,
        work: DieWork::Scan,
        works: 0,
    };

    #[inline]
    fn push(&mut self, stint: WorkInterval) {
        self.stints[self.count % KEPT] = stint;
        self.count += 1;
    }

    /// The kept intervals, latest first.
    fn back(&self) -> impl Iterator<Item = &WorkInterval> {
        let kept = self.count.saturating_sub(KEPT)..self.count;
        kept.rev().map(|n| &self.stints[n % KEPT])
    }
}

/// The recent commands of all dies.
#[derive(Clone, Debug)]
pub(super) struct History {
    dies: Column<DieId, RecentWork>,
    done: WorkTimes,
    /// Every interval since recording began; `None` without recording.
    recorded: Option<Vec<DieCommand>>,
}

/// A command of a die, for a time line. A suspended command appears once for each interval.
#[derive(Clone, Debug, PartialEq)]
pub struct DieCommand {
    /// The die.
    pub die: DieId,
    /// When the die began or resumed the command. The wait for its bus comes after this.
    pub from: Instant,
    /// When the die finished or suspended the command.
    pub to: Instant,
    /// Kind of work of the command.
    pub work: DieWork,
    /// The channel of the die.
    pub channel: u32,
    /// Multi-plane block of its first page.
    pub block: BlockSetId,
    /// Number of planes that take part.
    pub planes: u8,
    /// Requests for which the command reads.
    pub requests: Vec<RequestId>,
}

/// Channels and dies of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracks {
    /// Number of channels.
    pub channels: u32,
    /// Number of dies.
    pub dies: u32,
}

/// Work of the flash since the last query.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Completed die commands, in the order of their ends.
    pub commands: Vec<DieCommand>,
    /// Stages of commands in the order of their starts, each with the channel of its die.
    pub stages: Vec<(Span, u32)>,
    /// Channels and dies.
    pub tracks: Tracks,
}

/// An ended task of a request, with the data that tail attribution needs.
#[derive(Clone, Copy, Debug)]
pub struct TaskWait {
    die: DieId,
    page: PageId,
    queued: Instant,
    is_read: bool,
    was_tried: bool,
}

/// Commands for which a task waited.
#[derive(Clone, Debug, PartialEq)]
pub struct Behind {
    /// The die.
    pub die: DieId,
    /// Time of the wait that the die spent at each kind of work.
    pub by_work: WorkTimes,
    /// Kind of work, block and time of the longest of these commands.
    pub longest: Option<(DieWork, BlockSetId, Duration)>,
}

impl TaskWait {
    /// The wait of a task at this die.
    #[inline]
    pub fn of(die: DieId, task: &Task) -> Self {
        let is_read = task.operation == Operation::Read;
        Self { die, page: task.page, queued: task.queued, is_read, was_tried: task.tries > 0 }
    }

    /// When the task was queued.
    #[inline]
    pub fn queued(&self) -> Instant {
        self.queued
    }
}

impl History {
    /// An empty history of this many dies.
    pub fn new(dies: u32) -> Self {
        let recent =
            |_| RecentWork { began: Instant::ZERO, count: 0, stints: Box::new([RecentWork::NONE; KEPT]) };
        Self { dies: Column::from_fn(dies as usize, recent), done: WorkTimes::default(), recorded: None }
    }

    /// Records that a die takes or resumes a command.
    #[inline]
    pub fn begin(&mut self, die: DieId, now: Instant) {
        self.dies[die].began = now;
    }

    /// Records that a die finishes or suspends a command on this many planes. The die's current chain has the
    /// command's tasks.
    #[inline]
    pub fn end(&mut self, die: DieId, now: Instant, (queues, pools): (&Queues, &Pools), planes: u32) {
        let task = queues.current(die);
        let (page, work) = (task.page, DieWork::of(task));
        let mut works = 1 << work as u32;
        if task.next_in_chain().is_some() {
            queues.each_current(die, |task| works |= 1 << DieWork::of(task) as u32);
        }
        let recent = &mut self.dies[die];
        let from = recent.began;
        self.done[work as usize] += now - from;
        recent.push(WorkInterval { from, to: now, page, planes: planes as u8, work, works });
        if self.recorded.is_some() {
            self.record_command(die, (from, now), (queues, pools), planes as u8);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_command(
        &mut self,
        die: DieId,
        (from, to): (Instant, Instant),
        (queues, pools): (&Queues, &Pools),
        planes: u8,
    ) {
        let task = queues.current(die);
        let mut requests = Vec::new();
        queues.each_current(die, |task| {
            if let Ticket::Request(id) = task.ticket {
                requests.push(id);
            }
        });
        let (channel, block) = (pools.of_die(die).geometry.channel_of(die).0, pools.block_of_page(task.page));
        let work = DieWork::of(task);
        let command = DieCommand { die, from, to, work, channel, block, planes, requests };
        self.recorded.get_or_insert_default().push(command);
    }

    /// Starts or stops recording every command.
    pub fn record(&mut self, on: bool) {
        self.recorded = on.then(Vec::new);
    }

    /// Takes the commands recorded so far, in the order of their ends.
    pub fn take_recorded(&mut self) -> Vec<DieCommand> {
        self.recorded.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Time of all dies at each kind of work, for commands that have ended.
    pub fn done(&self) -> &WorkTimes {
        &self.done
    }

    /// The commands for which an ended task waited; empty if the task's own command is not kept any more.
    pub fn behind(&self, waited: &TaskWait, pools: &Pools) -> Behind {
        let TaskWait { die, queued, page, is_read, was_tried } = *waited;
        let work = if is_read { DieWork::HostRead } else { DieWork::HostProgram };
        let mut behind = Behind { die, by_work: WorkTimes::default(), longest: None };
        let mut stints = self.dies[die].back();
        let Some(own) = stints.find(|stint| stint.is_of(work, page)) else { return behind };
        let mut until = own.from;
        for stint in stints.take_while(|stint| stint.to > queued) {
            // If the task was retried or may have been suspended, other commands on its page are its own.
            if (was_tried || !is_read) && stint.is_of(work, page) {
                continue;
            }
            let time = stint.to.min(until).since(stint.from.max(queued));
            until = stint.from.min(until);
            behind.by_work[stint.work as usize] += time;
            if behind.longest.is_none_or(|(.., longest)| time > longest) {
                behind.longest = Some((stint.work, pools.block_of_page(stint.page), time));
            }
        }
        behind
    }

    /// Drops all commands after a power cut.
    pub fn forget(&mut self) {
        self.dies.iter_mut().for_each(|recent| recent.count = 0);
    }
}
