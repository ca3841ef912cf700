//! Commands to zones, their answers, and the statuses of NVMe that they may have.

use std::fmt;

use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;
use wordline_nand::Stamp;

/// An action of Zone Management Send (79h), in the order of its codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// The zone gives back its open resource (01h).
    Close,
    /// The zone takes no more writes (02h).
    Finish,
    /// The zone is open until it is closed (03h).
    Open,
    /// The zone is empty (04h).
    Reset,
    /// A zone that is read only goes offline (05h).
    Offline,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Close, Self::Finish, Self::Open, Self::Reset, Self::Offline];

    /// Its code.
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
    /// Writes at the write pointer of a zone that the command names by its first logical block; the answer says where (Zone Append, 7Dh).
    Append,
    /// Waits until all that was answered is in flash.
    Flush,
    /// Changes the state of a zone.
    Manage(Action),
}

/// A command.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    /// The operation.
    pub operation: Operation,
    /// The caller's name for it, handed back with the answer.
    pub tag: u32,
    /// The first logical block; of a change of state and of an append, that of the zone.
    pub first: u64,
    /// Logical blocks to read.
    pub blocks: u32,
    /// Whether a change of state is for all zones that it can be for (Select All).
    pub all: bool,
    /// The stamps to write, one for each logical block.
    pub stamps: &'a [Stamp],
}

impl<'a> Command<'a> {
    /// A read.
    pub fn read(tag: u32, first: u64, blocks: u32) -> Self {
        Self { operation: Operation::Read, tag, first, blocks, all: false, stamps: &[] }
    }

    /// A write.
    pub fn write(tag: u32, first: u64, stamps: &'a [Stamp]) -> Self {
        Self { operation: Operation::Write, tag, first, blocks: 0, all: false, stamps }
    }

    /// An append to the zone that begins there.
    pub fn append(tag: u32, first: u64, stamps: &'a [Stamp]) -> Self {
        Self { operation: Operation::Append, ..Self::write(tag, first, stamps) }
    }

    /// A flush.
    pub fn flush(tag: u32) -> Self {
        Self { operation: Operation::Flush, ..Self::read(tag, 0, 0) }
    }

    /// A change of the zone that begins there.
    pub fn manage(tag: u32, action: Action, first: u64) -> Self {
        Self { operation: Operation::Manage(action), ..Self::read(tag, first, 0) }
    }

    /// A change of all zones that it can be for.
    pub fn manage_all(tag: u32, action: Action) -> Self {
        Self { all: true, ..Self::manage(tag, action, 0) }
    }
}

/// The answer to a command that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The operation.
    pub operation: Operation,
    /// The caller's name for it.
    pub tag: u32,
    /// Time from submission to answer.
    pub latency: Duration,
    /// The reason why it failed, if it did.
    pub status: Option<Status>,
    /// The first logical block that was read or written: an append learns here where it went.
    pub first: u64,
    /// The stamp that a read found in each logical block: [`Stamp::ERASED`] where nothing is written, [`Stamp::TORN`] where it could not
    /// be read.
    pub found: Vec<Stamp>,
}

/// The reason why a command is refused or has failed, as NVMe names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// A field of the command is not one that there is (Invalid Field in Command).
    InvalidField,
    /// There are no such logical blocks (LBA Out of Range).
    OutOfRange,
    /// The device recovers from a power cut (Namespace Not Ready).
    NotReady,
    /// The command goes beyond the end of a zone (Zone Boundary Error).
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
    /// Some of what was to be written is not in flash, and never will be (Write Fault).
    WriteFault,
    /// Some of what is written could not be read (Unrecovered Read Error).
    Unrecovered,
}

impl Status {
    /// The type in the upper byte, the code in the lower one.
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
