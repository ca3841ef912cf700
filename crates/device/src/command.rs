//! Host commands to a block device, and their completions.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration};

/// Bytes of a sector.
pub const SECTOR: Bytes = Bytes(512);

/// Operation of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Read sectors.
    #[default]
    Read,
    /// Write sectors.
    Write,
    /// Discard sectors (TRIM, deallocate). A page that is covered only in part keeps its data.
    Discard,
    /// Flush: completes when all earlier writes are non-volatile.
    Flush,
    /// Write zeroes, without data from the host. Pages that are covered as a whole are discarded. Pages
    /// covered in part are written.
    WriteZeroes,
    /// Read sectors and compare them with the host's data; a difference fails the command.
    Compare,
}

impl Operation {
    /// All operations, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::Discard, Self::Flush, Self::WriteZeroes, Self::Compare];
}

/// A command to a block device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Operation.
    pub operation: Operation,
    /// Forced unit access: the write completes only when its data are non-volatile.
    pub fua: bool,
    /// Stream of a write, as in the NVMe streams directive; 0 for none.
    pub stream: u8,
    /// Namespace, counted from 0.
    pub namespace: u16,
    /// Submission queue, counted from 0. An interface with fewer queues takes it modulo its number of queues.
    pub queue: u16,
    /// First sector, counted within the namespace.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u64,
    /// Tag of the caller, returned with the completion.
    pub tag: u32,
    /// For a comparison: the version that each covered page must have, counted from 1 with each write of the
    /// page. 0 means the last version that the host wrote.
    pub expected: u32,
}

const _: () = assert!(size_of::<Command>() <= 32, "a command is copied on its way in and out");

/// Completion of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// Command.
    pub command: Command,
    /// Time from submission to completion.
    pub latency: Duration,
    /// Whether the command failed: a write at the device's end of life, a read of lost data, or a comparison
    /// that found a difference.
    pub failed: bool,
}
