//! Vector commands, their completions, and the reasons for which a device rejects one.

use std::fmt;

use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;
use wordline_nand::DataTag;

use super::chunk::ChunkState;
use super::geometry::{Chunk, LogicalBlock};

/// Most logical blocks of a command. A completion has a bit for each (section 3, Vector Commands).
pub const MOST_BLOCKS: usize = 64;

/// The operation of a vector command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Reads logical blocks of any chunks, in any order (Vector Chunk Read, 92h).
    Read,
    /// Writes logical blocks, in each chunk from its write pointer on (Vector Chunk Write, 91h).
    Write,
    /// Resets the chunks of these logical blocks (Vector Chunk Reset, 90h).
    Reset,
    /// Copies logical blocks within the device to the destinations in a second list. Destinations obey the
    /// rules of writes (Vector Chunk Copy, 93h).
    Copy,
    /// Waits until all earlier writes are in flash (Flush, 00h of NVMe).
    Flush,
    /// Closes open chunks at their write pointers. Revision 2.0 has no such command, but hosts do stop
    /// writing to chunks.
    Close,
}

impl Operation {
    /// Name in results.
    pub fn name(self) -> &'static str {
        ["read", "write", "reset", "copy", "flush", "close"][self as usize]
    }
}

/// A vector command.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    /// The operation.
    pub operation: Operation,
    /// Tag chosen by the caller, returned with the completion.
    pub tag: u32,
    /// Logical blocks: from 1 to [`MOST_BLOCKS`], or none for a flush.
    pub blocks: &'a [LogicalBlock],
    /// Destinations of a copy, one for each block read. Empty for other operations.
    pub to: &'a [LogicalBlock],
    /// Data tags of a write, one for each logical block. Empty for other operations.
    pub stamps: &'a [DataTag],
}

impl<'a> Command<'a> {
    /// A read.
    #[inline]
    pub fn read(tag: u32, blocks: &'a [LogicalBlock]) -> Self {
        Self { operation: Operation::Read, tag, blocks, to: &[], stamps: &[] }
    }

    /// A write with these data tags.
    #[inline]
    pub fn write(tag: u32, blocks: &'a [LogicalBlock], stamps: &'a [DataTag]) -> Self {
        Self { operation: Operation::Write, tag, blocks, to: &[], stamps }
    }

    /// A reset of the chunks of these blocks.
    #[inline]
    pub fn reset(tag: u32, blocks: &'a [LogicalBlock]) -> Self {
        Self { operation: Operation::Reset, tag, blocks, to: &[], stamps: &[] }
    }

    /// A copy from `blocks` to `to`, in this order.
    #[inline]
    pub fn copy(tag: u32, blocks: &'a [LogicalBlock], to: &'a [LogicalBlock]) -> Self {
        Self { operation: Operation::Copy, tag, blocks, to, stamps: &[] }
    }

    /// A flush.
    #[inline]
    pub fn flush(tag: u32) -> Self {
        Self { operation: Operation::Flush, tag, blocks: &[], to: &[], stamps: &[] }
    }

    /// An early close of the chunks of these blocks.
    #[inline]
    pub fn close(tag: u32, blocks: &'a [LogicalBlock]) -> Self {
        Self { operation: Operation::Close, tag, blocks, to: &[], stamps: &[] }
    }

    /// The logical blocks that the command writes.
    pub fn written(&self) -> &'a [LogicalBlock] {
        match self.operation {
            Operation::Write => self.blocks,
            Operation::Copy => self.to,
            Operation::Read | Operation::Reset | Operation::Flush | Operation::Close => &[],
        }
    }
}

/// Completion of a vector command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The operation.
    pub operation: Operation,
    /// Tag chosen by the caller.
    pub tag: u32,
    /// Time from submission to completion.
    pub latency: Duration,
    /// Failure of some of the logical blocks; `None` if there is none.
    pub failure: Option<Failure>,
    /// Failed blocks: one bit for each block, the lowest for the first.
    pub failed: u64,
    /// Data tags that a read returned; [`DataTag::UNREADABLE`] for failed blocks.
    pub found: Vec<DataTag>,
}

impl Completion {
    /// Whether the command failed for the logical block at this index of its list.
    #[inline]
    pub fn has_failed(&self, at: usize) -> bool {
        self.failed >> at & 1 != 0
    }

    /// NVMe status: the type in the upper byte and the code in the lower one; 0 for success.
    pub fn status(&self) -> u16 {
        self.failure.map_or(0, Failure::status)
    }
}

/// A failure of the flash, which the host must handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// Logical blocks could not be read (Unrecovered Read Error, 281h of NVMe).
    Unread,
    /// Logical blocks were not written. Their chunk is closed before them (Chunk Early Close, 2F1h).
    EarlyClose,
    /// The chunk was not reset and is offline (Offline Chunk, 2C0h).
    Offline,
    /// Some of the data that a flush covers will never be in flash (Write Fault, 280h of NVMe).
    NotFlushed,
}

impl Failure {
    /// NVMe status: the type in the upper byte and the code in the lower one.
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

/// Reason for which a device rejects a command: the host broke a rule of the interface. The command does not
/// change the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The device is recovering from a power cut.
    NotReady,
    /// The list is empty, or longer than a command allows.
    Count {
        /// Logical blocks of the list.
        found: usize,
    },
    /// The logical block does not exist.
    NoSuchBlock {
        /// The block.
        block: LogicalBlock,
    },
    /// The number of data tags of a write differs from its number of logical blocks, or another command has
    /// data tags.
    Stamps {
        /// Number of data tags of the command.
        found: usize,
        /// Number of data tags required.
        wanted: usize,
    },
    /// The number of destinations of a copy differs from its number of sources, or another command has
    /// destinations.
    Destinations {
        /// Number of destinations of the command.
        found: usize,
        /// Number of destinations required.
        wanted: usize,
    },
    /// The operation is not among the [capabilities](super::Capabilities) of the device.
    Unsupported {
        /// The operation.
        operation: Operation,
    },
    /// The write would open too many chunks.
    TooManyOpen {
        /// The chunk to be opened.
        chunk: Chunk,
        /// Most open chunks of the device or of the parallel unit.
        limit: u32,
    },
    /// A write contains the data tag of an erased or interrupted block.
    NoData {
        /// The destination.
        block: LogicalBlock,
    },
    /// A write to a chunk is not a multiple of [`ws_min`](super::Geometry::ws_min) logical blocks.
    WriteSize {
        /// The chunk.
        chunk: Chunk,
        /// Number of consecutive logical blocks in the list.
        found: u32,
        /// `found` must be a multiple of this number.
        wanted: u32,
    },
    /// A write does not begin at the write pointer (Out of Order Write, 2F2h).
    OutOfOrder {
        /// The logical block.
        block: LogicalBlock,
        /// The write pointer of the chunk.
        wanted: u32,
    },
    /// The state of the chunk does not permit the command: a write to a closed chunk, a reset of a free one
    /// (Invalid Reset, 2C1h), or any command to an offline one (Offline Chunk, 2C0h).
    State {
        /// The chunk.
        chunk: Chunk,
        /// State of the chunk.
        state: ChunkState,
    },
    /// A read of a block that is not written, or that is too close to the write pointer of an open chunk
    /// (Deallocated or Unwritten Logical Block, 287h of NVMe).
    NotReadable {
        /// The logical block.
        block: LogicalBlock,
        /// First block of the chunk that is not readable yet.
        end: u32,
    },
    /// A reset of a chunk with commands in flight, or any command to a chunk that is being reset.
    InFlight {
        /// The chunk.
        chunk: Chunk,
    },
    /// A reset lists a chunk twice.
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
            Self::NotReady => write!(out, "found a command during the recovery, wanted none"),
            Self::Count { found } => {
                write!(out, "found {found} logical blocks, wanted from 1 to {MOST_BLOCKS}")
            }
            Self::NoSuchBlock { block } => write!(out, "found {block}, wanted a logical block that exists"),
            Self::Stamps { found, wanted } => write!(out, "found {found} data tags, wanted {wanted}"),
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
                write!(out, "{block}: found a data tag of an erased or torn block, wanted data or padding")
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
    /// NVMe status: the type in the upper byte and the code in the lower one. Chosen if neither specification
    /// names the case: the nearest of an invalid field, a write error and a reset error.
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
