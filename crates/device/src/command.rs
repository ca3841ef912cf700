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
    /// Zone append: write at the write pointer of the zone that contains the first sector.
    ZoneAppend,
    /// Reset the zone that contains the first sector: it becomes empty.
    ZoneReset,
    /// Finish a zone: it accepts no more writes.
    ZoneFinish,
    /// Open a zone explicitly: it stays open until the host closes it.
    ZoneOpen,
    /// Close a zone.
    ZoneClose,
}

impl Operation {
    /// All operations, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Read,
        Self::Write,
        Self::Discard,
        Self::Flush,
        Self::WriteZeroes,
        Self::Compare,
        Self::ZoneAppend,
        Self::ZoneReset,
        Self::ZoneFinish,
        Self::ZoneOpen,
        Self::ZoneClose,
    ];

    /// The operations of zoned namespaces that change the state of a zone without data.
    pub const ZONE_MANAGEMENT: [Self; 4] =
        [Self::ZoneReset, Self::ZoneFinish, Self::ZoneOpen, Self::ZoneClose];

    /// Whether only zoned namespaces have the operation.
    pub fn is_of_zones(self) -> bool {
        self == Self::ZoneAppend || Self::ZONE_MANAGEMENT.contains(&self)
    }

    /// Panics: the operation was submitted to a device whose shape does not
    /// [execute](crate::block_device::Shape::executes) it.
    #[cold]
    pub fn is_not_executed(self) -> ! {
        panic!("the device does not execute this operation: {}", self.name())
    }

    /// Name in results and logs.
    pub fn name(self) -> &'static str {
        [
            "read",
            "write",
            "discard",
            "flush",
            "write_zeroes",
            "compare",
            "zone_append",
            "zone_reset",
            "zone_finish",
            "zone_open",
            "zone_close",
        ][self as usize]
    }
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
    /// Command. A zone append has the address where its data were written.
    pub command: Command,
    /// Time from submission to completion.
    pub latency: Duration,
    /// Whether the command failed: a write at the device's end of life, a read of lost data, or a comparison
    /// that found a difference.
    pub failed: bool,
}
