//! Streams and open blocks for which a device must have room, because policies and designs ask for them.

use serde::{Deserialize, Serialize};

/// Streams that designs and policies tell apart: each takes an open block of every row, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demands {
    /// Those of the host.
    pub host: u8,
    /// Those of the collector.
    pub gc: u8,
    /// Blocks that each has open at once, at most, in any pool.
    pub open_blocks: u8,
    /// Blocks of a row that all of them together have suspended at once, at most, in any pool.
    pub suspended: u32,
    /// The pools in which one of the host goes to blocks in SLC mode, one bit each.
    pub cached: u16,
    /// Those in which some of the collector do.
    pub cached_by_gc: u16,
}
