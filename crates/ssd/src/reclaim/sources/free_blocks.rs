//! Blocks are emptied because the host, and the collector itself, need free ones.

use wordline_nand::RowId;

use super::super_block::choose;
use super::view::{Source, View};
use crate::reclaim::job::Job;

/// Empties victims from the time that too few blocks are free until enough are.
pub(super) struct FreeBlocks;

impl Source for FreeBlocks {
    fn next(&mut self, row: RowId, view: &mut View<'_>) -> Option<Job> {
        let [_, stop_at] = view.marks;
        view.state.active &= view.space.free_to_collector(row) < stop_at;
        if !(view.state.active && view.gains_unit(row)) {
            return None;
        }
        let block = choose(row, view)?;
        view.empty_what_fits(row, block)
    }
}
