//! Background work of block-level mapping: logical blocks with cold data are relocated for wear levelling,
//! and logical blocks are merged ahead of need while the host is idle.

use wordline_nand::{BlockSetId, Chips, RowId};

use super::{BlockMap, KEPT, LogicalBlock, NONE, Until};
use crate::space::{Space, State};

impl BlockMap {
    /// Whether a plane group has no pending work besides host requests.
    pub fn is_at_rest(&self, row: RowId) -> bool {
        let state = &self.rows[row];
        let goes_on = state.commands > 0 || state.copying.is_some();
        let has_more = !state.to_erase.is_empty() || !state.due.is_empty();
        !(goes_on || has_more || state.lost || state.stuck || state.gives_up())
    }

    /// Whether a block is full of data that can be relocated to another one.
    pub fn may_move(&self, block: BlockSetId, space: &Space) -> bool {
        self.owners[block] != NONE && space.state(block) == State::Closed
    }

    /// Relocates a block's cold data before anything else is written to the plane group, which is idle: its
    /// logical block is merged, and the block erased. If that needs a free block and too few are free,
    /// another logical block is merged first; if that gains none, the block stays as it is.
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

    /// Least recently written logical block of a plane group whose merge frees a block without taking one.
    pub(super) fn first_to_gain(&self, row: RowId, space: &Space, chips: &Chips) -> Option<LogicalBlock> {
        let gains = |logical: &&LogicalBlock| {
            self.pairs[**logical].data().is_some() && self.takes_rest(**logical, space, chips).is_some()
        };
        self.rows[row].replaced.iter().find(gains).copied()
    }

    /// Whether a merge in a plane group frees a block without taking one.
    pub fn gains(&self, row: RowId, space: &Space, chips: &Chips) -> bool {
        self.first_to_gain(row, space, chips).is_some()
    }

    /// Begins to merge the least recently written logical block of a plane group, while the host is idle.
    pub fn merge_ahead(&mut self, row: RowId, space: &mut Space, chips: &Chips) {
        let Some(logical) = self.first_to_gain(row, space, chips) else { return };
        self.merge(row, logical, space, chips);
        if let Some(copying) = &mut self.rows[row].copying {
            copying.until = Until::MergedWhileIdle;
        }
    }

    /// Stops a background merge between two commands, because the host is active again. Pages copied so far
    /// stay in the replacement block.
    pub fn put_aside(&mut self, row: RowId) {
        let state = &mut self.rows[row];
        if state.commands == 0 && state.copying.is_some_and(|copying| copying.until == Until::MergedWhileIdle)
        {
            state.copying = None;
            state.held.clear();
        }
    }
}
