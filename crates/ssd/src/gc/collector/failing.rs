//! Handling of failed blocks and commands in GC.

use std::collections::VecDeque;

use wordline_nand::{BlockSetId, PlaneGroupId};

use super::{Collector, PlaneGroupState, Step};
use crate::blocks::BlockManager;

impl Collector {
    /// Marks a plane group as stuck, because too few good blocks are left. It is not stuck if a victim can be
    /// erased as soon as its reads are done.
    pub(super) fn mark_stuck(&mut self, row: PlaneGroupId, blocks: &BlockManager) -> Option<Step> {
        let state = &mut self.rows[row];
        state.stuck = !state.read.iter().any(|read| blocks.table().valid(*read) == 0);
        None
    }

    /// Queues a block for collection and retirement.
    pub fn mark_for_retirement(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.sources.pending_retirement.add(row, block);
    }

    /// Queues a victim for another erase, after an erase of it failed.
    pub fn erase_again(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.rows[row].read.push_back(block);
    }

    /// Stages the pages of a failed program again. They are still valid in their victims.
    pub fn program_failed(&mut self, row: PlaneGroupId, stream: u8) {
        let PlaneGroupState { unit, staged, lost, .. } = &mut self.rows[row];
        let pages = unit.drain(..).rev();
        if !*lost {
            pages.for_each(|moved| staged[usize::from(stream)].push_front(moved));
        }
    }

    /// Repeats the relocation of pages after a failed copyback.
    pub fn copyback_failed(&mut self, row: PlaneGroupId, pages: u32) {
        let PlaneGroupState { unit, job, .. } = &mut self.rows[row];
        unit.clear();
        if let Some(job) = job {
            job.step_back(pages);
        }
    }

    /// Clears the work of a plane group that is out of service.
    pub fn lose(&mut self, row: PlaneGroupId) {
        self.departures.lose(row);
        self.vacating.lose(row);
        let PlaneGroupState { active, job, paused, read, staged, unit, lost, .. } = &mut self.rows[row];
        (*active, *job, *paused, *lost) = (false, None, None, true);
        read.clear();
        staged.iter_mut().for_each(VecDeque::clear);
        unit.clear();
        self.sources.forget(row);
    }
}
