//! Commands to zones, their completions, and their NVMe statuses.

use std::fmt;

use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;
use wordline_nand::DataTag;

/// Actions of Zone Management Send (79h), in the order of their codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Close Zone: frees the open resource (01h).
    Close,
    /// Finish Zone: the zone accepts no more writes (02h).
    Finish,
    /// Open Zone: the zone stays open until it is closed (03h).
    Open,
    /// Reset Zone: the zone becomes empty (04h).
    Reset,
    /// Offline Zone: a read-only zone goes offline (05h).
    Offline,
}

impl Action {
    /// All actions.
    pub const ALL: [Self; 5] = [Self::Close, Self::Finish, Self::Open, Self::Reset, Self::Offline];

    /// NVMe code.
    pub fn code(self) -> u8 {
        self as u8 + 1
    }
}

/// The operation of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Reads logical blocks of a zone.
    Read,
    /// Writes at the write pointer of a zone.
    Write,
    /// Writes at the write pointer of the zone whose first logical block the command has; the completion has
    /// the address (Zone Append, 7Dh).
    Append,
    /// Waits until all completed writes are in flash.
    Flush,
    /// Changes the state of a zone.
    Manage(Action),
}

/// A command.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    /// The operation.
    pub operation: Operation,
    /// Tag chosen by the caller, returned with the completion.
    pub tag: u32,
    /// The first logical block; for zone management and appends the first one of the zone.
    pub first: u64,
    /// Logical blocks to read.
    pub blocks: u32,
    /// Whether zone management applies to all eligible zones (Select All).
    pub all: bool,
    /// Data tags of a write, one for each logical block.
    pub stamps: &'a [DataTag],
}

impl<'a> Command<'a> {
    /// A read.
    pub fn read(tag: u32, first: u64, blocks: u32) -> Self {
        Self { operation: Operation::Read, tag, first, blocks, all: false, stamps: &[] }
    }

    /// A write.
    pub fn write(tag: u32, first: u64, stamps: &'a [DataTag]) -> Self {
        Self { operation: Operation::Write, tag, first, blocks: 0, all: false, stamps }
    }

    /// An append to the zone that begins at `first`.
    pub fn append(tag: u32, first: u64, stamps: &'a [DataTag]) -> Self {
        Self { operation: Operation::Append, ..Self::write(tag, first, stamps) }
    }

    /// A flush.
    pub fn flush(tag: u32) -> Self {
        Self { operation: Operation::Flush, ..Self::read(tag, 0, 0) }
    }

    /// Zone management of the zone that begins at `first`.
    pub fn manage(tag: u32, action: Action, first: u64) -> Self {
        Self { operation: Operation::Manage(action), ..Self::read(tag, first, 0) }
    }

    /// Zone management of all eligible zones.
    pub fn manage_all(tag: u32, action: Action) -> Self {
        Self { all: true, ..Self::manage(tag, action, 0) }
    }
}

/// Completion of an accepted command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The operation.
    pub operation: Operation,
    /// Tag chosen by the caller.
    pub tag: u32,
    /// Time from submission to completion.
    pub latency: Duration,
    /// Failure status, if it failed.
    pub status: Option<Status>,
    /// The first logical block read or written; of an append the block at which its data begin.
    pub first: u64,
    /// Data tags that a read returned: [`DataTag::ERASED`] for unwritten blocks, [`DataTag::UNREADABLE`] for unreadable
    /// ones.
    pub found: Vec<DataTag>,
}

/// NVMe status of a rejected or failed command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// Invalid Field in Command.
    InvalidField,
    /// The logical blocks do not exist (LBA Out of Range).
    OutOfRange,
    /// The device is recovering from a power cut (Namespace Not Ready).
    NotReady,
    /// The command crosses the end of a zone (Zone Boundary Error).
    Boundary,
    /// The zone is full (Zone Is Full).
    Full,
    /// The zone is read only (Zone Is Read Only).
    ReadOnly,
    /// The zone is offline (Zone Is Offline).
    Offline,
    /// The write does not begin at the write pointer (Zone Invalid Write).
    InvalidWrite,
    /// Too many zones are active (Too Many Active Zones).
    TooManyActive,
    /// Too many zones are open (Too Many Open Zones).
    TooManyOpen,
    /// The state of the zone does not allow the change (Invalid Zone State Transition).
    InvalidTransition,
    /// Some of the data to be written are not in flash and never will be (Write Fault).
    WriteFault,
    /// Some written data could not be read (Unrecovered Read Error).
    Unrecovered,
}

impl Status {
    /// Status type in the upper byte, code in the lower one.
    pub fn code(self) -> u16 {
        match self {
            Self::InvalidField => 0x002,
            Self::OutOfRange => 0x080,
            Self::NotReady => 0x082,
            Self::Boundary => 0x1b8,
            Self::Full => 0x1b9,
            Self::ReadOnly => 0x1ba,
            Self::Offline => 0x1bb,
            Self::InvalidWrite => 0x1bc,
            Self::TooManyActive => 0x1bd,
            Self::TooManyOpen => 0x1be,
            Self::InvalidTransition => 0x1bf,
            Self::WriteFault => 0x280,
            Self::Unrecovered => 0x281,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::InvalidField => "invalid field in command",
            Self::OutOfRange => "logical block out of range",
            Self::NotReady => "not ready",
            Self::Boundary => "zone boundary error",
            Self::Full => "zone is full",
            Self::ReadOnly => "zone is read only",
            Self::Offline => "zone is offline",
            Self::InvalidWrite => "zone invalid write",
            Self::TooManyActive => "too many active zones",
            Self::TooManyOpen => "too many open zones",
            Self::InvalidTransition => "invalid zone state transition",
            Self::WriteFault => "write fault",
            Self::Unrecovered => "unrecovered read error",
        })
    }
}

impl std::error::Error for Status {}
