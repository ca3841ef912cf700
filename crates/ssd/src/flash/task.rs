//! Tasks of a die.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant, id};
use wordline_nand::{Location, Operation, PageId, Stamp};

use super::ticket::{Class, Ticket};

id!(
    /// A task that waits for its die, or is under way.
    TaskId
);

/// No task.
pub(super) const NO_TASK: TaskId = TaskId(u32::MAX);

/// A task of a die: a read, program or erase, for an engine. Reads of a page, or of pages side by side in the planes, are
/// carried out by one command.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The engine that issued it.
    pub ticket: Ticket,
    /// How urgent it is.
    pub class: Class,
    /// Its operation.
    pub operation: Operation,
    /// Its first page.
    pub page: PageId,
    /// The first location that it reads or writes.
    pub location: Location,
    /// How many locations it reads or writes, from the first one on.
    pub locations: u32,
    /// Planes that take part.
    pub planes: u32,
    /// Bytes that a read moves out of the chip.
    pub bytes: u32,
    /// The stamp that a read must find.
    pub wanted: Stamp,
    /// How long its request waited for the place of the page before the task was queued.
    pub looked_up: Duration,
    /// How often its word line is programmed again with it, of a program that replaces a page; else 0.
    pub again: u8,
    /// Whether a read that fails is tried again.
    pub retried: bool,
    /// How often its pages were sensed again because they could not be read.
    pub tries: u8,
    /// The set of read levels of the next try.
    pub(super) level: u8,
    /// Which of its pages could not be read so far, the lowest bit for the first.
    pub(super) unread: u16,
    /// When it was queued.
    pub(super) queued: Instant,
    /// How long the die had been cleaning by then, in picoseconds.
    pub(super) cleaning_before: u64,
    /// The time in decoders, and waiting for them, of all commands of the task so far.
    pub(super) decoding: Duration,
    /// The time of earlier tries, and of the waits before the next ones.
    pub(super) tried: Duration,
    /// The payload of a program.
    pub(super) payload: u32,
    pub(super) next: TaskId,
}

impl Task {
    /// A blank task, for the fields that its caller leaves out: a read of one page, without an issuer.
    pub(super) const NONE: Self = Self {
        ticket: Ticket::Table(u32::MAX),
        class: Class::Read,
        operation: Operation::Read,
        page: PageId(0),
        location: Location(0),
        locations: 1,
        planes: 1,
        bytes: 0,
        wanted: Stamp::PADDING,
        looked_up: Duration::ZERO,
        again: 0,
        retried: true,
        tries: 0,
        level: 0,
        unread: 0,
        queued: Instant::ZERO,
        cleaning_before: 0,
        decoding: Duration::ZERO,
        tried: Duration::ZERO,
        payload: u32::MAX,
        next: NO_TASK,
    };

    /// The next of the tasks that one command carried out.
    #[inline]
    pub fn following(&self) -> Option<TaskId> {
        (self.next != NO_TASK).then_some(self.next)
    }

    /// Whether it is a step of cleaning.
    #[inline]
    pub fn is_reclaim(&self) -> bool {
        self.class == Class::Reclaim
    }

    /// Whether pages in the buffer may go on when it is over.
    #[inline]
    pub(crate) fn moves_writes_on(&self) -> bool {
        match self.ticket {
            Ticket::Request(_) | Ticket::Prefetch(_) | Ticket::Scan(_) => false,
            Ticket::Reclaim(..) => self.operation == Operation::Erase,
            Ticket::Fill(_)
            | Ticket::UnitFill(_)
            | Ticket::Table(_)
            | Ticket::HostUnit(_)
            | Ticket::TableUnit(_) => true,
        }
    }

    /// Whether other reads may go with it in one command.
    #[inline]
    pub(super) fn merges(&self) -> bool {
        self.operation == Operation::Read && !self.is_reclaim()
    }

    /// When it was queued.
    pub fn queued(&self) -> Instant {
        self.queued
    }
}
