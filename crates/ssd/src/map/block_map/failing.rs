//! Handling of failed blocks and commands under block-level mapping.

use wordline_nand::{BlockSetId, RowId};

use super::{BlockMap, LogicalBlock, NONE, NOWHERE, RowState, block};
use crate::policy::failure::MOST_FAILURES;
use crate::space::Space;

impl RowState {
    /// Whether the plane group has given up after repeated failures.
    pub(super) fn gives_up(&self) -> bool {
        self.in_vain == MOST_FAILURES
    }

    /// Records that a program failed in the plane group.
    fn program_failed(&mut self) {
        self.held.clear();
        self.copying = None;
        self.in_vain = self.in_vain.saturating_add(1);
        self.stuck |= self.gives_up();
    }

    /// Clears the plane group when it is out of service, except for commands in progress.
    fn lose(&mut self) {
        *self = Self { commands: self.commands, lost: true, ..Self::default() };
    }
}

impl BlockMap {
    /// Handles a failed program in a block: the valid pages of its logical block are merged into another
    /// block. Pages have fixed offsets, so this takes as many programs as the block has pages, each of which
    /// may fail again. After as many vain attempts as a block would be retired for, the plane group gives up.
    pub fn program_failed(&mut self, row: RowId, block: BlockSetId) {
        let logical = LogicalBlock(self.owners[block]);
        self.rows[row].program_failed();
        let pair = self.pairs[logical];
        if pair.data != block.0 && pair.replacement != block.0 {
            self.strays.push((logical, block));
        }
        self.merge_soon(row, logical);
    }

    /// Queues a merge for a block that is pending retirement.
    pub fn condemned(&mut self, row: RowId, block: BlockSetId) {
        if self.owners[block] != NONE {
            self.merge_soon(row, LogicalBlock(self.owners[block]));
        }
    }

    /// Queues the merge of a logical block before anything else is written to the plane group.
    pub(super) fn merge_soon(&mut self, row: RowId, logical: LogicalBlock) {
        let due = &mut self.rows[row].due;
        if !due.contains(&logical) {
            due.push_back(logical);
        }
    }

    /// Queues a block for erase again after its erase failed.
    pub fn erase_again(&mut self, row: RowId, block: BlockSetId) {
        self.rows[row].to_erase.push_back(block);
    }

    /// Clears a plane group that is out of service, with all its blocks.
    pub fn lose(&mut self, row: RowId, space: &Space) {
        let is_here = |number: u32| block(number).is_some_and(|block| space.row_of(block) == row);
        for logical in self.pairs.ids() {
            let pair = self.pairs[logical];
            if is_here(pair.data) || is_here(pair.replacement) {
                self.pairs[logical] = NOWHERE;
            }
        }
        self.strays.retain(|(_, stray)| space.row_of(*stray) != row);
        self.owners.ids().filter(|block| space.row_of(*block) == row).for_each(|block| {
            self.owners[block] = NONE;
        });
        self.rows[row].lose();
    }
}
