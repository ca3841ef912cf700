//! What a host asks of a block device, and the answer.

use wordline_kernel::{Bytes, Duration};

/// Bytes of a sector.
pub const SECTOR: Bytes = Bytes(512);

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read sectors.
    Read,
    /// Write sectors.
    Write,
    /// Forget sectors (TRIM, deallocate). Pages that are covered in part keep their data.
    Discard,
    /// Answer when everything written so far is in flash.
    Flush,
}

/// A command to a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// What it does.
    pub operation: Operation,
    /// Forced unit access: a write that is answered only once it is in flash.
    pub fua: bool,
    /// The first sector.
    pub sector: u64,
    /// How many sectors.
    pub sectors: u64,
    /// The caller's name for it, handed back with the answer.
    pub tag: u32,
}

/// The answer to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The command.
    pub command: Command,
    /// Time from submission to answer.
    pub latency: Duration,
    /// Whether it failed: a write to a device at the end of its life, or a read of what is lost.
    pub failed: bool,
}
