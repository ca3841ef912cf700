//! Background work of block-level mapping. For wear levelling, logical blocks with cold data are relocated.
//! While the host is idle, logical blocks are merged before free blocks are needed.

use wordline_nand::{BlockSetId, Chips, PlaneGroupId};

use super::{BlockMap, CopyLimit, LogicalBlock, NONE, RESERVED};
use crate::blocks::{BlockManager, State};

impl BlockMap {
    /// Whether a plane group has no pending work besides host requests.
    pub fn is_at_rest(&self, row: PlaneGroupId) -> bool {
        let state = &self.rows[row];
        let goes_on = state.commands > 0 || state.copying.is_some();
        let has_more = !state.to_erase.is_empty() || !state.due.is_empty();
        !(goes_on || has_more || state.lost || state.stuck || state.has_given_up())
    }

    /// Whether a block is full and its data can be relocated to another block.
    pub fn may_move(&self, block: BlockSetId, blocks: &BlockManager) -> bool {
        self.owners[block] != NONE && blocks.table().state(block) == State::Closed
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
        let logical = LogicalBlock(self.owners[block]);
        let has_room =
            blocks.space().free(row) > RESERVED || self.merge_target(logical, blocks, chips).is_some();
        let first = if has_room { None } else { self.first_gaining_merge(row, blocks, chips) };
        if let Some(first) = first {
            self.queue_merge(row, first);
        }
        if has_room || first.is_some() {
            self.queue_merge(row, logical);
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
        let gains = |logical: &&LogicalBlock| {
            self.pairs[**logical].data().is_some() && self.merge_target(**logical, blocks, chips).is_some()
        };
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

    /// Stops a background merge between two commands, because the host is active again. Pages that were
    /// already copied stay in the replacement block.
    pub fn stop_merge(&mut self, row: PlaneGroupId) {
        let state = &mut self.rows[row];
        if state.commands == 0
            && state.copying.is_some_and(|copying| copying.until == CopyLimit::MergedWhileIdle)
        {
            state.copying = None;
            state.held.clear();
        }
    }
}
