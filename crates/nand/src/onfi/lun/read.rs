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
        let mut broken = self.queue_conflicts(row, Stage::Ton, false);
        broken.extend(self.mixed_modes(row));
        let failing = self.admit(row, &broken)?;
        self.sending = if self.queue.is_empty() { self.addressing.plane(row) } else { self.sending };
        if kind == ReadKind::Queue {
            self.queue.push(Queued { row, what: Stage::Ton, again: false, failing });
            return Ok(self.hold(now, self.cells.part.timing.plane_busy));
        }
        let (rows, failing) = self.take_queue(Queued { row, what: Stage::Ton, again: false, failing });
        Ok(self.sense(rows, failing, kind, now))
    }

    fn check_read(&self, row: Row, kind: ReadKind, now: Instant) -> Result<(), Limit> {
        let behind = match kind {
            ReadKind::Plain | ReadKind::Copyback => false,
            ReadKind::Queue | ReadKind::CacheRandom => self.works_in_cache(Stage::Ton),
            ReadKind::Independent if !self.cells.part.geometry.independent_reads => {
                return Err(Limit::Unsupported { what: "an independent read" });
            }
            ReadKind::Independent => self.jobs.iter().all(|job| job.is_independent_read()),
        };
        if kind == ReadKind::CacheRandom && !self.cells.has_cache_register() {
            return Err(Limit::Unsupported { what: "a cache read" });
        }
        self.require_ready(now, behind)?;
        self.require_row(row)?;
        if kind == ReadKind::Independent {
            if let Some(queued) = self.queue.first() {
                return Err(Limit::OtherQueued { first: queued.row, second: row });
            }
            let own = self.jobs.iter().find(|job| job.planes & self.bit(row) != 0);
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
        let pages = self.cells.pages(self.mode);
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
        if self.suspended.iter().any(|job| job.uses(row)) { Err(Limit::Suspended { row }) } else { Ok(()) }
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
        let at = self.pipeline.turn(now, self.cells.part.timing.cache_busy);
        let planes = self.mask(&before);
        self.start_job(Work::TransferPages { before }, planes, 0, (at, at));
        Ok(self.busy())
    }

    /// Checks that a cache read can continue. Returns the first of its sensed rows.
    fn check_cache_read(&self, now: Instant) -> Result<Row, Limit> {
        if !self.cells.has_cache_register() {
            return Err(Limit::Unsupported { what: "a cache read" });
        }
        self.require_ready(now, self.works_in_cache(Stage::Ton))?;
        match self.queue.first() {
            Some(queued) => Err(Limit::OtherQueued { first: queued.row, second: queued.row }),
            None => self.sensed.first().copied().ok_or(Limit::NothingSensed),
        }
    }

    /// Senses `rows`, which were admitted.
    fn sense(&mut self, rows: Vec<Row>, failing: u16, kind: ReadKind, now: Instant) -> Busy {
        let turn = match kind {
            ReadKind::CacheRandom => self.cells.part.timing.cache_busy,
            _ => Duration::ZERO,
        };
        let rests = if kind == ReadKind::Independent { now } else { now.max(self.pipeline.array_ready_at) };
        let time = self.query(Stage::Ton, &rows, self.sensing_time(&rows), rests + turn);
        let planes = self.mask(&rows);
        self.in_cache_programs = false;
        let before = std::mem::take(&mut self.sensed);
        if matches!(kind, ReadKind::Plain | ReadKind::CacheRandom) {
            self.sensed.clone_from(&rows);
        }
        let cached = kind == ReadKind::CacheRandom;
        let (begin, end) = match kind {
            ReadKind::CacheRandom => {
                let working = self.pipeline.turn_and_run(now, turn, time);
                (working.begin, working.end)
            }
            ReadKind::Independent => {
                self.hold(now, self.cells.part.timing.plane_busy);
                let end = now + time;
                self.pipeline.array_ready_at = self.pipeline.array_ready_at.max(end);
                (now, end)
            }
            _ => {
                let working = self.pipeline.run(now, time);
                (working.begin, working.end)
            }
        };
        let before = if cached { before } else { Vec::new() };
        self.start_job(Work::Sense { rows, kind, before }, planes, failing, (begin, end));
        self.busy()
    }

    fn sensing_time(&self, rows: &[Row]) -> Duration {
        rows.iter().map(|row| self.cells.read_time(*row, self.mode)).max().unwrap_or_default()
    }

    /// The limit if the block of `row` is in another mode than the current one.
    pub(super) fn mixed_modes(&self, row: Row) -> Option<Limit> {
        let block = self.contents.mode(row.block).filter(|block| *block != self.mode)?;
        Some(Limit::MixedModes { row, block })
    }
}
