//! The collector of a device with several pools: victims whose pages go to another pool.

use wordline_nand::{BlockSetId, RowId};

use super::{Collector, Job, Moved, RowState, Step};
use crate::space::Space;

impl Collector {
    /// The pages of the row's victim leave the pool: they are listed, and each is sent off when it was read.
    pub fn send_off(&mut self, row: RowId) {
        let state = &mut self.rows[row];
        if let Some((block, place)) = state.job.as_ref().map(Job::reached) {
            state.end();
            self.sources.migration.send_off(row, block, place);
        }
    }

    /// The pages of a block of the row, which became a victim, leave the pool.
    pub fn give_up(&mut self, row: RowId, block: BlockSetId) {
        self.sources.migration.send_off(row, block, 0);
    }

    /// Those of the listed pages that stay in the pool are programmed when all of the list was read, for no more will come.
    #[inline(never)]
    pub(super) fn finish_list(&mut self, row: RowId, space: &Space) -> Option<Step> {
        let RowState { job, staged, .. } = &self.rows[row];
        let job = job.as_ref()?;
        let stays = |moved: &Moved| space.is_valid(moved.from) && job.lists(moved.from);
        let some_stay = staged.iter().flatten().any(stays);
        if some_stay { self.finish_padded(row, space) } else { None }
    }

    /// Whether the pages of the row's job leave with pages of the host.
    #[inline]
    pub fn goes_with_host(&self, row: RowId) -> bool {
        self.rows[row].job.as_ref().is_some_and(|job| job.with_host)
    }

    /// Whether the pages of the row's job leave the pool.
    #[inline]
    pub fn leaves(&self, row: RowId) -> bool {
        self.rows[row].job.as_ref().is_some_and(|job| job.leaves)
    }

    /// Whether pages are leaving the row's pool.
    #[inline]
    pub fn migrates(&self, row: RowId) -> bool {
        self.sources.migration.is_at(row)
    }
}
