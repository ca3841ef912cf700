//! Sequence numbers of block openings. A block has the number of its last opening, and its first page stores
//! this number.

use wordline_kernel::{Column, state};
use wordline_nand::BlockSetId;

/// Openings of blocks, by sequence number.
pub(super) struct OpenSequence {
    last: Column<BlockSetId, u64>,
    count: u64,
}

state!(OpenSequence { values { count } parts { last } });

impl OpenSequence {
    /// No openings of `blocks` blocks.
    pub fn new(blocks: usize) -> Self {
        Self { last: Column::filled(blocks, 0), count: 0 }
    }

    /// Records that a block is opened.
    pub fn note(&mut self, block: BlockSetId) {
        self.count += 1;
        self.last[block] = self.count;
    }

    /// Number of openings so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sequence number of a block's last opening.
    pub fn of(&self, block: BlockSetId) -> u64 {
        self.last[block]
    }
}
