//! Open block list of a chunk: the blocks with its pages after a program failure.

use serde::{Deserialize, Serialize};
use wordline_nand::BlockSetId;

use super::{PageLocation, Step};

/// Block of a list. It has pages of the chunk from its first page on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// Block.
    pub block: BlockSetId,
    /// Number of pages of the chunk in the block (`WP` in the paper).
    pub pages: u32,
    /// Whether the block is retired because a program failed. If false, a power loss interrupted the program.
    pub is_bad: bool,
}

/// Phase of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// The host writes to the last block.
    Writing,
    /// The pages are being copied to one block.
    Migrating,
    /// The list stays: the host closed the chunk early, or there is no block to copy to.
    Kept,
}

/// Open block list of a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenBlockList {
    /// Blocks in page order. The last one is being written.
    pub elements: Vec<Element>,
    /// Phase of the list.
    pub phase: Phase,
    /// Additional block to which all pages are copied. `None`: they are copied to the last block of the list.
    pub whole: Option<BlockSetId>,
    /// Number of pages copied so far.
    pub copied: u32,
}

impl OpenBlockList {
    pub(super) fn new(block: BlockSetId, pages: u32, is_bad: bool) -> Self {
        let elements = vec![Element { block, pages, is_bad }];
        Self { elements, phase: Phase::Writing, whole: None, copied: 0 }
    }

    /// Number of pages of the chunk in all blocks.
    pub fn pages(&self) -> u32 {
        self.elements.iter().map(|element| element.pages).sum()
    }

    pub(super) fn tail(&self) -> &Element {
        self.elements.last().expect("a list has blocks")
    }

    pub(super) fn tail_mut(&mut self) -> &mut Element {
        self.elements.last_mut().expect("a list has blocks")
    }

    /// Location of a page. Follows algorithm 2, lines 8 to 17, but with `>=` in line 12: after a block with
    /// two pages, page 2 is the first page of the next block.
    pub(super) fn find(&self, mut page: u32) -> Option<PageLocation> {
        for element in &self.elements {
            if page < element.pages {
                return Some(PageLocation { block: element.block, page });
            }
            page -= element.pages;
        }
        None
    }

    /// Location of the next page (algorithm 2, lines 20 and 21).
    pub(super) fn end(&self) -> PageLocation {
        PageLocation { block: self.tail().block, page: self.tail().pages }
    }

    /// Next step of the migration into one block of `size` pages (algorithm 3).
    pub(super) fn step(&self, size: u32) -> Step {
        let from = |page| self.find(page).expect("it is one of the pages");
        match self.whole {
            Some(_) if self.copied == self.pages() => Step::Finish,
            Some(block) => {
                Step::Copy { from: from(self.copied), to: PageLocation { block, page: self.copied } }
            }
            None if self.pages() < size => Step::Pad { to: self.end() },
            None if self.copied == size - self.tail().pages => Step::Finish,
            None => {
                let to = PageLocation { block: self.tail().block, page: self.tail().pages + self.copied };
                Step::Copy { from: from(self.copied), to }
            }
        }
    }
}
