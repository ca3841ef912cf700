//! The commands that were taken and are not answered.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::Instant;
use wordline_nand::{DieId, Location, Stamp};

use super::spans::Spans;
use super::telling::Teller;
use crate::physical_device::{Answer, Command, Failure, LogicalBlock, Operation};

/// Where a command is on its way over the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// The host is telling the device of it.
    Ringing,
    /// The device is fetching it.
    Fetching,
    /// The device works on it.
    Working,
    /// Its answer is on its way.
    Reporting,
}

/// A command in flight.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct InFlight {
    pub(super) operation: Operation,
    pub(super) tag: u32,
    pub(super) submitted: Instant,
    pub(super) stage: Stage,
    pub(super) blocks: Vec<LogicalBlock>,
    /// Where a copy goes.
    pub(super) to: Vec<LogicalBlock>,
    /// Where what it reads is in flash, by its place in the list; of a reset the blocks that are being erased.
    pub(super) locations: Vec<Location>,
    /// The stamps to write, or those that were read.
    pub(super) stamps: Vec<Stamp>,
    failed: u64,
    failure: Option<Failure>,
    /// The parts that it waits for: reads and erases of dies, units, resets that have not begun.
    pub(super) parts: u32,
    /// Reads among those.
    pub(super) reads: u32,
}

/// No place in flash: what is read is in the buffer.
pub(super) const NOWHERE: Location = Location(u32::MAX);

impl InFlight {
    /// A command that waits for nothing so far.
    pub(super) fn new(command: &Command<'_>, submitted: Instant) -> Self {
        let Command { operation, tag, blocks, to, stamps } = *command;
        let (locations, stamps) = match operation {
            Operation::Read | Operation::Copy => {
                (vec![NOWHERE; blocks.len()], vec![Stamp::TORN; blocks.len()])
            }
            Operation::Reset => (vec![NOWHERE; blocks.len()], Vec::new()),
            Operation::Write | Operation::Flush | Operation::Close => (Vec::new(), stamps.to_vec()),
        };
        Self {
            operation,
            tag,
            submitted,
            stage: Stage::Ringing,
            blocks: blocks.to_vec(),
            to: to.to_vec(),
            locations,
            stamps,
            failed: 0,
            failure: None,
            parts: 0,
            reads: 0,
        }
    }

    /// The logical blocks that it writes.
    pub(super) fn written(&self) -> &[LogicalBlock] {
        match self.operation {
            Operation::Write => &self.blocks,
            _ => &self.to,
        }
    }

    /// It failed for `count` logical blocks from that at a place of its list on.
    pub(super) fn fails(&mut self, at: usize, count: u32, failure: Failure) {
        self.failure = Some(failure);
        for n in 0..count {
            self.failed |= 1 << (at + n as usize);
        }
    }

    /// Whether some of it has failed so far.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Logical blocks whose data go back to the host.
    pub(super) fn found(&self) -> usize {
        if self.operation == Operation::Read { self.blocks.len() } else { 0 }
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
    /// Those from the oldest one on that is in flight; none at the place of one that is over.
    window: VecDeque<Option<InFlight>>,
    /// The number of the next one.
    next: u32,
    /// From writes to their answers, where they take time.
    pub(super) write_answers: Spans,
    /// The dies that a command is started on. Between two events there are none.
    #[serde(skip)]
    pub(super) dies: Vec<DieId>,
    /// None where the times of commands are not told.
    #[serde(skip)]
    pub(super) teller: Option<Box<Teller>>,
}

impl Commands {
    /// Takes a command; its number.
    pub(super) fn add(&mut self, command: InFlight) -> u32 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        self.window.push_back(Some(command));
        number
    }

    /// The place of a number in the window, or beyond it.
    #[inline]
    fn place(&self, number: u32) -> usize {
        number.wrapping_sub(self.next.wrapping_sub(self.window.len() as u32)) as usize
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> &InFlight {
        self.find(number).expect("a part of it is in flight")
    }

    #[inline]
    pub(super) fn find(&self, number: u32) -> Option<&InFlight> {
        self.window.get(self.place(number))?.as_ref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> &mut InFlight {
        let place = self.place(number);
        let command = self.window.get_mut(place).and_then(Option::as_mut);
        command.expect("a part of it is in flight")
    }

    /// A part of a command is over; whether that was the last one.
    pub(super) fn part_over(&mut self, number: u32) -> bool {
        let command = self.get_mut(number);
        command.parts -= 1;
        command.parts == 0
    }

    /// Takes a command that is over; its answer.
    pub(super) fn answer(&mut self, number: u32, now: Instant, takes_time: bool) -> Answer {
        let place = self.place(number);
        let command = self.window.get_mut(place).and_then(Option::take);
        while let Some(None) = self.window.front() {
            self.window.pop_front();
        }
        let answer = command.expect("it is answered once").answer(now);
        if answer.operation == Operation::Write && takes_time {
            self.write_answers.add(answer.latency);
        }
        answer
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.window.is_empty()
    }

    /// All of them, those first that came first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &InFlight> {
        self.window.iter().flatten()
    }

    /// The one that came first.
    pub(super) fn oldest(&self) -> Option<&InFlight> {
        self.iter().min_by_key(|command| command.submitted)
    }

    /// None are in flight any more: their tags.
    pub(super) fn forget(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.window).into_iter().flatten().map(|command| command.tag).collect()
    }

    /// Whether, in a state that was read, the window begins with a command.
    pub(super) fn is_sound(&self) -> bool {
        !matches!(self.window.front(), Some(None))
    }
}
