//! Execution of decoded steps by a target.

use wordline_kernel::{Bytes, Instant};

use super::Bus;
use super::target::{Loading, Output, is_short};
use crate::onfi::Row;
use crate::onfi::command::{self, Address, BusyTime, Operation};
use crate::onfi::failure::{FailureKind, Fault};
use crate::onfi::rules::{Edge, Wait};
use crate::onfi::sequence::{DecodedCommand, Step};

pub(super) type StepResult<T> = Result<T, FailureKind>;

/// The row within a LUN: without the LUN number, which a LUN does not know.
pub(super) fn within(row: Row) -> Row {
    Row { lun: 0, ..row }
}

pub(super) fn out_of(what: &'static str, found: u32, below: u32) -> StepResult<()> {
    if found < below { Ok(()) } else { Err(FailureKind::Address { what, found, below }) }
}

impl Bus {
    /// Executes a step of a cycle. Returns whether a LUN or the target becomes busy, tWB after `end`.
    pub(super) fn execute_step(&mut self, step: &Step, begin: Instant, end: Instant) -> StepResult<bool> {
        match step {
            Step::Row { command, row } => {
                self.note_lun(*row);
                let row = self.target().row(*row, command.operation == Operation::Erase)?;
                self.target().require_any(command.first, row.lun as usize, begin)?;
                self.take_over(command.operation, row);
            }
            Step::Load { operation, column, row } => self.begin_load(*operation, *column, *row, begin)?,
            Step::Column(column) => {
                let column = self.target().byte_at(*column);
                out_of("column", column, self.page_bytes())?;
                self.target().require_even("column", column)?;
                if let Some(loading) = &mut self.target_mut().loading {
                    loading.column = column;
                }
            }
            Step::Store(len) => self.check_store(*len)?,
            Step::ReturnToData => self.target_mut().leave_status(),
            Step::Do(order) => return self.execute_command(order, begin, end),
        }
        Ok(false)
    }

    pub(super) fn page_bytes(&self) -> u32 {
        let g = &self.part.geometry;
        (g.page_size.0 + g.spare_size.0) as u32
    }

    /// Selects the LUN of a row for the sequence. The cycles of the sequence count for a new operation unless
    /// they add planes to the last one.
    fn take_over(&mut self, operation: Operation, row: Row) {
        let lun = row.lun as usize;
        self.target_mut().selected = lun;
        let port = &self.target().ports[lun];
        if operation != Operation::ChangeReadColumnEnhanced && !port.history.is_queueing() {
            self.number_operation(lun);
        } else {
            let (die, serial) = (port.lun.die(), port.serial);
            self.trace.own(die, serial);
        }
    }

    /// Assigns the open sequence to a new operation of a LUN.
    pub(super) fn number_operation(&mut self, lun: usize) {
        let number = self.trace.number();
        let port = &mut self.target_mut().ports[lun];
        port.serial = number;
        port.lun.set_command(number);
        let die = port.lun.die();
        self.trace.own(die, number);
    }

    fn begin_load(&mut self, operation: Operation, column: u32, row: u32, begin: Instant) -> StepResult<()> {
        self.note_lun(row);
        let row = self.target().row(row, false)?;
        let column = self.target().byte_at(column);
        out_of("column", column, self.page_bytes())?;
        self.target().require_even("column", column)?;
        let strict = self.strict;
        let target = self.target_mut();
        let lun = row.lun as usize;
        let first = if operation == Operation::Program { 0x80 } else { 0x85 };
        let changes = operation == Operation::ChangeRowAddress;
        if !changes {
            target.require_any(first, lun, begin)?;
            let plane = target.addressing.plane(row);
            target.ports[lun]
                .history
                .check_allowed(operation, plane, strict)
                .map_err(FailureKind::Sequence)?;
            self.take_over(operation, row);
        } else if lun != self.target().selected {
            let (found, wanted) = (row.lun, self.target().selected as u32);
            return Err(FailureKind::Sequence(Fault::OtherLun { found, wanted }));
        }
        let target = self.target_mut();
        for port in &mut target.ports {
            port.lun.settle(begin);
            if operation == Operation::Program {
                port.lun.clear_registers();
            }
        }
        target.ports[lun].lun.begin_load(within(row), false);
        target.loading = Some(Loading { column, row });
        Ok(())
    }

    /// The bytes on the data lines for a transfer of `len` bytes.
    pub(super) fn bytes_on_bus(&self, len: u32, of_page: bool) -> Bytes {
        let size = Bytes(u64::from(len));
        if of_page { size } else { self.timing().register_transfer_size(size) }
    }

    /// Notes that the open sequence addresses the LUN of a row.
    fn note_lun(&mut self, row: u32) {
        let target = self.target_mut();
        target.note_lun(target.addressing.lun(row));
    }

    /// Checks that `len` bytes of data in fit behind the column.
    pub(super) fn check_store(&self, len: u32) -> StepResult<()> {
        match &self.target().loading {
            Some(loading) if self.target().decoder.is_loading() => {
                self.target().require_even("bytes of data in", len)?;
                out_of("last byte of data in", loading.column.saturating_add(len - 1), self.page_bytes())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn store(&mut self, data: &[u8]) {
        let target = self.target_mut();
        if let Some(loading) = &mut target.loading {
            target.ports[target.selected].lun.load(loading.column, data);
            loading.column += data.len() as u32;
        }
    }

    /// The kind of edge of data out now.
    pub(super) fn output_edge(&self) -> Edge {
        self.current_output().edge()
    }

    /// The current source of data out.
    fn current_output(&self) -> &Output {
        let target = self.target();
        if target.decoder.is_return_to_data() { target.data_source() } else { &target.output }
    }

    /// Whether data out come from a page.
    pub(super) fn outputs_page(&self) -> bool {
        *self.current_output() == Output::Register
    }

    /// Checks that `len` bytes can be transferred out at `at`.
    pub(super) fn check_output(&mut self, len: u32, at: Instant) -> StepResult<()> {
        let page = self.page_bytes();
        let target = self.target();
        if target.refused && !target.output.is_status() {
            return Err(FailureKind::AwaitingReset);
        }
        let output = self.current_output();
        if !target.decoder.has_no_command() && !target.decoder.is_return_to_data() {
            return Ok(()); // The decoder reports the error.
        }
        target.check_output_source(output, at)?;
        let last = target.column().saturating_add(len - 1);
        match output {
            Output::Register => {
                target.require_even("bytes of data out", len)?;
                out_of("last byte of data out", last, page)
            }
            Output::Bytes(bytes) => out_of("last byte of data out", last, bytes.len() as u32),
            _ => Ok(()),
        }
    }

    /// The bytes of data out, the first one at `first`.
    pub(super) fn read_output(&mut self, len: u32, first: Instant) -> Vec<u8> {
        let (timing, bytes) = (*self.timing(), self.bytes_on_bus(1, false).0);
        let target = self.target_mut();
        let column = target.column();
        if target.output.is_status() {
            let at = |n: u32| first + timing.burst_out(Bytes(u64::from(n) * bytes));
            return (0..len).map(|n| target.status(at(n)).0).collect();
        }
        let data = match &target.output {
            Output::Bytes(bytes) => bytes[column as usize..][..len as usize].to_vec(),
            Output::Identity(address) => target.identity.read_id(*address, len as usize).unwrap_or_default(),
            _ => {
                let port = &mut target.ports[target.selected];
                port.lun.settle(first);
                port.lun.output(column, len)
            }
        };
        if matches!(target.output, Output::Register | Output::Bytes(_)) {
            target.set_column(column + len);
        }
        data
    }

    fn execute_command(&mut self, order: &DecodedCommand, begin: Instant, end: Instant) -> StepResult<bool> {
        use Operation as O;
        match order.command.address {
            Address::Row | Address::Full => self.note_lun(order.row),
            _ if order.command.selects_lun() => self.target_mut().note_lun(order.bytes[0].into()),
            _ => {}
        }
        let busy_at = end + self.waits().get(Wait::Wb);
        match order.command.operation {
            O::Status | O::StatusEnhanced | O::ExtendedStatus | O::ReadId => {
                self.output_register(order, end)?;
            }
            O::ChangeReadColumn | O::ChangeReadColumnEnhanced => {
                self.change_read_column(order, begin, end)?;
            }
            O::ParameterPage | O::UniqueId | O::GetFeatures | O::LunGetFeatures => {
                self.read_bytes(order, begin, busy_at)?;
            }
            O::SetFeatures | O::LunSetFeatures => self.set_features(order, begin, end)?,
            O::OdtConfigure | O::ZqLong | O::ZqShort => self.configure(order, begin, busy_at)?,
            O::Reset | O::SynchronousReset | O::ResetLun => self.reset(order, busy_at)?,
            O::VolumeSelect => {
                self.targets.select_volume(order.bytes[0])?;
                self.edges.note(Edge::Volume, end);
            }
            O::SlcMode | O::MlcMode | O::Reprogram | O::ChangeWriteColumn | O::ChangeRowAddress => {}
            _ => self.array(order, begin, busy_at)?,
        }
        Ok(order.command.busy != BusyTime::None && !order.legacy)
    }

    /// Starts an array operation.
    fn array(&mut self, order: &DecodedCommand, begin: Instant, busy_at: Instant) -> StepResult<()> {
        let (strict, page) = (self.strict, self.page_bytes());
        let operation = order.command.operation;
        let row = self.target().row_of(order)?;
        let target = self.target_mut();
        let lun = row.map_or(target.selected, |row| row.lun as usize);
        let plane = row.map_or(0, |row| target.addressing.plane(row));
        target.require(order.command, lun, begin)?;
        if order.command.address == command::Address::Full {
            out_of("column", target.byte_at(order.column), page)?;
            target.require_even("column", target.byte_at(order.column))?;
        }
        target.selected = lun;
        target.ports[lun].history.check_allowed(operation, plane, strict).map_err(FailureKind::Sequence)?;
        if operation == Operation::CacheReadSequential {
            // The command senses another page without an address, so it is an operation of its own.
            self.number_operation(lun);
        }
        let target = self.target_mut();
        if order.legacy {
            target.ports[lun].named.extend(row.map(within));
            target.ports[lun].history.note(operation, plane, false);
            return Ok(());
        }
        let several = target.ports[lun].history.is_queueing();
        let busy = target.start_operation(order, lun, row, busy_at)?;
        let port = &mut target.ports[lun];
        port.history.note(operation, plane, busy.ready_at < busy.array_ready_at);
        port.select_sensed(operation, row.map(|_| plane), several);
        target.note_interleaving(lun, begin);
        target.short_busy = is_short(order.command.busy).then_some((busy_at, busy.ready_at));
        target.loading = None;
        if command::has_data_out(operation) {
            // After 31h and 3Fh, data out begin with the first byte of the page.
            let column = if row.is_some() { target.byte_at(order.column) } else { 0 };
            target.output = Output::Register;
            target.set_column(column);
        }
        Ok(())
    }
}
