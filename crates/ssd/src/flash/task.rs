//! Tasks of a die.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant, id};
use wordline_nand::{DataTag, Location, Operation, PageId};

use super::ticket::{Class, Ticket};

id!(
    /// A task that waits for its die, or is in progress.
    TaskId
);

/// No task.
pub(super) const NO_TASK: TaskId = TaskId(u32::MAX);

/// A task of a die: a read, program or erase, for an engine. Reads of a page, or of adjacent pages of several
/// planes, are executed by one command.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The engine that issued it.
    pub ticket: Ticket,
    /// Its urgency.
    pub class: Class,
    /// Its operation.
    pub operation: Operation,
    /// Its first page.
    pub page: PageId,
    /// The first location that it reads or writes.
    pub location: Location,
    /// Number of locations that it reads or writes.
    pub locations: u32,
    /// Planes taking part.
    pub planes: u32,
    /// Bytes that a read transfers out of the chip.
    pub bytes: u32,
    /// The data tag that a read must find.
    pub wanted: DataTag,
    /// Time for which its request waited for the location of the page, before the task was queued.
    pub looked_up: Duration,
    /// For a program of a word line that is reprogrammed: how many times, with this program; otherwise 0.
    pub again: u8,
    /// Whether a failed read is retried.
    pub retried: bool,
    /// Number of read retries of its pages.
    pub tries: u8,
    /// The set of read levels of the next retry.
    pub(super) level: u8,
    /// The pages that could not be read so far, the lowest bit for the first.
    pub(super) unread: u16,
    /// When it was queued.
    pub(super) queued: Instant,
    /// GC time of the die by then, in picoseconds.
    pub(super) gc_before: u64,
    /// Time of all commands of the task so far in decoders, and waiting for them.
    pub(super) decoding: Duration,
    /// Time of earlier tries, and of the waits before retries.
    pub(super) tried: Duration,
    /// The payload of a program.
    pub(super) payload: u32,
    pub(super) next: TaskId,
}

impl Task {
    /// A blank task, for the fields that its caller does not set: a read of one page, without an issuer.
    pub(super) const NONE: Self = Self {
        ticket: Ticket::Table(u32::MAX),
        class: Class::Read,
        operation: Operation::Read,
        page: PageId(0),
        location: Location(0),
        locations: 1,
        planes: 1,
        bytes: 0,
        wanted: DataTag::PADDING,
        looked_up: Duration::ZERO,
        again: 0,
        retried: true,
        tries: 0,
        level: 0,
        unread: 0,
        queued: Instant::ZERO,
        gc_before: 0,
        decoding: Duration::ZERO,
        tried: Duration::ZERO,
        payload: u32::MAX,
        next: NO_TASK,
    };

    /// The next task of the chain that one command executed.
    #[inline]
    pub fn next_in_chain(&self) -> Option<TaskId> {
        (self.next != NO_TASK).then_some(self.next)
    }

    /// Whether it is a GC step.
    #[inline]
    pub fn is_gc(&self) -> bool {
        self.class == Class::Gc
    }

    /// Whether pages in the buffer may move on after it.
    #[inline]
    pub(crate) fn unblocks_writes(&self) -> bool {
        match self.ticket {
            Ticket::Request(_) | Ticket::Prefetch(_) | Ticket::Scan(_) => false,
            Ticket::Gc(..) => self.operation == Operation::Erase,
            Ticket::Rmw(_)
            | Ticket::UnitRmw(_)
            | Ticket::Table(_)
            | Ticket::HostUnit(_)
            | Ticket::TableUnit(_) => true,
        }
    }

    /// Whether other reads may be merged with it into one command.
    #[inline]
    pub(super) fn can_merge(&self) -> bool {
        self.operation == Operation::Read && !self.is_gc()
    }

    /// When it was queued.
    pub fn queued(&self) -> Instant {
        self.queued
    }
}
