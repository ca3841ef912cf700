//! Checks of the rules of block-level mapping against the contents of the blocks.

use wordline_kernel::Id;
use wordline_kernel::ensure::ensure;
use wordline_nand::{BlockSetId, Chips};

use super::{BlockMap, LogicalBlock, Pair};
use crate::blocks::BlockManager;
use crate::map::LogicalPage;

impl BlockMap {
    /// Checks that each valid page is at its offset, in a block of its logical block. Also checks that pages
    /// before the write pointer of a replacement block are valid nowhere else. Panics otherwise. The time
    /// grows with the number of pages.
    pub fn audit(&self, blocks: &BlockManager, chips: &Chips) {
        for block in self.owners.ids().filter(|block| blocks.table().valid(*block) > 0) {
            let logical = LogicalBlock(self.owners[block]);
            let row = blocks.table().group_of(block);
            let is_target = self.rows[row].copying.is_some_and(|copying| copying.into == block);
            let known = self.blocks_of(logical).any(|known| known == block);
            assert!(known || is_target, "{block:?} holds pages of {logical:?}, which has it not");
            self.audit_places(logical, block, blocks, chips);
        }
        for (row, state) in self.rows.entries() {
            for logical in &state.replaced {
                let replacement = self.pairs[*logical].replacement();
                let replacement =
                    replacement.expect("a logical block that is listed has a replacement block");
                assert_eq!(blocks.table().group_of(replacement), row, "{replacement:?} of {logical:?}");
                let merges = state.copying.is_some_and(|copying| copying.logical == *logical);
                if !merges && !state.due.contains(logical) {
                    assert_eq!(
                        self.merge_target(*logical, blocks, chips),
                        Some(replacement),
                        "{logical:?} has valid pages that its replacement block has passed"
                    );
                }
            }
        }
    }

    /// Checks the loaded state: the blocks of each logical block must exist.
    pub fn check_loaded(&self) -> Result<(), String> {
        let is_there = |block: BlockSetId| block.index() < self.owners.len();
        let is_right = |pair: &Pair| [pair.data(), pair.replacement()].into_iter().flatten().all(is_there);
        ensure(self.pairs.iter().all(is_right), || "a logical block is in blocks that do not exist".into())
    }

    fn audit_places(&self, logical: LogicalBlock, block: BlockSetId, blocks: &BlockManager, chips: &Chips) {
        let mut place = 0;
        while let Some(at) = blocks.table().next_valid(block, place) {
            let stamp = chips.stamp(self.locations.at(block, at));
            let found = self.split(LogicalPage(stamp.logical));
            assert_eq!(found, (logical, at), "{stamp:?} in {block:?}");
            place = at + 1;
        }
    }
}
