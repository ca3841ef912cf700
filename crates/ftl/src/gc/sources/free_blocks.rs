//! GC on demand: the host or GC itself needs free blocks.

use wordline_nand::PlaneGroupId;

use super::super_block::choose;
use super::view::{Source, View};
use crate::gc::job::Job;

/// Collects victims, beginning at the start watermark, up to the stop watermark.
pub(super) struct FreeBlocks;

impl Source for FreeBlocks {
    fn next(&mut self, row: PlaneGroupId, view: &mut View<'_>) -> Option<Job> {
        let [_, stop_at] = view.marks;
        view.state.active &= view.blocks.free_to_collector(row) < stop_at;
        if !(view.state.active && view.can_gain_unit(row)) {
            return None;
        }
        let block = choose(row, view)?;
        view.collect_fitting(row, block)
    }
}
