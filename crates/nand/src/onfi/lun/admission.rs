//! Admission of operations, and the queue of multi-plane rows.

use wordline_kernel::Instant;

use super::Lun;
use crate::Stage;
use crate::onfi::{Limit, Row};

/// A queued row of a multi-plane operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queued {
    pub row: Row,
    pub what: Stage,
    /// Whether the operation is a reprogram.
    pub again: bool,
    pub failing: bool,
}

impl Lun {
    /// Checks that the LUN accepts a command at `now`, and that the array is idle. With `behind`, the
    /// operation may follow the current one while the array works.
    pub(super) fn require_ready(&self, now: Instant, behind: bool) -> Result<(), Limit> {
        let until = if behind {
            self.pipeline.ready_at
        } else {
            self.pipeline.ready_at.max(self.pipeline.array_ready_at)
        };
        if now < until { Err(Limit::Busy { until }) } else { Ok(()) }
    }

    /// Whether all current array operations are of `stage` and leave the cache register to the bus.
    pub(super) fn works_in_cache(&self, stage: Stage) -> bool {
        self.jobs.iter().all(|job| job.cached && job.stage() == Some(stage))
    }

    /// Checks that `row` exists in the mode of this operation.
    pub(super) fn require_row(&self, row: Row) -> Result<(), Limit> {
        self.addressing.check(row)?;
        let pages = self.cells.pages(self.mode);
        if row.page >= pages { Err(Limit::Hole { row, pages }) } else { Ok(()) }
    }

    /// The limits that `row` exceeds in combination with the queued rows of the same multi-plane operation.
    /// `again` is true for reprograms.
    pub(super) fn queue_conflicts(&self, row: Row, stage: Stage, again: bool) -> Vec<Limit> {
        let mut broken = Vec::new();
        for Queued { row: first, what, again: was_again, .. } in self.queue.iter().copied() {
            let same_plane = self.bit(first) == self.bit(row);
            let unit = |row: Row| match stage {
                Stage::Tin if !again => self.cells.program_unit(row.page, self.mode),
                Stage::Ber => 0,
                _ => row.page,
            };
            let one_shot = stage == Stage::Tin && !again && self.cells.pages_per_program(self.mode) > 1;
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
    pub(super) fn admit(&mut self, row: Row, broken: &[Limit]) -> Result<bool, Limit> {
        for limit in broken {
            *self.broken.entry(limit.name()).or_default() += 1;
        }
        match broken.iter().find(|limit| self.fatal || !limit.can_be_ignored()) {
            Some(limit) => {
                if !matches!(limit, Limit::Busy { .. }) {
                    self.failed |= self.bit(row);
                }
                Err(*limit)
            }
            None => Ok(!broken.is_empty()),
        }
    }

    /// Counts the limit in an error, if any.
    pub(super) fn refuse<T>(&mut self, row: Row, checked: Result<T, Limit>) -> Result<T, Limit> {
        checked.inspect_err(|limit| {
            self.admit(row, &[*limit]).ok();
        })
    }

    /// Takes the queued rows and the last one, and the planes of the rows that exceeded a limit.
    pub(super) fn take_queue(&mut self, last: Queued) -> (Vec<Row>, u16) {
        self.queue.push(last);
        let queue = std::mem::take(&mut self.queue);
        let failing = queue.iter().filter(|q| q.failing).fold(0, |mask, q| mask | self.bit(q.row));
        let mut rows: Vec<Row> = queue.iter().map(|queued| queued.row).collect();
        rows.sort_unstable();
        rows.dedup();
        (rows, failing)
    }

    /// Counts an operation for injected failures. Returns whether it fails.
    pub(super) fn fails(&mut self, row: Row, erase: bool) -> bool {
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
