//! The queues of the dies: tasks that wait for their die, and which of them is next.
//!
//! The order is set by [`SchedulingFile`]. By default reads go before programs and erases, but not more than so
//! many of them while one of those waits; the others go in the order in which they came. Each die has three lists, one
//! for each rank; which rank a class has is worked out once. A task that becomes urgent while it waits is `promoted`.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Column, Duration, Id, Instant, state};
use wordline_nand::{DieId, Operation};

use super::task::{NO_TASK, Task, TaskId};
use super::ticket::{Class, Ticket};
use crate::scheduling::{DEADLINE, GcPriority, SchedulingFile};

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct List {
    first: TaskId,
    last: TaskId,
}

const EMPTY: List = List { first: NO_TASK, last: NO_TASK };

/// The tasks that wait for a die, and those that it works on.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct DieQueue {
    /// By rank, and a bit for each rank at which something waits.
    lists: [List; RANKS],
    waiting: u8,
    /// Reads that overtook what waits or is suspended.
    in_a_row: u32,
    /// The chains that the die works on, and that is suspended meanwhile.
    current: TaskId,
    suspended: TaskId,
    /// Time that the die was cleaning, in picoseconds, and since when it does.
    cleaned_ps: u64,
    cleaning_since: Option<Instant>,
    /// Background reads, waiting or not.
    behind: u32,
}

impl List {
    /// Takes the first task, and the reads of the host that can go with it.
    #[inline(never)]
    fn take(&mut self, pool: &mut [Task], merge: impl Fn(&Task, &Task) -> bool) {
        let (mut last, mut next) = (self.first, pool[self.first.index()].next);
        while next != NO_TASK {
            let (before, after) = (&pool[last.index()], &pool[next.index()]);
            if !(before.merges() && after.merges() && merge(before, after)) {
                pool[last.index()].next = NO_TASK;
                self.first = next;
                return;
            }
            (last, next) = (next, after.next);
        }
        *self = EMPTY;
    }
}

impl DieQueue {
    /// The next task other than a prioritised read: its rank, and the task.
    #[inline]
    fn first_of_others(&self, pool: &[Task], rules: &Rules, now: Instant) -> (usize, TaskId) {
        let [_, List { first, .. }, List { first: second, .. }] = self.lists;
        if first == NO_TASK {
            return (SECOND, second);
        }
        let is_overdue = second != NO_TASK && {
            let [first, second] = [first, second].map(|id| &pool[id.index()]);
            now - second.queued >= rules.deadline && second.queued < first.queued
        };
        if is_overdue { (SECOND, second) } else { (FIRST, first) }
    }

    /// The rank that goes next, where others than reads that go first may wait. `overdue` counts what goes before others because it has
    /// waited as long as it may.
    fn choose(&mut self, pool: &[Task], rules: &Rules, now: Instant, overdue: &mut u64) -> Option<usize> {
        let (rank, waits) = match self.suspended {
            NO_TASK => self.first_of_others(pool, rules, now),
            suspended => (SECOND, suspended),
        };
        let read_waits = self.waiting & 1 << READS != 0;
        let may_overtake = waits == NO_TASK || self.in_a_row < rules.reads_in_a_row;
        let is_aged = waits != NO_TASK && rules.is_aged(&pool[waits.index()], now);
        if read_waits && may_overtake && !is_aged {
            self.in_a_row = if waits == NO_TASK { 0 } else { self.in_a_row + 1 };
            Some(READS)
        } else if waits != NO_TASK && self.suspended == NO_TASK {
            self.in_a_row = 0;
            let goes_before_first = rank == SECOND && self.lists[FIRST].first != NO_TASK;
            *overdue += u64::from(goes_before_first || read_waits && may_overtake && is_aged);
            Some(rank)
        } else {
            None
        }
    }

    /// The die is not cleaning any more.
    #[inline]
    fn cleaning_over(&mut self, now: Instant) {
        if let Some(since) = self.cleaning_since.take() {
            self.cleaned_ps += (now - since).ps();
        }
    }
}

/// The ranks: reads that go first, and two of what has to wait for them.
const READS: usize = 0;
const FIRST: usize = 1;
const SECOND: usize = 2;

/// How many there are.
const RANKS: usize = 3;

/// The configured order, ready for use.
#[derive(Clone, Copy, Debug)]
struct Rules {
    rank_of_reads: usize,
    rank_of_programs: usize,
    rank_of_cleaning: usize,
    reads_in_a_row: u32,
    /// No limit where it is left out.
    age_limit: Option<Duration>,
    /// How long the second rank waits for the first.
    deadline: Duration,
    suspend_programs: bool,
    suspend_erases: bool,
}

impl Rules {
    fn of(file: &SchedulingFile) -> Self {
        let (rank_of_programs, rank_of_cleaning) = match file.gc_priority {
            GcPriority::Low => (FIRST, SECOND),
            GcPriority::Equal => (FIRST, FIRST),
            GcPriority::High => (SECOND, FIRST),
        };
        let age_limit = (file.age_limit > Duration::ZERO).then_some(file.age_limit);
        Self {
            rank_of_reads: if file.read_priority { READS } else { rank_of_programs },
            rank_of_programs,
            rank_of_cleaning,
            reads_in_a_row: file.reads_in_a_row,
            age_limit,
            deadline: age_limit.unwrap_or(DEADLINE),
            suspend_programs: file.suspend_programs,
            suspend_erases: file.suspend_erases,
        }
    }

    #[inline]
    fn rank_of(&self, class: Class) -> usize {
        match class {
            Class::Read => self.rank_of_reads,
            Class::Write | Class::Background => self.rank_of_programs,
            Class::Reclaim => self.rank_of_cleaning,
        }
    }

    /// Whether a task has waited longer than it may.
    #[inline]
    fn is_aged(&self, task: &Task, now: Instant) -> bool {
        self.age_limit.is_some_and(|limit| now - task.queued >= limit)
    }

    /// Whether a command that does this is suspended for a read.
    fn suspends(&self, operation: Operation) -> bool {
        match operation {
            Operation::Program | Operation::ProgramCache => self.suspend_programs,
            Operation::Erase => self.suspend_erases,
            Operation::Read | Operation::ReadCache { .. } | Operation::Copyback { .. } => false,
        }
    }
}

/// The queues of all dies.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    rules: Rules,
    pool: Vec<Task>,
    free: Vec<TaskId>,
    dies: Column<DieId, DieQueue>,
    /// Dies with background reads, in their order.
    behind: Vec<DieId>,
}

state!(Queues { values { pool, free, dies, behind } fixed { rules } });

impl Queues {
    /// Empty queues for `dies` dies.
    pub fn new(dies: u32, scheduling: &SchedulingFile) -> Self {
        Self::of(Rules::of(scheduling), dies)
    }

    fn of(rules: Rules, dies: u32) -> Self {
        let idle = DieQueue {
            lists: [EMPTY; RANKS],
            waiting: 0,
            in_a_row: 0,
            current: NO_TASK,
            suspended: NO_TASK,
            cleaned_ps: 0,
            cleaning_since: None,
            behind: 0,
        };
        Self {
            rules,
            pool: Vec::with_capacity(1024),
            free: Vec::with_capacity(1024),
            dies: Column::filled(dies as usize, idle),
            behind: Vec::new(),
        }
    }

    /// Queues a task for `die`.
    #[inline]
    pub fn push(&mut self, die: DieId, now: Instant, ticket: Ticket, class: Class) -> &mut Task {
        let cleaning_before = self.cleaning_time(die, now);
        // Where they have the rank of programs, background reads and awaited ones are one class.
        let class = match class {
            Class::Background if self.rules.rank_of_reads == self.rules.rank_of_programs => Class::Read,
            class => class,
        };
        if class == Class::Background {
            self.note_behind(die);
        }
        let id = self.place();
        self.pool[id.index()] = Task { ticket, class, queued: now, cleaning_before, ..Task::NONE };
        self.append(die, self.rules.rank_of(class), id);
        &mut self.pool[id.index()]
    }

    /// Keeps a task of a die that is to be queued later.
    #[inline]
    pub fn keep(&mut self, die: DieId, task: Task) -> TaskId {
        if task.class == Class::Background {
            self.note_behind(die);
        }
        let id = self.place();
        self.pool[id.index()] = task;
        id
    }

    /// A place for a task, which holds another one still.
    #[inline]
    fn place(&mut self) -> TaskId {
        self.free.pop().unwrap_or_else(|| self.grow())
    }

    #[cold]
    fn grow(&mut self) -> TaskId {
        self.pool.push(Task::NONE);
        TaskId(self.pool.len() as u32 - 1)
    }

    /// A task that waits, is kept, or is under way.
    pub fn get(&self, id: TaskId) -> &Task {
        &self.pool[id.index()]
    }

    /// Queues a task that was kept.
    #[inline]
    pub fn queue_kept(&mut self, die: DieId, id: TaskId) {
        let task = &mut self.pool[id.index()];
        task.next = NO_TASK;
        let rank = self.rules.rank_of(task.class);
        self.append(die, rank, id);
    }

    /// A task goes to the end of the list of its rank.
    #[inline]
    fn append(&mut self, die: DieId, rank: usize, id: TaskId) {
        let queue = &mut self.dies[die];
        let list = &mut queue.lists[rank];
        let last = std::mem::replace(&mut list.last, id);
        if last == NO_TASK {
            list.first = id;
            queue.waiting |= 1 << rank;
        } else {
            self.pool[last.index()].next = id;
        }
    }

    /// Whether anything waits for `die`.
    #[inline]
    pub fn has_work(&self, die: DieId) -> bool {
        self.dies[die].waiting != 0
    }

    /// Whether a die is at work on a task.
    pub fn is_at_work(&self, die: DieId) -> bool {
        self.dies[die].current != NO_TASK
    }

    /// Takes the next task of an idle die; `merge` says whether a read of the host can go with the one before it in
    /// one multi-plane command. The chain is remembered as the die's present work. While something is suspended, only
    /// reads that go first are taken. `overdue` counts the tasks that go before others because they have waited as long as they may.
    #[inline]
    pub fn next(
        &mut self,
        die: DieId,
        now: Instant,
        overdue: &mut u64,
        merge: impl Fn(&Task, &Task) -> bool,
    ) -> Option<&Task> {
        let Self { pool, dies, rules, .. } = self;
        let queue = &mut dies[die];
        let rank = match queue.waiting {
            0 => return None,
            // The waiting tasks are of one rank, and overtake nothing.
            alone if alone.is_power_of_two() && queue.suspended == NO_TASK => {
                queue.in_a_row = 0;
                alone.trailing_zeros() as usize
            }
            _ => queue.choose(pool, rules, now, overdue)?,
        };
        let list = &mut queue.lists[rank];
        queue.current = list.first;
        if list.first == list.last {
            *list = EMPTY;
        } else {
            list.take(pool, merge);
        }
        queue.waiting &= !(u8::from(list.first == NO_TASK) << rank);
        let task = &pool[queue.current.index()];
        queue.cleaning_since = task.is_reclaim().then_some(now);
        Some(task)
    }

    /// Whether the die's present command is to be suspended for a read that waits, as far as the queue knows.
    #[inline]
    pub fn wants_suspend(&self, die: DieId, now: Instant) -> bool {
        let Rules { suspend_programs, suspend_erases, .. } = self.rules;
        (suspend_programs || suspend_erases) && self.read_waits_for_suspend(die, now)
    }

    #[cold]
    fn read_waits_for_suspend(&self, die: DieId, now: Instant) -> bool {
        let queue = &self.dies[die];
        let Some(current) = self.pool.get(queue.current.index()) else { return false };
        let waits = queue.suspended == NO_TASK && queue.lists[READS].first != NO_TASK;
        waits && self.rules.suspends(current.operation) && !self.rules.is_aged(current, now)
    }

    /// The die's present work is suspended: it takes reads meanwhile.
    pub fn park(&mut self, die: DieId, now: Instant) {
        let queue = &mut self.dies[die];
        queue.cleaning_over(now);
        queue.in_a_row = 0;
        queue.suspended = std::mem::replace(&mut queue.current, NO_TASK);
    }

    /// Makes the suspended task the die's present work again.
    pub fn unpark(&mut self, die: DieId, now: Instant) {
        let queue = &mut self.dies[die];
        queue.in_a_row = 0;
        queue.current = std::mem::replace(&mut queue.suspended, NO_TASK);
        queue.cleaning_since = self.pool[queue.current.index()].is_reclaim().then_some(now);
    }

    /// The first task of the die's present work, of which there has to be some.
    pub fn current(&self, die: DieId) -> &Task {
        &self.pool[self.dies[die].current.index()]
    }

    /// How many planes the die's present command reads from, whose reads are of pages side by side, and the bytes of
    /// all these reads together. The data that several reads want of a page go over the bus once: no more than all
    /// of it.
    #[inline]
    pub fn current_reads(&self, die: DieId, page_size: Bytes) -> (u32, u64) {
        let mut at = self.dies[die].current;
        let first = self.pool[at.index()].page.0;
        let (mut last, mut bytes, mut of_page) = (first, 0, 0);
        while at != NO_TASK {
            let read = &self.pool[at.index()];
            if read.page.0 != last {
                (last, bytes, of_page) = (read.page.0, bytes + of_page, 0);
            }
            (at, of_page) = (read.next, (of_page + u64::from(read.bytes)).min(page_size.0));
        }
        (last - first + 1, bytes + of_page)
    }

    /// The die's work is over: its chain of tasks, to be gone through with [`release`](Self::release).
    pub fn finish(&mut self, die: DieId, now: Instant) -> Option<TaskId> {
        let queue = &mut self.dies[die];
        queue.cleaning_over(now);
        let current = std::mem::replace(&mut queue.current, NO_TASK);
        (current != NO_TASK).then_some(current)
    }

    /// Gives back a finished task of a die: what it was.
    #[inline]
    pub fn release(&mut self, die: DieId, id: TaskId) -> Task {
        self.free.push(id);
        let task = self.pool[id.index()];
        if task.class == Class::Background {
            self.note_promoted(die);
        }
        task
    }

    /// Whether the die works on anything but cleaning, or that waits for it.
    pub fn serves_host(&self, die: DieId) -> bool {
        let queue = &self.dies[die];
        let is_host = |id: TaskId| !self.pool[id.index()].is_reclaim();
        // A row has one program unit of the host and one step of the collector waiting at the most, reads end the search.
        let waits = |list: &List| {
            let next = |id: &TaskId| Some(self.pool[id.index()].next).filter(|next| *next != NO_TASK);
            std::iter::successors(Some(list.first).filter(|first| *first != NO_TASK), next).any(is_host)
        };
        [queue.current, queue.suspended].into_iter().any(|id| id != NO_TASK && is_host(id))
            || queue.lists.iter().any(waits)
    }

    /// How long the die was cleaning so far, in picoseconds.
    #[inline]
    pub fn cleaning_time(&self, die: DieId, now: Instant) -> u64 {
        let queue = &self.dies[die];
        queue.cleaned_ps + queue.cleaning_since.map_or(0, |since| (now - since).ps())
    }

    /// Calls `f` for each task that waits for `die` or is its present work.
    pub fn each(&self, die: DieId, mut f: impl FnMut(&Task)) {
        let queue = &self.dies[die];
        let waiting = queue.lists.iter().map(|list| list.first);
        for first in waiting.chain([queue.current, queue.suspended]) {
            self.each_of(first, &mut f);
        }
    }

    /// Calls `f` for each task that a die works on.
    pub fn each_current(&self, die: DieId, f: impl FnMut(&Task)) {
        self.each_of(self.dies[die].current, f);
    }

    /// Calls `f` for each task of a chain.
    pub fn each_of(&self, mut at: TaskId, mut f: impl FnMut(&Task)) {
        while at != NO_TASK {
            f(&self.pool[at.index()]);
            at = self.pool[at.index()].next;
        }
    }

    /// Notes that the data of a chain of tasks were in a decoder for `time`, while their die cleaned for `meanwhile` picoseconds.
    pub fn note_decoding(&mut self, mut at: TaskId, time: Duration, meanwhile: u64) {
        while at != NO_TASK {
            let task = &mut self.pool[at.index()];
            task.decoding += time;
            // The tasks did not wait for this cleaning.
            task.cleaning_before += meanwhile;
            at = task.next;
        }
    }

    /// Tasks that wait for a die, or that it is at.
    pub fn length(&self, die: DieId) -> u32 {
        let mut length = 0;
        self.each(die, |_| length += 1);
        length
    }

    /// Forgets everything, as when the power is cut.
    pub fn forget(&mut self) {
        *self = Self::of(self.rules, self.dies.len() as u32);
    }

    /// Tasks that wait or are under way.
    pub fn outstanding(&self) -> usize {
        self.pool.len() - self.free.len()
    }
}

mod loaded;
mod promoted;

#[cfg(test)]
mod tests;
