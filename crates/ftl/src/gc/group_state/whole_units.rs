//! Pools with coarse-grained mapping: the valid pages of a unit are read and programmed together.

use std::collections::VecDeque;
use wordline_nand::PlaneGroupId;

use super::{NoRoom, PlaneGroupState};
use crate::blocks::BlockManager;
use crate::gc::job::{Job, Run};
use crate::gc::step::Step;

impl PlaneGroupState {
    /// Builds a program unit of staged pages in a pool with coarse-grained mapping, once all valid pages of
    /// the unit have been read.
    #[inline(never)]
    pub(super) fn form_whole_unit(
        &mut self,
        row: PlaneGroupId,
        blocks: &BlockManager,
    ) -> Result<Option<Step>, NoRoom> {
        let unit = blocks.pools().per_program(row);
        for (n, staged) in self.staged.iter_mut().enumerate() {
            staged.retain(|moved| blocks.table().is_valid(moved.from));
            let Some(first) = staged.front() else { continue };
            let (block, place) = blocks.pools().of_group(row).locations.split(first.from);
            let end = place - place % unit + unit;
            let is_read = match self.job.as_ref().map(Job::reached) {
                Some((of, at)) if of == block => {
                    blocks.table().next_valid(block, at).is_none_or(|next| next >= end)
                }
                _ => true,
            };
            if !is_read {
                continue;
            }
            let stream = blocks.streams().gc(n as u8);
            if !blocks.has_room(row, stream, unit) {
                return Err(NoRoom);
            }
            self.unit.extend(staged.drain(..));
            return Ok(Some(Step::Program { stream }));
        }
        Ok(None)
    }

    /// GC stream of the unit that is being read.
    pub(in crate::gc) fn stream_of_unit(&self) -> Option<u8> {
        let staged = &self.staged;
        staged.iter().position(|staged| !staged.is_empty()).map(|stream| stream as u8)
    }

    /// Drops the staged pages of a unit that is read in part, because another job interrupts the current job.
    /// The pages are read again later.
    pub(in crate::gc) fn forget_part_of_unit(&mut self, row: PlaneGroupId, blocks: &BlockManager) {
        let Some(job) = &mut self.job else { return };
        let Some(first) = self.staged.iter().find_map(VecDeque::front) else { return };
        let (block, place) = blocks.pools().of_group(row).locations.split(first.from);
        let (of, reached) = job.reached();
        if block == of {
            job.step_back(reached - (place - place % blocks.pools().per_program(row)));
            self.staged.iter_mut().for_each(VecDeque::clear);
        }
    }
}

/// Number of invalid locations of a block between offset `place` and the end of a run. In a pool with
/// coarse-grained mapping only units without any valid location count, because the others are programmed with
/// holes.
#[inline]
pub(super) fn passed(blocks: &BlockManager, place: u32, run: Run) -> u32 {
    let row = blocks.table().group_of(run.block);
    if !blocks.pool_of(row).is_coarsely_mapped() {
        return run.end - place - run.valid;
    }
    let unit = blocks.pools().per_program(row);
    (run.first / unit).saturating_sub(place.div_ceil(unit)) * unit
}
