//! Upkeep of a block map, which no page of the host asks for: a logical block whose data lie still is moved for the sake of wear,
//! and logical blocks are merged ahead of need while the host is idle.

use wordline_nand::{BlockSetId, Chips, RowId};

use super::{BlockMap, KEPT, LogicalBlock, NONE, Until};
use crate::space::{Space, State};

impl BlockMap {
    /// Whether a row has nothing to do but what the host asks for.
    pub fn is_at_rest(&self, row: RowId) -> bool {
        let state = &self.rows[row];
        let goes_on = state.commands > 0 || state.copying.is_some();
        let has_more = !state.to_erase.is_empty() || !state.due.is_empty();
        !(goes_on || has_more || state.lost || state.stuck || state.gives_up())
    }

    /// Whether a block is full of data that can be moved to another one.
    pub fn may_move(&self, block: BlockSetId, space: &Space) -> bool {
        self.owners[block] != NONE && space.state(block) == State::Closed
    }

    /// Moves the data of a block that lie still before anything else is written to the row, which is at rest: its logical block is
    /// merged, and the block erased. Where that takes a free block and too few are free, another logical block is merged first;
    /// where that gains none, the block stays as it is.
    pub fn move_still(&mut self, row: RowId, block: BlockSetId, space: &Space, chips: &Chips) {
        let logical = LogicalBlock(self.owners[block]);
        let has_room = space.free(row) > KEPT || self.takes_rest(logical, space, chips).is_some();
        let first = if has_room { None } else { self.first_to_gain(row, space, chips) };
        if let Some(first) = first {
            self.merge_soon(row, first);
        }
        if has_room || first.is_some() {
            self.merge_soon(row, logical);
        }
    }

    /// The logical block of a row, the one written least recently first, of which a merge frees a block without taking one.
    pub(super) fn first_to_gain(&self, row: RowId, space: &Space, chips: &Chips) -> Option<LogicalBlock> {
        let gains = |logical: &&LogicalBlock| {
            self.pairs[**logical].data().is_some() && self.takes_rest(**logical, space, chips).is_some()
        };
        self.rows[row].replaced.iter().find(gains).copied()
    }

    /// Whether a merge in a row frees a block without taking one.
    pub fn gains(&self, row: RowId, space: &Space, chips: &Chips) -> bool {
        self.first_to_gain(row, space, chips).is_some()
    }

    /// Begins to merge the logical block of a row that was written least recently, while the host is idle.
    pub fn merge_ahead(&mut self, row: RowId, space: &mut Space, chips: &Chips) {
        let Some(logical) = self.first_to_gain(row, space, chips) else { return };
        self.merge(row, logical, space, chips);
        if let Some(copying) = &mut self.rows[row].copying {
            copying.until = Until::MergedWhileIdle;
        }
    }

    /// The host is at work again: a merge ahead of need stops between two commands. What was copied is in the replacement block.
    pub fn put_aside(&mut self, row: RowId) {
        let state = &mut self.rows[row];
        if state.commands == 0 && state.copying.is_some_and(|copying| copying.until == Until::MergedWhileIdle)
        {
            state.copying = None;
            state.held.clear();
        }
    }
}
