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
        let mut broken = self.queue_conflicts(row, Stage::Ber, false);
        let limit = self.cells.part.endurance;
        if self.contents.erases(row.block) >= limit {
            broken.push(Limit::Endurance { block: row.block, limit });
        }
        if self.contents.is_bad(row.block) {
            broken.push(Limit::BadBlock { block: row.block });
        }
        let failing = self.admit(row, &broken)?;
        if queue {
            self.queue.push(Queued { row, what: Stage::Ber, again: false, failing });
            return Ok(self.hold(now, self.cells.part.timing.plane_busy));
        }
        Ok(self.start_erase(row, failing, now))
    }

    fn check_erase(&self, row: Row, now: Instant) -> Result<(), Limit> {
        self.require_ready(now, false)?;
        self.addressing.check(row)?;
        if self.protected {
            return Err(Limit::WriteProtected);
        }
        if self.suspended.is_empty() { Ok(()) } else { Err(Limit::Suspended { row }) }
    }

    fn start_erase(&mut self, row: Row, failing: bool, now: Instant) -> Busy {
        let (rows, mut failing) = self.take_queue(Queued { row, what: Stage::Ber, again: false, failing });
        let mut broken = 0;
        for row in &rows {
            broken |= if self.fails(*row, true) { self.bit(*row) } else { 0 };
        }
        failing |= broken;
        self.in_cache_programs = false;
        self.sensed.clear();
        let time = self.query(Stage::Ber, &rows, self.cells.erase_time(self.mode), now);
        let working = self.pipeline.run(now, time);
        let planes = self.mask(&rows);
        let work = Work::Erase { blocks: rows.iter().map(|row| row.block).collect() };
        self.start_job(work, planes, failing, (working.begin, working.end)).broken = broken;
        self.busy()
    }
}
