//! Interruptions of an operation: suspend and resume, reset, power loss.

use wordline_kernel::Instant;

use super::job::{Job, Rewritten, Work};
use super::{Busy, Lun};
use crate::Stage;
use crate::onfi::registers::ERASED;
use crate::onfi::{CellMode, Limit, Row};

impl Lun {
    /// Suspends the current program or erase, with the jobs that wait behind it. The array becomes idle after
    /// the part's suspend time, in which the operation makes no progress: the time that remains at `now`
    /// remains at the resume. An operation that would end before the suspend takes effect runs to its end
    /// instead.
    ///
    /// # Errors
    /// `NothingToSuspend`, also if an operation is suspended already.
    pub fn suspend(&mut self, now: Instant) -> Result<Busy, Limit> {
        self.settle(now);
        let first = self.jobs.first().filter(|job| job.begun && job.changes_cells());
        let working =
            first.filter(|_| self.suspended.is_empty()).and_then(|job| Some((job.clone(), job.stage()?)));
        let Some((job, stage)) = working else {
            return self.refuse(Row::default(), Err(Limit::NothingToSuspend));
        };
        let [program, erase] = self.cells.part.timing.suspend;
        let rests_at = now + if stage == Stage::Ber { erase } else { program };
        if job.end <= rests_at {
            return Ok(self.busy());
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
        Ok(self.busy())
    }

    /// Whether a program or erase is suspended.
    pub fn is_suspended(&self) -> bool {
        !self.suspended.is_empty()
    }

    /// Resumes the suspended operation, for its remaining time plus `LunTimes::resume`. FAIL and FAILC have
    /// their values from before the suspend, whatever operations ran in between.
    ///
    /// # Errors
    /// `NothingToResume`, or `Busy` while the array executes another operation.
    pub fn resume(&mut self, now: Instant) -> Result<Busy, Limit> {
        self.settle(now);
        let ready = self.require_ready(now, false);
        let allowed = if self.suspended.is_empty() { Err(Limit::NothingToResume) } else { ready };
        self.refuse(Row::default(), allowed)?;
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
        Ok(self.busy())
    }

    /// Resets the LUN (FFh, FCh, FAh): aborts its operations and clears queues, suspended operations, cell
    /// mode and FAIL. Pages being programmed and blocks being erased are torn. The cache registers keep their
    /// contents (chosen; the standard does not define this).
    pub fn reset(&mut self, now: Instant) -> Busy {
        self.settle(now);
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
        self.busy()
    }

    /// Cuts the power at `now`: operations are aborted as by a reset, and the registers are lost. The LUN is
    /// ready when the power returns.
    pub fn cut_power(&mut self, now: Instant) {
        self.settle(now);
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
        self.queue.clear();
        self.sensed.clear();
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
