//! The reserve blocks of a parallel unit, which take the place of those in which a program failed.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_nand::BlockSetId;

/// Why no reserve block can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBlock {
    /// None is left.
    UsedUp,
    /// This one has to be erased first.
    NotErased(BlockSetId),
}

/// The reserve of a parallel unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserve {
    /// Blocks that are erased.
    ready: VecDeque<BlockSetId>,
    /// Blocks that hold nothing of use and are not erased.
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

    /// Takes a block back that is not erased.
    pub(super) fn take_back(&mut self, block: BlockSetId) {
        self.used.push_back(block);
    }

    /// The block to erase next.
    pub(super) fn to_erase(&self) -> Option<BlockSetId> {
        self.used.front().copied()
    }

    /// The erase of that block is over.
    pub(super) fn erased(&mut self, failed: bool) {
        let block = self.used.pop_front().expect("one was to be erased");
        self.ready.extend((!failed).then_some(block));
    }

    /// A block is not in it any more.
    pub(super) fn forget(&mut self, block: BlockSetId) {
        self.ready.retain(|other| *other != block);
    }

    /// Its blocks.
    pub fn len(&self) -> usize {
        self.ready.len() + self.used.len()
    }

    /// Whether it is used up.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its blocks that are erased.
    pub(super) fn ready(&self) -> impl Iterator<Item = BlockSetId> + '_ {
        self.ready.iter().copied()
    }

    /// All of its blocks.
    pub(super) fn all(&self) -> impl Iterator<Item = BlockSetId> + '_ {
        self.ready.iter().chain(&self.used).copied()
    }
}
