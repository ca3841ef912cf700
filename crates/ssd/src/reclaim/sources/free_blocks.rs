//! GC on demand: the host, and GC itself, need free blocks.

use wordline_nand::RowId;

use super::super_block::choose;
use super::view::{Source, View};
use crate::reclaim::job::Job;

/// Collects victims from the start watermark until the stop watermark.
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
