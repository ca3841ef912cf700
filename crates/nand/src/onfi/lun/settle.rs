//! Effects of array operations at their instants.

use wordline_kernel::{Duration, Instant};

use super::Lun;
use super::job::{Job, Rewritten, Work};
use crate::onfi::{ReadKind, Row, RowAddressing};
use crate::span::Span;

impl Lun {
    /// Applies all effects that are due by `now`.
    pub fn settle(&mut self, now: Instant) {
        loop {
            let changes = self.jobs.iter().enumerate().map(|(n, job)| (job.next_change(), n));
            match changes.min() {
                Some((at, n)) if at <= now => self.step(n),
                _ => return,
            }
        }
    }

    /// Begins or ends job `n`.
    fn step(&mut self, n: usize) {
        if self.jobs[n].begun {
            let job = self.jobs.remove(n);
            self.record(&job, job.end);
            self.finish(job);
            return;
        }
        let job = &mut self.jobs[n];
        job.begun = true;
        self.failed_before = if job.follows_cache { self.failed } else { 0 };
        self.failed = 0;
        match &job.work {
            Work::Sense { before, .. } | Work::TransferPages { before } => {
                for row in before {
                    self.planes[self.addressing.plane(*row) as usize].transfer_to_cache();
                }
            }
            Work::Program { pages } => {
                pages.iter().for_each(|(row, _)| self.contents.note_program(*row, job.mode));
            }
            Work::Reprogram { pages } => {
                for Rewritten { page, .. } in pages {
                    let line = self.cells.program_unit(page.page, job.mode);
                    self.contents.note_reprogram(*page, line);
                }
            }
            Work::Erase { blocks } => blocks.iter().for_each(|block| self.contents.note_erase(*block)),
            Work::SuspendLatency { .. } => {}
        }
    }

    /// Records the span from the begin of `job` to `end`.
    pub(super) fn record(&mut self, job: &Job, end: Instant) {
        if let Some(stage) = job.stage() {
            let (die, command) = (self.die, job.command);
            let length = end - job.begin;
            self.spans.push(Span { begin: job.begin, die, stage, planes: job.planes, length, command });
        }
    }

    /// Applies the effects of a job to cells and registers.
    fn finish(&mut self, job: Job) {
        self.failed |= job.failing;
        let plane = |addressing: &RowAddressing, row: Row| addressing.plane(row) as usize;
        match job.work {
            Work::Sense { rows, kind, .. } => {
                for row in rows {
                    let page = self.contents.read(row);
                    let registers = &mut self.planes[plane(&self.addressing, row)];
                    if kind != ReadKind::CacheRandom {
                        registers.cache.copy_from_slice(&page);
                    }
                    registers.sensed = Some(page);
                    registers.copied = (kind == ReadKind::Copyback).then_some(row);
                }
            }
            Work::TransferPages { .. } | Work::SuspendLatency { .. } => {}
            Work::Program { pages } => {
                for (row, bytes) in pages {
                    self.contents.program(row, &bytes);
                    if job.broken & (1 << plane(&self.addressing, row)) != 0 {
                        self.contents.tear_page(row);
                    }
                }
            }
            Work::Reprogram { pages } => {
                for Rewritten { page, kept, bytes } in pages {
                    self.contents.replace(page, &bytes);
                    if job.broken & (1 << plane(&self.addressing, page)) != 0 {
                        self.contents.tear_page(page);
                        self.contents.tear_page(kept);
                    }
                }
            }
            Work::Erase { blocks } => {
                for block in blocks {
                    self.contents.erase(block);
                    if job.broken & (1 << (block as usize % self.planes.len())) != 0 {
                        self.contents.tear_block(block);
                    }
                }
            }
        }
    }

    /// Queues an array operation that begins and ends at these instants.
    pub(super) fn start_job(
        &mut self,
        work: Work,
        planes: u16,
        failing: u16,
        (begin, end): (Instant, Instant),
    ) -> &mut Job {
        self.jobs.push(Job {
            cached: matches!(work, Work::Sense { kind: ReadKind::CacheRandom, .. }),
            work,
            command: self.command,
            planes,
            failing,
            broken: 0,
            begin,
            end,
            begun: false,
            follows_cache: false,
            mode: self.mode,
            turn: Duration::ZERO,
        });
        self.jobs.last_mut().expect("a job was given just now")
    }
}
