//! The steps of a command, and their bus phases.

use serde::{Deserialize, Serialize};

use super::command::{Command, Operation};
use crate::chain::BusPhase;
use crate::geometry::Geometry;

/// The step of the current command; the die waits for the bus for this step, or has the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
    /// No command: the die accepts one.
    Idle,
    /// The first phase: command, addresses, and data of a program.
    Opening,
    /// The page moves to the cache register (31, 3F).
    Turn,
    /// Data out.
    DataOut,
    /// The program of a copyback.
    Copy,
    /// Status register read.
    Status,
    /// Suspend of the array operation.
    Suspend,
    /// Resume of the suspended operation.
    Resume,
}

/// The bus phase of a step of a command.
#[inline]
pub(super) fn phase_of(geometry: &Geometry, step: Step, command: &Command) -> BusPhase {
    match step {
        Step::Opening => Operation::OPENINGS[command.operation.kind()],
        Step::Turn => turn_phase(geometry, command),
        Step::Copy => BusPhase::CopybackProgram,
        Step::Status => BusPhase::Status,
        Step::Suspend if command.operation == Operation::Erase => BusPhase::SuspendErase,
        Step::Suspend => BusPhase::SuspendProgram,
        Step::Resume if command.operation == Operation::Erase => BusPhase::ResumeErase,
        Step::Resume => BusPhase::ResumeProgram,
        Step::DataOut => BusPhase::DataOut,
        Step::Idle => unreachable!("an idle die does not want the bus"),
    }
}

/// The bus phase that moves the sensed page to the cache register. Command 31 has no address, so the next
/// page must follow in the block; otherwise 00-31 addresses it.
fn turn_phase(geometry: &Geometry, command: &Command) -> BusPhase {
    let Operation::ReadCache { next, .. } = command.operation else {
        unreachable!("only cache reads turn pages over")
    };
    match next {
        None => BusPhase::CacheReadEnd,
        Some(next) if geometry.follows(command.page, next) => BusPhase::CacheReadSequential,
        Some(_) => BusPhase::CacheReadRandom,
    }
}
