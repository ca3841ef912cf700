//! Checks of loaded queues.

use wordline_kernel::ensure;
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Id, Instant};
use wordline_nand::{Chips, DataTag, Location, Operation};

use super::{DieQueue, Queues, RANKS};
use crate::payloads::Payloads;
use crate::task::{NO_TASK, Task, TaskId};
use crate::ticket::Class;

impl Queues {
    /// Number of dies.
    pub fn shape(&self) -> usize {
        self.dies.len()
    }

    /// Checks a state loaded at `now`. `decoded` has the chains of tasks in the decoders. Every task must
    /// wait in at most one list and name an existing location. The payload of each program must exist. A die
    /// must work if it has a task.
    pub fn check_loaded(
        &self,
        chips: &Chips,
        now: Instant,
        payloads: &Payloads,
        decoded: &[TaskId],
    ) -> Result<(), String> {
        ensure(payloads.is_sound(), || "payloads are free twice".into())?;
        let locations = chips.pools().locations();
        let mut seen = vec![false; self.pool.len()];
        self.free.iter().try_for_each(|id| take(&mut seen, *id))?;
        // The page of a queued read stays in place until the read has ended, unless a failed program
        // destroyed it.
        let finds = |task: &Task| {
            let found = || chips.stamp(task.location);
            task.operation != Operation::Read
                || !task.wanted.is_data()
                || [task.wanted, DataTag::UNREADABLE].contains(&found())
        };
        let is_known = |task: &Task| {
            let Task { page, location, locations: more, .. } = *task;
            location.0 < locations
                && more <= locations - location.0
                && page.0 < u32::MAX / 2
                && finds(task)
                && (task.operation != Operation::Program
                    || payloads.has(task.payload) && more as usize <= payloads.size())
        };
        decoded.iter().try_for_each(|first| self.check_chain(*first, &is_known, &mut seen).map(drop))?;
        self.dies.iter().try_for_each(|die| self.check_die(die, &is_known, &mut seen))?;
        self.check_work(chips, now)?;
        self.check_background()
    }

    /// First locations of the programs that have not ended.
    pub fn programs(&self) -> impl Iterator<Item = Location> {
        let mut is_free = vec![false; self.pool.len()];
        self.free.iter().for_each(|id| is_free[id.index()] = true);
        let tasks = self.pool.iter().zip(is_free).filter(|(_, is_free)| !is_free).map(|(task, _)| task);
        tasks.filter(|task| task.operation == Operation::Program).map(|task| task.location)
    }

    /// Checks that a busy die has a task, and that a suspended die has a suspended task.
    fn check_work(&self, chips: &Chips, now: Instant) -> Result<(), String> {
        for (id, die) in self.dies.entries() {
            let is_gc = die.gc_since.is_none_or(|since| since <= now && die.current != NO_TASK);
            let is_at_work = (die.current != NO_TASK) != chips.is_idle(id);
            let is_parked = (die.suspended != NO_TASK) == chips.is_parked(id);
            ensure(is_gc && is_at_work && is_parked, || {
                format!("die {} works on another task than it has", id.0)
            })?;
        }
        Ok(())
    }

    /// Checks that the dies with background reads are listed in order.
    fn check_background(&self) -> Result<(), String> {
        let behind = self.dies.entries().filter(|(_, die)| die.behind > 0).map(|(id, _)| id);
        ensure(behind.eq(self.behind.iter().copied()), || {
            "background reads of other dies than have them".into()
        })?;
        let mut waits = vec![true; self.pool.len()];
        self.free.iter().for_each(|id| waits[id.index()] = false);
        let is_behind = |(task, waits): &(&Task, bool)| *waits && task.class == Class::Background;
        let found = self.pool.iter().zip(waits).filter(is_behind).count();
        let counted: u64 = self.dies.iter().map(|die| u64::from(die.behind)).sum();
        ensure(found as u64 == counted, || format!("{found} background reads wait, not {counted}"))
    }

    fn check_die(
        &self,
        die: &DieQueue,
        is_known: &impl Fn(&Task) -> bool,
        seen: &mut [bool],
    ) -> Result<(), String> {
        for (rank, list) in die.lists.iter().enumerate() {
            let last = self.check_chain(list.first, is_known, seen)?;
            let marked = die.waiting >> rank & 1 != 0;
            ensure(die.waiting >> RANKS == 0 && last == list.last && marked == (last != NO_TASK), || {
                "a queue without an end".into()
            })?;
        }
        for chain in [die.current, die.suspended] {
            self.check_chain(chain, is_known, seen)?;
        }
        Ok(())
    }

    /// Checks a chain, and returns its last task.
    fn check_chain(
        &self,
        first: TaskId,
        is_known: &impl Fn(&Task) -> bool,
        seen: &mut [bool],
    ) -> Result<TaskId, String> {
        let (mut at, mut last) = (first, NO_TASK);
        while at != NO_TASK {
            take(seen, at)?;
            let task = &self.pool[at.index()];
            ensure(is_known(task), || {
                format!("a task of page {} and location {}", task.page.0, task.location.0)
            })?;
            (last, at) = (at, task.next);
        }
        Ok(last)
    }
}

fn take(seen: &mut [bool], id: TaskId) -> Result<(), String> {
    let is_first = ensure::is_first(seen, id.index());
    ensure(is_first, || format!("{id:?} waits twice, or is none"))
}
