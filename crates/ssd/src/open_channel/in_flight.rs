//! The commands that were taken and are not answered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wordline_kernel::Instant;
use wordline_nand::{Location, Stamp};

use crate::physical_device::{Answer, Command, Failure, Operation};

/// A command in flight.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct InFlight {
    pub(super) operation: Operation,
    pub(super) tag: u32,
    pub(super) submitted: Instant,
    /// Where its logical blocks are.
    pub(super) locations: Vec<Location>,
    /// The stamps to write, or those found by a read.
    pub(super) stamps: Vec<Stamp>,
    failed: u64,
    failure: Option<Failure>,
    /// Commands of dies, or units, that it waits for.
    pub(super) parts: u32,
}

impl InFlight {
    /// A command of this many parts.
    pub(super) fn new(command: &Command<'_>, locations: Vec<Location>, submitted: Instant) -> Self {
        let stamps = match command.operation {
            Operation::Read => vec![Stamp::TORN; locations.len()],
            Operation::Write | Operation::Reset => command.stamps.to_vec(),
        };
        let Command { operation, tag, .. } = *command;
        Self { operation, tag, submitted, locations, stamps, failed: 0, failure: None, parts: 0 }
    }

    /// It failed for `count` logical blocks from that at a place of its list on.
    pub(super) fn fails(&mut self, at: usize, count: u32, failure: Failure) {
        self.failure = Some(failure);
        for n in 0..count {
            self.failed |= 1 << (at + n as usize);
        }
    }

    /// Its answer.
    pub(super) fn answer(self, now: Instant) -> Answer {
        let Self { operation, tag, submitted, stamps, failed, failure, .. } = self;
        let found = if operation == Operation::Read { stamps } else { Vec::new() };
        Answer { operation, tag, latency: now - submitted, failure, failed, found }
    }
}

/// All commands in flight, by their numbers, which grow.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Commands {
    in_flight: BTreeMap<u32, InFlight>,
    next: u32,
}

impl Commands {
    /// Takes a command; its number.
    pub(super) fn add(&mut self, command: InFlight) -> u32 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.in_flight.insert(number, command);
        number
    }

    pub(super) fn get(&self, number: u32) -> &InFlight {
        &self.in_flight[&number]
    }

    pub(super) fn find(&self, number: u32) -> Option<&InFlight> {
        self.in_flight.get(&number)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> &mut InFlight {
        self.in_flight.get_mut(&number).expect("a part of it is in flight")
    }

    /// A part of a command is over; the command, if that was the last one.
    pub(super) fn part_over(&mut self, number: u32) -> Option<InFlight> {
        let command = self.get_mut(number);
        command.parts -= 1;
        if command.parts == 0 { self.in_flight.remove(&number) } else { None }
    }

    pub(super) fn len(&self) -> usize {
        self.in_flight.len()
    }

    /// All of them, those first that came first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &InFlight> {
        self.in_flight.values()
    }

    /// The one that came first.
    pub(super) fn oldest(&self) -> Option<&InFlight> {
        self.in_flight.values().min_by_key(|command| command.submitted)
    }

    /// None are in flight any more: their tags.
    pub(super) fn forget(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.in_flight).into_values().map(|command| command.tag).collect()
    }
}
