//! A LUN: registers, array operations, contents and limits.
//!
//! An operation is started at the instant at which the LUN becomes busy. It affects cells and registers at
//! later instants. [`Lun::settle`] applies all effects that are due, and every call with an instant does so
//! first. Calls without an instant ([`Lun::begin_load`], [`Lun::load`], [`Lun::output`]) use the registers as
//! they were last settled. A rejected operation changes no register and no cell.

mod admission;
mod array;
mod erase;
mod job;
mod options;
mod program;
mod read;
mod suspend;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use wordline_kernel::Instant;

use self::admission::{Admission, Queued};
use self::array::Array;
use self::job::Job;
pub use self::options::{Busy, InjectedFailure, LunOptions, ProgramKind, ReadKind};
use super::contents::Contents;
use super::{CellMode, Condition, Limit, Row};
use crate::pipeline::Pipeline;
use crate::span::Span;
use crate::{DieId, Outcome, Parameters, Part, Physics, Stage};

/// A LUN: planes of cells with their registers, and one array controller.
#[derive(Clone, Debug)]
pub struct Lun {
    array: Array,
    admission: Admission,
    /// The plane of data in.
    loading: u32,
    /// The plane of data out.
    sending: u32,
    protected: bool,
    /// Rows from which a cache read continues; empty if there is none.
    sensed: Vec<Row>,
}

impl Lun {
    /// The LUN `die` of `part` with erased cells.
    pub fn new(part: &Part, die: DieId, options: LunOptions) -> Self {
        Self {
            array: Array::new(part, die, &options),
            admission: Admission { fatal: options.fatal, failures: options.failures, ..Admission::default() },
            loading: 0,
            sending: 0,
            protected: false,
            sensed: Vec::new(),
        }
    }

    /// The die of the LUN.
    pub fn die(&self) -> DieId {
        self.array.die
    }

    /// The times at which RDY and ARDY rise.
    pub fn pipeline(&self) -> &Pipeline {
        &self.array.pipeline
    }

    /// The cells.
    pub fn contents(&self) -> &Contents {
        &self.array.contents
    }

    /// Sets the number of erases of `block` before the run.
    pub fn set_erases(&mut self, block: u32, erases: u32) {
        self.array.contents.set_erases(block, erases);
    }

    /// Counters of exceeded limits, by [`Limit::name`].
    pub fn broken(&self) -> &BTreeMap<&'static str, u64> {
        &self.admission.broken
    }

    /// The cell mode of the next operations, set by a vendor's prefix command (A2h, A3h, A4h) or feature.
    pub fn mode(&self) -> CellMode {
        self.array.mode
    }

    /// Sets the cell mode of the next operations.
    pub fn set_mode(&mut self, mode: CellMode) -> Result<(), Limit> {
        if mode.is_reprogram() || !self.array.cells.part.has_mode(mode) {
            return Err(Limit::Unsupported { what: mode.name() });
        }
        self.array.mode = mode;
        Ok(())
    }

    /// Drives the write-protect pin: while it is low (`on`), programs and erases are rejected.
    pub fn set_write_protect(&mut self, on: bool) {
        self.protected = on;
    }

    /// Sets the command number in the spans of the next operations.
    pub fn set_command(&mut self, command: u32) {
        self.array.command = command;
    }

    /// The result of a status command (70h) at `now`.
    pub fn status(&mut self, now: Instant) -> Condition {
        self.settle(now);
        self.condition(u16::MAX, now)
    }

    /// The result of an enhanced status command (78h) at `now` in the plane of `row`.
    pub fn status_of(&mut self, row: Row, now: Instant) -> Condition {
        self.settle(now);
        let plane = self.array.bit(row);
        let mut condition = self.condition(plane, now);
        condition.ready &=
            !self.array.jobs.iter().any(|job| job.planes & plane != 0 && job.is_independent_read());
        condition
    }

    fn condition(&self, planes: u16, now: Instant) -> Condition {
        Condition {
            ready: now >= self.array.pipeline.ready_at,
            array_ready: now >= self.array.pipeline.array_ready_at,
            failed: self.array.failed & planes != 0,
            failed_before: self.array.failed_before & planes != 0,
            protected: self.protected,
        }
    }

    /// Handles an address for data in: selects the plane of `row`. `clear` (80h) fills the cache registers
    /// with FFh first; otherwise (85h with five address cycles) they keep their contents.
    pub fn begin_load(&mut self, row: Row, clear: bool) {
        self.loading = self.array.addressing.plane(row);
        if clear {
            self.clear_registers();
        }
    }

    /// Fills the cache registers of all planes with FFh, as 80h to any LUN of the target does. Planes whose
    /// data wait for the last plane of a program keep their data.
    pub fn clear_registers(&mut self) {
        let waiting = self.admission.queue.iter().filter(|queued| queued.what == Stage::Tin);
        let waiting = waiting.fold(0, |mask, queued| mask | self.array.bit(queued.row));
        for (plane, registers) in self.array.planes.iter_mut().enumerate() {
            if waiting & (1 << plane) == 0 {
                registers.cache.fill(super::registers::ERASED);
                registers.copied = None;
            }
        }
    }

    /// Writes data in at `column` of the cache register of the selected plane. Bytes beyond its end are lost.
    pub fn load(&mut self, column: u32, data: &[u8]) {
        self.array.planes[self.loading as usize].load(column, data);
    }

    /// Selects the plane of data out (06h, 78h). A plane number beyond the part's planes is taken modulo
    /// their number, because the address has no more bits.
    pub fn select_output(&mut self, plane: u32) {
        self.sending = plane % self.array.planes.len() as u32;
    }

    /// `len` bytes from `column` of the cache register of the selected plane; FFh beyond its end.
    pub fn output(&self, column: u32, len: u32) -> Vec<u8> {
        self.array.planes[self.sending as usize].output(column, len)
    }

    /// Bytes of a cache register: data and spare bytes of a page.
    pub fn register_size(&self) -> u32 {
        self.array.planes[0].cache.len() as u32
    }

    /// The spans of finished array operations, in the order of their ends; each is returned once. An
    /// operation is finished when [`Self::settle`] or another call has passed its end, or when a suspend or
    /// reset has aborted it.
    pub fn spans(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.array.spans)
    }

    /// The span of the array operation in progress, up to `now`; `None` if there is none, or if it belongs to
    /// no stage.
    pub fn current_span(&self, now: Instant) -> Option<Span> {
        let job = self.array.jobs.iter().find(|job| job.begun && job.end > now && job.begin < now)?;
        let (die, stage, command) = (self.array.die, job.stage()?, job.command);
        Some(Span { begin: job.begin, die, stage, planes: job.planes, length: now - job.begin, command })
    }

    /// Applies all effects that are due by `now`.
    pub fn settle(&mut self, now: Instant) {
        self.array.settle(now);
    }

    /// Checks that `row` exists in the mode of this operation.
    fn require_row(&self, row: Row) -> Result<(), Limit> {
        self.array.addressing.check(row)?;
        let pages = self.array.cells.pages(self.array.mode);
        if row.page >= pages { Err(Limit::Hole { row, pages }) } else { Ok(()) }
    }

    /// Counts exceeded limits. `Ok` reports whether there were any; if so, the operation is executed
    /// nevertheless. Otherwise FAIL is set in the plane of `row`, unless the LUN is only busy.
    fn admit(&mut self, row: Row, broken: &[Limit]) -> Result<bool, Limit> {
        self.admission.count(broken).inspect_err(|limit| {
            if !matches!(limit, Limit::Busy { .. }) {
                self.array.failed |= self.array.bit(row);
            }
        })
    }

    /// Counts the limit in an error, if any.
    fn refuse<T>(&mut self, row: Row, checked: Result<T, Limit>) -> Result<T, Limit> {
        checked.inspect_err(|limit| {
            self.admit(row, &[*limit]).ok();
        })
    }

    /// Suspends the current program or erase, with the jobs that wait behind it. The array becomes idle after
    /// the part's suspend time, in which the operation makes no progress: the time that remains at `now`
    /// remains at the resume. An operation that would end before the suspend takes effect runs to its end
    /// instead.
    ///
    /// # Errors
    /// `NothingToSuspend`, also if an operation is suspended already.
    pub fn suspend(&mut self, now: Instant) -> Result<Busy, Limit> {
        self.settle(now);
        let suspended = self.array.suspend(now);
        self.refuse(Row::default(), suspended)?;
        Ok(self.array.busy())
    }

    /// Whether a program or erase is suspended.
    pub fn is_suspended(&self) -> bool {
        self.array.is_suspended()
    }

    /// Resumes the suspended operation, for its remaining time plus `LunTimes::resume`. FAIL and FAILC have
    /// their values from before the suspend, whatever operations ran in between.
    ///
    /// # Errors
    /// `NothingToResume`, or `Busy` while the array executes another operation.
    pub fn resume(&mut self, now: Instant) -> Result<Busy, Limit> {
        self.settle(now);
        let resumed = self.array.resume(now);
        self.refuse(Row::default(), resumed)?;
        Ok(self.array.busy())
    }

    /// Resets the LUN (FFh, FCh, FAh): aborts its operations and clears queues, suspended operations, cell
    /// mode and FAIL. Pages being programmed and blocks being erased are torn. The cache registers keep their
    /// contents (chosen; the standard does not define this).
    pub fn reset(&mut self, now: Instant) -> Busy {
        self.settle(now);
        self.array.reset(now);
        self.forget();
        self.array.busy()
    }

    /// Cuts the power at `now`: operations are aborted as by a reset, and the registers are lost. The LUN is
    /// ready when the power returns.
    pub fn cut_power(&mut self, now: Instant) {
        self.settle(now);
        self.array.cut_power(now);
        self.forget();
    }

    /// Drops queued rows and the sensed rows of a cache read.
    fn forget(&mut self) {
        self.admission.queue.clear();
        self.sensed.clear();
    }

    /// Uses `physics` as the cell model for array times and outcomes from now on.
    pub fn set_physics(&mut self, physics: Box<dyn Physics>) {
        self.array.cells.asks.get_or_insert_default().asked.set_physics(physics);
    }

    /// Stores `parameters` as set `number`, from 1 on, for operations that begin from now on.
    pub fn set_parameters(&mut self, number: u16, parameters: Parameters) {
        assert!(number > 0, "set 0 is that of the data sheet");
        self.array.cells.asks.get_or_insert_default().asked.set(number, parameters);
    }

    /// Selects the parameter set of the next operations.
    ///
    /// # Errors
    /// There is no such parameter set.
    pub fn select_parameters(&mut self, number: u16) -> Result<(), Limit> {
        match &mut self.array.cells.asks {
            None if number == 0 => {}
            Some(asks) if asks.asked.parameters(number).is_some() => asks.set = number,
            _ => return Err(Limit::Unsupported { what: "a parameter set that was not stored" }),
        }
        Ok(())
    }

    /// The outcome of the last array operation, if its parameters requested one. The outcome is known once
    /// the operation has begun.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.array.cells.asks.as_ref()?.outcome.as_ref()
    }
}
