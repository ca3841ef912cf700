//! Outstanding work: accepted commands, pieces of writes, and commands to the device below.

use serde::{Deserialize, Serialize};
use wordline_device::physical_device;
use wordline_device::physical_device::Failure;
use wordline_device::times::Component;
use wordline_kernel::Instant;
use wordline_nand::DataTag;

use super::command::{Operation, Status};
use super::table::ZoneId;
use super::time_recorder::TimeRecorder;

/// Interface through which a command arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Interface {
    Zones(Operation),
    Chunks(physical_device::Operation),
}

/// Outstanding command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct InFlight {
    pub(super) face: Interface,
    pub(super) tag: u32,
    pub(super) submitted: Instant,
    /// Parts that have not ended.
    pub(super) parts: u32,
    pub(super) status: Option<Status>,
    failed: u64,
    pub(super) first: u64,
    pub(super) found: Vec<DataTag>,
}

impl InFlight {
    /// Command with one part: itself, until all of its other parts are known.
    pub(super) fn new(face: Interface, tag: u32, submitted: Instant) -> Self {
        Self { face, tag, submitted, parts: 1, status: None, failed: 0, first: 0, found: Vec::new() }
    }

    /// Stage in which the command waits above the device below. A write waits until its blocks fill a program,
    /// and for earlier writes in its zone.
    fn stage_of_wait(&self) -> Component {
        match self.face {
            Interface::Chunks(physical_device::Operation::Write | physical_device::Operation::Flush) => {
                Component::Buffer
            }
            _ => Component::Queue,
        }
    }

    /// Records the failure of `count` items (logical blocks or zones) of the command, from index `at` on.
    pub(super) fn record_failure(&mut self, at: usize, count: u32, status: Status) {
        self.status = Some(status);
        for n in (at..at + count as usize).take_while(|n| *n < u64::BITS as usize) {
            self.failed |= 1 << n;
        }
    }

    /// Completion for a host of zones.
    pub(super) fn complete(self, operation: Operation, now: Instant) -> super::command::Completion {
        let Self { tag, submitted, status, first, found, .. } = self;
        super::command::Completion { operation, tag, latency: now - submitted, status, first, found }
    }

    /// Completion for a host that sees zones as chunks.
    pub(super) fn complete_chunk(
        self,
        operation: physical_device::Operation,
        now: Instant,
    ) -> physical_device::Completion {
        use physical_device::Operation as Chunks;
        let Self { tag, submitted, status, failed, found, .. } = self;
        let failure = status.map(|_| match operation {
            Chunks::Read => Failure::Unread,
            Chunks::Reset => Failure::Offline,
            Chunks::Flush => Failure::NotFlushed,
            Chunks::Write | Chunks::Copy | Chunks::Close => Failure::EarlyClose,
        });
        physical_device::Completion { operation, tag, latency: now - submitted, failure, failed, found }
    }
}

/// Part of a command that writes to one zone. The pieces of a zone end in order of arrival.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Piece {
    pub(super) command: u32,
    pub(super) zone: ZoneId,
    /// Index of its first logical block in the command, and the number of its blocks.
    pub(super) at: u32,
    pub(super) count: u32,
    /// Logical block of the zone after its last one.
    pub(super) end: u32,
    pub(super) parts: u32,
    pub(super) has_failed: bool,
}

/// Purpose of a command to the device below.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Work {
    /// Write to a zone, for a piece or as padding. Its first `kept` blocks, from block `first` on, were
    /// gathered blocks. The commands that wrote them may have completed.
    Write { zone: ZoneId, piece: Option<u32>, first: u32, kept: u32 },
    /// Read of a zone. `places` has the indices of its blocks in the host's command.
    Read { zone: ZoneId, command: u32, places: Vec<u32> },
    /// Reset of the chunks of a zone.
    Reset { zone: ZoneId },
    /// Close of the chunks of a zone.
    Close { zone: ZoneId },
    /// Flush. `told` is the number of losses reported when it began.
    Flush { command: u32, told: u64 },
}

impl Work {
    /// Zone of the command; `None` for a flush.
    pub(super) fn zone(&self) -> Option<ZoneId> {
        match self {
            Self::Write { zone, .. }
            | Self::Read { zone, .. }
            | Self::Reset { zone }
            | Self::Close { zone } => Some(*zone),
            Self::Flush { .. } => None,
        }
    }
}

/// Completions and notifications that the host has not read yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Outbox {
    pub(super) completions: Vec<super::command::Completion>,
    pub(super) chunk_answers: Vec<physical_device::Completion>,
    pub(super) notifications: Vec<physical_device::Notification>,
    /// `None` if latency breakdowns are not recorded.
    #[serde(skip)]
    pub(super) teller: Option<Box<TimeRecorder>>,
}

impl Outbox {
    /// Adds the completion of a command.
    pub(super) fn add(&mut self, command: InFlight, now: Instant) {
        let (tag, submitted, waits) = (command.tag, command.submitted, command.stage_of_wait());
        self.teller.iter_mut().for_each(|teller| teller.note_completed(tag, submitted, waits, now));
        match command.face {
            Interface::Zones(operation) => self.completions.push(command.complete(operation, now)),
            Interface::Chunks(operation) => self.chunk_answers.push(command.complete_chunk(operation, now)),
        }
    }
}

/// Count of failed programs with data of completed writes. `told` is the number that flushes have reported.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Losses {
    count: u64,
    told: u64,
}

impl Losses {
    pub(super) fn add(&mut self) {
        self.count += 1;
    }

    /// Number of losses reported so far, recorded when a flush begins.
    pub(super) fn told(self) -> u64 {
        self.told
    }

    /// Whether a flush that recorded `told` must report losses. If so, all losses count as reported.
    pub(super) fn report(&mut self, told: u64) -> bool {
        let tells = self.count > told;
        self.told = if tells { self.count } else { self.told };
        tells
    }

    /// Drops losses that were not reported before a power loss.
    pub(super) fn forget(&mut self) {
        self.told = self.count;
    }
}
