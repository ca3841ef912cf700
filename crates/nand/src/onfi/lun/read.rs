//! Reads: plain, multi-plane, cache, copyback and independent.

use wordline_kernel::{Duration, Instant};

use super::job::Work;
use super::{Busy, Lun, Queued, ReadKind};
use crate::Stage;
use crate::onfi::{Limit, Row};

impl Lun {
    /// Reads `row` and the queued rows. The planes sense together, in the time of the slowest plane.
    ///
    /// # Errors
    /// The limit that the read exceeds; registers and queue are unchanged.
    pub fn read(&mut self, row: Row, kind: ReadKind, now: Instant) -> Result<Busy, Limit> {
        self.settle(now);
        let allowed = self.check_read(row, kind, now);
        self.refuse(row, allowed)?;
        let mut broken = self.admission.conflicts(row, Stage::Ton, false, &self.array);
        broken.extend(self.mixed_modes(row));
        let failing = self.admit(row, &broken)?;
        self.sending =
            if self.admission.queue.is_empty() { self.array.addressing.plane(row) } else { self.sending };
        if kind == ReadKind::Queue {
            self.admission.queue.push(Queued { row, what: Stage::Ton, again: false, failing });
            return Ok(self.array.hold(now, self.array.cells.part.timing.plane_busy));
        }
        let (rows, failing) = self
            .admission
            .take_queue(Queued { row, what: Stage::Ton, again: false, failing }, &self.array.addressing);
        Ok(self.sense(rows, failing, kind, now))
    }

    fn check_read(&self, row: Row, kind: ReadKind, now: Instant) -> Result<(), Limit> {
        let behind = match kind {
            ReadKind::Plain | ReadKind::Copyback => false,
            ReadKind::Queue | ReadKind::CacheRandom => self.array.works_in_cache(Stage::Ton),
            ReadKind::Independent if !self.array.cells.part.geometry.independent_reads => {
                return Err(Limit::Unsupported { what: "an independent read" });
            }
            ReadKind::Independent => self.array.jobs.iter().all(|job| job.is_independent_read()),
        };
        if kind == ReadKind::CacheRandom && !self.array.cells.has_cache_register() {
            return Err(Limit::Unsupported { what: "a cache read" });
        }
        self.array.require_ready(now, behind)?;
        self.require_row(row)?;
        if kind == ReadKind::Independent {
            if let Some(queued) = self.admission.queue.first() {
                return Err(Limit::OtherQueued { first: queued.row, second: row });
            }
            let own = self.array.jobs.iter().find(|job| job.planes & self.array.bit(row) != 0);
            if let Some(job) = own {
                return Err(Limit::Busy { until: job.end });
            }
        }
        self.require_free(row)
    }

    /// Sequential cache read (31): moves the sensed pages to the cache registers and senses the pages after
    /// them.
    ///
    /// # Errors
    /// The limit that the read exceeds; registers are unchanged.
    pub fn cache_read_next(&mut self, now: Instant) -> Result<Busy, Limit> {
        self.settle(now);
        let checked = self.check_cache_read(now).and_then(|_| self.next_rows());
        let rows = self.refuse(self.sensed.first().copied().unwrap_or_default(), checked)?;
        Ok(self.sense(rows, 0, ReadKind::CacheRandom, now))
    }

    /// The rows after the sensed ones, if all can be read.
    fn next_rows(&self) -> Result<Vec<Row>, Limit> {
        let pages = self.array.cells.pages(self.array.mode);
        let after = |row: &Row| {
            let next = Row { page: row.page + 1, ..*row };
            if next.page >= pages {
                return Err(Limit::PastBlock { row: *row });
            }
            self.require_free(next).map(|()| next)
        };
        self.sensed.iter().map(after).collect()
    }

    /// Checks that no suspended operation uses the cells of `row`.
    fn require_free(&self, row: Row) -> Result<(), Limit> {
        if self.array.suspended.iter().any(|job| job.uses(row)) {
            Err(Limit::Suspended { row })
        } else {
            Ok(())
        }
    }

    /// End of a cache read (3F): moves the sensed pages to the cache registers.
    ///
    /// # Errors
    /// The limit that the command exceeds; registers are unchanged.
    pub fn cache_read_end(&mut self, now: Instant) -> Result<Busy, Limit> {
        self.settle(now);
        let checked = self.check_cache_read(now);
        let row = self.sensed.first().copied().unwrap_or_default();
        self.refuse(row, checked)?;
        let before = std::mem::take(&mut self.sensed);
        let at = self.array.pipeline.turn(now, self.array.cells.part.timing.cache_busy);
        let planes = self.array.mask(&before);
        self.array.start_job(Work::TransferPages { before }, planes, 0, (at, at));
        Ok(self.array.busy())
    }

    /// Checks that a cache read can continue. Returns the first of its sensed rows.
    fn check_cache_read(&self, now: Instant) -> Result<Row, Limit> {
        if !self.array.cells.has_cache_register() {
            return Err(Limit::Unsupported { what: "a cache read" });
        }
        self.array.require_ready(now, self.array.works_in_cache(Stage::Ton))?;
        match self.admission.queue.first() {
            Some(queued) => Err(Limit::OtherQueued { first: queued.row, second: queued.row }),
            None => self.sensed.first().copied().ok_or(Limit::NothingSensed),
        }
    }

    /// Senses `rows`, which were admitted.
    fn sense(&mut self, rows: Vec<Row>, failing: u16, kind: ReadKind, now: Instant) -> Busy {
        let turn = match kind {
            ReadKind::CacheRandom => self.array.cells.part.timing.cache_busy,
            _ => Duration::ZERO,
        };
        let rests =
            if kind == ReadKind::Independent { now } else { now.max(self.array.pipeline.array_ready_at) };
        let time = self.array.query(Stage::Ton, &rows, self.sensing_time(&rows), rests + turn);
        let planes = self.array.mask(&rows);
        self.array.in_cache_programs = false;
        let before = std::mem::take(&mut self.sensed);
        if matches!(kind, ReadKind::Plain | ReadKind::CacheRandom) {
            self.sensed.clone_from(&rows);
        }
        let cached = kind == ReadKind::CacheRandom;
        let (begin, end) = match kind {
            ReadKind::CacheRandom => {
                let working = self.array.pipeline.turn_and_run(now, turn, time);
                (working.begin, working.end)
            }
            ReadKind::Independent => {
                self.array.hold(now, self.array.cells.part.timing.plane_busy);
                let end = now + time;
                self.array.pipeline.array_ready_at = self.array.pipeline.array_ready_at.max(end);
                (now, end)
            }
            _ => {
                let working = self.array.pipeline.run(now, time);
                (working.begin, working.end)
            }
        };
        let before = if cached { before } else { Vec::new() };
        self.array.start_job(Work::Sense { rows, kind, before }, planes, failing, (begin, end));
        self.array.busy()
    }

    fn sensing_time(&self, rows: &[Row]) -> Duration {
        rows.iter().map(|row| self.array.cells.read_time(*row, self.array.mode)).max().unwrap_or_default()
    }

    /// The limit if the block of `row` is in another mode than the current one.
    pub(super) fn mixed_modes(&self, row: Row) -> Option<Limit> {
        let block = self.array.contents.mode(row.block).filter(|block| *block != self.array.mode)?;
        Some(Limit::MixedModes { row, block })
    }
}
