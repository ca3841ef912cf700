//! What the collector does where a device has several pools: victims whose pages go to another pool, and program units that
//! are moved as they are.

use wordline_nand::BlockSetId;

use super::{Collector, Moved, NoRoom, Step};
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
            let is_read = match state.victim {
                Some((victim, at)) if victim == block => {
                    space.next_valid(block, at).is_none_or(|next| next >= end)
                }
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

    /// The pages of the row's victim leave the pool: each is sent off when it was read.
    pub fn send_off(&mut self, row: Row) {
        let state = &mut self.rows[row as usize];
        state.migrating = state.victim.map(|(block, _)| block);
    }

    /// Translation pages of a victim stay in the pool that the others leave: they are programmed, for no more will come.
    #[inline(never)]
    pub(super) fn finish_staying(&mut self, row: Row, block: BlockSetId, space: &Space) -> Option<Step> {
        let stays = |moved: &Moved| space.pools().block_of(moved.from) == block && space.is_valid(moved.from);
        let some_stay = self.rows[row as usize].staged.iter().flatten().any(stays);
        if some_stay { self.finish_padded(row, space) } else { None }
    }

    /// Whether the pages of the row's victim leave the pool.
    #[inline]
    pub fn migrates(&self, row: Row) -> bool {
        self.rows[row as usize].migrating.is_some()
    }

    /// Whether the row has begun with another victim since this was last asked.
    pub fn take_new_victim(&mut self, row: Row) -> bool {
        std::mem::take(&mut self.rows[row as usize].is_new)
    }
}

/// Invalid locations that are passed between `place` and `end`, where the next `valid` ones are read from `first` on. In a pool of
/// whole units only those of units without any valid one count: the others are written with holes.
#[inline]
pub(super) fn passed(space: &Space, row: Row, place: u32, first: u32, end: u32, valid: u32) -> u32 {
    if !space.has_whole_units(row) {
        return end - place - valid;
    }
    let unit = space.pools().per_program(row);
    (first / unit).saturating_sub(place.div_ceil(unit)) * unit
}
