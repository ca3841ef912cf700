//! Information about the chunks of a physical device: a report of each chunk, and asynchronous notifications.

use serde::{Deserialize, Serialize};

use super::geometry::{Chunk, LogicalBlock};

/// State of a chunk. It determines whether the chunk can be written, read and reset (section 1.2.4, Chunk
/// Model).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChunkState {
    /// Reset and not written since. Writes begin at its first logical block.
    Free,
    /// Written in part. The next write begins at its write pointer.
    Open,
    /// Written to its end, or closed early after a failed write. It can be read and reset.
    Closed,
    /// Out of use.
    Offline,
}

impl ChunkState {
    /// All states.
    pub const ALL: [Self; 4] = [Self::Free, Self::Open, Self::Closed, Self::Offline];

    /// Name in results.
    pub fn name(self) -> &'static str {
        ["free", "open", "closed", "offline"][self as usize]
    }
}

/// Type of a chunk, which determines where it can be written (CT).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChunkType {
    /// At its write pointer (1h).
    Sequential,
    /// In any order (2h).
    Random,
}

/// Report of a chunk: an entry of the log page Chunk Information (CAh).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The chunk (SLBA).
    pub chunk: Chunk,
    /// State (CS).
    pub state: ChunkState,
    /// Type (CT).
    pub kind: ChunkType,
    /// Endurance used, from 0 to 255 (WLI).
    pub wear_level: u8,
    /// Logical blocks of the chunk (CNLB).
    pub blocks: u32,
    /// Write pointer (WP). Writes in flight count as done.
    pub write_pointer: u32,
    /// First logical block that cannot be read now. The blocks before it are written, and far enough from the
    /// write pointer.
    pub readable: u32,
}

/// A notification: an entry of the log page Chunk Notification (D0h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notification {
    /// First logical block that the notification is about.
    pub first: LogicalBlock,
    /// Number of logical blocks that the notification is about.
    pub blocks: u32,
    /// Kind of the notification.
    pub notice: Notice,
}

/// Kind of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// The blocks needed a read retry and should be relocated soon.
    HighErrorRate,
    /// The blocks can no longer be read.
    Unrecovered,
    /// The blocks were not written. Their chunk ends before them.
    EarlyClose,
    /// The chunk of the blocks is offline.
    Offline,
}
