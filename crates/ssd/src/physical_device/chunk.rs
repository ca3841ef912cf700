//! Information about the chunks of a physical device: a report of each, and asynchronous notifications.

use serde::{Deserialize, Serialize};

use super::geometry::{Chunk, LogicalBlock};

/// State of a chunk, which determines whether it can be written, read and reset (section 1.2.4, Chunk Model).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChunkState {
    /// Reset and not written since: writes begin at its first logical block.
    Free,
    /// Written in part: the next write begins at its write pointer.
    Open,
    /// Written to its end, or closed early after a failed write: it may be read and reset.
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

/// Type of a chunk: how it is written (CT).
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
    /// The write pointer, with writes in flight counted as done (WP).
    pub write_pointer: u32,
    /// The first logical block that cannot be read now: those before it are written, and far enough from the
    /// write pointer.
    pub readable: u32,
}

/// A notification: an entry of the log page Chunk Notification (D0h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notification {
    /// The first logical block that it is about.
    pub first: LogicalBlock,
    /// Number of logical blocks concerned.
    pub blocks: u32,
    /// Its kind.
    pub notice: Notice,
}

/// Kind of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// The blocks needed a read retry: they should be relocated soon.
    HighErrorRate,
    /// The blocks cannot be read any more.
    Unrecovered,
    /// The blocks were not written: their chunk ends before them.
    EarlyClose,
    /// The chunk of the blocks is offline.
    Offline,
}
