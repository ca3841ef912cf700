//! GC on a device with several pools: victims whose pages migrate to another pool.

use wordline_nand::{BlockSetId, PlaneGroupId};

use super::{Collector, Job, PlaneGroupState, Relocation, Step};
use crate::blocks::BlockManager;

impl Collector {
    /// Migrates the pages of the plane group's victim to another pool. The pages are listed, and each is sent
    /// there after its read.
    pub fn migrate(&mut self, row: PlaneGroupId) {
        let state = &mut self.rows[row];
        if let Some((block, place)) = state.job.as_ref().map(Job::reached) {
            state.end();
            self.sources.migration.migrate(row, block, place);
        }
    }

    /// Migrates the pages of a block that became a victim to another pool.
    pub fn give_up(&mut self, row: PlaneGroupId, block: BlockSetId) {
        self.sources.migration.migrate(row, block, 0);
    }

    /// Programs listed pages that stay in the pool, when the whole list has been read and no more pages will
    /// come.
    #[inline(never)]
    pub(super) fn finish_list(&mut self, row: PlaneGroupId, blocks: &BlockManager) -> Option<Step> {
        let PlaneGroupState { job, staged, .. } = &self.rows[row];
        let job = job.as_ref()?;
        let stays = |moved: &Relocation| blocks.table().is_valid(moved.from) && job.lists(moved.from);
        let some_stay = staged.iter().flatten().any(stays);
        if some_stay { self.finish_padded(row, blocks) } else { None }
    }

    /// Whether the pages of the plane group's job are programmed together with host pages.
    #[inline]
    pub fn is_programmed_with_host(&self, row: PlaneGroupId) -> bool {
        self.rows[row].job.as_ref().is_some_and(|job| job.with_host)
    }

    /// Whether the pages of the plane group's job migrate to another pool.
    #[inline]
    pub fn leaves(&self, row: PlaneGroupId) -> bool {
        self.rows[row].job.as_ref().is_some_and(|job| job.leaves)
    }

    /// Whether pages of the plane group are migrating to another pool.
    #[inline]
    pub fn is_migrating(&self, row: PlaneGroupId) -> bool {
        self.sources.migration.is_at(row)
    }
}
