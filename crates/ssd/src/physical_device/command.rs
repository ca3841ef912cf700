//! Vector commands, their answers, and why a device refuses one.

use std::fmt;

use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;
use wordline_nand::Stamp;

use super::chunk::ChunkState;
use super::geometry::{Chunk, LogicalBlock};

/// The most logical blocks of a command: an answer has a bit for each (section 3, Vector Commands).
pub const MOST_BLOCKS: usize = 64;

/// The operation of a vector command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Read logical blocks, of any chunks and in any order (Vector Chunk Read, 92h).
    Read,
    /// Write logical blocks, in each chunk from its write pointer on (Vector Chunk Write, 91h).
    Write,
    /// Reset the chunks of these logical blocks (Vector Chunk Reset, 90h).
    Reset,
    /// Copy logical blocks within the device, each to its place in a second list, where it goes as a write does (Vector Chunk Copy, 93h).
    Copy,
    /// Wait until all that was written before is in flash (Flush, 00h of NVMe).
    Flush,
    /// Close open chunks at their write pointers. A command of this face: revision 2.0 has none, but hosts stop writing to chunks.
    Close,
}

impl Operation {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        ["read", "write", "reset", "copy", "flush", "close"][self as usize]
    }
}

/// A vector command.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    /// The operation.
    pub operation: Operation,
    /// The caller's name for it, handed back with the answer.
    pub tag: u32,
    /// The logical blocks: one at least, and [`MOST_BLOCKS`] at the most; none for a flush.
    pub blocks: &'a [LogicalBlock],
    /// The logical blocks that a copy writes, one for each that it reads; empty but for a copy.
    pub to: &'a [LogicalBlock],
    /// The stamp to write to each of them; empty but for a write.
    pub stamps: &'a [Stamp],
}

impl<'a> Command<'a> {
    /// A read.
    pub fn read(tag: u32, blocks: &'a [LogicalBlock]) -> Self {
        Self { operation: Operation::Read, tag, blocks, to: &[], stamps: &[] }
    }

    /// A write of these contents.
    pub fn write(tag: u32, blocks: &'a [LogicalBlock], stamps: &'a [Stamp]) -> Self {
        Self { operation: Operation::Write, tag, blocks, to: &[], stamps }
    }

    /// A reset of the chunks that these are of.
    pub fn reset(tag: u32, blocks: &'a [LogicalBlock]) -> Self {
        Self { operation: Operation::Reset, tag, blocks, to: &[], stamps: &[] }
    }

    /// A copy of these to those, in this order.
    pub fn copy(tag: u32, blocks: &'a [LogicalBlock], to: &'a [LogicalBlock]) -> Self {
        Self { operation: Operation::Copy, tag, blocks, to, stamps: &[] }
    }

    /// A flush.
    pub fn flush(tag: u32) -> Self {
        Self { operation: Operation::Flush, tag, blocks: &[], to: &[], stamps: &[] }
    }

    /// An early end of the chunks that these are of.
    pub fn close(tag: u32, blocks: &'a [LogicalBlock]) -> Self {
        Self { operation: Operation::Close, tag, blocks, to: &[], stamps: &[] }
    }

    /// The logical blocks that it writes.
    pub fn written(&self) -> &'a [LogicalBlock] {
        match self.operation {
            Operation::Write => self.blocks,
            Operation::Copy => self.to,
            Operation::Read | Operation::Reset | Operation::Flush | Operation::Close => &[],
        }
    }
}

/// The answer to a vector command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The operation.
    pub operation: Operation,
    /// The caller's name for it.
    pub tag: u32,
    /// Time from submission to answer.
    pub latency: Duration,
    /// The failure of some of its logical blocks.
    pub failure: Option<Failure>,
    /// For which of them: a bit for each, the lowest for the first.
    pub failed: u64,
    /// The stamp that a read found in each of them; [`Stamp::TORN`] where it failed.
    pub found: Vec<Stamp>,
}

impl Answer {
    /// Whether the command failed for the logical block at this place of its list.
    pub fn has_failed(&self, at: usize) -> bool {
        self.failed >> at & 1 != 0
    }

    /// Its status of NVMe: the type in the upper byte, the code in the lower one; 0 if it succeeded.
    pub fn status(&self) -> u16 {
        self.failure.map_or(0, Failure::status)
    }
}

/// A failure of the flash. The device repairs nothing: the host has to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// Logical blocks could not be read (Unrecovered Read Error, 281h of NVMe).
    Unread,
    /// Logical blocks were not written, and their chunk is closed before them (Chunk Early Close, 2F1h).
    EarlyClose,
    /// The chunk was not reset, and is offline (Offline Chunk, 2C0h).
    Offline,
    /// Some of what a flush was to bring to flash is not there, and never will be (Write Fault, 280h of NVMe).
    NotFlushed,
}

impl Failure {
    /// Its status of NVMe: the type in the upper byte, the code in the lower one.
    pub fn status(self) -> u16 {
        match self {
            Self::Unread => 0x281,
            Self::EarlyClose => 0x2f1,
            Self::Offline => 0x2c0,
            Self::NotFlushed => 0x280,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Unread => "unrecovered read error",
            Self::EarlyClose => "write failed, chunk closed early",
            Self::Offline => "reset failed, chunk offline",
            Self::NotFlushed => "written data are not in flash",
        })
    }
}

/// Why a device does not take a command: its host broke a rule of the face. Nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It recovers from a power cut.
    NotReady,
    /// A list of none, or of more than a command may have.
    Count {
        /// Its logical blocks.
        found: usize,
    },
    /// There is no such logical block.
    NoSuchBlock {
        /// It.
        block: LogicalBlock,
    },
    /// A write with another number of stamps than of logical blocks, or stamps with what is no write.
    Stamps {
        /// Its stamps.
        found: usize,
        /// Those that it should have.
        wanted: usize,
    },
    /// A copy with another number of logical blocks to write than to read, or such a list with what is no copy.
    Destinations {
        /// Those to write.
        found: usize,
        /// Those that there should be.
        wanted: usize,
    },
    /// An operation that the [capabilities](super::Capabilities) of the device are without.
    Unsupported {
        /// It.
        operation: Operation,
    },
    /// A write that would open more chunks than may be open.
    TooManyOpen {
        /// The chunk that it would open.
        chunk: Chunk,
        /// Those that may be open at a time, of the device or of the parallel unit.
        limit: u32,
    },
    /// A stamp that cannot be written: that of an erased or torn block.
    NoData {
        /// Where it is to go.
        block: LogicalBlock,
    },
    /// A write of other than a multiple of [`ws_min`](super::Geometry::ws_min) logical blocks to a chunk.
    WriteSize {
        /// The chunk.
        chunk: Chunk,
        /// Logical blocks side by side in the list.
        found: u32,
        /// The number of which they have to be a multiple.
        wanted: u32,
    },
    /// A write elsewhere than at the write pointer (Out of Order Write, 2F2h).
    OutOfOrder {
        /// The logical block.
        block: LogicalBlock,
        /// Where its chunk has to be written next.
        wanted: u32,
    },
    /// A command that a chunk does not take as it is: a write to a closed one, a reset of a free one (Invalid Reset, 2C1h), or any
    /// to one that is offline (Offline Chunk, 2C0h).
    State {
        /// The chunk.
        chunk: Chunk,
        /// Its state.
        state: ChunkState,
    },
    /// A read of what is not written, or in an open chunk is too near to its write pointer (Deallocated or Unwritten Logical Block, 287h
    /// of NVMe).
    NotReadable {
        /// The logical block.
        block: LogicalBlock,
        /// The first of its chunk that cannot be read yet.
        end: u32,
    },
    /// A reset of a chunk that commands in flight are about, or any command to one that is being reset.
    InFlight {
        /// The chunk.
        chunk: Chunk,
    },
    /// A chunk stands twice in the list of a reset.
    Twice {
        /// The chunk.
        chunk: Chunk,
    },
}

impl fmt::Display for Chunk {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "chunk {} of parallel unit {} of group {}", self.chunk, self.unit, self.group)
    }
}

impl fmt::Display for LogicalBlock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "logical block {} of {}", self.block, self.chunk)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotReady => write!(out, "found a command before the recovery is over, wanted none"),
            Self::Count { found } => {
                write!(out, "found {found} logical blocks, wanted from 1 to {MOST_BLOCKS}")
            }
            Self::NoSuchBlock { block } => write!(out, "found {block}, wanted one that there is"),
            Self::Stamps { found, wanted } => write!(out, "found {found} stamps, wanted {wanted}"),
            Self::Destinations { found, wanted } => {
                write!(out, "found {found} logical blocks to copy to, wanted {wanted}")
            }
            Self::Unsupported { operation } => {
                write!(out, "found a {}, wanted a command that the device supports", operation.name())
            }
            Self::TooManyOpen { chunk, limit } => {
                write!(out, "{chunk}: found a write that opens it, wanted at most {limit} open chunks")
            }
            Self::NoData { block } => {
                write!(out, "{block}: found a stamp of nothing, wanted one of data or padding")
            }
            Self::WriteSize { chunk, found, wanted } => {
                write!(out, "{chunk}: found a write of {found}, wanted a multiple of {wanted}")
            }
            Self::OutOfOrder { block, wanted } => {
                write!(out, "found a write of {block}, wanted one from {wanted} on")
            }
            Self::State { chunk, state } => {
                write!(out, "{chunk}: found it {}, wanted a state that takes the command", state.name())
            }
            Self::NotReadable { block, end } => {
                write!(out, "found a read of {block}, wanted one below {end}")
            }
            Self::InFlight { chunk } => write!(out, "{chunk}: found commands in flight, wanted none"),
            Self::Twice { chunk } => write!(out, "{chunk}: found it twice, wanted it once"),
        }
    }
}

impl Refusal {
    /// Its status of NVMe: the type in the upper byte, the code in the lower one. Chosen where neither specification names the
    /// case: a fault of fields, of writes, or of resets, whichever is nearest.
    pub fn status(self) -> u16 {
        match self {
            Self::NotReady => 0x082,
            Self::Count { .. } | Self::Stamps { .. } | Self::Destinations { .. } => 0x1c1,
            Self::NoSuchBlock { .. } => 0x080,
            Self::Unsupported { .. } => 0x001,
            Self::NoData { .. } | Self::WriteSize { .. } => 0x002,
            Self::OutOfOrder { .. } => 0x2f2,
            Self::State { state: ChunkState::Offline, .. } => 0x2c0,
            Self::State { state: ChunkState::Closed, .. } | Self::TooManyOpen { .. } => 0x280,
            Self::State { .. } | Self::InFlight { .. } | Self::Twice { .. } => 0x2c1,
            Self::NotReadable { .. } => 0x287,
        }
    }
}

impl std::error::Error for Refusal {}
