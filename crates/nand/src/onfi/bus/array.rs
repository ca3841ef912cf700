//! Array operations of a target: their rows, and the LUN operations that they start.

use wordline_kernel::Instant;

use super::execute::{StepResult, within};
use super::target::Target;
use crate::onfi::command::{self, Operation};
use crate::onfi::failure::FailureKind;
use crate::onfi::features::Features;
use crate::onfi::sequence::{DecodedCommand, Mode};
use crate::onfi::{Busy, CellMode, Limit, Lun, ProgramKind, ReadKind, Row};

impl Target {
    /// The row of an array operation, if it has one.
    pub(super) fn row_of(&self, order: &DecodedCommand) -> StepResult<Option<Row>> {
        match order.command.address {
            command::Address::Full => self.row(order.row, false).map(Some),
            command::Address::Row => self.row(order.row, true).map(Some),
            _ => Ok(None),
        }
    }

    /// Starts an operation in a LUN, which becomes busy at `now`.
    pub(super) fn start_operation(
        &mut self,
        order: &DecodedCommand,
        lun: usize,
        row: Option<Row>,
        now: Instant,
    ) -> StepResult<Busy> {
        let port = &mut self.ports[lun];
        // Blocks queued in legacy form have no busy time between them. Their busy times are served now,
        // before the erase.
        let mut now = now;
        for named in std::mem::take(&mut port.named) {
            now = port.lun.erase(named, true, now).map_err(FailureKind::Limit)?.ready_at;
        }
        operate(&mut port.lun, &port.features, order, row.map(within), now).map_err(FailureKind::Limit)
    }
}

/// Starts an operation in the LUN.
fn operate(
    lun: &mut Lun,
    features: &Features,
    order: &DecodedCommand,
    row: Option<Row>,
    now: Instant,
) -> Result<Busy, Limit> {
    use Operation as O;
    let row = row.unwrap_or_default();
    let reprogram = order.mode == Mode::Reprogram;
    let mode = match order.mode {
        Mode::Usual if features.slc_mode() => CellMode::Slc,
        Mode::Usual => CellMode::Native,
        Mode::Slc => CellMode::Slc,
        Mode::Mlc | Mode::Reprogram => CellMode::Mlc,
    };
    if command::accepts_mode_prefix(order.command.first) {
        lun.set_mode(mode)?;
        lun.select_parameters(features.parameter_set())?;
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
        O::QueueProgram if reprogram => lun.program(row, ProgramKind::QueueReprogram, false, now),
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
