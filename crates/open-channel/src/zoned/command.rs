//! Zone commands, their completions and NVMe statuses.

use std::fmt;

use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;
use wordline_nand::DataTag;

/// Zone Send Actions of Zone Management Send (79h), in the order of their codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Close Zone (01h): frees the open resource.
    Close,
    /// Finish Zone (02h): the zone accepts no more writes.
    Finish,
    /// Open Zone (03h): the zone stays open until the host closes it.
    Open,
    /// Reset Zone (04h): the zone becomes empty.
    Reset,
    /// Offline Zone (05h): a read-only zone goes offline.
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

/// Operation of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Reads logical blocks of a zone.
    Read,
    /// Writes at the write pointer of a zone.
    Write,
    /// Zone Append (7Dh): writes at the write pointer of a zone. The command has the first logical block of
    /// the zone; the completion has the address of the data.
    Append,
    /// Completes when all completed writes are in flash.
    Flush,
    /// Changes the state of a zone.
    Manage(Action),
}

/// Command to a zoned device.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    /// Operation.
    pub operation: Operation,
    /// Tag that the host chose, returned in the completion.
    pub tag: u32,
    /// First logical block. For zone management and appends it is the first one of the zone.
    pub first: u64,
    /// Number of logical blocks to read.
    pub blocks: u32,
    /// Whether zone management applies to all zones in a suitable state (Select All).
    pub all: bool,
    /// Data tags of a write, one for each logical block.
    pub stamps: &'a [DataTag],
}

impl<'a> Command<'a> {
    /// Read of logical blocks.
    pub fn read(tag: u32, first: u64, blocks: u32) -> Self {
        Self { operation: Operation::Read, tag, first, blocks, all: false, stamps: &[] }
    }

    /// Write of logical blocks.
    pub fn write(tag: u32, first: u64, stamps: &'a [DataTag]) -> Self {
        Self { operation: Operation::Write, tag, first, blocks: 0, all: false, stamps }
    }

    /// Append to the zone that begins at `first`.
    pub fn append(tag: u32, first: u64, stamps: &'a [DataTag]) -> Self {
        Self { operation: Operation::Append, ..Self::write(tag, first, stamps) }
    }

    /// Flush.
    pub fn flush(tag: u32) -> Self {
        Self { operation: Operation::Flush, ..Self::read(tag, 0, 0) }
    }

    /// Zone management of the zone that begins at `first`.
    pub fn manage(tag: u32, action: Action, first: u64) -> Self {
        Self { operation: Operation::Manage(action), ..Self::read(tag, first, 0) }
    }

    /// Zone management of all zones in a suitable state.
    pub fn manage_all(tag: u32, action: Action) -> Self {
        Self { all: true, ..Self::manage(tag, action, 0) }
    }
}

/// Completion of an accepted command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// Operation.
    pub operation: Operation,
    /// Tag that the host chose.
    pub tag: u32,
    /// Time from submission to completion.
    pub latency: Duration,
    /// Failure status; `None` if the command succeeded.
    pub status: Option<Status>,
    /// First logical block read or written. For an append, the address of its data.
    pub first: u64,
    /// Data tags of a read: [`DataTag::ERASED`] for unwritten blocks, [`DataTag::UNREADABLE`] for unreadable
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
    /// The device is still recovering from a power loss (Namespace Not Ready).
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
    /// The command needs an active zone more than the limit allows (Too Many Active Zones).
    TooManyActive,
    /// The command needs an open zone more than the limit allows (Too Many Open Zones).
    TooManyOpen,
    /// The state of the zone does not allow the change (Invalid Zone State Transition).
    InvalidTransition,
    /// Some data could not be written (Write Fault).
    WriteFault,
    /// Some data could not be read (Unrecovered Read Error).
    Unrecovered,
}

impl Status {
    /// Status code type in the upper byte, status code in the lower byte.
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
