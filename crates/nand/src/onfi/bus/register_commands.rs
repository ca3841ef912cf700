//! Commands without an array operation: status, identities, columns, features, resets, volumes.

use wordline_kernel::{Duration, Instant};

use super::Bus;
use super::execute::{StepResult, out_of};
use super::target::Output;
use crate::onfi::command::{BusyTime, Operation};
use crate::onfi::failure::{FailureKind, Fault};
use crate::onfi::features::{self, Features};
use crate::onfi::history::History;
use crate::onfi::rules::{Edge, Wait};
use crate::onfi::sequence::DecodedCommand;
use crate::onfi::{Limit, ParameterPage};

impl Bus {
    /// Executes a status command or Read ID.
    pub(super) fn output_register(&mut self, order: &DecodedCommand, end: Instant) -> StepResult<()> {
        let target = self.target_mut();
        match order.command.operation {
            Operation::Status if target.status_unselected => {
                return Err(FailureKind::Sequence(Fault::LunNotSelected));
            }
            Operation::Status => target.output_status(Output::Status),
            Operation::ExtendedStatus => {
                let lun = u32::from(order.command.first - 0xF2);
                let luns = target.ports.len() as u32;
                if lun >= luns {
                    return Err(FailureKind::Limit(Limit::NoSuchLun { lun, luns }));
                }
                target.output_status(Output::LunStatus(lun as usize));
            }
            Operation::StatusEnhanced => {
                let row = target.row(order.row, true)?;
                target.selected = row.lun as usize;
                let plane = target.addressing.plane(row);
                target.ports[target.selected].lun.select_output(plane);
                (target.status_unselected, target.data_unselected) = (false, false);
                target.output_status(Output::StatusOf(row));
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
                target.output = Output::Identity(address);
                target.set_column(0);
            }
        }
        self.target_mut().edges.note(Edge::Register, end);
        Ok(())
    }

    /// Executes 05h-E0h or 06h-E0h, which select the position of data out.
    pub(super) fn change_read_column(
        &mut self,
        order: &DecodedCommand,
        begin: Instant,
        end: Instant,
    ) -> StepResult<()> {
        let page = self.page_bytes();
        let target = self.target_mut();
        let mut column = target.byte_at(order.column);
        if order.command.operation == Operation::ChangeReadColumnEnhanced {
            let row = target.row(order.row, true)?;
            let selected = row.lun as usize;
            target.require(order.command, selected, begin)?;
            out_of("column", column, page)?;
            target.require_even("column", column)?;
            let plane = target.addressing.plane(row);
            target.selected = selected;
            target.ports[selected].lun.select_output(plane);
            target.ports[selected].plane_unselected = false;
            target.data_unselected = false;
            target.output = Output::Register;
        } else {
            target.require(order.command, target.selected, begin)?;
            let mut below = page;
            match target.data_source() {
                Output::Nothing => return Err(FailureKind::Sequence(Fault::OutputOfNothing)),
                Output::Bytes(bytes) => (column, below) = (order.column, bytes.len() as u32),
                Output::Register if target.ports[target.selected].plane_unselected => {
                    return Err(FailureKind::Sequence(Fault::PlaneNotSelected));
                }
                _ => target.require_even("column", column)?,
            }
            out_of("column", column, below)?;
            target.leave_status();
            if !matches!(target.output, Output::Bytes(_)) {
                target.output = Output::Register;
            }
        }
        target.set_column(column);
        target.edges.note(Edge::ReadColumn, end);
        Ok(())
    }

    /// The LUN in the first address byte of a command; for commands to the target, the selected LUN.
    fn lun_of(&self, order: &DecodedCommand) -> StepResult<usize> {
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

    /// The busy time after a command that does not use the array.
    fn busy_time(&self, busy: BusyTime) -> Duration {
        match busy {
            BusyTime::Read => self.part.timing.read.iter().map(|time| time.most).max().unwrap_or_default(),
            BusyTime::Features => self.waits().get(Wait::Feat),
            BusyTime::ZqLong => self.waits().get(Wait::Zqcl),
            BusyTime::ZqShort => self.waits().get(Wait::Zqcs),
            _ => Duration::ZERO,
        }
    }

    /// Makes the target, or one LUN, busy.
    fn hold(&mut self, order: &DecodedCommand, lun: usize, from: Instant) {
        let time = self.busy_time(order.command.busy);
        let target = self.target_mut();
        if order.command.legal.target_level {
            target.hold(from, time);
        } else {
            let port = &mut target.ports[lun];
            port.busy_until = port.busy_until.max(from + time);
        }
    }

    /// Reads the parameter page, the unique ID or a feature.
    pub(super) fn read_bytes(
        &mut self,
        order: &DecodedCommand,
        begin: Instant,
        busy_at: Instant,
    ) -> StepResult<()> {
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
                    ParameterPage::of(&self.part, self.targets.wiring().luns).data(None)
                }
            }
        };
        self.hold(order, lun, busy_at);
        let target = self.target_mut();
        target.selected = lun;
        target.output = Output::Bytes(bytes);
        target.set_column(0);
        Ok(())
    }

    pub(super) fn set_features(
        &mut self,
        order: &DecodedCommand,
        begin: Instant,
        end: Instant,
    ) -> StepResult<()> {
        let lun = self.lun_of(order)?;
        self.target().require(order.command, lun, begin)?;
        let of_target = order.command.legal.target_level;
        let address = order.bytes[usize::from(!of_target)];
        // All LUNs of a target share one bus, and therefore one timing mode.
        let mode = address == features::address::TIMING_MODE;
        let whole = of_target || mode;
        for other in 0..if whole { self.target().ports.len() } else { 0 } {
            self.target().require(order.command, other, begin)?;
        }
        let target = self.target_mut();
        for (n, port) in target.ports.iter_mut().enumerate() {
            if whole || n == lun {
                let set = port.features.set(address, order.feature);
                set.map_err(|unknown| FailureKind::Unsupported { what: unknown.to_string() })?;
            }
        }
        let busy_at = end + self.waits().get(Wait::Wb);
        self.hold(order, lun, busy_at);
        if mode {
            let part = self.part.clone();
            let target = self.target_mut();
            target.edges.note(Edge::Interface, end);
            target.apply_timing_mode(&part);
        }
        Ok(())
    }

    /// Executes termination and calibration commands.
    pub(super) fn configure(
        &mut self,
        order: &DecodedCommand,
        begin: Instant,
        busy_at: Instant,
    ) -> StepResult<()> {
        let lun = self.lun_of(order)?;
        self.target().require(order.command, lun, begin)?;
        if order.command.operation == Operation::OdtConfigure {
            self.target_mut().ports[lun].odt = order.feature;
        } else {
            self.hold(order, lun, busy_at);
        }
        Ok(())
    }

    pub(super) fn reset(&mut self, order: &DecodedCommand, busy_at: Instant) -> StepResult<()> {
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
            (port.busy_until, port.column, port.plane_unselected) = (Instant::ZERO, 0, false);
            port.serial = number;
            port.lun.set_command(number);
        }
        target.forget(!one);
        target.selected = row.map_or(0, |row| row.lun as usize);
        if !one {
            target.busy_until = target.busy_until.min(busy_at);
        }
        if order.command.operation == Operation::Reset {
            let (part, power_on) = (self.part.clone(), self.power_on);
            let target = self.target_mut();
            target.power_on_reset(&part, power_on);
            target.awaits_first_reset = false;
        }
        let target = self.target();
        let die = target.ports[target.selected].lun.die();
        self.trace.own(die, number);
        Ok(())
    }
}
