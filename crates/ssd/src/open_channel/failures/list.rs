//! The open block list of a chunk: the blocks that hold its pages after a program failure.

use serde::{Deserialize, Serialize};
use wordline_nand::BlockSetId;

use super::{PageLocation, Step};

/// A block of a list, and the number of the chunk's pages in it, from its first on (`WP`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// The block.
    pub block: BlockSetId,
    /// Pages of the chunk in it.
    pub pages: u32,
    /// Whether it is to be retired after a program failure. Otherwise a power cut tore a page of it.
    pub is_bad: bool,
}

/// Phase of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// The host writes to its last block.
    Writing,
    /// The pages are copied to one block.
    Migrating,
    /// The list stays: the chunk was closed early, or there is no block to copy to.
    Kept,
}

/// The open block list of a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenBlockList {
    /// Its blocks in page order; the last one is being written.
    pub elements: Vec<Element>,
    /// Its phase.
    pub phase: Phase,
    /// Another block that takes all pages in order; without it the last block takes the pages of the others.
    pub whole: Option<BlockSetId>,
    /// Pages copied so far.
    pub copied: u32,
}

impl OpenBlockList {
    pub(super) fn new(block: BlockSetId, pages: u32, is_bad: bool) -> Self {
        let elements = vec![Element { block, pages, is_bad }];
        Self { elements, phase: Phase::Writing, whole: None, copied: 0 }
    }

    /// Pages of the chunk in all of its blocks.
    pub fn pages(&self) -> u32 {
        self.elements.iter().map(|element| element.pages).sum()
    }

    pub(super) fn tail(&self) -> &Element {
        self.elements.last().expect("a list has blocks")
    }

    pub(super) fn tail_mut(&mut self) -> &mut Element {
        self.elements.last_mut().expect("a list has blocks")
    }

    /// Location of a page (algorithm 2, lines 8 to 17, with `>=` in line 12: page 2 of a block of two is in
    /// the next one).
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

    /// The next step of the migration into one block of `size` pages (algorithm 3).
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
