//! Tasks of a die.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant, id};
use wordline_nand::{CommandCompletion, DataTag, Location, Operation, PageId};

use super::ticket::{Class, Ticket};

id!(
    /// Number of a task that waits for its die or is in progress.
    TaskId
);

/// No task.
pub(super) const NO_TASK: TaskId = TaskId(u32::MAX);

/// A read, program or erase of a die, for an engine. One command may execute several reads of one page, or of
/// adjacent pages in several planes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Engine that issued the task.
    pub ticket: Ticket,
    /// Urgency class.
    pub class: Class,
    /// Operation.
    pub operation: Operation,
    /// First page.
    pub page: PageId,
    /// First location that the task reads or writes.
    pub location: Location,
    /// Number of locations that the task reads or writes.
    pub locations: u32,
    /// Number of planes that take part.
    pub planes: u32,
    /// Bytes that a read transfers out of the chip.
    pub bytes: u32,
    /// Sectors that make up `bytes`, one bit for each from the begin of the location in the page. `0` for equal
    /// parts of all planes, each from there on.
    pub sectors: u64,
    /// The data tag that a read must find.
    pub wanted: DataTag,
    /// Time for which the request waited for the map entry of the page, before the task was queued.
    pub looked_up: Duration,
    /// For a reprogram of a word line: its number, counted from 1. Otherwise 0.
    pub again: u8,
    /// Whether a failed read is retried.
    pub retried: bool,
    /// Number of read retries so far.
    pub tries: u8,
    /// Whether the read shares a page, and so its sense, with the task before it in the chain.
    pub shares_page: bool,
    /// Set of read levels of the next retry.
    pub(super) level: u8,
    /// Pages that could not be read so far: one bit for each page, the lowest for the first.
    pub(super) unread: u16,
    /// Time when the task was queued.
    pub(super) queued: Instant,
    /// GC time of the die when the task was queued, in picoseconds. The time that a read waited for GC of
    /// another die is subtracted, modulo 2^64.
    pub(super) gc_before: u64,
    /// Time that the data of all commands of the task spent in decoders, with the waits for them.
    pub(super) decoding: Duration,
    /// Time of earlier tries on the bus and in the array.
    pub(super) tried: Duration,
    /// Slot with the data tags of a program.
    pub(super) payload: u32,
    pub(super) next: TaskId,
}

impl Task {
    /// Defaults for fields that the issuer does not set: a read of one page, without an issuer.
    pub(super) const NONE: Self = Self {
        ticket: Ticket::Table(u32::MAX),
        class: Class::Read,
        operation: Operation::Read,
        page: PageId(0),
        location: Location(0),
        locations: 1,
        planes: 1,
        bytes: 0,
        sectors: 0,
        wanted: DataTag::PADDING,
        looked_up: Duration::ZERO,
        again: 0,
        retried: true,
        tries: 0,
        shares_page: false,
        level: 0,
        unread: 0,
        queued: Instant::ZERO,
        gc_before: 0,
        decoding: Duration::ZERO,
        tried: Duration::ZERO,
        payload: u32::MAX,
        next: NO_TASK,
    };

    /// Next task of the chain that one command executes.
    #[inline]
    pub fn next_in_chain(&self) -> Option<TaskId> {
        (self.next != NO_TASK).then_some(self.next)
    }

    /// Number of flash pages that a read of one page adds: 0 if the task before it in the chain reads its page.
    #[inline]
    pub fn pages_read(&self) -> u64 {
        u64::from(!self.shares_page)
    }

    /// Whether the task is a GC step.
    #[inline]
    pub fn is_gc(&self) -> bool {
        self.class == Class::Gc
    }

    /// Time of all tries on the bus and in the array, with that of a command that has ended.
    pub(super) fn tried_with(&self, done: &CommandCompletion) -> Duration {
        self.tried + done.bus + done.bus_wait + done.array
    }

    /// Pages of a read that its last command could not read: one bit for each page, the lowest for the first.
    pub(super) fn unreadable_in(&self, done: &CommandCompletion) -> u32 {
        u32::from(done.failed_planes) >> (self.page.0 - done.command.page.0) & ((1 << self.planes) - 1)
    }

    /// Whether the task and other reads can be merged into one command.
    #[inline]
    pub(super) fn can_merge(&self) -> bool {
        self.operation == Operation::Read && !self.is_gc()
    }

    /// Time when the task was queued.
    #[inline]
    pub fn queued(&self) -> Instant {
        self.queued
    }
}
