//! A LUN from the inside: registers, array operations, contents and limits.
//!
//! An operation is given at the instant at which the LUN goes busy. Its effect on cells and registers falls on
//! the instants at which it really happens, and [`Lun::settle`] lets everything happen that is due: every call
//! that names an instant does so first. Calls that name none ([`Lun::begin_load`], [`Lun::load`], [`Lun::output`])
//! see the registers as they were settled last. An operation that is refused changes no register and no cell.

mod admit;
mod again;
mod asked;
mod erase;
mod job;
mod options;
mod program;
mod read;
mod settle;
mod suspend;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use wordline_kernel::{Duration, Instant};

use self::admit::Queued;
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

/// A LUN: planes of cells with their registers, and one array machine.
#[derive(Clone, Debug)]
pub struct Lun {
    die: DieId,
    cells: Cells,
    addressing: RowAddressing,
    fatal: bool,
    failures: Vec<InjectedFailure>,
    contents: Contents,
    planes: Vec<PlaneRegisters>,
    /// The plane that data in and data out go to.
    loading: u32,
    sending: u32,
    mode: CellMode,
    protected: bool,
    pipeline: Pipeline,
    jobs: Vec<Job>,
    suspended: Vec<Job>,
    /// FAIL and FAILC when it was suspended.
    suspended_status: (u16, u16),
    /// Rows named by the queueing commands of a multi-plane operation, and whether they broke a limit.
    queue: Vec<Queued>,
    /// Rows that a cache read goes on from; empty when there is none.
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

    /// The die that it is.
    pub fn die(&self) -> DieId {
        self.die
    }

    /// When RDY and ARDY rise.
    pub fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    /// The cells.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Sets how often `block` was erased before the run.
    pub fn set_erases(&mut self, block: u32, erases: u32) {
        self.contents.set_erases(block, erases);
    }

    /// How often each limit was broken, by [`Limit::name`].
    pub fn broken(&self) -> &BTreeMap<&'static str, u64> {
        &self.broken
    }

    /// The mode that the next operations use: chosen by a vendor's prefix command (A2h, A3h, A4h) or feature.
    pub fn mode(&self) -> CellMode {
        self.mode
    }

    /// Sets the mode that the next operations use.
    pub fn set_mode(&mut self, mode: CellMode) -> Result<(), Limit> {
        if mode.is_again() || !self.cells.part.has_mode(mode) {
            return Err(Limit::Unsupported { what: mode.name() });
        }
        self.mode = mode;
        Ok(())
    }

    /// Drives the write-protect pin: while it is low (`on`), programs and erases are refused.
    pub fn set_write_protect(&mut self, on: bool) {
        self.protected = on;
    }

    /// Sets the serial number that the spans of the next operations carry.
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
        condition.ready &= !self.jobs.iter().any(|job| job.planes & plane != 0 && job.senses_alone());
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

    /// An address for data in was latched: the plane of `row` takes them. `clear` (80h) fills the cache registers with
    /// FFh first; else (85h with five address cycles) they keep what they hold.
    pub fn begin_load(&mut self, row: Row, clear: bool) {
        self.loading = self.addressing.plane(row);
        if clear {
            self.clear_registers();
        }
    }

    /// 80h to any LUN of the target fills the cache registers of all planes with FFh, but for those whose data wait for the
    /// last plane of a program.
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

    /// Data in at `column` of the cache register of the plane selected. Bytes beyond its end are lost.
    pub fn load(&mut self, column: u32, data: &[u8]) {
        self.planes[self.loading as usize].load(column, data);
    }

    /// Selects the plane whose cache register data out come from (06h, 78h). A plane that the part does not have
    /// counts modulo its planes, as the address has no more bits.
    pub fn select_output(&mut self, plane: u32) {
        self.sending = plane % self.planes.len() as u32;
    }

    /// `len` bytes from `column` of the cache register of the plane selected; FFh beyond its end. Reads change nothing.
    pub fn output(&self, column: u32, len: u32) -> Vec<u8> {
        self.planes[self.sending as usize].output(column, len)
    }

    /// Bytes of a cache register: data and spare bytes of a page.
    pub fn register_size(&self) -> u32 {
        self.planes[0].cache.len() as u32
    }

    /// The spans of array work that are over, in the order of their ends, each given once. Work is over when
    /// [`Self::settle`] or another call went past its end, or when a suspend or reset cut it off.
    pub fn spans(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.spans)
    }

    /// The work of the array in progress, up to `now`; none if it is over, or belongs to no stage.
    pub fn at_work(&self, now: Instant) -> Option<Span> {
        let job = self.jobs.iter().find(|job| job.begun && job.end > now && job.begin < now)?;
        let (die, stage, command) = (self.die, job.stage()?, job.command);
        Some(Span { begin: job.begin, die, stage, planes: job.planes, length: now - job.begin, command })
    }

    fn busy(&self) -> Busy {
        Busy { ready_at: self.pipeline.ready_at, array_ready_at: self.pipeline.array_ready_at }
    }

    /// Keeps the LUN busy for `time` without the array.
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
