//! A LUN: registers, array operations, contents and limits.
//!
//! An operation is started at the instant at which the LUN becomes busy. It affects cells and registers at
//! later instants. [`Lun::settle`] applies all effects that are due, and every call with an instant does so
//! first. Calls without an instant ([`Lun::begin_load`], [`Lun::load`], [`Lun::output`]) use the registers as
//! they were last settled. A rejected operation changes no register and no cell.

mod admission;
mod cell_queries;
mod erase;
mod job;
mod options;
mod program;
mod read;
mod reprogram;
mod settle;
mod suspend;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use wordline_kernel::{Duration, Instant};

use self::admission::Queued;
use self::job::Job;
pub use self::options::{Busy, InjectedFailure, LunOptions, ProgramKind, ReadKind};
use super::cells::Cells;
use super::contents::Contents;
use super::registers::PlaneRegisters;
use super::{CellMode, Condition, Limit, LunTimes, Row, RowAddressing};
use crate::Stage;
use crate::latency::Latency;
use crate::pipeline::Pipeline;
use crate::span::Span;
use crate::{DieId, Part};

/// A LUN: planes of cells with their registers, and one array controller.
#[derive(Clone, Debug)]
pub struct Lun {
    die: DieId,
    cells: Cells,
    addressing: RowAddressing,
    fatal: bool,
    failures: Vec<InjectedFailure>,
    contents: Contents,
    planes: Vec<PlaneRegisters>,
    /// The plane of data in.
    loading: u32,
    /// The plane of data out.
    sending: u32,
    mode: CellMode,
    protected: bool,
    pipeline: Pipeline,
    jobs: Vec<Job>,
    suspended: Vec<Job>,
    /// FAIL and FAILC at the suspend.
    suspended_status: (u16, u16),
    /// Rows of the queueing commands of a multi-plane operation, each with whether it exceeded a limit.
    queue: Vec<Queued>,
    /// Rows from which a cache read continues; empty if there is none.
    sensed: Vec<Row>,
    failed: u16,
    failed_before: u16,
    broken: BTreeMap<&'static str, u64>,
    spans: Vec<Span>,
    command: u32,
    /// Whether the last operation was a cache program.
    in_cache_programs: bool,
}

impl Lun {
    /// The LUN `die` of `part` with erased cells.
    pub fn new(part: &Part, die: DieId, options: LunOptions) -> Self {
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
            fatal: options.fatal,
            failures: options.failures,
            contents: Contents::new(page_bytes, g.pages_per_block, die.0, options.seed, &options.bad_blocks),
            planes: vec![PlaneRegisters::new(page_bytes, write_back); g.planes as usize],
            loading: 0,
            sending: 0,
            mode: CellMode::Native,
            protected: false,
            pipeline: Pipeline::default(),
            jobs: Vec::new(),
            suspended: Vec::new(),
            suspended_status: (0, 0),
            queue: Vec::new(),
            sensed: Vec::new(),
            failed: 0,
            failed_before: 0,
            broken: BTreeMap::new(),
            spans: Vec::new(),
            command: 0,
            in_cache_programs: false,
        }
    }

    /// The die of the LUN.
    pub fn die(&self) -> DieId {
        self.die
    }

    /// The times at which RDY and ARDY rise.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The cells.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Sets the number of erases of `block` before the run.
    pub fn set_erases(&mut self, block: u32, erases: u32) {
        self.contents.set_erases(block, erases);
    }

    /// Counters of exceeded limits, by [`Limit::name`].
    pub fn broken(&self) -> &BTreeMap<&'static str, u64> {
        &self.broken
    }

    /// The cell mode of the next operations, set by a vendor's prefix command (A2h, A3h, A4h) or feature.
    pub fn mode(&self) -> CellMode {
        self.mode
    }

    /// Sets the cell mode of the next operations.
    pub fn set_mode(&mut self, mode: CellMode) -> Result<(), Limit> {
        if mode.is_reprogram() || !self.cells.part.has_mode(mode) {
            return Err(Limit::Unsupported { what: mode.name() });
        }
        self.mode = mode;
        Ok(())
    }

    /// Drives the write-protect pin: while it is low (`on`), programs and erases are rejected.
    pub fn set_write_protect(&mut self, on: bool) {
        self.protected = on;
    }

    /// Sets the command number in the spans of the next operations.
    pub fn set_command(&mut self, command: u32) {
        self.command = command;
    }

    /// The result of a status command (70h) at `now`.
    pub fn status(&mut self, now: Instant) -> Condition {
        self.settle(now);
        self.condition(u16::MAX, now)
    }

    /// The result of an enhanced status command (78h) at `now` in the plane of `row`.
    pub fn status_of(&mut self, row: Row, now: Instant) -> Condition {
        self.settle(now);
        let plane = self.bit(row);
        let mut condition = self.condition(plane, now);
        condition.ready &= !self.jobs.iter().any(|job| job.planes & plane != 0 && job.is_independent_read());
        condition
    }

    fn condition(&self, planes: u16, now: Instant) -> Condition {
        Condition {
            ready: now >= self.pipeline.ready_at,
            array_ready: now >= self.pipeline.array_ready_at,
            failed: self.failed & planes != 0,
            failed_before: self.failed_before & planes != 0,
            protected: self.protected,
        }
    }

    /// Handles an address for data in: selects the plane of `row`. `clear` (80h) fills the cache registers
    /// with FFh first; otherwise (85h with five address cycles) they keep their contents.
    pub fn begin_load(&mut self, row: Row, clear: bool) {
        self.loading = self.addressing.plane(row);
        if clear {
            self.clear_registers();
        }
    }

    /// Fills the cache registers of all planes with FFh, as 80h to any LUN of the target does. Planes whose
    /// data wait for the last plane of a program keep their data.
    pub fn clear_registers(&mut self) {
        let waiting = self.queue.iter().filter(|queued| queued.what == Stage::Tin);
        let waiting = waiting.fold(0, |mask, queued| mask | self.bit(queued.row));
        for (plane, registers) in self.planes.iter_mut().enumerate() {
            if waiting & (1 << plane) == 0 {
                registers.cache.fill(super::registers::ERASED);
                registers.copied = None;
            }
        }
    }

    /// Writes data in at `column` of the cache register of the selected plane. Bytes beyond its end are lost.
    pub fn load(&mut self, column: u32, data: &[u8]) {
        self.planes[self.loading as usize].load(column, data);
    }

    /// Selects the plane of data out (06h, 78h). A plane number beyond the part's planes is taken modulo
    /// their number, because the address has no more bits.
    pub fn select_output(&mut self, plane: u32) {
        self.sending = plane % self.planes.len() as u32;
    }

    /// `len` bytes from `column` of the cache register of the selected plane; FFh beyond its end.
    pub fn output(&self, column: u32, len: u32) -> Vec<u8> {
        self.planes[self.sending as usize].output(column, len)
    }

    /// Bytes of a cache register: data and spare bytes of a page.
    pub fn register_size(&self) -> u32 {
        self.planes[0].cache.len() as u32
    }

    /// The spans of finished array operations, in the order of their ends; each is returned once. An
    /// operation is finished when [`Self::settle`] or another call has passed its end, or when a suspend or
    /// reset has aborted it.
    pub fn spans(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.spans)
    }

    /// The span of the array operation in progress, up to `now`; `None` if there is none, or if it belongs to
    /// no stage.
    pub fn current_span(&self, now: Instant) -> Option<Span> {
        let job = self.jobs.iter().find(|job| job.begun && job.end > now && job.begin < now)?;
        let (die, stage, command) = (self.die, job.stage()?, job.command);
        Some(Span { begin: job.begin, die, stage, planes: job.planes, length: now - job.begin, command })
    }

    fn busy(&self) -> Busy {
        Busy { ready_at: self.pipeline.ready_at, array_ready_at: self.pipeline.array_ready_at }
    }

    /// Keeps the LUN busy for `time` without an array operation.
    fn hold(&mut self, from: Instant, time: Duration) -> Busy {
        self.pipeline.ready_at = from + time;
        self.pipeline.array_ready_at = self.pipeline.array_ready_at.max(self.pipeline.ready_at);
        self.busy()
    }

    /// The bit of the plane of `row`.
    fn bit(&self, row: Row) -> u16 {
        1 << self.addressing.plane(row)
    }

    fn mask(&self, rows: &[Row]) -> u16 {
        rows.iter().fold(0, |mask, row| mask | self.bit(*row))
    }
}
