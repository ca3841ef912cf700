//! Tasks that become urgent: background reads for which a command begins to wait, and reads that delay the
//! erase of their block.

use wordline_kernel::Id;
use wordline_nand::DieId;

use super::{EMPTY, Queues, SECOND};
use crate::task::{NO_TASK, Task, TaskId};
use crate::ticket::Class;

impl Queues {
    /// Counts a background read that is queued or kept for a die.
    pub(super) fn add_background(&mut self, die: DieId) {
        let queue = &mut self.dies[die];
        queue.behind += 1;
        if queue.behind == 1
            && let Err(at) = self.behind.binary_search(&die)
        {
            self.behind.insert(at, die);
        }
    }

    /// Records that a background read of a die has ended or was promoted.
    pub(super) fn remove_background(&mut self, die: DieId) {
        let queue = &mut self.dies[die];
        queue.behind -= 1;
        if queue.behind == 0
            && let Ok(at) = self.behind.binary_search(&die)
        {
            self.behind.remove(at);
        }
    }

    /// Whether there are background reads.
    #[inline]
    pub fn has_background(&self) -> bool {
        !self.behind.is_empty()
    }

    /// The `n`-th of the dies with background reads, in the order of their numbers.
    pub fn die_with_background(&self, n: usize) -> Option<DieId> {
        self.behind.get(n).copied()
    }

    /// Promotes the `wanted` background reads that wait for `die` to host reads. Returns whether there were
    /// any.
    pub fn promote(&mut self, die: DieId, mut wanted: impl FnMut(&Task) -> bool) -> bool {
        let to = self.rules.rank_of_reads;
        let mut any = false;
        for rank in to + 1..=SECOND {
            any |= self.move_to(die, [rank, to], |read| read.class == Class::Background && wanted(read));
        }
        any
    }

    /// Whether GC goes before reads that may delay its erases.
    #[inline]
    pub fn gc_passes_reads(&self) -> bool {
        self.rules.rank_of_gc < self.rules.rank_of_programs
    }

    /// Gives the `wanted` reads that wait for `die` the priority of GC, because GC waits for them.
    pub fn raise_to_gc(&mut self, die: DieId, wanted: impl FnMut(&Task) -> bool) {
        self.move_to(die, [self.rules.rank_of_programs, self.rules.rank_of_gc], wanted);
    }

    /// Waiting tasks of `die` by rank: name of the rank, number of tasks, and the first task.
    pub fn waiting(&self, die: DieId) -> Vec<(&'static str, usize, &Task)> {
        let mut found = Vec::new();
        let names = ["prioritised reads", "tasks after those", "last tasks"];
        for (name, list) in names.into_iter().zip(&self.dies[die].lists) {
            let of = |id: TaskId| self.pool.get(id.index());
            let all = std::iter::successors(of(list.first), |task| of(task.next));
            if let Some(first) = of(list.first) {
                found.push((name, all.count(), first));
            }
        }
        found
    }

    /// Moves the `wanted` tasks of one list of a die to the end of another. Returns whether there were any.
    fn move_to(&mut self, die: DieId, [from, to]: [usize; 2], mut wanted: impl FnMut(&Task) -> bool) -> bool {
        let mut at = std::mem::replace(&mut self.dies[die].lists[from], EMPTY).first;
        self.dies[die].waiting &= !(1 << from);
        let mut any = false;
        while at != NO_TASK {
            let task = &mut self.pool[at.index()];
            let after = std::mem::replace(&mut task.next, NO_TASK);
            let moves = wanted(task);
            if moves && to == self.rules.rank_of_reads && task.class == Class::Background {
                task.class = Class::Read;
                self.remove_background(die);
            }
            any |= moves;
            self.insert(die, if moves { to } else { from }, at);
            at = after;
        }
        any
    }
}
