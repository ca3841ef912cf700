//! Configuration of wear levelling, and the free-block list of a plane group in the order of wear.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Complaints;
use wordline_nand::BlockSetId;

use crate::policy::wear::WearKind;

/// Wear levelling.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WearFile {
    /// Static wear levelling: selects blocks that are collected because their data are cold.
    pub levelling: WearKind,
    /// Dynamic wear levelling: selects the free block of a plane group that is opened next.
    pub allocation: Allocation,
}

impl WearFile {
    /// Adds complaints about these settings.
    pub fn check(&self, wrong: &mut Complaints) {
        if let Some((key, found, wanted)) = self.levelling.complaint() {
            wrong.add(format!("ftl.wear.levelling.{key}"), found, wanted);
        }
    }
}

/// Selects the free block that is opened next. Among equally worn blocks, the least-worn choice takes the
/// lowest number and the most-worn choice the highest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allocation {
    /// The least worn block.
    #[default]
    LeastWorn,
    /// The least worn block for host writes, and the most worn block for GC, whose data are colder.
    ByStream,
}

/// Free-block list of a plane group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum FreeBlocks {
    /// Heap with the least worn block first.
    Least(BinaryHeap<Reverse<(u32, u32)>>),
    /// Ordered set, with access to both ends.
    Both(BTreeSet<(u32, u32)>),
}

impl FreeBlocks {
    /// Empty list with memory for `most` blocks.
    pub fn new(allocation: Allocation, most: u32) -> Self {
        match allocation {
            Allocation::LeastWorn => Self::Least(BinaryHeap::with_capacity(most as usize)),
            Allocation::ByStream => Self::Both(BTreeSet::new()),
        }
    }

    /// Number of free blocks.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Least(heap) => heap.len(),
            Self::Both(set) => set.len(),
        }
    }

    /// All free blocks, in unspecified order.
    pub fn blocks(&self) -> Box<dyn Iterator<Item = BlockSetId> + '_> {
        match self {
            Self::Least(heap) => Box::new(heap.iter().map(|Reverse((_, block))| BlockSetId(*block))),
            Self::Both(set) => Box::new(set.iter().map(|(_, block)| BlockSetId(*block))),
        }
    }

    /// Empties the list.
    pub fn clear(&mut self) {
        match self {
            Self::Least(heap) => heap.clear(),
            Self::Both(set) => set.clear(),
        }
    }

    /// Adds a block that was erased `erases` times.
    pub fn push(&mut self, erases: u32, block: BlockSetId) {
        match self {
            Self::Least(heap) => heap.push(Reverse((erases, block.0))),
            Self::Both(set) => drop(set.insert((erases, block.0))),
        }
    }

    /// Removes and returns a free block, for GC if `for_gc`, otherwise for the host.
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
