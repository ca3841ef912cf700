//! Die scheduling: the queue of each die, and the order in which the die takes its tasks.
//!
//! [`SchedulingFile`] sets the order. By default reads overtake waiting programs and erases, but only a
//! limited number of reads in a row. Other tasks go in order of arrival. Each die has a list for each of
//! three ranks. The rank of a class of tasks follows from the configuration. A waiting task may become urgent
//! (`promoted`). The tasks that one command executes are its *chain*.

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

/// Tasks that wait for a die, and tasks that it executes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct DieQueue {
    /// A list for each rank. `waiting` has a bit for each rank with waiting tasks.
    lists: [List; RANKS],
    waiting: u8,
    /// Number of consecutive reads that overtook a waiting or suspended task.
    in_a_row: u32,
    /// Chain of tasks that the die executes. `suspended` is the suspended chain.
    current: TaskId,
    suspended: TaskId,
    /// GC time of the die, in picoseconds. `gc_since` is the start of its current GC command.
    gc_ps: u64,
    gc_since: Option<Instant>,
    /// Number of background reads, waiting or not.
    behind: u32,
}

impl List {
    /// Takes the first task, and the host reads that `merge` with it.
    #[inline(never)]
    fn take(&mut self, pool: &mut [Task], merge: impl Fn(&Task, &Task) -> bool) {
        let (mut last, mut next) = (self.first, pool[self.first.index()].next);
        while next != NO_TASK {
            let (before, after) = (&pool[last.index()], &pool[next.index()]);
            if !(before.can_merge() && after.can_merge() && merge(before, after)) {
                pool[last.index()].next = NO_TASK;
                self.first = next;
                return;
            }
            let shares_page = before.page == after.page;
            (last, next) = (next, after.next);
            pool[last.index()].shares_page = shares_page;
        }
        *self = EMPTY;
    }
}

impl DieQueue {
    /// Next task that is not a prioritised read, and its rank.
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

    /// Rank of the next task, if other tasks than prioritised reads can be waiting. `deadline_promotions`
    /// counts the tasks that go first because they have reached their age limit.
    fn choose(
        &mut self,
        pool: &[Task],
        rules: &Rules,
        now: Instant,
        deadline_promotions: &mut u64,
    ) -> Option<usize> {
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
            *deadline_promotions += u64::from(goes_before_first || read_waits && may_overtake && is_aged);
            Some(rank)
        } else {
            None
        }
    }

    /// Ends a GC command of the die.
    #[inline]
    fn end_gc(&mut self, now: Instant) {
        if let Some(since) = self.gc_since.take() {
            self.gc_ps += (now - since).ps();
        }
    }
}

/// Rank of prioritised reads. Two ranks for other tasks follow.
const READS: usize = 0;
const FIRST: usize = 1;
const SECOND: usize = 2;

/// Number of ranks.
const RANKS: usize = 3;

/// The configured order, in the form that scheduling uses.
#[derive(Clone, Copy, Debug)]
struct Rules {
    rank_of_reads: usize,
    rank_of_programs: usize,
    rank_of_gc: usize,
    reads_in_a_row: u32,
    /// Age limit; `None` if there is no limit.
    age_limit: Option<Duration>,
    /// Longest time for which the second rank waits for the first.
    deadline: Duration,
    suspend_programs: bool,
    suspend_erases: bool,
}

impl Rules {
    fn of(file: &SchedulingFile) -> Self {
        let (rank_of_programs, rank_of_gc) = match file.gc_priority {
            GcPriority::Low => (FIRST, SECOND),
            GcPriority::Equal => (FIRST, FIRST),
            GcPriority::High => (SECOND, FIRST),
        };
        let age_limit = (file.age_limit > Duration::ZERO).then_some(file.age_limit);
        Self {
            rank_of_reads: if file.read_priority { READS } else { rank_of_programs },
            rank_of_programs,
            rank_of_gc,
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
            Class::Gc => self.rank_of_gc,
        }
    }

    /// Whether a task has reached its age limit.
    #[inline]
    fn is_aged(&self, task: &Task, now: Instant) -> bool {
        self.age_limit.is_some_and(|limit| now - task.queued >= limit)
    }

    /// Whether a host read suspends a command with this operation.
    fn suspends(&self, operation: Operation) -> bool {
        match operation {
            Operation::Program | Operation::ProgramCache | Operation::Copyback { .. } => {
                self.suspend_programs
            }
            Operation::Erase => self.suspend_erases,
            Operation::Read | Operation::ReadCache { .. } => false,
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
    /// Dies with background reads, in order.
    behind: Vec<DieId>,
}

state!(Queues { values { pool, free, dies, behind } fixed { rules } });

impl Queues {
    /// Empty queues for this many dies.
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
            gc_ps: 0,
            gc_since: None,
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

    /// Queues a task for `die`, and returns it for further settings.
    #[inline]
    pub fn push(&mut self, die: DieId, now: Instant, ticket: Ticket, class: Class) -> &mut Task {
        let gc_before = self.gc_time(die, now);
        // If reads have the rank of programs, background reads count as host reads.
        let class = match class {
            Class::Background if self.rules.rank_of_reads == self.rules.rank_of_programs => Class::Read,
            class => class,
        };
        if class == Class::Background {
            self.add_background(die);
        }
        let id = self.place();
        self.pool[id.index()] = Task { ticket, class, queued: now, gc_before, ..Task::NONE };
        self.append(die, self.rules.rank_of(class), id);
        &mut self.pool[id.index()]
    }

    /// Queues a task that was released. A retry goes before all tasks of its rank but earlier retries.
    pub fn queue_again(&mut self, die: DieId, task: Task) {
        if task.class == Class::Background {
            self.add_background(die);
        }
        let id = self.place();
        self.pool[id.index()] = Task { next: NO_TASK, ..task };
        self.insert(die, self.rules.rank_of(task.class), id);
    }

    /// A free slot. It still has the values of its last task.
    #[inline]
    fn place(&mut self) -> TaskId {
        self.free.pop().unwrap_or_else(|| self.grow())
    }

    #[cold]
    fn grow(&mut self) -> TaskId {
        self.pool.push(Task::NONE);
        TaskId(self.pool.len() as u32 - 1)
    }

    /// Appends a task to the list of its rank.
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

    /// Inserts a task without a successor into the list of its rank: a retry after the retries at the front,
    /// another task at the end.
    fn insert(&mut self, die: DieId, rank: usize, id: TaskId) {
        let is_retry = |id: TaskId| id != NO_TASK && self.pool[id.index()].tries > 0;
        let first = self.dies[die].lists[rank].first;
        if first == NO_TASK || !is_retry(id) {
            return self.append(die, rank, id);
        }
        let (mut last_retry, mut next) = (NO_TASK, first);
        while is_retry(next) {
            (last_retry, next) = (next, self.pool[next.index()].next);
        }
        self.pool[id.index()].next = next;
        let list = &mut self.dies[die].lists[rank];
        match last_retry {
            NO_TASK => list.first = id,
            last => self.pool[last.index()].next = id,
        }
        if next == NO_TASK {
            list.last = id;
        }
    }

    /// Whether any task waits for `die`.
    #[inline]
    pub fn has_work(&self, die: DieId) -> bool {
        self.dies[die].waiting != 0
    }

    /// Whether a die executes a task.
    pub fn is_at_work(&self, die: DieId) -> bool {
        self.dies[die].current != NO_TASK
    }

    /// Takes the next task of an idle die, with the host reads that `merge` lets join it in one multi-plane
    /// command. This chain becomes the die's current work. While a task is suspended, only prioritised reads
    /// are taken. `deadline_promotions` counts the tasks that go first because they have reached their age
    /// limit.
    #[inline]
    pub fn next(
        &mut self,
        die: DieId,
        now: Instant,
        deadline_promotions: &mut u64,
        merge: impl Fn(&Task, &Task) -> bool,
    ) -> Option<&Task> {
        let Self { pool, dies, rules, .. } = self;
        let queue = &mut dies[die];
        let rank = match queue.waiting {
            0 => return None,
            // All waiting tasks have one rank, so none is overtaken.
            alone if alone.is_power_of_two() && queue.suspended == NO_TASK => {
                queue.in_a_row = 0;
                alone.trailing_zeros() as usize
            }
            _ => queue.choose(pool, rules, now, deadline_promotions)?,
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
        queue.gc_since = task.is_gc().then_some(now);
        Some(task)
    }

    /// Whether the queue calls for a suspend of the die's current command, because a read waits.
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

    /// Suspends the die's current work. The die can take reads meanwhile.
    pub fn suspend(&mut self, die: DieId, now: Instant) {
        let queue = &mut self.dies[die];
        queue.end_gc(now);
        queue.in_a_row = 0;
        queue.suspended = std::mem::replace(&mut queue.current, NO_TASK);
    }

    /// Makes the suspended task the die's current work again.
    pub fn resume(&mut self, die: DieId, now: Instant) {
        let queue = &mut self.dies[die];
        queue.in_a_row = 0;
        queue.current = std::mem::replace(&mut queue.suspended, NO_TASK);
        queue.gc_since = self.pool[queue.current.index()].is_gc().then_some(now);
    }

    /// First task of the die's current work. There must be one.
    pub fn current(&self, die: DieId) -> &Task {
        &self.pool[self.dies[die].current.index()]
    }

    /// Number of adjacent planes that the die's current command reads, and the bytes that it transfers.
    /// Several reads of one page transfer at most the whole page.
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

    /// Ends the die's current work. Returns its chain of tasks, which the caller must
    /// [release](Self::release).
    pub fn finish(&mut self, die: DieId, now: Instant) -> Option<TaskId> {
        let queue = &mut self.dies[die];
        queue.end_gc(now);
        let current = std::mem::replace(&mut queue.current, NO_TASK);
        (current != NO_TASK).then_some(current)
    }

    /// Releases a finished task of a die, and returns it.
    #[inline]
    pub fn release(&mut self, die: DieId, id: TaskId) -> Task {
        self.free.push(id);
        let task = self.pool[id.index()];
        if task.class == Class::Background {
            self.remove_background(die);
        }
        task
    }

    /// Whether a task other than GC is in progress on the die or waits for it.
    pub fn serves_host(&self, die: DieId) -> bool {
        let queue = &self.dies[die];
        let is_host = |id: TaskId| !self.pool[id.index()].is_gc();
        // A plane group has at most one waiting host program and one waiting GC step. A waiting read ends the
        // search.
        let waits = |list: &List| {
            let next = |id: &TaskId| Some(self.pool[id.index()].next).filter(|next| *next != NO_TASK);
            std::iter::successors(Some(list.first).filter(|first| *first != NO_TASK), next).any(is_host)
        };
        [queue.current, queue.suspended].into_iter().any(|id| id != NO_TASK && is_host(id))
            || queue.lists.iter().any(waits)
    }

    /// GC time of the die so far, in picoseconds.
    #[inline]
    pub fn gc_time(&self, die: DieId, now: Instant) -> u64 {
        let queue = &self.dies[die];
        queue.gc_ps + queue.gc_since.map_or(0, |since| (now - since).ps())
    }

    /// Calls `f` for each task that waits for `die` or is its current work.
    pub fn each(&self, die: DieId, mut f: impl FnMut(&Task)) {
        let queue = &self.dies[die];
        let waiting = queue.lists.iter().map(|list| list.first);
        for first in waiting.chain([queue.current, queue.suspended]) {
            self.each_of(first, &mut f);
        }
    }

    /// Calls `f` for each task that a die executes.
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

    /// Records that the data of a chain of tasks spent `time` in a decoder. Their die was at GC for
    /// `meanwhile` picoseconds of that time.
    pub fn note_decoding(&mut self, mut at: TaskId, time: Duration, meanwhile: u64) {
        while at != NO_TASK {
            let task = &mut self.pool[at.index()];
            task.decoding += time;
            // The tasks did not wait for GC in that time.
            task.gc_before = task.gc_before.wrapping_add(meanwhile);
            at = task.next;
        }
    }

    /// Number of tasks in progress on a die or waiting for it.
    pub fn length(&self, die: DieId) -> u32 {
        let mut length = 0;
        self.each(die, |_| length += 1);
        length
    }

    /// Drops everything after a power cut.
    pub fn forget(&mut self) {
        *self = Self::of(self.rules, self.dies.len() as u32);
    }

    /// Number of tasks that wait or are in progress.
    pub fn outstanding(&self) -> usize {
        self.pool.len() - self.free.len()
    }
}

mod loaded;
mod promoted;

#[cfg(test)]
mod tests;
