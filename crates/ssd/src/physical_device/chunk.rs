//! Information about the chunks of a physical device: a report of each, and notifications of events that no
//! command caused.

use serde::{Deserialize, Serialize};

use super::geometry::{Chunk, LogicalBlock};

/// The state of a chunk, which says whether it can be written, read and reset (section 1.2.4, Chunk Model).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChunkState {
    /// Reset, and nothing written since: it may be written from its first logical block on.
    Free,
    /// Written in part: the next write begins at its write pointer.
    Open,
    /// Written to its end, or closed before that because a write failed: it may be read and reset.
    Closed,
    /// Out of use.
    Offline,
}

impl ChunkState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Free, Self::Open, Self::Closed, Self::Offline];

    /// Its name in results.
    pub fn name(self) -> &'static str {
        ["free", "open", "closed", "offline"][self as usize]
    }
}

/// The type of a chunk, which says how it is written (CT).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChunkType {
    /// At its write pointer (1h).
    Sequential,
    /// In any order (2h).
    Random,
}

/// The report of a chunk: an entry of the log page Chunk Information (CAh).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The chunk (SLBA).
    pub chunk: Chunk,
    /// Its state (CS).
    pub state: ChunkState,
    /// Its type (CT).
    pub kind: ChunkType,
    /// How much of its life it has spent, from 0 to 255 (WLI).
    pub wear_level: u8,
    /// Its logical blocks (CNLB).
    pub blocks: u32,
    /// Where the next write has to begin, those in flight counted as done (WP).
    pub write_pointer: u32,
    /// The first of its logical blocks that cannot be read now: those before it are written, and far enough from the write pointer.
    pub readable: u32,
}

/// A notification: an entry of the log page Chunk Notification (D0h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notification {
    /// The first logical block that it is about.
    pub first: LogicalBlock,
    /// How many it is about, from that on.
    pub blocks: u32,
    /// Its kind.
    pub notice: Notice,
}

/// The kind of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// They could be read, but not at once: what they hold is better moved soon.
    HighErrorRate,
    /// They cannot be read any more.
    Unrecovered,
    /// They were not written, and their chunk ends before them.
    EarlyClose,
    /// Their chunk is out of use.
    Offline,
}
