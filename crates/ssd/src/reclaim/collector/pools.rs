//! What the collector does where a device has several pools: victims whose pages go to another pool, and program units that
//! are moved as they are.

use super::{Collector, Job, Moved, NoRoom, RowState, Run, Step};
use crate::policy::placement::Row;
use crate::space::Space;

impl Collector {
    /// What was read of a program unit is written as one, in a pool of whole units, when all of it that is valid was read.
    #[inline(never)]
    pub(super) fn form_whole_unit(&mut self, row: Row, space: &Space) -> Result<Option<Step>, NoRoom> {
        let unit = space.pools().per_program(row);
        let state = &mut self.rows[row as usize];
        for (n, staged) in state.staged.iter_mut().enumerate() {
            staged.retain(|moved| space.is_valid(moved.from));
            let Some(first) = staged.front() else { continue };
            let (block, place) = space.pools().of_row(row).locations.split(first.from);
            let end = place - place % unit + unit;
            let is_read = match state.job.as_ref().map(Job::reached) {
                Some((of, at)) if of == block => space.next_valid(block, at).is_none_or(|next| next >= end),
                _ => true,
            };
            if !is_read {
                continue;
            }
            let stream = space.streams().gc(n as u8);
            if !space.has_room(row, stream, unit) {
                return Err(NoRoom);
            }
            state.unit.extend(staged.drain(..));
            return Ok(Some(Step::Program { stream }));
        }
        Ok(None)
    }

    /// The pages of the row's victim leave the pool: they are listed, and each is sent off when it was read.
    pub fn send_off(&mut self, row: Row) {
        let state = &mut self.rows[row as usize];
        if let Some((block, place)) = state.job.as_ref().map(Job::reached) {
            state.end();
            self.sources.migration.send_off(row, block, place);
        }
    }

    /// Those of the listed pages that stay in the pool are programmed when all of the list was read, for no more will come.
    #[inline(never)]
    pub(super) fn finish_list(&mut self, row: Row, space: &Space) -> Option<Step> {
        let RowState { job, staged, .. } = &self.rows[row as usize];
        let job = job.as_ref()?;
        let stays = |moved: &Moved| space.is_valid(moved.from) && job.lists(moved.from);
        let some_stay = staged.iter().flatten().any(stays);
        if some_stay { self.finish_padded(row, space) } else { None }
    }

    /// Whether the pages of the row's job leave the pool.
    #[inline]
    pub fn leaves(&self, row: Row) -> bool {
        self.rows[row as usize].job.as_ref().is_some_and(|job| job.leaves)
    }

    /// Whether pages are leaving the row's pool.
    #[inline]
    pub fn migrates(&self, row: Row) -> bool {
        self.sources.migration.is_at(row)
    }
}

/// Invalid locations of a block that are passed between `place` and the end of a run. In a pool of whole units only those of units
/// without any valid one count: the others are written with holes.
#[inline]
pub(super) fn passed(space: &Space, place: u32, run: Run) -> u32 {
    let row = space.row_of(run.block);
    if !space.has_whole_units(row) {
        return run.end - place - run.valid;
    }
    let unit = space.pools().per_program(row);
    (run.first / unit).saturating_sub(place.div_ceil(unit)) * unit
}
