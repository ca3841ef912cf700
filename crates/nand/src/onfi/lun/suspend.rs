//! Interruptions of an operation: suspend and resume, reset, power loss.

use wordline_kernel::Instant;

use super::array::Array;
use super::job::{Job, Rewritten, Work};
use crate::Stage;
use crate::onfi::registers::ERASED;
use crate::onfi::{CellMode, Limit, Row};

impl Array {
    /// Suspends the current program or erase.
    pub(super) fn suspend(&mut self, now: Instant) -> Result<(), Limit> {
        let first = self.jobs.first().filter(|job| job.begun && job.changes_cells());
        let working =
            first.filter(|_| self.suspended.is_empty()).and_then(|job| Some((job.clone(), job.stage()?)));
        let Some((job, stage)) = working else {
            return Err(Limit::NothingToSuspend);
        };
        let [program, erase] = self.cells.part.timing.suspend;
        let rests_at = now + if stage == Stage::Ber { erase } else { program };
        if job.end <= rests_at {
            return Ok(());
        }
        self.suspended = std::mem::take(&mut self.jobs);
        self.suspended_status = (self.failed, self.failed_before);
        self.suspended[0].begin = now;
        self.jobs.push(Job {
            work: Work::SuspendLatency { stage },
            end: rests_at,
            failing: 0,
            broken: 0,
            cached: false,
            ..job
        });
        self.pipeline.ready_at = rests_at;
        self.pipeline.array_ready_at = rests_at;
        Ok(())
    }

    /// Whether a program or erase is suspended.
    pub(super) fn is_suspended(&self) -> bool {
        !self.suspended.is_empty()
    }

    /// Resumes the suspended operation.
    pub(super) fn resume(&mut self, now: Instant) -> Result<(), Limit> {
        if self.suspended.is_empty() {
            return Err(Limit::NothingToResume);
        }
        self.require_ready(now, false)?;
        self.jobs = std::mem::take(&mut self.suspended);
        (self.failed, self.failed_before) = self.suspended_status;
        let mut from = now;
        for job in &mut self.jobs {
            let left = job.end - job.begin;
            job.begin = if job.begun { now } else { from + job.turn };
            job.end = job.begin + left + if job.begun { self.cells.times.resume } else { Default::default() };
            from = job.end;
        }
        let last = self.jobs.last().expect("something was suspended");
        self.pipeline.ready_at = if last.cached { last.begin } else { last.end };
        self.pipeline.array_ready_at = last.end;
        Ok(())
    }

    /// Aborts all operations, and is busy for the part's reset time.
    pub(super) fn reset(&mut self, now: Instant) {
        let [read, program, erase] = self.cells.part.timing.reset;
        let longest = self.jobs.iter().filter(|job| job.begun).map(|job| match job.stage() {
            Some(Stage::Ber) => erase,
            Some(Stage::Tin) => program,
            _ => read,
        });
        let time = longest.max().unwrap_or(read);
        self.abort_all(now);
        self.pipeline.ready_at = now + time;
        self.pipeline.array_ready_at = now + time;
    }

    /// Aborts all operations at a power cut, and loses the registers.
    pub(super) fn cut_power(&mut self, now: Instant) {
        self.abort_all(now);
        for registers in &mut self.planes {
            registers.cache.fill(ERASED);
        }
        self.pipeline.ready_at = now;
        self.pipeline.array_ready_at = now;
    }

    fn abort_all(&mut self, now: Instant) {
        for job in std::mem::take(&mut self.jobs).into_iter().filter(|job| job.begun) {
            self.record(&job, now);
            self.tear(job);
        }
        for job in std::mem::take(&mut self.suspended).into_iter().filter(|job| job.begun) {
            self.tear(job);
        }
        for registers in &mut self.planes {
            registers.sensed = None;
            registers.copied = None;
            registers.write_back.fill(None);
        }
        (self.failed, self.failed_before) = (0, 0);
        self.in_cache_programs = false;
        self.mode = CellMode::Native;
    }

    /// Tears the cells of an aborted job. In a part that programs the pages of a word line one by one, the
    /// lower pages of the word line are torn, too: the cells leave the states that stored their bits.
    fn tear(&mut self, job: Job) {
        match job.work {
            Work::Sense { .. } | Work::TransferPages { .. } | Work::SuspendLatency { .. } => {}
            Work::Program { pages } => {
                for (row, _) in pages {
                    self.contents.tear_page(row);
                    for page in self.cells.pages_below(row.page, self.contents.mode(row.block)) {
                        let below = Row { page, ..row };
                        if self.contents.is_programmed(below) {
                            self.contents.tear_page(below);
                        }
                    }
                }
            }
            Work::Reprogram { pages } => {
                for Rewritten { page, kept, .. } in pages {
                    self.contents.tear_page(page);
                    self.contents.tear_page(kept);
                }
            }
            Work::Erase { blocks } => blocks.into_iter().for_each(|block| self.contents.tear_block(block)),
        }
    }
}
