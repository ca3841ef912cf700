//! The side of the host: its outstanding commands, and what it has not read yet.

use wordline_device::physical_device::{Chunk, Notice, Notification};
use wordline_kernel::{Digest, Duration, Instant};
use wordline_nand::DataTag;

use super::command::Status;
use super::in_flight::{InFlight, Interface, Outbox};
use crate::in_flight_table::InFlightTable;

/// Commands of the host.
#[derive(Default)]
pub(super) struct Host {
    pub(super) commands: InFlightTable<InFlight>,
    pub(super) outbox: Outbox,
    pub(super) digest: Digest,
    /// Commands of which the firmware ends a part later, with the time until then. Empty between events.
    pub(super) later: Vec<(u32, Duration)>,
}

impl Host {
    /// Adds a command. Returns its number.
    pub(super) fn add(&mut self, face: Interface, tag: u32, now: Instant) -> u32 {
        self.commands.add(InFlight::new(face, tag, now))
    }

    /// Records that a logical block of a command is unreadable.
    pub(super) fn unread(&mut self, number: u32, at: u32) {
        let command = self.commands.get_mut(number);
        command.record_failure(at as usize, 1, Status::Unrecovered);
        command.found[at as usize] = DataTag::UNREADABLE;
    }

    /// Ends a part of a command. After its last part the command completes.
    pub(super) fn finish_part(&mut self, number: u32, now: Instant) {
        let command = self.commands.get_mut(number);
        command.parts -= 1;
        if command.parts > 0 {
            return;
        }
        let command = self.commands.remove(number);
        self.digest.add(u64::from(command.tag));
        self.digest.add((now - command.submitted).ps());
        self.outbox.add(command, now);
    }

    /// Notifies the host about a zone of `capacity` logical blocks, which it sees as a chunk, from its write
    /// pointer `next` on.
    pub(super) fn notify(&mut self, chunk: Chunk, (next, capacity): (u32, u32), notice: Notice) {
        let first = chunk.at(next.min(capacity - 1));
        self.outbox.notifications.push(Notification { first, blocks: capacity - next, notice });
    }

    /// Drops all commands at a power loss. Returns their tags.
    pub(super) fn cut(&mut self, now: Instant) -> Vec<u32> {
        self.later.clear();
        self.outbox.teller.iter_mut().for_each(|teller| **teller = Default::default());
        self.digest.add(now.ps());
        self.commands.forget().map(|command| command.tag).collect()
    }
}
