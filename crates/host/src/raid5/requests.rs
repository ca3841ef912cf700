//! Outstanding host commands, and the rows that wait for a stripe head.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_device::Command;
use wordline_kernel::{Instant, state};

use crate::slab::Slab;

/// An outstanding host command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The command.
    pub command: Command,
    /// Submission time.
    pub submitted: Instant,
    /// Outstanding parts.
    pub left: u32,
    /// Whether a part failed.
    pub failed: bool,
}

/// Requested work on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowRequest {
    /// The row.
    pub row: u64,
    /// The requester.
    pub by: Requester,
}

/// Requester of work on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Requester {
    /// A host write, by number.
    Write(u32),
    /// A host read that its member cannot serve: the number of the read, and the member.
    Read(u32, u16),
    /// A rebuild, a resync or a scrub.
    Sync,
}

/// A host flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flush {
    /// Number of the host command.
    pub request: u32,
    /// The epoch that the flush ends. The flush waits for parity that was deferred in this epoch or before.
    pub epoch: u32,
    /// Rows whose deferred parity is still to be written.
    pub rows: u32,
    /// Whether the flush has been sent to the members.
    pub sent: bool,
}

/// A discard in progress. Work on its rows has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discarding {
    /// Number of the host command.
    pub request: u32,
    /// The first row.
    pub from: u64,
    /// The first row after the discarded ones.
    pub to: u64,
}

/// The outstanding host commands.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    all: Slab<Request>,
    /// Requested work that waits for a stripe head.
    pub waiting: VecDeque<RowRequest>,
    /// Outstanding flushes.
    pub flushes: Vec<Flush>,
    /// Discards sent to the members.
    pub discarding: Vec<Discarding>,
    /// The current epoch. Each flush begins a new one.
    pub epoch: u32,
}

state!(Requests { values { all, waiting, flushes, discarding, epoch } });

impl Requests {
    /// Adds a submitted command and returns its number. The submission counts as one outstanding part.
    #[inline]
    pub fn add(&mut self, command: Command, submitted: Instant) -> u32 {
        self.all.add(Request { command, submitted, left: 1, failed: false })
    }

    /// A command, by its number.
    #[inline]
    pub fn get(&self, number: u32) -> &Request {
        self.all.get(number)
    }

    /// Adds a part to a command.
    #[inline]
    pub fn begin_part(&mut self, number: u32) {
        self.all.get_mut(number).left += 1;
    }

    /// Completes a part of a command. Removes and returns the command after its last part.
    #[inline]
    pub fn complete_part(&mut self, number: u32, failed: bool) -> Option<Request> {
        let request = self.all.get_mut(number);
        request.left -= 1;
        request.failed |= failed;
        (request.left == 0).then(|| self.all.remove(number))
    }

    /// All outstanding commands with their numbers.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Request)> {
        self.all.all()
    }

    /// Number of outstanding commands.
    pub fn count(&self) -> usize {
        self.all.count()
    }

    /// Whether a row is being discarded.
    pub fn is_discarding(&self, row: u64) -> bool {
        self.discarding.iter().any(|discarding| (discarding.from..discarding.to).contains(&row))
    }

    /// Drops and returns the outstanding commands after a power cut.
    pub fn forget(&mut self) -> Vec<Command> {
        let epoch = self.epoch;
        let mut all = std::mem::take(self).all;
        self.epoch = epoch;
        all.take_all().map(|request| request.command).collect()
    }
}
