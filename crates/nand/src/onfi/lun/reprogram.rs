//! Reprograms of word lines (ReSSD, section 3.2), in one plane or in several.

use wordline_kernel::Instant;

use super::job::{Rewritten, Work};
use super::{Busy, Lun, ProgramKind, Queued};
use crate::Stage;
use crate::onfi::{CellMode, Limit, Row};

impl Lun {
    /// Reprograms the word line of `row` and the queued word lines. The cache register replaces the page; the
    /// other page keeps its bits.
    pub(super) fn reprogram(&mut self, row: Row, kind: ProgramKind, now: Instant) -> Result<Busy, Limit> {
        let mut broken = self.queue_conflicts(row, Stage::Tin, true);
        broken.extend(self.reprogram_limits(row));
        let failing = self.admit(row, &broken)?;
        let queued = Queued { row, what: Stage::Tin, again: true, failing };
        if kind == ProgramKind::QueueReprogram {
            self.queue.push(queued);
            return Ok(self.hold(now, self.cells.part.timing.plane_busy));
        }
        let (rows, failing) = self.take_queue(queued);
        let broken =
            rows.iter().fold(0, |mask, row| mask | if self.fails(*row, false) { self.bit(*row) } else { 0 });
        let time = self.query_reprogram(&rows, self.cells.reprogram_time(), now);
        let working = self.pipeline.run(now, time);
        self.in_cache_programs = false;
        self.sensed.clear();
        let rewritten = |page: &Row| Rewritten {
            page: *page,
            kept: Row { page: page.page ^ 1, ..*page },
            bytes: self.planes[self.addressing.plane(*page) as usize].cache.clone(),
        };
        let work = Work::Reprogram { pages: rows.iter().map(rewritten).collect() };
        let planes = self.mask(&rows);
        self.start_job(work, planes, failing | broken, (working.begin, working.end)).broken = broken;
        Ok(self.busy())
    }

    /// The limits that a reprogram of the word line of `row` exceeds.
    fn reprogram_limits(&self, row: Row) -> Vec<Limit> {
        let kept = Row { page: row.page ^ 1, ..row };
        let line = self.cells.program_unit(row.page, self.mode);
        let programmed = self.contents.is_programmed(row) && self.contents.is_programmed(kept);
        let mut broken = Vec::new();
        if !programmed || self.contents.mode(row.block) != Some(CellMode::Mlc) {
            broken.push(Limit::NothingToReprogram { row });
        }
        let limit = self.cells.times.reprograms;
        if self.contents.reprograms(row.block, line) >= limit {
            broken.push(Limit::TooManyReprograms { row, limit });
        }
        let last = self.contents.last(row.block).unwrap_or_default();
        if self.cells.super_layer(row.page) < self.cells.super_layer(last) {
            broken.push(Limit::SuperLayerClosed { row, last });
        }
        if self.contents.is_bad(row.block) {
            broken.push(Limit::BadBlock { block: row.block });
        }
        broken
    }
}
