//! The commands of the host that are not answered, and the rows that wait for a head of the stripe cache.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Instant, state};
use wordline_ssd::Command;

use crate::numbered::Numbered;

/// A command of the host that is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The command.
    pub command: Command,
    /// When it came.
    pub submitted: Instant,
    /// Parts of it that are not over.
    pub left: u32,
    /// Whether one of them failed.
    pub failed: bool,
}

/// A row that is to be worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Want {
    /// The row.
    pub row: u64,
    /// For whom.
    pub by: By,
}

/// The reason for which a row is to be worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum By {
    /// A write of the host, by its number.
    Write(u32),
    /// A read of the host that its member does not answer, by its number, and the member.
    Read(u32, u16),
    /// A rebuild, a resync or a scrub.
    Sync,
}

/// A flush of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flush {
    /// Its number.
    pub request: u32,
    /// The epoch that it ended: it waits for parity that stayed behind by then.
    pub epoch: u32,
    /// Rows of which that parity is not written yet.
    pub rows: u32,
    /// Whether it is with the members.
    pub sent: bool,
}

/// A discard that is under way: its rows, from the first to before the last, are not worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discarding {
    /// Its number.
    pub request: u32,
    /// The first row.
    pub from: u64,
    /// The first row after it.
    pub to: u64,
}

/// The commands of the host that are not answered.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    all: Numbered<Request>,
    /// Rows that wait for a head.
    pub waiting: VecDeque<Want>,
    /// Flushes.
    pub flushes: Vec<Flush>,
    /// Discards that are with the members.
    pub discarding: Vec<Discarding>,
    /// The epoch of flushes.
    pub epoch: u32,
}

state!(Requests { values { all, waiting, flushes, discarding, epoch } });

impl Requests {
    /// A command came, of which one part is that it came.
    pub fn add(&mut self, command: Command, submitted: Instant) -> u32 {
        self.all.add(Request { command, submitted, left: 1, failed: false })
    }

    /// A command, by its number.
    pub fn get(&self, number: u32) -> &Request {
        self.all.get(number)
    }

    /// Another part of a command has begun.
    pub fn begin_part(&mut self, number: u32) {
        self.all.get_mut(number).left += 1;
    }

    /// A part of a command is over; the command, if it was the last.
    pub fn part_over(&mut self, number: u32, failed: bool) -> Option<Request> {
        let request = self.all.get_mut(number);
        request.left -= 1;
        request.failed |= failed;
        (request.left == 0).then(|| self.all.remove(number))
    }

    /// All of them with their numbers.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Request)> {
        self.all.all()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.count()
    }

    /// Whether a row is being discarded.
    pub fn is_discarding(&self, row: u64) -> bool {
        self.discarding.iter().any(|discarding| (discarding.from..discarding.to).contains(&row))
    }

    /// The power was cut: the commands that will never be answered.
    pub fn forget(&mut self) -> Vec<Command> {
        let epoch = self.epoch;
        let mut all = std::mem::take(self).all;
        self.epoch = epoch;
        all.take_all().map(|request| request.command).collect()
    }
}
