//! The array of a LUN: its operations, and their effects on cells and registers at their instants.

use wordline_kernel::{Duration, Instant};

use super::job::{Job, Rewritten, Work};
use super::{Busy, LunOptions};
use crate::latency::Latency;
use crate::onfi::cells::Cells;
use crate::onfi::contents::Contents;
use crate::onfi::registers::PlaneRegisters;
use crate::onfi::{CellMode, Limit, LunTimes, ReadKind, Row, RowAddressing};
use crate::pipeline::Pipeline;
use crate::span::Span;
use crate::{DieId, Part, Stage};

/// Cells and registers of a LUN, and the operations that change them.
#[derive(Clone, Debug)]
pub(super) struct Array {
    pub(super) die: DieId,
    pub(super) cells: Cells,
    pub(super) addressing: RowAddressing,
    pub(super) contents: Contents,
    pub(super) planes: Vec<PlaneRegisters>,
    /// The cell mode of the next operations.
    pub(super) mode: CellMode,
    /// The command number of the next operations.
    pub(super) command: u32,
    pub(super) pipeline: Pipeline,
    pub(super) jobs: Vec<Job>,
    pub(super) suspended: Vec<Job>,
    /// FAIL and FAILC at the suspend.
    pub(super) suspended_status: (u16, u16),
    pub(super) failed: u16,
    pub(super) failed_before: u16,
    /// Whether the last operation was a cache program.
    pub(super) in_cache_programs: bool,
    pub(super) spans: Vec<Span>,
}

impl Array {
    /// The idle array of the LUN `die`, with erased cells.
    pub(super) fn new(part: &Part, die: DieId, options: &LunOptions) -> Self {
        let g = &part.geometry;
        let page_bytes = (g.page_size.0 + g.spare_size.0) as usize;
        let write_back = if g.one_shot { g.bits_per_cell as usize } else { 0 };
        let times = options.times.unwrap_or_else(|| LunTimes::of(part));
        Self {
            die,
            cells: Cells {
                part: part.clone(),
                times,
                latency: Latency::new(part, options.latency, options.seed),
                die,
                asks: None,
            },
            addressing: RowAddressing::of(part, 1),
            contents: Contents::new(page_bytes, g.pages_per_block, die.0, options.seed, &options.bad_blocks),
            planes: vec![PlaneRegisters::new(page_bytes, write_back); g.planes as usize],
            mode: CellMode::Native,
            command: 0,
            pipeline: Pipeline::default(),
            jobs: Vec::new(),
            suspended: Vec::new(),
            suspended_status: (0, 0),
            failed: 0,
            failed_before: 0,
            in_cache_programs: false,
            spans: Vec::new(),
        }
    }

    /// The bit of the plane of `row`.
    pub(super) fn bit(&self, row: Row) -> u16 {
        1 << self.addressing.plane(row)
    }

    pub(super) fn mask(&self, rows: &[Row]) -> u16 {
        rows.iter().fold(0, |mask, row| mask | self.bit(*row))
    }

    pub(super) fn busy(&self) -> Busy {
        Busy { ready_at: self.pipeline.ready_at, array_ready_at: self.pipeline.array_ready_at }
    }

    /// Keeps the LUN busy for `time` without an array operation.
    pub(super) fn hold(&mut self, from: Instant, time: Duration) -> Busy {
        self.pipeline.ready_at = from + time;
        self.pipeline.array_ready_at = self.pipeline.array_ready_at.max(self.pipeline.ready_at);
        self.busy()
    }

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

    /// Applies all effects that are due by `now`.
    pub(super) fn settle(&mut self, now: Instant) {
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
        job.begin();
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

    /// The array time for these rows from `begin` on.
    pub(super) fn query(
        &mut self,
        stage: Stage,
        rows: &[Row],
        data_sheet: Duration,
        begin: Instant,
    ) -> Duration {
        let (mode, row) = (self.mode, rows.first().copied().unwrap_or_default());
        let line = self.cells.program_unit(row.page, mode);
        let again = if mode == CellMode::Mlc { self.contents.reprograms(row.block, line) as u8 } else { 0 };
        let mode = if stage == Stage::Ton && again > 0 { CellMode::Reprogrammed(again) } else { mode };
        self.cells.query(stage, mode, rows, data_sheet, begin)
    }

    /// The array time of a reprogram of word lines.
    pub(super) fn query_reprogram(&mut self, rows: &[Row], data_sheet: Duration, begin: Instant) -> Duration {
        let row = rows.first().copied().unwrap_or_default();
        let line = self.cells.program_unit(row.page, self.mode);
        let mode = CellMode::Reprogrammed(self.contents.reprograms(row.block, line) as u8 + 1);
        self.cells.query(Stage::Tin, mode, rows, data_sheet, begin)
    }
}
