//! Background work of block-level mapping. For wear levelling, logical blocks with cold data are relocated.
//! While the host is idle, logical blocks are merged before free blocks are needed.

use wordline_nand::{BlockSetId, Chips, PlaneGroupId};

use super::{BlockMap, CopyLimit, LogicalBlock, RESERVED};
use crate::blocks::{BlockManager, State};

impl BlockMap {
    /// Whether a plane group has no pending work besides host requests.
    pub fn is_at_rest(&self, row: PlaneGroupId) -> bool {
        self.rows[row].is_at_rest()
    }

    /// Whether a block is full and its data can be relocated to another block.
    pub fn may_move(&self, block: BlockSetId, blocks: &BlockManager) -> bool {
        self.logical.owner(block).is_some() && blocks.table().state(block) == State::Closed
    }

    /// Relocates the cold data of a block before other data are written to the plane group, which must be
    /// idle. The logical block of these data is merged, and the block is erased. If the merge needs a free
    /// block and too few blocks are free, another logical block is merged first. If no merge gains a free
    /// block, nothing happens.
    pub fn relocate_cold(
        &mut self,
        row: PlaneGroupId,
        block: BlockSetId,
        blocks: &BlockManager,
        chips: &Chips,
    ) {
        let logical = self.logical.owner(block).expect("a block that may move is of a logical block");
        let has_room = blocks.space().free(row) > RESERVED
            || self.logical.merge_target(logical, blocks, chips).is_some();
        let first = if has_room { None } else { self.first_gaining_merge(row, blocks, chips) };
        if let Some(first) = first {
            self.rows[row].queue_merge(first);
        }
        if has_room || first.is_some() {
            self.rows[row].queue_merge(logical);
        }
    }

    /// Least recently written logical block of a plane group whose merge frees a block and needs no free
    /// block.
    pub(super) fn first_gaining_merge(
        &self,
        row: PlaneGroupId,
        blocks: &BlockManager,
        chips: &Chips,
    ) -> Option<LogicalBlock> {
        let gains = |logical: &&LogicalBlock| self.logical.merge_gains(**logical, blocks, chips);
        self.rows[row].replaced.iter().find(gains).copied()
    }

    /// Whether a merge in a plane group frees a block and needs no free block.
    pub fn gains(&self, row: PlaneGroupId, blocks: &BlockManager, chips: &Chips) -> bool {
        self.first_gaining_merge(row, blocks, chips).is_some()
    }

    /// Begins to merge the least recently written logical block of a plane group, while the host is idle.
    pub fn merge_while_idle(&mut self, row: PlaneGroupId, blocks: &mut BlockManager, chips: &Chips) {
        let Some(logical) = self.first_gaining_merge(row, blocks, chips) else { return };
        self.merge(row, logical, blocks, chips);
        if let Some(copying) = &mut self.rows[row].copying {
            copying.until = CopyLimit::MergedWhileIdle;
        }
    }

    /// Stops a background merge between two commands, because the host is active again.
    pub fn stop_merge(&mut self, row: PlaneGroupId) {
        self.rows[row].stop_merge();
    }

    /// Whether each plane group has as many good blocks as its logical blocks need.
    pub(crate) fn holds_logical_blocks(&self, blocks: &BlockManager) -> bool {
        blocks.pools().all_groups().all(|row| blocks.space().good(row) >= self.needs(row))
    }
}
