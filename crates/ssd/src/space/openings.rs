//! Which opening of a block of the device was the last of each block; its first page carries this number.

use wordline_kernel::{Column, state};
use wordline_nand::BlockSetId;

/// The openings of blocks, by number.
pub(super) struct Openings {
    last: Column<BlockSetId, u64>,
    count: u64,
}

state!(Openings { values { count } parts { last } });

impl Openings {
    /// None of this many blocks was opened.
    pub fn new(blocks: usize) -> Self {
        Self { last: Column::filled(blocks, 0), count: 0 }
    }

    /// A block is opened.
    pub fn note(&mut self, block: BlockSetId) {
        self.count += 1;
        self.last[block] = self.count;
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The last one of a block.
    pub fn of(&self, block: BlockSetId) -> u64 {
        self.last[block]
    }
}
