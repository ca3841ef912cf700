//! Whether queues that were read can be those of the device.

use wordline_kernel::Id;
use wordline_nand::Operation;

use super::{DieQueue, Queues};
use crate::flash::payloads::Payloads;
use crate::flash::task::{NO_TASK, Task, TaskId};
use crate::snapshot::ensure;

impl Queues {
    /// How many dies there are.
    pub fn shape(&self) -> usize {
        self.dies.len()
    }

    /// Tasks that there is a place for by now.
    pub fn places(&self) -> usize {
        self.pool.len()
    }

    /// Checks what was loaded, with the chains of tasks in the decoders: every task waits in one place at the most, names one of
    /// `locations`, and the payload of a program is there.
    pub fn check_loaded(
        &self,
        locations: u32,
        payloads: &Payloads,
        decoded: &[TaskId],
    ) -> Result<(), String> {
        let mut seen = vec![false; self.pool.len()];
        self.free.iter().try_for_each(|id| take(&mut seen, *id))?;
        let is_known = |task: &Task| {
            let Task { page, location, locations: more, .. } = *task;
            location.0 < locations
                && more <= locations - location.0
                && page.0 < u32::MAX / 2
                && (task.operation != Operation::Program
                    || payloads.has(task.payload) && more as usize <= payloads.size())
        };
        decoded.iter().try_for_each(|first| self.check_chain(*first, &is_known, &mut seen).map(drop))?;
        self.dies.iter().try_for_each(|die| self.check_die(die, &is_known, &mut seen))
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
            ensure(last == list.last && marked == (last != NO_TASK), || "a queue without an end".into())?;
        }
        for chain in [die.current, die.suspended] {
            self.check_chain(chain, is_known, seen)?;
        }
        Ok(())
    }

    /// Goes through a chain; its last task.
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
    let is_first = seen.get_mut(id.index()).is_some_and(|seen| !std::mem::replace(seen, true));
    ensure(is_first, || format!("{id:?} waits twice, or is none"))
}
