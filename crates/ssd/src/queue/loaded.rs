//! Whether queues that were read can be those of the device.

use super::{DieQueue, NONE, Queues, Transaction};
use crate::device::loaded::ensure;

impl Queues {
    /// The lengths of the lists whose lengths follow from the configuration.
    pub(crate) fn shape(&self) -> [usize; 1] {
        [self.dies.len()]
    }

    /// Transactions that there is a place for by now.
    pub(crate) fn places(&self) -> usize {
        self.pool.len()
    }

    /// Checks what was loaded: every transaction waits in one place at the most, and is about one of so many slots.
    pub(crate) fn check_loaded(&self, slots: u32) -> Result<(), String> {
        let mut seen = vec![false; self.pool.len()];
        self.free.iter().try_for_each(|id| take(&mut seen, *id))?;
        self.dies.iter().try_for_each(|die| self.check_die(die, slots, &mut seen))
    }

    fn check_die(&self, die: &DieQueue, slots: u32, seen: &mut [bool]) -> Result<(), String> {
        for (rank, list) in die.lists.iter().enumerate() {
            let last = self.check_chain(list.first, slots, seen)?;
            let marked = die.waiting >> rank & 1 != 0;
            ensure(last == list.last && marked == (last != NONE), || "a queue without an end".into())?;
        }
        for chain in [die.current, die.suspended] {
            self.check_chain(chain, slots, seen)?;
        }
        Ok(())
    }

    /// Goes through a chain; its last transaction.
    fn check_chain(&self, first: u32, slots: u32, seen: &mut [bool]) -> Result<u32, String> {
        let (mut at, mut last) = (first, NONE);
        while at != NONE {
            take(seen, at)?;
            let Transaction { page, slot, slots: more, next, .. } = self.pool[at as usize];
            let there = slot.0 < slots && more <= slots - slot.0 && page.0 < u32::MAX / 2;
            ensure(there, || format!("a transaction of page {} and slot {}", page.0, slot.0))?;
            (last, at) = (at, next);
        }
        Ok(last)
    }
}

fn take(seen: &mut [bool], id: u32) -> Result<(), String> {
    let is_first = seen.get_mut(id as usize).is_some_and(|seen| !std::mem::replace(seen, true));
    ensure(is_first, || format!("transaction {id} waits twice, or is none"))
}
