//! Treatment of failed blocks and commands by a block map.

use wordline_nand::{BlockSetId, RowId};

use super::{BlockMap, LogicalBlock, NONE, NOWHERE, RowState, block};
use crate::policy::failure::MOST_FAILURES;
use crate::space::Space;

impl RowState {
    /// Whether nothing more is tried in the row.
    pub(super) fn gives_up(&self) -> bool {
        self.in_vain == MOST_FAILURES
    }

    /// A program failed in the row.
    fn program_failed(&mut self) {
        self.held.clear();
        self.copying = None;
        self.in_vain = self.in_vain.saturating_add(1);
        self.stuck |= self.gives_up();
    }

    /// The row is out of use as a whole, but for the commands that are under way.
    fn lose(&mut self) {
        *self = Self { commands: self.commands, lost: true, ..Self::default() };
    }
}

impl BlockMap {
    /// A program failed in a block: what is valid of its logical block goes to another one. A page has a single place, so that
    /// this takes as many programs as the block has pages, each of which may fail again: where that went in vain so often that a
    /// block would be given up, the row is.
    pub fn program_failed(&mut self, row: RowId, block: BlockSetId) {
        let logical = LogicalBlock(self.owners[block]);
        self.rows[row].program_failed();
        let pair = self.pairs[logical];
        if pair.data != block.0 && pair.replacement != block.0 {
            self.strays.push((logical, block));
        }
        self.merge_soon(row, logical);
    }

    /// A block is to be emptied and taken out of use.
    pub fn condemned(&mut self, row: RowId, block: BlockSetId) {
        if self.owners[block] != NONE {
            self.merge_soon(row, LogicalBlock(self.owners[block]));
        }
    }

    /// Has the valid pages of a logical block merged before anything else is written to the row.
    pub(super) fn merge_soon(&mut self, row: RowId, logical: LogicalBlock) {
        let due = &mut self.rows[row].due;
        if !due.contains(&logical) {
            due.push_back(logical);
        }
    }

    /// The erase of a block failed and is tried again.
    pub fn erase_again(&mut self, row: RowId, block: BlockSetId) {
        self.rows[row].to_erase.push_back(block);
    }

    /// The row is out of use as a whole, with all its blocks.
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
