//! Treatment of failed blocks and commands by the collector.

use std::collections::VecDeque;

use wordline_nand::{BlockSetId, RowId};

use super::{Collector, RowState, Step};
use crate::space::Space;

impl Collector {
    /// Too few good blocks are left to go on, unless the erase of a victim that still is read will make room.
    pub(super) fn stick(&mut self, row: RowId, space: &Space) -> Option<Step> {
        let state = &mut self.rows[row];
        state.stuck = !state.read.iter().any(|read| space.valid(*read) == 0);
        None
    }

    /// A block is to be emptied and retired, in its turn.
    pub fn condemn(&mut self, row: RowId, block: BlockSetId) {
        self.sources.condemned.add(row, block);
    }

    /// The erase of a victim failed and is tried again.
    pub fn erase_again(&mut self, row: RowId, block: BlockSetId) {
        self.rows[row].read.push_back(block);
    }

    /// The row's program failed: its pages, which are where they were, are written again.
    pub fn program_failed(&mut self, row: RowId, stream: u8) {
        let RowState { unit, staged, lost, .. } = &mut self.rows[row];
        let pages = unit.drain(..).rev();
        if !*lost {
            pages.for_each(|moved| staged[usize::from(stream)].push_front(moved));
        }
    }

    /// The row's copyback failed: its pages are moved again.
    pub fn copyback_failed(&mut self, row: RowId, pages: u32) {
        let RowState { unit, job, .. } = &mut self.rows[row];
        unit.clear();
        if let Some(job) = job {
            job.step_back(pages);
        }
    }

    /// The row is out of use as a whole.
    pub fn lose(&mut self, row: RowId) {
        self.departures.lose(row);
        self.vacating.lose(row);
        let RowState { active, job, paused, read, staged, unit, lost, .. } = &mut self.rows[row];
        (*active, *job, *paused, *lost) = (false, None, None, true);
        read.clear();
        staged.iter_mut().for_each(VecDeque::clear);
        unit.clear();
        self.sources.forget(row);
    }
}
