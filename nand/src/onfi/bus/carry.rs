//! What a target does with the steps that its decoder finds.

use wordline_kernel::{Bytes, Duration, Instant};

use super::Bus;
use super::target::{Loading, Output, Target, is_short};
use crate::onfi::command::{self, BusyTime, Operation};
use crate::onfi::failure::{FailureKind, Fault};
use crate::onfi::features::{self, Features};
use crate::onfi::history::History;
use crate::onfi::rules::{Edge, Wait};
use crate::onfi::sequence::{Mode, Order, Step};
use crate::onfi::{Busy, CellMode, Limit, Lun, ParameterPage, ProgramKind, ReadKind, Row};

type Done<T> = Result<T, FailureKind>;

/// The LUN's own row: it knows no number of its own.
fn within(row: Row) -> Row {
    Row { lun: 0, ..row }
}

fn out_of(what: &'static str, found: u32, below: u32) -> Done<()> {
    if found < below { Ok(()) } else { Err(FailureKind::Address { what, found, below }) }
}

impl Bus {
    /// Carries out a step of a cycle. Whether something goes busy, tWB after `end`.
    pub(super) fn carry(&mut self, step: &Step, begin: Instant, end: Instant) -> Done<bool> {
        match step {
            Step::Row { command, row } => {
                let row = self.target().row(*row, command.operation == Operation::Erase)?;
                self.target().require_any(command.first, row.lun as usize, begin)?;
                self.take_over(command.operation, row);
            }
            Step::Load { operation, column, row } => self.begin_load(*operation, *column, *row, begin)?,
            Step::Column(column) => {
                out_of("column", *column, self.page_bytes())?;
                if let Some(loading) = &mut self.target_mut().loading {
                    loading.column = *column;
                }
            }
            Step::Store => {}
            Step::Back => {
                let target = self.target_mut();
                if target.output.is_status() {
                    target.output = std::mem::replace(&mut target.before, Output::Nothing);
                }
            }
            Step::Do(order) => return self.carry_out(order, begin, end),
        }
        Ok(false)
    }

    fn page_bytes(&self) -> u32 {
        let g = &self.part.geometry;
        (g.page_size.0 + g.spare_size.0) as u32
    }

    /// The LUN of a row is the one that the sequence goes to, and its cycles belong to a new operation unless more planes
    /// of the last one follow.
    fn take_over(&mut self, operation: Operation, row: Row) {
        let number = self.trace.number();
        let target = self.target_mut();
        let port = &mut target.ports[row.lun as usize];
        if operation != Operation::ChangeReadColumnEnhanced && !port.history.is_queueing() {
            port.serial = number;
            port.lun.set_command(number);
        }
        target.selected = row.lun as usize;
        let (die, serial) = (port.lun.die(), port.serial);
        self.trace.own(die, serial);
    }

    fn begin_load(&mut self, operation: Operation, column: u32, row: u32, begin: Instant) -> Done<()> {
        let row = self.target().row(row, false)?;
        out_of("column", column, self.page_bytes())?;
        let strict = self.strict;
        let target = self.target_mut();
        let lun = row.lun as usize;
        let first = if operation == Operation::Program { 0x80 } else { 0x85 };
        let changes = operation == Operation::ChangeRowAddress;
        if !changes {
            target.require_any(first, lun, begin)?;
            let plane = target.addressing.plane(row);
            target.ports[lun].history.admits(operation, plane, strict).map_err(FailureKind::Sequence)?;
            self.take_over(operation, row);
        } else if lun != self.target().selected {
            // A program stays in its LUN.
            let (found, below) = (row.lun, self.target().selected as u32 + 1);
            return Err(FailureKind::Address { what: "LUN of a changed row", found, below });
        }
        let target = self.target_mut();
        target.ports[lun].lun.settle(begin);
        target.ports[lun].lun.begin_load(within(row), operation == Operation::Program);
        target.loading = Some(Loading { column, row });
        Ok(())
    }

    /// That `len` bytes of data in fit behind the column.
    pub(super) fn check_store(&self, len: u32) -> Done<()> {
        match &self.target().loading {
            Some(loading) if self.target().decoder.is_loading() => {
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

    /// The edge that data out are now.
    pub(super) fn output_edge(&self) -> Edge {
        let target = self.target();
        if target.decoder.is_back() { target.after_back().edge() } else { target.output.edge() }
    }

    /// That `len` bytes can come out at `at`.
    pub(super) fn check_output(&mut self, len: u32, at: Instant) -> Done<()> {
        let page = self.page_bytes();
        let target = self.target();
        if target.refused && !target.output.is_status() {
            return Err(FailureKind::AwaitingReset);
        }
        let output = if target.decoder.is_back() { target.after_back() } else { &target.output };
        if !target.decoder.is_resting() && !target.decoder.is_back() {
            return Ok(()); // The decoder names the fault.
        }
        target.require_output(output, at)?;
        let last = target.column.saturating_add(len - 1);
        match output {
            Output::Register => out_of("last byte of data out", last, page),
            Output::Bytes(bytes) => out_of("last byte of data out", last, bytes.len() as u32),
            _ => Ok(()),
        }
    }

    /// The bytes that come out, the first one at `first`.
    pub(super) fn put_out(&mut self, len: u32, first: Instant) -> Vec<u8> {
        let timing = *self.timing();
        let target = self.target_mut();
        let column = target.column;
        if target.output.is_status() {
            let at = |n: u32| first + timing.burst_out(Bytes(u64::from(n)));
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
            target.column += len;
        }
        data
    }

    fn carry_out(&mut self, order: &Order, begin: Instant, end: Instant) -> Done<bool> {
        use Operation as O;
        let busy_at = end + self.waits().get(Wait::Wb);
        match order.command.operation {
            O::Status | O::StatusEnhanced | O::ExtendedStatus | O::ReadId => {
                self.put_out_register(order, end)?;
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
            O::VolumeSelect => self.select_volume(order.bytes[0], end)?,
            O::SlcMode | O::TwoBitMode | O::Reprogram | O::ChangeWriteColumn | O::ChangeRowAddress => {}
            _ => self.array(order, begin, busy_at)?,
        }
        Ok(order.command.busy != BusyTime::None && !order.legacy)
    }

    /// A status or an identity.
    fn put_out_register(&mut self, order: &Order, end: Instant) -> Done<()> {
        let target = self.target_mut();
        match order.command.operation {
            Operation::Status if target.status_unselected => {
                return Err(FailureKind::Sequence(Fault::LunNotSelected));
            }
            Operation::Status => target.put_out_status(Output::Status),
            Operation::ExtendedStatus => {
                let lun = u32::from(order.command.first - 0xF2);
                let luns = target.ports.len() as u32;
                if lun >= luns {
                    return Err(FailureKind::Limit(Limit::NoSuchLun { lun, luns }));
                }
                target.put_out_status(Output::LunStatus(lun as usize));
            }
            Operation::StatusEnhanced => {
                let row = target.row(order.row, true)?;
                target.selected = row.lun as usize;
                let plane = target.addressing.plane(row);
                target.ports[target.selected].lun.select_output(plane);
                (target.status_unselected, target.data_unselected) = (false, false);
                target.put_out_status(Output::StatusOf(row));
                if target.before == Output::Nothing {
                    target.before = Output::Register;
                }
                let port = &target.ports[target.selected];
                let (die, serial) = (port.lun.die(), port.serial);
                self.trace.own(die, serial);
            }
            _ => {
                let address = order.bytes[0];
                let known = target.identity.read_id(address, 1);
                known.map_err(|unknown| FailureKind::Unsupported { what: unknown.to_string() })?;
                (target.output, target.column) = (Output::Identity(address), 0);
            }
        }
        self.target_mut().edges.note(Edge::Register, end);
        Ok(())
    }

    fn change_read_column(&mut self, order: &Order, begin: Instant, end: Instant) -> Done<()> {
        let page = self.page_bytes();
        let target = self.target_mut();
        if order.command.operation == Operation::ChangeReadColumnEnhanced {
            let row = target.row(order.row, true)?;
            let plane = target.addressing.plane(row);
            let selected = row.lun as usize;
            target.require(order.command, selected, begin)?;
            target.selected = selected;
            target.ports[selected].lun.select_output(plane);
            target.data_unselected = false;
            target.output = Output::Register;
        } else {
            target.require(order.command, target.selected, begin)?;
            if target.output.is_status() {
                target.output = std::mem::replace(&mut target.before, Output::Nothing);
            }
            if !matches!(target.output, Output::Bytes(_)) {
                target.output = Output::Register;
            }
        }
        let below = if let Output::Bytes(bytes) = &target.output { bytes.len() as u32 } else { page };
        out_of("column", order.column, below)?;
        target.column = order.column;
        target.edges.note(Edge::ReadColumn, end);
        Ok(())
    }

    /// The LUN that a command names in its first address byte, or the selected one for commands to the target.
    fn lun_of(&self, order: &Order) -> Done<usize> {
        let target = self.target();
        if !matches!(
            order.command.operation,
            Operation::LunGetFeatures
                | Operation::LunSetFeatures
                | Operation::OdtConfigure
                | Operation::ZqLong
                | Operation::ZqShort
        ) {
            return Ok(target.selected);
        }
        let (lun, luns) = (u32::from(order.bytes[0]), target.ports.len() as u32);
        if lun < luns { Ok(lun as usize) } else { Err(FailureKind::Limit(Limit::NoSuchLun { lun, luns })) }
    }

    /// What keeps a command that is not the array's busy.
    fn busy_time(&self, busy: BusyTime) -> Duration {
        match busy {
            BusyTime::Read => self.part.timing.read.iter().map(|time| time.most).max().unwrap_or_default(),
            BusyTime::Features => self.waits().get(Wait::Feat),
            BusyTime::ZqLong => self.waits().get(Wait::Zqcl),
            BusyTime::ZqShort => self.waits().get(Wait::Zqcs),
            _ => Duration::ZERO,
        }
    }

    /// Keeps the target, or the one LUN, busy.
    fn hold(&mut self, order: &Order, lun: usize, from: Instant) {
        let time = self.busy_time(order.command.busy);
        let target = self.target_mut();
        if order.command.legal.target_level {
            target.hold(from, time);
        } else {
            let port = &mut target.ports[lun];
            port.busy_until = port.busy_until.max(from + time);
        }
    }

    /// Parameter page, unique ID and features.
    fn read_bytes(&mut self, order: &Order, begin: Instant, busy_at: Instant) -> Done<()> {
        let lun = self.lun_of(order)?;
        self.target().require(order.command, lun, begin)?;
        let feature = |features: &Features, address| {
            let read = features.get(address).map(|bytes| bytes.to_vec());
            read.map_err(|unknown| FailureKind::Unsupported { what: unknown.to_string() })
        };
        let target = self.target();
        let first = order.bytes[0];
        let bytes = match order.command.operation {
            Operation::GetFeatures => feature(&target.ports[lun].features, first)?,
            Operation::LunGetFeatures => feature(&target.ports[lun].features, order.bytes[1])?,
            operation => {
                out_of("address of the page", u32::from(first), 1)?;
                if operation == Operation::UniqueId {
                    target.identity.unique_id_data()
                } else {
                    ParameterPage::of(&self.part, self.wiring.luns).data(None)
                }
            }
        };
        self.hold(order, lun, busy_at);
        let target = self.target_mut();
        target.selected = lun;
        (target.output, target.column) = (Output::Bytes(bytes), 0);
        Ok(())
    }

    fn set_features(&mut self, order: &Order, begin: Instant, end: Instant) -> Done<()> {
        let lun = self.lun_of(order)?;
        self.target().require(order.command, lun, begin)?;
        let whole = order.command.legal.target_level;
        let address = order.bytes[usize::from(!whole)];
        let target = self.target_mut();
        for (n, port) in target.ports.iter_mut().enumerate() {
            if whole || n == lun {
                let set = port.features.set(address, order.feature);
                set.map_err(|unknown| FailureKind::Unsupported { what: unknown.to_string() })?;
            }
        }
        let busy_at = end + self.waits().get(Wait::Wb);
        self.hold(order, lun, busy_at);
        if whole && address == features::address::TIMING_MODE {
            let part = self.part.clone();
            let target = self.target_mut();
            target.edges.note(Edge::Interface, end);
            target.follow_mode(&part);
        }
        Ok(())
    }

    /// Termination and calibration.
    fn configure(&mut self, order: &Order, begin: Instant, busy_at: Instant) -> Done<()> {
        let lun = self.lun_of(order)?;
        self.target().require(order.command, lun, begin)?;
        if order.command.operation == Operation::OdtConfigure {
            self.target_mut().ports[lun].odt = order.feature;
        } else {
            self.hold(order, lun, busy_at);
        }
        Ok(())
    }

    fn reset(&mut self, order: &Order, busy_at: Instant) -> Done<()> {
        let number = self.trace.number();
        let target = self.target_mut();
        let one = order.command.operation == Operation::ResetLun;
        let row = if one { Some(target.row(order.row, true)?) } else { None };
        for (n, port) in target.ports.iter_mut().enumerate() {
            if row.is_some_and(|row| row.lun as usize != n) {
                continue;
            }
            port.lun.reset(busy_at);
            port.history = History::default();
            port.named.clear();
            port.busy_until = Instant::ZERO;
            port.serial = number;
            port.lun.set_command(number);
        }
        target.forget();
        target.selected = row.map_or(0, |row| row.lun as usize);
        if !one {
            target.busy_until = target.busy_until.min(busy_at);
        }
        if order.command.operation == Operation::Reset {
            let (part, power_on) = (self.part.clone(), self.power_on);
            self.target_mut().wake(&part, power_on);
        }
        let target = self.target();
        let die = target.ports[target.selected].lun.die();
        self.trace.own(die, number);
        Ok(())
    }

    /// The volume that was appointed to the address: the feature 58h, or else its number behind the chip enable.
    fn select_volume(&mut self, address: u8, end: Instant) -> Done<()> {
        let volumes = self.wiring.volumes as usize;
        let behind = &self.targets[self.enabled * volumes..][..volumes];
        let appointed = |n: usize, target: &Target| match target.ports[0].features.volume() {
            0 => n as u8,
            volume => volume,
        };
        let volume = behind.iter().enumerate().position(|(n, target)| appointed(n, target) == address);
        let unknown = FailureKind::Unsupported { what: format!("volume {address}") };
        self.volumes[self.enabled] = volume.ok_or(unknown)?;
        self.edges.note(Edge::Volume, end);
        Ok(())
    }

    /// An array operation.
    fn array(&mut self, order: &Order, begin: Instant, busy_at: Instant) -> Done<()> {
        use Operation as O;
        let (strict, page) = (self.strict, self.page_bytes());
        let operation = order.command.operation;
        let row = match operation {
            O::CacheReadSequential | O::CacheReadEnd => None,
            O::Erase
            | O::QueueErase
            | O::SuspendProgram
            | O::SuspendErase
            | O::ResumeProgram
            | O::ResumeErase => Some(self.target().row(order.row, true)?),
            _ => Some(self.target().row(order.row, false)?),
        };
        let target = self.target_mut();
        let lun = row.map_or(target.selected, |row| row.lun as usize);
        let plane = row.map_or(0, |row| target.addressing.plane(row));
        target.require(order.command, lun, begin)?;
        if order.command.address == command::Address::Full {
            out_of("column", order.column, page)?;
        }
        target.selected = lun;
        let port = &mut target.ports[lun];
        port.history.admits(operation, plane, strict).map_err(FailureKind::Sequence)?;
        if operation == O::CacheReadSequential {
            let number = self.trace.number();
            let port = &mut self.target_mut().ports[lun];
            port.serial = number;
            port.lun.set_command(number);
            let die = port.lun.die();
            self.trace.own(die, number);
        }
        let target = self.target_mut();
        let port = &mut target.ports[lun];
        if order.legacy {
            port.named.extend(row.map(within));
            port.history.note(operation, plane, false);
            return Ok(());
        }
        // Blocks named without a busy time between them have theirs now, before the erase.
        let mut now = busy_at;
        for named in std::mem::take(&mut port.named) {
            now = port.lun.erase(named, true, now).map_err(FailureKind::Limit)?.ready_at;
        }
        let busy = operate(&mut port.lun, &port.features, order, row.map(within), now);
        let busy = busy.map_err(FailureKind::Limit)?;
        port.history.note(operation, plane, busy.ready_at < busy.array_ready_at);
        port.select_sensed(operation, row.is_some().then_some(plane));
        target.note_interleaving(lun, begin);
        target.short_busy = is_short(order.command.busy).then_some((busy_at, busy.ready_at));
        target.loading = None;
        let puts_out = matches!(
            operation,
            O::Read
                | O::CopybackRead
                | O::CacheReadRandom
                | O::IndependentRead
                | O::CacheReadSequential
                | O::CacheReadEnd
        );
        if puts_out {
            // 00h-31h puts out the page before the one that it names.
            let column = if row.is_some() { order.column } else { 0 };
            (target.output, target.column) = (Output::Register, column);
        }
        Ok(())
    }
}

/// Gives an operation to the LUN.
fn operate(
    lun: &mut Lun,
    features: &Features,
    order: &Order,
    row: Option<Row>,
    now: Instant,
) -> Result<Busy, Limit> {
    use Operation as O;
    let row = row.unwrap_or_default();
    let reprogram = order.mode == Mode::Reprogram;
    let mode = match order.mode {
        Mode::Usual if features.slc_mode() => CellMode::Slc,
        Mode::Usual => CellMode::Normal,
        Mode::Slc => CellMode::Slc,
        Mode::TwoBit | Mode::Reprogram => CellMode::TwoBit,
    };
    if command::takes_mode(order.command.first) {
        lun.set_mode(mode)?;
    }
    match order.command.operation {
        O::Read => lun.read(row, ReadKind::Plain, now),
        O::QueueRead => lun.read(row, ReadKind::Queue, now),
        O::CopybackRead => lun.read(row, ReadKind::Copyback, now),
        O::CacheReadRandom => lun.read(row, ReadKind::CacheRandom, now),
        O::IndependentRead => lun.read(row, ReadKind::Independent, now),
        O::CacheReadSequential => lun.cache_read_next(now),
        O::CacheReadEnd => lun.cache_read_end(now),
        O::Program if reprogram => lun.program(row, ProgramKind::Reprogram, false, now),
        O::Program => lun.program(row, ProgramKind::Start, false, now),
        O::QueueProgram => lun.program(row, ProgramKind::Queue, false, now),
        O::CacheProgram => lun.program(row, ProgramKind::Cache, false, now),
        O::NextPage => lun.program(row, ProgramKind::Page, false, now),
        O::CopybackProgram => lun.program(row, ProgramKind::Start, true, now),
        O::QueueCopybackProgram => lun.program(row, ProgramKind::Queue, true, now),
        O::Erase => lun.erase(row, false, now),
        O::QueueErase => lun.erase(row, true, now),
        O::SuspendProgram | O::SuspendErase => lun.suspend(now),
        _ => lun.resume(now),
    }
}
