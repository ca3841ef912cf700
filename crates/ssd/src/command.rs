//! Commands of a host to a block device, and the answers.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Duration, id};

/// Bytes of a sector.
pub const SECTOR: Bytes = Bytes(512);

/// The operation of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Read sectors.
    #[default]
    Read,
    /// Write sectors.
    Write,
    /// Forget sectors (TRIM, deallocate). Pages that are covered in part keep their data.
    Discard,
    /// Answer when everything written so far is in flash.
    Flush,
    /// Make sectors read as zeroes, without data from the host. Pages that are covered as a whole are forgotten, the
    /// others are written.
    WriteZeroes,
    /// Read sectors and compare them with what the host holds; a difference fails the command.
    Compare,
}

impl Operation {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::Discard, Self::Flush, Self::WriteZeroes, Self::Compare];
}

/// A command to a block device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The operation.
    pub operation: Operation,
    /// Forced unit access: a write that is answered only once it is in flash.
    pub fua: bool,
    /// The stream that a write belongs to, as the host says with the streams directive; 0 for none.
    pub stream: u8,
    /// The namespace, counted from 0.
    pub namespace: u16,
    /// The submission queue, counted from 0; an interface with fewer takes its remainder.
    pub queue: u16,
    /// The first sector, counted from the first of the namespace.
    pub sector: u64,
    /// How many sectors.
    pub sectors: u64,
    /// The caller's name for it, handed back with the answer.
    pub tag: u32,
    /// The version that a comparison expects of every page that it touches, counted from 1 with each write of the
    /// page; 0 for what the host wrote last.
    pub expected: u32,
}

const _: () = assert!(size_of::<Command>() <= 32, "a command is copied on its way in and out");

/// A write of the host, as a page in the buffer and a design know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostWrite {
    /// Its first sector, counted from the first of the device.
    pub sector: u64,
    /// Its sectors; 0 where no host wrote.
    pub sectors: u32,
}

impl HostWrite {
    /// That of a command.
    #[inline]
    pub(crate) fn of(command: &Command) -> Self {
        Self { sector: command.sector, sectors: u32::try_from(command.sectors).unwrap_or(u32::MAX) }
    }
}

id!(
    /// A command that the device has taken in and not answered; the numbers are used again.
    RequestId
);

/// The answer to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The command.
    pub command: Command,
    /// Time from submission to answer.
    pub latency: Duration,
    /// Whether it failed: a write to a device at the end of its life, a read of what is lost, or a comparison that found
    /// something else.
    pub failed: bool,
}
