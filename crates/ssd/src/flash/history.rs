//! The recent commands of each die, kept while latencies are explained: what a task waited behind.

use serde::Serialize;
use wordline_kernel::{Column, Duration, Instant};
use wordline_nand::{BlockSetId, DieId, Operation, PageId, Pools};

use super::queue::Queues;
use super::task::Task;
use super::ticket::{Purpose, Ticket};
use crate::command::RequestId;

/// How many kinds of work there are.
pub(crate) const WORKS: usize = DieWork::ALL.len();

/// Commands that are kept of a die. Chosen: 24 KiB, and more commands than ever wait for one die on the presets.
const KEPT: usize = 1024;

/// The kind of a die's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum DieWork {
    /// A read of the host.
    HostRead,
    /// The program of what the host wrote.
    HostProgram,
    /// A read of the rest of a page that the host wrote in part, or of the rest of a unit that is programmed as a whole.
    FillRead,
    /// A read before the host wants it.
    Prefetch,
    /// A read of the map.
    MapRead,
    /// A program of the map.
    MapProgram,
    /// A read of the collector, which wants free blocks.
    CleaningRead,
    /// A program or a copyback of the collector.
    CleaningProgram,
    /// A read of a block of the SLC cache that is folded.
    FoldingRead,
    /// A program of what is folded.
    FoldingProgram,
    /// A read for wear levelling.
    LevellingRead,
    /// A program or a copyback for wear levelling.
    LevellingProgram,
    /// A read of pages that leave a block that failed or is vacated, or their pool.
    VacatingRead,
    /// A program or a copyback of such pages.
    VacatingProgram,
    /// An erase.
    Erase,
    /// A read of the scan after a power cut.
    Scan,
}

impl DieWork {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 16] = [
        Self::HostRead,
        Self::HostProgram,
        Self::FillRead,
        Self::Prefetch,
        Self::MapRead,
        Self::MapProgram,
        Self::CleaningRead,
        Self::CleaningProgram,
        Self::FoldingRead,
        Self::FoldingProgram,
        Self::LevellingRead,
        Self::LevellingProgram,
        Self::VacatingRead,
        Self::VacatingProgram,
        Self::Erase,
        Self::Scan,
    ];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        [
            "host_read",
            "host_program",
            "rmw_read",
            "prefetch",
            "map_read",
            "map_program",
            "cleaning_read",
            "cleaning_program",
            "folding_read",
            "folding_program",
            "levelling_read",
            "levelling_program",
            "vacating_read",
            "vacating_program",
            "erase",
            "scan",
        ][self as usize]
    }

    /// The kind of a task.
    fn of(task: &Task) -> Self {
        let is_read = task.operation == Operation::Read;
        match task.ticket {
            _ if task.operation == Operation::Erase => Self::Erase,
            Ticket::Request(_) if is_read => Self::HostRead,
            Ticket::Request(_) | Ticket::HostUnit(_) => Self::HostProgram,
            Ticket::Fill(_) | Ticket::UnitFill(_) => Self::FillRead,
            Ticket::Prefetch(_) => Self::Prefetch,
            Ticket::Table(_) => Self::MapRead,
            Ticket::TableUnit(_) => Self::MapProgram,
            Ticket::Reclaim(_, purpose) => match (purpose, is_read) {
                (Purpose::Cleaning, true) => Self::CleaningRead,
                (Purpose::Cleaning, false) => Self::CleaningProgram,
                (Purpose::Folding, true) => Self::FoldingRead,
                (Purpose::Folding, false) => Self::FoldingProgram,
                (Purpose::Levelling, true) => Self::LevellingRead,
                (Purpose::Levelling, false) => Self::LevellingProgram,
                (Purpose::Vacating, true) => Self::VacatingRead,
                (Purpose::Vacating, false) => Self::VacatingProgram,
            },
            Ticket::Scan(_) => Self::Scan,
        }
    }
}

/// Times of dies by their work.
pub type ByWork = [Duration; WORKS];

/// A time in which a die worked on one command; one that is suspended has several.
#[derive(Clone, Copy, Debug)]
struct Stint {
    from: Instant,
    to: Instant,
    page: PageId,
    planes: u8,
    work: DieWork,
}

impl Stint {
    fn is_of(&self, work: DieWork, page: PageId) -> bool {
        self.work == work && page.0.wrapping_sub(self.page.0) < u32::from(self.planes).max(1)
    }
}

/// The recent commands of a die.
#[derive(Clone, Debug)]
struct Recent {
    /// When it took its present command, or resumed it.
    began: Instant,
    /// How many it has worked on; the last ones are kept, the first of all at the first place.
    count: usize,
    stints: Box<[Stint; KEPT]>,
}

impl Recent {
    const NONE: Stint =
        Stint { from: Instant::ZERO, to: Instant::ZERO, page: PageId(0), planes: 0, work: DieWork::Scan };

    #[inline]
    fn push(&mut self, stint: Stint) {
        self.stints[self.count % KEPT] = stint;
        self.count += 1;
    }

    /// Those that are kept, the last one first.
    fn back(&self) -> impl Iterator<Item = &Stint> {
        let kept = self.count.saturating_sub(KEPT)..self.count;
        kept.rev().map(|n| &self.stints[n % KEPT])
    }
}

/// The recent commands of all dies.
#[derive(Clone, Debug)]
pub(super) struct History {
    dies: Column<DieId, Recent>,
    done: ByWork,
    /// Every command from some time on; none where they are not recorded.
    recorded: Option<Vec<DieCommand>>,
}

/// A command of a die as a time line shows it; one that is suspended is several.
#[derive(Clone, Debug, PartialEq)]
pub struct DieCommand {
    /// The die.
    pub die: DieId,
    /// When the die began to work on it, the wait for its bus among that.
    pub from: Instant,
    /// When the die was done with it, or suspended it.
    pub to: Instant,
    /// Its kind.
    pub work: DieWork,
    /// The channel of the die.
    pub channel: u32,
    /// The block of its first page, one of each plane.
    pub block: BlockSetId,
    /// Planes that took part.
    pub planes: u8,
    /// The requests that it reads for.
    pub requests: Vec<RequestId>,
}

/// A task for a request that is over, as far as its wait has to be explained.
#[derive(Clone, Copy, Debug)]
pub struct Waited {
    die: DieId,
    page: PageId,
    queued: Instant,
    is_read: bool,
    was_tried: bool,
}

/// The commands that a task waited behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Behind {
    /// The die.
    pub die: DieId,
    /// How long it was at each kind of work meanwhile.
    pub by_work: ByWork,
    /// The longest command of these: its work, its block, and its time.
    pub longest: Option<(DieWork, BlockSetId, Duration)>,
}

impl Waited {
    /// The wait of a task of this die.
    #[inline]
    pub fn of(die: DieId, task: &Task) -> Self {
        let is_read = task.operation == Operation::Read;
        Self { die, page: task.page, queued: task.queued, is_read, was_tried: task.tries > 0 }
    }

    /// When the task was queued.
    pub fn queued(&self) -> Instant {
        self.queued
    }
}

impl History {
    /// Nothing yet, of so many dies.
    pub fn new(dies: u32) -> Self {
        let recent = |_| Recent { began: Instant::ZERO, count: 0, stints: Box::new([Recent::NONE; KEPT]) };
        Self { dies: Column::from_fn(dies as usize, recent), done: ByWork::default(), recorded: None }
    }

    /// A die takes a command, or resumes one.
    #[inline]
    pub fn begin(&mut self, die: DieId, now: Instant) {
        self.dies[die].began = now;
    }

    /// A die is done with a command, or suspends it: the first of its tasks, and how many planes take part.
    #[inline]
    pub fn end(&mut self, die: DieId, now: Instant, (queues, pools): (&Queues, &Pools), planes: u32) {
        let task = queues.current(die);
        let work = DieWork::of(task);
        let recent = &mut self.dies[die];
        let from = recent.began;
        self.done[work as usize] += now - from;
        recent.push(Stint { from, to: now, page: task.page, planes: planes as u8, work });
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

    /// Records every command from now on, or none any more.
    pub fn record(&mut self, on: bool) {
        self.recorded = on.then(Vec::new);
    }

    /// The commands recorded so far, in the order of their ends.
    pub fn take_recorded(&mut self) -> Vec<DieCommand> {
        self.recorded.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The time of all dies by their work, of commands that are over.
    pub fn done(&self) -> &ByWork {
        &self.done
    }

    /// The commands that a task waited behind that is over; none where its command is not kept any more.
    pub fn behind(&self, waited: &Waited, pools: &Pools) -> Behind {
        let Waited { die, queued, page, is_read, was_tried } = *waited;
        let work = if is_read { DieWork::HostRead } else { DieWork::HostProgram };
        let mut behind = Behind { die, by_work: ByWork::default(), longest: None };
        let mut stints = self.dies[die].back();
        let Some(own) = stints.find(|stint| stint.is_of(work, page)) else { return behind };
        let mut until = own.from;
        for stint in stints.take_while(|stint| stint.to > queued) {
            // Other commands that work on its page are its own where it was tried before, or may have been suspended.
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

    /// Forgets all commands, as when the power is cut.
    pub fn forget(&mut self) {
        self.dies.iter_mut().for_each(|recent| recent.count = 0);
    }
}
