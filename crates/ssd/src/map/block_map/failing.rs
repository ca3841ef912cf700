//! Handling of failed blocks and commands under block-level mapping.

use wordline_flash::policy::failure::MOST_FAILURES;
use wordline_nand::{BlockSetId, PlaneGroupId};

use super::{BlockMap, LogicalBlock, NONE, NOWHERE, PlaneGroupState, block};
use crate::blocks::BlockManager;

impl PlaneGroupState {
    /// Whether the plane group has given up after repeated program failures.
    pub(super) fn has_given_up(&self) -> bool {
        self.in_vain == MOST_FAILURES
    }

    /// Records that a program failed in the plane group.
    fn program_failed(&mut self) {
        self.held.clear();
        self.copying = None;
        self.in_vain = self.in_vain.saturating_add(1);
        self.stuck |= self.has_given_up();
    }

    /// Clears a plane group that is out of service, except for commands in progress.
    fn lose(&mut self) {
        *self = Self { commands: self.commands, lost: true, ..Self::default() };
    }
}

impl BlockMap {
    /// Handles a failed program in a block: the valid pages of its logical block are merged into another
    /// block. Pages have fixed offsets, so the merge programs as many pages as a block has. Each of these
    /// programs may fail again. The plane group gives up after [`MOST_FAILURES`] failures without a written
    /// host page in between.
    pub fn program_failed(&mut self, row: PlaneGroupId, block: BlockSetId) {
        let logical = LogicalBlock(self.owners[block]);
        self.rows[row].program_failed();
        let pair = self.pairs[logical];
        if pair.data != block.0 && pair.replacement != block.0 {
            self.strays.push((logical, block));
        }
        self.queue_merge(row, logical);
    }

    /// Queues a merge for a block that is pending retirement.
    pub fn pending_retirement(&mut self, row: PlaneGroupId, block: BlockSetId) {
        if self.owners[block] != NONE {
            self.queue_merge(row, LogicalBlock(self.owners[block]));
        }
    }

    /// Queues the merge of a logical block before other data are written to the plane group.
    pub(super) fn queue_merge(&mut self, row: PlaneGroupId, logical: LogicalBlock) {
        let due = &mut self.rows[row].due;
        if !due.contains(&logical) {
            due.push_back(logical);
        }
    }

    /// Queues a block for another erase, after an erase of it failed.
    pub fn erase_again(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.rows[row].to_erase.push_back(block);
    }

    /// Clears a plane group that is out of service, with all its blocks.
    pub fn lose(&mut self, row: PlaneGroupId, blocks: &BlockManager) {
        let is_here = |number: u32| block(number).is_some_and(|block| blocks.table().group_of(block) == row);
        for logical in self.pairs.ids() {
            let pair = self.pairs[logical];
            if is_here(pair.data) || is_here(pair.replacement) {
                self.pairs[logical] = NOWHERE;
            }
        }
        self.strays.retain(|(_, stray)| blocks.table().group_of(*stray) != row);
        self.owners.ids().filter(|block| blocks.table().group_of(*block) == row).for_each(|block| {
            self.owners[block] = NONE;
        });
        self.rows[row].lose();
    }
}
