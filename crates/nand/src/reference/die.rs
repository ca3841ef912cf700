//! The state machine of a die in the controller: its commands one after the other, step by step.

use std::collections::VecDeque;
use std::ops::Range;

use wordline_kernel::Instant;

use super::array::{Array, Job, Work};
use super::shared::SharedState;
use crate::chain::{BusPhase, Cycle, Shape, partial_data_out};
use crate::drive::list::List;
use crate::geometry::PlaneBlock;
use crate::{Command, DieId, Operation, PageId, Stage};

/// The step for which a command needs the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The first phase: command, addresses, and data of a program.
    Opening,
    /// 31, 00-31 or 3F: the sensed page moves to the cache register.
    Turn,
    /// Data out.
    DataOut,
    /// The program of a copyback.
    Copy,
    /// Status register read.
    Status,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// The die accepts a command.
    Idle,
    /// The die waits for the bus.
    WaitsForBus { step: Step, since: Instant },
    /// The die has the bus.
    HasBus { step: Step },
    /// The die is busy (not RDY).
    Busy { step: Step },
}

/// A die with its list of commands.
#[derive(Clone, Debug)]
pub(super) struct Die {
    id: DieId,
    /// The current command and the following ones.
    commands: VecDeque<Command>,
    /// Number of the current command.
    serial: u32,
    state: State,
    pub(super) array: Array,
}

impl Die {
    pub(super) fn new((die, commands): &List, first: u32) -> Self {
        let commands = commands.iter().copied().collect();
        Self { id: *die, commands, serial: first, state: State::Idle, array: Array::new(*die) }
    }

    pub(super) fn id(&self) -> DieId {
        self.id
    }

    pub(super) fn serial(&self) -> u32 {
        self.serial
    }

    /// Whether the list is complete and the array is idle.
    pub(super) fn is_done(&self) -> bool {
        self.commands.is_empty() && self.array.is_idle()
    }

    fn command(&self) -> &Command {
        self.commands.front().expect("a die at work has a command")
    }

    /// Polls the signals of its array, and starts a command if possible.
    pub(super) fn update(&mut self, world: &SharedState<'_>) {
        if let State::Busy { step } = self.state {
            if !self.array.take_ready() {
                return;
            }
            match self.after_busy(step, world) {
                Some(step) => self.state = State::WaitsForBus { step, since: world.now },
                None => self.finish(),
            }
        }
        if matches!(self.state, State::Idle) {
            self.take_command(world);
        }
    }

    /// The next step of the command once the die is ready; `None` if the command is over for the die.
    fn after_busy(&self, step: Step, world: &SharedState<'_>) -> Option<Step> {
        match (self.command().operation, step) {
            (Operation::Read, _) | (Operation::ReadCache { .. }, Step::Turn) => Some(Step::DataOut),
            (Operation::ReadCache { .. }, _) => Some(Step::Turn),
            (Operation::Copyback { .. }, Step::Opening) => Some(Step::Copy),
            _ => world.wiring.read_status.then_some(Step::Status),
        }
    }

    fn finish(&mut self) {
        self.commands.pop_front();
        self.serial += 1;
        self.state = State::Idle;
    }

    /// Starts the next command of a ready die. A command waits for the array, except for programs, which need
    /// only the cache register, and the continuation of cache reads.
    fn take_command(&mut self, world: &SharedState<'_>) {
        let Some(command) = self.commands.front() else { return };
        let (step, behind) = match command.operation {
            Operation::ReadCache { first: false, .. } => (Step::Turn, true),
            // The pages of a word line go to the registers that the array uses.
            Operation::Program | Operation::ProgramCache => (Step::Opening, !world.part.geometry.one_shot),
            _ => (Step::Opening, false),
        };
        if behind || self.array.is_idle() {
            self.state = State::WaitsForBus { step, since: world.now };
        }
    }

    /// The priority of its bus request, if any; the smallest is granted first.
    pub(super) fn bus_request(&self) -> Option<(bool, Instant, DieId)> {
        let State::WaitsForBus { step, since } = self.state else { return None };
        let programs = matches!(self.command().operation, Operation::Program | Operation::ProgramCache);
        let moves_data = step == Step::DataOut || (step == Step::Opening && programs);
        Some((moves_data, since, self.id))
    }

    /// Grants the bus and returns the cycles.
    pub(super) fn grant(&mut self, world: &SharedState<'_>) -> Vec<Cycle> {
        let State::WaitsForBus { step, .. } = self.state else { unreachable!("it wants the bus") };
        self.state = State::HasBus { step };
        let command = self.command();
        let (part, mode) = (world.view(command).0, command.mode.unwrap_or_default());
        let shape = Shape { mode, ..Shape::of(part, command.planes, world.wiring.shared_enable) };
        let hold = match (step, command.operation) {
            (Step::Opening, Operation::Read | Operation::ReadCache { .. }) => BusPhase::Read,
            (Step::Opening, Operation::Program) => BusPhase::Program,
            (Step::Opening, Operation::ProgramCache) => BusPhase::ProgramCache,
            (Step::Opening, Operation::Copyback { .. }) => BusPhase::CopybackRead,
            (Step::Opening, Operation::Erase) => BusPhase::Erase,
            (Step::Turn, Operation::ReadCache { next: Some(next), .. }) => {
                if follows(world, command.page, next) {
                    BusPhase::CacheReadSequential
                } else {
                    BusPhase::CacheReadRandom
                }
            }
            (Step::Turn, _) => BusPhase::CacheReadEnd,
            (Step::DataOut, _) if command.bytes == shape.page * u64::from(command.planes) => {
                BusPhase::DataOut
            }
            (Step::DataOut, _) => return partial_data_out(&shape, command.bytes),
            (Step::Copy, _) => BusPhase::CopybackProgram,
            (Step::Status, _) => BusPhase::Status,
        };
        hold.cycles(&shape)
    }

    /// Ends the bus grant.
    pub(super) fn release(&mut self, world: &mut SharedState<'_>) {
        let State::HasBus { step } = self.state else { unreachable!("it holds the bus") };
        if matches!(step, Step::DataOut | Step::Status) {
            self.finish();
            return;
        }
        self.state = State::Busy { step };
        self.array.confirm(self.job(step, world));
    }

    /// The array job of the command after `step`.
    fn job(&self, step: Step, world: &mut SharedState<'_>) -> Job {
        let Command { operation, page, .. } = *self.command();
        let turn = Some(world.nand_clocks(world.part.timing.cache_busy));
        let (turn, stage, of_page, ahead) = match (step, operation) {
            (Step::Turn, Operation::ReadCache { next: Some(next), .. }) => (turn, Stage::Ton, next, 1),
            (Step::Turn, Operation::ReadCache { next: None, .. }) => return Job { turn, work: None },
            (Step::Copy, Operation::Copyback { to }) => (None, Stage::Tin, to, 0),
            (_, Operation::Program) => (None, Stage::Tin, page, 0),
            (_, Operation::ProgramCache) => (turn, Stage::Tin, page, 0),
            (_, Operation::Erase) => (None, Stage::Ber, page, 0),
            _ => (None, Stage::Ton, page, 0),
        };
        let (number, blocks) = self.place(world, of_page);
        let (part, latency) = world.view(self.command());
        let time = match stage {
            Stage::Ton => latency.read(number, blocks.iter().copied()),
            Stage::Tin => latency.program(number, blocks.iter().copied()),
            _ => part.timing.erase,
        };
        let clocks = world.queried_clocks(self.command(), stage, (number, &blocks), time);
        // A copyback programs the planes that it has read.
        let seen = if stage == Stage::Ton { of_page } else { page };
        Job { turn, work: Some(self.work(world, stage, seen, clocks, ahead)) }
    }

    /// The array operation of the current command, or of the next one.
    fn work(&self, world: &SharedState<'_>, stage: Stage, first: PageId, clocks: u64, ahead: u32) -> Work {
        let planes = self.planes(world, first).fold(0, |planes, plane| planes | 1 << plane);
        Work { stage, planes, clocks, command: self.serial + ahead }
    }

    /// The planes of the command, from the plane of `first` on.
    fn planes(&self, world: &SharedState<'_>, first: PageId) -> Range<u32> {
        let plane = world.geometry.split(first).1 % world.geometry.planes_per_row;
        plane..plane + self.command().planes
    }

    /// The page's number in its block, and the block in every plane of the command.
    fn place(&self, world: &SharedState<'_>, first: PageId) -> (u32, Vec<PlaneBlock>) {
        let (block, offset) = world.geometry.split(first);
        let blocks = world.geometry.plane_blocks(block, self.planes(world, first));
        (world.geometry.page_in_block(offset), blocks.collect())
    }
}

/// Whether 31, which has no address, senses `next` after `page`. If so, `next` is the next page of the block,
/// in the same planes.
fn follows(world: &SharedState<'_>, page: PageId, next: PageId) -> bool {
    let planes = world.geometry.planes_per_row;
    let ((block, at), (next_block, next_at)) = (world.geometry.split(page), world.geometry.split(next));
    block == next_block && at % planes == next_at % planes && next_at / planes == at / planes + 1
}
