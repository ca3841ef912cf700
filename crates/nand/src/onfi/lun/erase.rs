//! Erases of one block, or of one block in each of several planes.

use wordline_kernel::Instant;

use super::job::Work;
use super::{Busy, Lun, Queued};
use crate::Stage;
use crate::onfi::{Limit, Row};

impl Lun {
    /// Erases the block of `row` and the queued blocks. With `queue` (D1) the block is queued for the next
    /// erase. The page number is ignored.
    ///
    /// # Errors
    /// The limit that the erase exceeds; cells and queue are unchanged.
    pub fn erase(&mut self, row: Row, queue: bool, now: Instant) -> Result<Busy, Limit> {
        self.settle(now);
        let row = Row { page: 0, ..row };
        let checked = self.check_erase(row, now);
        self.refuse(row, checked)?;
        let mut broken = self.admission.conflicts(row, Stage::Ber, false, &self.array);
        let limit = self.array.cells.part.endurance;
        if self.array.contents.erases(row.block) >= limit {
            broken.push(Limit::Endurance { block: row.block, limit });
        }
        if self.array.contents.is_bad(row.block) {
            broken.push(Limit::BadBlock { block: row.block });
        }
        let failing = self.admit(row, &broken)?;
        if queue {
            self.admission.queue.push(Queued { row, what: Stage::Ber, again: false, failing });
            return Ok(self.array.hold(now, self.array.cells.part.timing.plane_busy));
        }
        Ok(self.start_erase(row, failing, now))
    }

    fn check_erase(&self, row: Row, now: Instant) -> Result<(), Limit> {
        self.array.require_ready(now, false)?;
        self.array.addressing.check(row)?;
        if self.protected {
            return Err(Limit::WriteProtected);
        }
        if self.array.suspended.is_empty() { Ok(()) } else { Err(Limit::Suspended { row }) }
    }

    fn start_erase(&mut self, row: Row, failing: bool, now: Instant) -> Busy {
        let (rows, mut failing) = self
            .admission
            .take_queue(Queued { row, what: Stage::Ber, again: false, failing }, &self.array.addressing);
        let mut broken = 0;
        for row in &rows {
            broken |= if self.admission.fails(*row, true) { self.array.bit(*row) } else { 0 };
        }
        failing |= broken;
        self.array.in_cache_programs = false;
        self.sensed.clear();
        let time = self.array.query(Stage::Ber, &rows, self.array.cells.erase_time(self.array.mode), now);
        let working = self.array.pipeline.run(now, time);
        let planes = self.array.mask(&rows);
        let work = Work::Erase { blocks: rows.iter().map(|row| row.block).collect() };
        self.array.start_job(work, planes, failing, (working.begin, working.end)).broken = broken;
        self.array.busy()
    }
}
