//! Reserve blocks of a parallel unit, which replace blocks with a failed program.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_nand::BlockSetId;

/// Reason why no reserve block is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBlock {
    /// The reserve is used up.
    UsedUp,
    /// This block must be erased first.
    NotErased(BlockSetId),
}

/// Reserve of a parallel unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserve {
    /// Erased blocks.
    ready: VecDeque<BlockSetId>,
    /// Blocks that are not erased and have no useful data.
    used: VecDeque<BlockSetId>,
}

impl Reserve {
    pub(super) fn of(blocks: impl Iterator<Item = BlockSetId>) -> Self {
        Self { ready: blocks.collect(), used: VecDeque::new() }
    }

    /// Takes an erased block.
    pub(super) fn take(&mut self) -> Result<BlockSetId, NoBlock> {
        let none = self.used.front().map_or(NoBlock::UsedUp, |block| NoBlock::NotErased(*block));
        self.ready.pop_front().ok_or(none)
    }

    /// Returns a block to the reserve, not erased.
    pub(super) fn take_back(&mut self, block: BlockSetId) {
        self.used.push_back(block);
    }

    /// Block to be erased next.
    pub(super) fn next_to_erase(&self) -> Option<BlockSetId> {
        self.used.front().copied()
    }

    /// Records the end of the erase of [`next_to_erase`](Self::next_to_erase). A block whose erase failed
    /// leaves the reserve.
    pub(super) fn erased(&mut self, failed: bool) {
        let block = self.used.pop_front().expect("one was to be erased");
        self.ready.extend((!failed).then_some(block));
    }

    /// Removes a block from the reserve.
    pub(super) fn forget(&mut self, block: BlockSetId) {
        self.ready.retain(|other| *other != block);
    }

    /// Number of blocks in the reserve.
    pub fn len(&self) -> usize {
        self.ready.len() + self.used.len()
    }

    /// Whether the reserve is used up.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Erased blocks.
    pub(super) fn ready(&self) -> impl Iterator<Item = BlockSetId> + '_ {
        self.ready.iter().copied()
    }

    /// All blocks, erased or not.
    pub(super) fn all(&self) -> impl Iterator<Item = BlockSetId> + '_ {
        self.ready.iter().chain(&self.used).copied()
    }
}
