//! The journal of the failure manager's tables: two blocks of each parallel unit, in which each change is
//! recorded before anything depends on it.
//!
//! A record holds all table entries of its parallel unit, so that the last record is enough after a power
//! cut. For 1,024 blocks of 1,536 pages it takes 3 KiB, less than a page; larger tables take several pages.

use serde::{Deserialize, Serialize};
use wordline_nand::BlockSetId;

use super::failures::{PageLocation, memory};

/// The journal of a parallel unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    /// The current block, and the other one.
    blocks: [BlockSetId; 2],
    /// The next page.
    page: u32,
}

/// Pages of a record of the tables for this many blocks of `pages` pages of `bytes` bytes.
pub(super) fn pages_of_record(blocks: u32, pages: u32, bytes: u64) -> u32 {
    let [map, shift] = memory(u64::from(blocks), pages);
    ((map.0 + shift.0).div_ceil(bytes) as u32).max(1)
}

impl Journal {
    pub(super) fn new(blocks: [BlockSetId; 2]) -> Self {
        Self { blocks, page: 0 }
    }

    /// Whether the current block, of `pages` pages, is full.
    pub(super) fn is_full(&self, pages: u32) -> bool {
        self.page == pages
    }

    /// Whether nothing is written to the current block.
    pub(super) fn is_new(&self) -> bool {
        self.page == 0
    }

    /// Switches to the other block.
    pub(super) fn turn(&mut self) {
        self.blocks.swap(0, 1);
        self.page = 0;
    }

    /// Both blocks.
    pub(super) fn blocks(&self) -> [BlockSetId; 2] {
        self.blocks
    }

    /// The current block.
    pub(super) fn block(&self) -> BlockSetId {
        self.blocks[0]
    }

    /// The other block.
    pub(super) fn other(&self) -> BlockSetId {
        self.blocks[1]
    }

    /// Takes the next page.
    pub(super) fn take_page(&mut self) -> PageLocation {
        self.page += 1;
        PageLocation { block: self.blocks[0], page: self.page - 1 }
    }

    /// The page written last, if there is one.
    pub(super) fn last(&self) -> Option<PageLocation> {
        Some(PageLocation { block: self.blocks[0], page: self.page.checked_sub(1)? })
    }

    /// After a power cut: at most this many pages of the current block are programmed. If the block was still
    /// to be erased, none of them counts.
    pub(super) fn settle(&mut self, programmed: u32) {
        self.page = self.page.min(programmed);
    }

    /// Replaces the current block, which is out of use.
    pub(super) fn replace(&mut self, block: BlockSetId) {
        (self.blocks[0], self.page) = (block, 0);
    }

    /// Replaces the other block, which is out of use.
    pub(super) fn replace_other(&mut self, block: BlockSetId) {
        self.blocks[1] = block;
    }
}
