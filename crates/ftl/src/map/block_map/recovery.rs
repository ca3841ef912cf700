//! Recovery of the block-level map after a power cut, from the contents of the blocks.

use wordline_nand::{BlockSetId, Chips};

use super::{BlockMap, GroupWork};
use crate::blocks::{BlockManager, State};
use crate::map::Map;

impl BlockMap {
    /// Resets everything that a power cut loses.
    pub fn forget(&mut self) {
        self.logical.forget();
        self.rows.fill(GroupWork::default());
    }

    /// Selects one of several copies of a page found in flash after a power cut.
    pub(crate) fn settle(&self, map: &mut Map, blocks: &mut BlockManager, chips: &Chips) {
        self.logical.settle(map, blocks, chips);
        blocks.clear_active_blocks();
    }

    /// Finds the data block and the replacement block of each logical block, when the valid pages are known
    /// and all blocks are closed. Logical blocks that cannot continue, for example after an interrupted
    /// program, are merged again. Blocks without valid pages are erased.
    pub fn rebuild(&mut self, blocks: &mut BlockManager, chips: &Chips) {
        self.logical.rebuild(blocks, chips);
        for block in self.logical.all_blocks() {
            let closed = matches!(blocks.table().state(block), State::Closed | State::PendingRetirement);
            if closed && blocks.table().valid(block) == 0 {
                self.erase(blocks.table().group_of(block), block, blocks);
            }
        }
        self.find_work(blocks, chips);
    }

    fn find_work(&mut self, blocks: &mut BlockManager, chips: &Chips) {
        let mut replaced = Vec::new();
        for logical in self.logical.all() {
            let all: Vec<BlockSetId> = self.logical.blocks_of(logical).collect();
            let Some(first) = all.first() else { continue };
            let row = blocks.table().group_of(*first);
            let mut fails =
                all.len() > 2 || all.iter().any(|block| blocks.table().is_pending_retirement(*block));
            if let Some(replacement) = self.logical.pair(logical).replacement() {
                replaced.push((blocks.table().opening_number(replacement), row, logical));
                if blocks.table().state(replacement) == State::Closed
                    && chips.programmed(replacement) < self.logical.per_block()
                {
                    blocks.reopen(replacement);
                }
                fails |= self.logical.merge_target(logical, blocks, chips).is_none();
            }
            if fails {
                self.rows[row].queue_merge(logical);
            }
        }
        replaced.sort_unstable_by_key(|(opened, ..)| *opened);
        for (_, row, logical) in replaced {
            self.rows[row].replaced.push_back(logical);
        }
    }
}
