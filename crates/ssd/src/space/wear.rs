//! Wear: the configuration of its levelling, and the free blocks of a row by how worn they are.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Complaints;
use wordline_nand::BlockSetId;

use crate::policy::wear::WearKind;

/// Levelling of the blocks' wear.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WearFile {
    /// Which blocks are cleaned because their data lie still.
    pub levelling: WearKind,
    /// Which of a row's free blocks is opened.
    pub allocation: Allocation,
}

impl WearFile {
    /// Complaints about the settings.
    pub fn check(&self, wrong: &mut Complaints) {
        if let Some((key, found, wanted)) = self.levelling.complaint() {
            wrong.add(format!("ftl.wear.levelling.{key}"), found, wanted);
        }
    }
}

/// Which of a row's free blocks is opened; among equally worn ones the lowest number for the least worn, the highest for
/// the most worn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allocation {
    /// The least worn.
    #[default]
    LeastWorn,
    /// The least worn for what the host writes, the most worn for what the collector moves: that is colder.
    ByStream,
}

/// The free blocks of a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum FreeBlocks {
    /// The least worn first.
    Least(BinaryHeap<Reverse<(u32, u32)>>),
    /// From both ends.
    Both(BTreeSet<(u32, u32)>),
}

impl FreeBlocks {
    /// None, of at most `most`.
    pub fn new(allocation: Allocation, most: u32) -> Self {
        match allocation {
            Allocation::LeastWorn => Self::Least(BinaryHeap::with_capacity(most as usize)),
            Allocation::ByStream => Self::Both(BTreeSet::new()),
        }
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Least(heap) => heap.len(),
            Self::Both(set) => set.len(),
        }
    }

    /// All of them, in any order.
    pub fn blocks(&self) -> Box<dyn Iterator<Item = BlockSetId> + '_> {
        match self {
            Self::Least(heap) => Box::new(heap.iter().map(|Reverse((_, block))| BlockSetId(*block))),
            Self::Both(set) => Box::new(set.iter().map(|(_, block)| BlockSetId(*block))),
        }
    }

    /// None any more.
    pub fn clear(&mut self) {
        match self {
            Self::Least(heap) => heap.clear(),
            Self::Both(set) => set.clear(),
        }
    }

    /// One more, after this many erases.
    pub fn push(&mut self, erases: u32, block: BlockSetId) {
        match self {
            Self::Least(heap) => heap.push(Reverse((erases, block.0))),
            Self::Both(set) => drop(set.insert((erases, block.0))),
        }
    }

    /// Takes one out for the collector, or for the host.
    pub fn pop(&mut self, for_gc: bool) -> Option<BlockSetId> {
        let (_, block) = match self {
            Self::Least(heap) => heap.pop().map(|Reverse(block)| block)?,
            Self::Both(set) if for_gc => set.pop_last()?,
            Self::Both(set) => set.pop_first()?,
        };
        Some(BlockSetId(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collector_takes_old_blocks_only_by_stream() {
        for (allocation, wanted) in [(Allocation::LeastWorn, [2, 1, 0]), (Allocation::ByStream, [0, 2, 1])] {
            let mut free = FreeBlocks::new(allocation, 3);
            [(9, 0), (5, 1), (1, 2)]
                .into_iter()
                .for_each(|(erases, block)| free.push(erases, BlockSetId(block)));
            let order = [true, false, false].map(|for_gc| free.pop(for_gc).expect("three blocks are free").0);
            assert_eq!((order, free.len()), (wanted, 0), "{allocation:?}");
        }
    }
}
