//! Journal of the failure manager's tables: two blocks of each parallel unit. A change of the tables is
//! recorded before anything depends on it.
//!
//! A record has all table entries, so after a power loss the last record is enough. Tables for 1,024 blocks
//! of 1,536 pages have 2.6 KiB, less than a page; larger tables take several pages.

use serde::{Deserialize, Serialize};
use wordline_nand::BlockSetId;

use super::failures::{PageLocation, memory};

/// Journal of a parallel unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    /// Current block, and the other one.
    blocks: [BlockSetId; 2],
    /// Next page of the current block.
    page: u32,
}

/// Pages of a record of the tables for `blocks` blocks with `pages` pages each. A page has `bytes` bytes.
pub(super) fn pages_of_record(blocks: u32, pages: u32, bytes: u64) -> u32 {
    let [map, shift] = memory(u64::from(blocks), pages);
    ((map.0 + shift.0).div_ceil(bytes) as u32).max(1)
}

impl Journal {
    pub(super) fn new(blocks: [BlockSetId; 2]) -> Self {
        Self { blocks, page: 0 }
    }

    /// Whether all `pages` pages of the current block are used.
    pub(super) fn is_full(&self, pages: u32) -> bool {
        self.page == pages
    }

    /// Whether no page of the current block is used.
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

    /// Current block.
    pub(super) fn block(&self) -> BlockSetId {
        self.blocks[0]
    }

    /// Other block.
    pub(super) fn other(&self) -> BlockSetId {
        self.blocks[1]
    }

    /// Takes the next page of the current block.
    pub(super) fn take_page(&mut self) -> PageLocation {
        self.page += 1;
        PageLocation { block: self.blocks[0], page: self.page - 1 }
    }

    /// Location of the last record's last page, if there is one.
    pub(super) fn last(&self) -> Option<PageLocation> {
        Some(PageLocation { block: self.blocks[0], page: self.page.checked_sub(1)? })
    }

    /// Drops the pages of the current block that a power loss prevented. If the block was not erased yet, it
    /// drops all.
    pub(super) fn settle(&mut self, programmed: u32) {
        self.page = self.page.min(programmed);
    }

    /// Replaces the current block, whose erase failed.
    pub(super) fn replace(&mut self, block: BlockSetId) {
        (self.blocks[0], self.page) = (block, 0);
    }

    /// Replaces the other block, whose erase failed.
    pub(super) fn replace_other(&mut self, block: BlockSetId) {
        self.blocks[1] = block;
    }
}
