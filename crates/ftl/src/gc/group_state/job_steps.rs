//! Steps of a plane group's job: reads and copies of its pages, and program units of the staged pages.

use std::collections::VecDeque;

use wordline_nand::PlaneGroupId;

use super::whole_units::passed;
use super::{NoRoom, PlaneGroupState};
use crate::blocks::{BlockManager, State};
use crate::gc::job::{Job, Run};
use crate::gc::step::Step;
use crate::map::Relocation;
use crate::pools::FALLBACK_POOL;

impl PlaneGroupState {
    /// Reads the next pages of the plane group's job, or copies them inside the chip. Returns `None` if all
    /// have been read.
    pub(in crate::gc) fn go_through(
        &mut self,
        row: PlaneGroupId,
        copyback: bool,
        blocks: &BlockManager,
    ) -> Result<Option<Step>, NoRoom> {
        let Some(job) = &mut self.job else { return Ok(None) };
        let unit = blocks.pools().per_program(row);
        let staged: usize = self.staged.iter().map(VecDeque::len).sum();
        let left = |job: &Job| (job.valid_left(blocks) + staged).next_multiple_of(unit as usize);
        // If space is short, the partial unit is filled instead, because victims wait for its pages.
        if copyback
            && left(job) <= blocks.gc_room(row)
            && let Some((block, first)) = job.whole_unit(unit, blocks)
        {
            if !blocks.has_room(row, blocks.streams().gc(0), unit) {
                return Err(NoRoom);
            }
            self.regained += regained(job, Run { block, first, end: first, valid: 0 }, blocks);
            job.go_through(block, first + unit, blocks);
            return Ok(Some(Step::Copyback { from: blocks.pools().at(block, first) }));
        }
        let Some(run) = job.next_run(blocks) else {
            let (block, _) = job.reached();
            let end = blocks.pools().per_block(block);
            self.regained += regained(job, Run { block, first: end, end, valid: 0 }, blocks);
            job.go_through(block, end, blocks);
            return Ok(None);
        };
        if !std::mem::replace(&mut job.is_asked, true) && blocks.pools().number_of_group(row) != FALLBACK_POOL
        {
            return Ok(Some(Step::QueryRelocator));
        }
        self.regained += regained(job, run, blocks);
        job.go_through(run.block, run.end, blocks);
        let locations = &blocks.pools().of_group(row).locations;
        let (first, end) = (locations.at(run.block, run.first), locations.at(run.block, run.end));
        Ok(Some(Step::Read { first, end, valid: run.valid }))
    }

    /// Ends the plane group's job if it is done, after all its pages have been read. A victim must then be
    /// erased.
    pub(in crate::gc) fn is_over(&mut self, blocks: &BlockManager) -> bool {
        let Some(job) = &mut self.job else { return true };
        let victim = job.victim();
        let is_over = victim.is_some() || job.with_host || job.is_relocated(blocks);
        if is_over {
            self.read.extend(victim);
            self.end();
        }
        is_over
    }

    /// Programs a unit of a stream with enough staged pages.
    pub(in crate::gc) fn form_unit(
        &mut self,
        row: PlaneGroupId,
        blocks: &BlockManager,
    ) -> Result<Option<Step>, NoRoom> {
        if blocks.pool_of(row).is_coarsely_mapped() {
            return self.form_whole_unit(row, blocks);
        }
        if self.must_fill_last_unit(row, blocks) {
            return Ok(self.finish_padded(row, blocks));
        }
        for (n, staged) in self.staged.iter_mut().enumerate() {
            let stream = blocks.streams().gc(n as u8);
            let unit = blocks.unit(row, stream) as usize;
            if staged.len() < unit {
                continue;
            }
            staged.retain(|moved| blocks.table().is_valid(moved.from));
            if staged.len() >= unit {
                if !blocks.has_room(row, stream, unit as u32) {
                    return Err(NoRoom);
                }
                self.unit.extend((0..unit).map_while(|_| staged.pop_front()));
                return Ok(Some(Step::Program { stream }));
            }
        }
        Ok(None)
    }

    /// Programs the staged pages of all streams with padding, to a native block, because no other victim can
    /// fill the unit.
    #[inline(never)]
    pub(in crate::gc) fn finish_padded(&mut self, row: PlaneGroupId, blocks: &BlockManager) -> Option<Step> {
        let unit = blocks.pools().per_program(row) as usize;
        for staged in &mut self.staged {
            staged.retain(|moved| blocks.table().is_valid(moved.from));
        }
        let Some(first) = self.staged.iter().position(|staged| !staged.is_empty()) else {
            self.active = false;
            return None;
        };
        let mut stream = blocks.streams().gc(first as u8);
        if blocks.modes(row).may_change(stream) {
            stream = blocks.streams().gc(0);
        }
        if !blocks.has_room(row, stream, unit as u32) {
            return self.mark_stuck(blocks);
        }
        self.share_unit(unit, blocks);
        Some(Step::Program { stream })
    }

    /// Programs listed pages that stay in the pool, when the whole list has been read and no more pages will
    /// come.
    #[inline(never)]
    pub(in crate::gc) fn finish_list(&mut self, row: PlaneGroupId, blocks: &BlockManager) -> Option<Step> {
        let PlaneGroupState { job, staged, .. } = self;
        let job = job.as_ref()?;
        let stays = |moved: &Relocation| blocks.table().is_valid(moved.from) && job.lists(moved.from);
        let some_stay = staged.iter().flatten().any(stays);
        if some_stay { self.finish_padded(row, blocks) } else { None }
    }

    /// Marks the plane group as stuck, because too few good blocks are left. It is not stuck if a victim can be
    /// erased as soon as its reads are done.
    pub(in crate::gc) fn mark_stuck(&mut self, blocks: &BlockManager) -> Option<Step> {
        self.stuck = !self.read.iter().any(|read| blocks.table().valid(*read) == 0);
        None
    }
}

/// Number of invalid pages between the last run and this one, in a block that will be erased.
fn regained(job: &Job, run: Run, blocks: &BlockManager) -> u32 {
    let (block, place) = job.reached();
    // A block that is retired or kept regains nothing.
    let is_erased =
        blocks.table().state(block) == State::Victim && !blocks.table().is_pending_retirement(block);
    if is_erased && block == run.block { passed(blocks, place, run) } else { 0 }
}
