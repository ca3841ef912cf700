//! Admission of operations: the limits that they exceed, injected failures, and the queue of multi-plane
//! rows.

use std::collections::BTreeMap;

use super::InjectedFailure;
use super::array::Array;
use crate::Stage;
use crate::onfi::{Limit, Row, RowAddressing};

/// A queued row of a multi-plane operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queued {
    pub row: Row,
    pub what: Stage,
    /// Whether the operation is a reprogram.
    pub again: bool,
    pub failing: bool,
}

/// The queue of a LUN, and its counters of exceeded limits.
#[derive(Clone, Debug, Default)]
pub(super) struct Admission {
    /// Whether operations that exceed a limit are rejected.
    pub fatal: bool,
    pub failures: Vec<InjectedFailure>,
    /// Rows of the queueing commands of a multi-plane operation, each with whether it exceeded a limit.
    pub queue: Vec<Queued>,
    pub broken: BTreeMap<&'static str, u64>,
}

impl Admission {
    /// The limits that `row` exceeds in combination with the queued rows of the same multi-plane operation.
    /// `again` is true for reprograms.
    pub fn conflicts(&self, row: Row, stage: Stage, again: bool, array: &Array) -> Vec<Limit> {
        let mut broken = Vec::new();
        for Queued { row: first, what, again: was_again, .. } in self.queue.iter().copied() {
            let same_plane = array.bit(first) == array.bit(row);
            let unit = |row: Row| match stage {
                Stage::Tin if !again => array.cells.program_unit(row.page, array.mode),
                Stage::Ber => 0,
                _ => row.page,
            };
            let one_shot = stage == Stage::Tin && !again && array.cells.pages_per_program(array.mode) > 1;
            let differs = unit(first) != unit(row);
            if what != stage || was_again != again {
                broken.push(Limit::OtherQueued { first, second: row });
            } else if same_plane && one_shot && (differs || first.block != row.block) {
                broken.push(Limit::OtherWordLine { row, loaded: first });
            } else if differs || (same_plane && !one_shot) {
                broken.push(Limit::PlaneRule { first, second: row });
            }
        }
        broken
    }

    /// Counts exceeded limits. `Ok` reports whether there were any; if so, the operation is executed
    /// nevertheless.
    pub fn count(&mut self, broken: &[Limit]) -> Result<bool, Limit> {
        for limit in broken {
            *self.broken.entry(limit.name()).or_default() += 1;
        }
        match broken.iter().find(|limit| self.fatal || !limit.can_be_ignored()) {
            Some(limit) => Err(*limit),
            None => Ok(!broken.is_empty()),
        }
    }

    /// Takes the queued rows and the last one, and the planes of the rows that exceeded a limit.
    pub fn take_queue(&mut self, last: Queued, addressing: &RowAddressing) -> (Vec<Row>, u16) {
        self.queue.push(last);
        let queue = std::mem::take(&mut self.queue);
        let failing =
            queue.iter().filter(|q| q.failing).fold(0, |mask, q| mask | 1 << addressing.plane(q.row));
        let mut rows: Vec<Row> = queue.iter().map(|queued| queued.row).collect();
        rows.sort_unstable();
        rows.dedup();
        (rows, failing)
    }

    /// Counts an operation for injected failures. Returns whether it fails.
    pub fn fails(&mut self, row: Row, erase: bool) -> bool {
        let mut fails = false;
        for failure in &mut self.failures {
            let hit = failure.row.block == row.block && (erase || failure.row.page == row.page);
            if failure.erase == erase && hit && failure.nth > 0 {
                failure.nth -= 1;
                fails |= failure.nth == 0;
            }
        }
        fails
    }
}
