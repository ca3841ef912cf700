//! Outstanding commands: accepted and not completed.

use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};
use wordline_device::physical_device::{Command, Completion, Failure, Geometry, LogicalBlock, Operation};
use wordline_flash::Flash;
use wordline_kernel::Instant;
use wordline_kernel::ensure::ensure;
use wordline_nand::{DataTag, DieId, Location};

use super::latency::LatencyStats;
use super::time_recorder::{CommandTimes, CompletedTimes};
use crate::breakdowns::Breakdowns;
use crate::in_flight_table::InFlightTable;

/// Progress of a command on the link and in the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// The submission is on the link.
    Submitting,
    /// The device is fetching the command.
    Fetching,
    /// The device is executing the command.
    Executing,
    /// The completion is on the link.
    Completing,
}

/// Outstanding command. Lists of commands with one page of blocks need no allocation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct InFlight {
    pub(super) operation: Operation,
    pub(super) tag: u32,
    pub(super) submitted: Instant,
    pub(super) stage: Stage,
    pub(super) blocks: SmallVec<[LogicalBlock; 1]>,
    /// Destination of a copy.
    pub(super) to: SmallVec<[LogicalBlock; 1]>,
    /// Flash location of each logical block to be read, by its index in the command. For a reset, of the
    /// blocks being erased.
    pub(super) locations: SmallVec<[Location; 4]>,
    /// Data tags to be written, or data tags read.
    pub(super) stamps: Vec<DataTag>,
    failed: u64,
    failure: Option<Failure>,
    /// Parts that have not ended: flash reads, erases, units, and waiting resets.
    pub(super) parts: u32,
    /// Flash reads among the parts.
    pub(super) reads: u32,
    /// `None` if the device does not execute the command yet, and unless latency breakdowns are recorded.
    #[serde(skip)]
    pub(super) times: Option<Box<CommandTimes>>,
}

/// Location of a logical block of a command that is not in flash.
pub(super) const NO_LOCATION: Location = Location(u32::MAX);

impl InFlight {
    /// Command without parts.
    pub(super) fn new(command: &Command<'_>, submitted: Instant) -> Self {
        let Command { operation, tag, blocks, to, stamps } = *command;
        let (locations, stamps) = match operation {
            Operation::Read | Operation::Copy => {
                (smallvec![NO_LOCATION; blocks.len()], vec![DataTag::UNREADABLE; blocks.len()])
            }
            Operation::Reset => (smallvec![NO_LOCATION; blocks.len()], Vec::new()),
            Operation::Write | Operation::Flush | Operation::Close => (SmallVec::new(), stamps.to_vec()),
        };
        Self {
            operation,
            tag,
            submitted,
            stage: Stage::Submitting,
            blocks: SmallVec::from_slice(blocks),
            to: SmallVec::from_slice(to),
            locations,
            stamps,
            failed: 0,
            failure: None,
            parts: 0,
            reads: 0,
            times: None,
        }
    }

    /// Logical blocks that the command writes.
    pub(super) fn written(&self) -> &[LogicalBlock] {
        match self.operation {
            Operation::Write => &self.blocks,
            _ => &self.to,
        }
    }

    /// Records the failure of `count` logical blocks of the command, from index `at` on.
    pub(super) fn record_failure(&mut self, at: usize, count: u32, failure: Failure) {
        self.failure = Some(failure);
        for n in 0..count {
            self.failed |= 1 << (at + n as usize);
        }
    }

    /// Whether any of the command's blocks has failed so far.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Checks a command of a loaded state.
    pub(super) fn check(&self, geometry: &Geometry) -> Result<(), String> {
        let blocks = self.blocks.len();
        let is_read = matches!(self.operation, Operation::Read | Operation::Copy);
        let located = if is_read || self.operation == Operation::Reset { blocks } else { 0 };
        let stamps = if is_read || self.operation == Operation::Write { blocks } else { 0 };
        let fits = self
            .blocks
            .iter()
            .chain(&self.to)
            .all(|block| geometry.has(block.chunk) && block.block < geometry.blocks_per_chunk)
            && (self.locations.len(), self.stamps.len()) == (located, stamps);
        ensure(fits, || format!("command {} cannot be", self.tag))
    }

    /// Number of logical blocks whose data are returned to the host.
    pub(super) fn found(&self) -> usize {
        if self.operation == Operation::Read { self.blocks.len() } else { 0 }
    }

    /// Completion of the command.
    pub(super) fn completion(self, now: Instant) -> Completion {
        let Self { operation, tag, submitted, stamps, failed, failure, .. } = self;
        let found = if operation == Operation::Read { stamps } else { Vec::new() };
        Completion { operation, tag, latency: now - submitted, failure, failed, found }
    }
}

/// All outstanding commands.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Commands {
    pub(super) all: InFlightTable<InFlight>,
    /// Latencies of writes, for commands that take time.
    pub(super) write_answers: LatencyStats,
    /// Dies on which reads of a command are being started. Empty between events.
    #[serde(skip)]
    pub(super) dies: Vec<DieId>,
    /// `None` if latency breakdowns are not recorded.
    #[serde(skip)]
    pub(super) breakdowns: Option<Box<Breakdowns<CompletedTimes>>>,
}

impl Commands {
    /// Times of a command; `None` if it is not outstanding, and unless latency breakdowns are recorded.
    #[inline]
    pub(super) fn times_of(&mut self, number: u32) -> Option<&mut CommandTimes> {
        self.all.find_mut(number)?.times.as_deref_mut()
    }

    /// Ends a part of a command. Returns whether it was the last part.
    #[inline]
    pub(super) fn finish_part(&mut self, number: u32) -> bool {
        let command = self.all.get_mut(number);
        command.parts -= 1;
        command.parts == 0
    }

    /// Removes a command that has ended. Returns its completion. `flash` executed it.
    pub(super) fn completion(&mut self, number: u32, now: Instant, flash: &Flash) -> Completion {
        let mut command = self.all.remove(number);
        let times = command.times.take();
        let completion = command.completion(now);
        if let (Some(breakdowns), Some(times)) = (&mut self.breakdowns, times) {
            breakdowns.insert(completion.tag, CompletedTimes::of(times, &completion));
        }
        if completion.operation == Operation::Write && flash.is_clock_running() {
            self.write_answers.add(completion.latency);
        }
        completion
    }

    /// Outstanding command that was submitted first.
    pub(super) fn oldest(&self) -> Option<&InFlight> {
        self.all.values().min_by_key(|command| command.submitted)
    }
}
