//! The device commands in flight and their purposes.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_device::PhysicalDevice;
use wordline_device::physical_device::{Command, Completion, Failure, LogicalBlock, Operation};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Duration, Schedule, state};
use wordline_nand::DataTag;

use super::layout::{Layout, LineId, Ppa};
use crate::slab::Slab;

/// Events of the FTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event<E> {
    /// An event of its device.
    Device(E),
    /// The host command with this number completes.
    Completion(u32),
    /// The host may have been silent for long enough that GC may use all of the ring.
    Silence,
}

/// Position that marks a padding block in a data write.
pub(super) const PADDING: u64 = u64::MAX;

/// The purpose of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Purpose {
    /// Writes entries of the ring.
    Data,
    Smeta(LineId),
    Emeta(LineId),
    /// Resets a chunk of the line under preparation.
    Reset(LineId),
    /// Closes a chunk of the line under preparation, on a device that cannot reset open chunks.
    Close(LineId),
    /// Reads for a host command.
    Read(u32),
    /// Reads emeta of a victim line.
    List(LineId),
    /// Reads valid pages of a victim line.
    Collect(LineId),
    /// Pads a chunk after a power cut.
    Pad,
    /// Reads during the recovery after a power cut.
    Scan,
    /// Makes completed writes non-volatile.
    Flush,
}

impl Purpose {
    /// The operation of the command.
    pub(super) fn operation(self) -> Operation {
        match self {
            Self::Data | Self::Smeta(_) | Self::Emeta(_) | Self::Pad => Operation::Write,
            Self::Reset(_) => Operation::Reset,
            Self::Close(_) => Operation::Close,
            Self::Read(_) | Self::List(_) | Self::Collect(_) | Self::Scan => Operation::Read,
            Self::Flush => Operation::Flush,
        }
    }
}

/// A command in flight.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sent {
    pub(super) work: Purpose,
    pub(super) places: Vec<Ppa>,
    /// The ring positions of the entries that a data write carries.
    pub(super) positions: Vec<u64>,
    /// For each location: the data tag to write, or the data tag that a read is expected to find.
    pub(super) stamps: Vec<DataTag>,
}

impl Sent {
    /// The failed completion of this command, which the device rejected.
    fn failed_completion(&self) -> Completion {
        let operation = self.work.operation();
        let (failure, found) = match operation {
            Operation::Read => (Failure::Unread, vec![DataTag::UNREADABLE; self.places.len()]),
            Operation::Write | Operation::Close | Operation::Copy => (Failure::EarlyClose, Vec::new()),
            Operation::Reset => (Failure::Offline, Vec::new()),
            Operation::Flush => (Failure::NotFlushed, Vec::new()),
        };
        let failed = u64::MAX;
        Completion { operation, tag: 0, latency: Duration::ZERO, failure: Some(failure), failed, found }
    }
}

/// The device, and the commands submitted to it.
pub(super) struct Port<D> {
    pub(super) device: D,
    /// By tag.
    sent: Slab<Sent>,
    /// Rejected commands. Their failure is not processed yet.
    failed: VecDeque<Sent>,
    spare: Vec<Sent>,
    blocks: Vec<LogicalBlock>,
    completions: Vec<Completion>,
}

state!(Port<D: State> {
    values { sent, failed }
    parts { device }
    fixed { spare, blocks, completions }
});

impl<D: PhysicalDevice> Port<D> {
    pub(super) fn new(device: D) -> Self {
        Self {
            device,
            sent: Slab::default(),
            failed: VecDeque::new(),
            spare: Vec::new(),
            blocks: Vec::new(),
            completions: Vec::new(),
        }
    }

    /// An empty command for a purpose.
    pub(super) fn new_command(&mut self, work: Purpose) -> Sent {
        let empty = || Sent { work, places: Vec::new(), positions: Vec::new(), stamps: Vec::new() };
        let mut sent = self.spare.pop().unwrap_or_else(empty);
        sent.work = work;
        sent.places.clear();
        sent.positions.clear();
        sent.stamps.clear();
        sent
    }

    /// Returns a finished command for reuse of its buffers.
    pub(super) fn recycle(&mut self, sent: Sent) {
        self.spare.push(sent);
    }

    /// Submits a command; returns it as an error if the device rejects it.
    pub(super) fn send(
        &mut self,
        sent: Sent,
        layout: &Layout,
        calendar: &mut impl Schedule<D::Event>,
    ) -> Result<(), Sent> {
        self.locate(&sent.places, layout);
        let tag = self.sent.next();
        let operation = sent.work.operation();
        let stamps: &[DataTag] = if operation == Operation::Write { &sent.stamps } else { &[] };
        let command = Command { operation, tag, blocks: &self.blocks, to: &[], stamps };
        if self.device.submit(&command, calendar).is_err() {
            return Err(sent);
        }
        self.sent.add(sent);
        Ok(())
    }

    /// Writes to locations with the clock of the device off.
    pub(super) fn write_directly(
        &mut self,
        places: &[Ppa],
        stamps: &[DataTag],
        layout: &Layout,
        calendar: &mut impl Schedule<D::Event>,
    ) {
        self.locate(places, layout);
        let written = self.device.submit(&Command::write(self.sent.next(), &self.blocks, stamps), calendar);
        let has_failed = |completion: &Completion| completion.failure.is_some();
        assert!(
            written.is_ok() && !self.device.completions().iter().any(has_failed),
            "chunks that are in order take all of their blocks with the clock off: {written:?}"
        );
        self.device.clear_completions();
    }

    /// Queues a rejected command. It is processed as failed.
    pub(super) fn fail(&mut self, sent: Sent) {
        self.failed.push_back(sent);
    }

    /// The next rejected command, with a failed completion.
    pub(super) fn take_failed(&mut self) -> Option<(Completion, Sent)> {
        let sent = self.failed.pop_front()?;
        Some((sent.failed_completion(), sent))
    }

    /// Translates locations to logical blocks, into a reused list. Neighbouring locations of a strip are
    /// neighbours in their chunk.
    fn locate(&mut self, places: &[Ppa], layout: &Layout) {
        self.blocks.clear();
        let mut before: Option<(Ppa, LogicalBlock)> = None;
        for place in places {
            let block = match before {
                Some((last, at)) if place.0 == last.0 + 1 && !place.0.is_multiple_of(layout.strip) => {
                    at.chunk.at(at.block + 1)
                }
                _ => layout.block(*place),
            };
            before = Some((*place, block));
            self.blocks.push(block);
        }
    }

    /// Whether completions, notifications or rejected commands have to be processed.
    pub(super) fn has_events(&self) -> bool {
        !self.device.completions().is_empty()
            || !self.device.notifications().is_empty()
            || !self.failed.is_empty()
    }

    /// The completions of the device, in a list to [return](Self::recycle_completions) after use.
    pub(super) fn take_completions(&mut self) -> Vec<Completion> {
        let mut completions = std::mem::take(&mut self.completions);
        self.device.take_completions(&mut completions);
        completions
    }

    /// Takes a processed list of completions back to reuse its memory.
    pub(super) fn recycle_completions(&mut self, mut completions: Vec<Completion>) {
        completions.clear();
        self.completions = completions;
    }

    /// Removes and returns the command that a completion belongs to.
    pub(super) fn take(&mut self, completion: &Completion) -> Sent {
        self.sent.remove(completion.tag)
    }

    /// Whether no command is in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.sent.count() == 0 && self.failed.is_empty()
    }

    /// The commands in flight.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = &Sent> {
        self.sent.values().chain(&self.failed)
    }

    /// Drops all commands after a power cut.
    pub(super) fn forget(&mut self) {
        self.sent = Slab::default();
        self.failed.clear();
        self.device.clear_notifications();
    }

    /// Checks that the free tags belong to no command.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.sent.is_sound() { Ok(()) } else { Err("command tags that are both free and in use".into()) }
    }
}
