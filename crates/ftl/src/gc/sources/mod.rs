//! Sources of jobs, one in each file. A plane group that has time for a job queries them in order.

mod fold;
mod free_blocks;
mod idle;
mod migration;
mod reclaimed;
mod requested;
mod retirement;
mod super_block;
pub(super) mod view;
mod wear;

use wordline_flash::{Flash, Purpose};
use wordline_kernel::{Stream, state};
use wordline_nand::{BlockSetId, PlaneGroupId};

use crate::blocks::BlockManager;
use crate::gc::job::Job;
use crate::policy::wear::WearLeveller;
use free_blocks::FreeBlocks;
use idle::Idle;
use migration::Migration;
use reclaimed::Reclaimed;
use requested::Requested;
use retirement::PendingRetirement;
use super_block::SuperBlockMembers;
use view::{GcLimits, View};

pub(crate) use fold::Fold;
pub(super) use view::Source;
use wear::Wear;

/// Sources of GC jobs.
pub(super) struct Sources {
    pub(super) migration: Migration,
    pub(super) pending_retirement: PendingRetirement,
    pub(super) requested: Requested,
    wear: Option<Wear>,
}

state!(Sources { parts { migration, pending_retirement, requested, wear } });

impl Sources {
    /// Sources without jobs, for this many plane groups.
    pub(super) fn new(rows: u32) -> Self {
        Self {
            migration: Migration::new(rows),
            pending_retirement: PendingRetirement::new(rows),
            requested: Requested::new(rows),
            wear: None,
        }
    }

    /// Checks the loaded state of the wear leveller.
    pub(super) fn check_wear(&self, blocks: &BlockManager) -> Result<(), String> {
        self.wear.as_ref().map_or(Ok(()), |wear| wear.check_loaded(blocks))
    }

    /// Enables static wear levelling, if `wear` does any.
    pub(super) fn level(&mut self, wear: Box<dyn WearLeveller>, random: Stream, rows: u32) {
        self.wear = wear.is_on().then(|| Wear::new(wear, random, rows));
    }

    /// Records that a block was erased.
    pub(super) fn erased(&mut self, block: BlockSetId, blocks: &BlockManager) {
        if let Some(wear) = &mut self.wear {
            wear.erased(block, blocks);
        }
    }

    /// Next cold block of a plane group that is `wanted`.
    pub(super) fn next_cold(
        &mut self,
        row: PlaneGroupId,
        of: (&Flash, &BlockManager),
        wanted: impl Fn(BlockSetId) -> bool,
    ) -> Option<BlockSetId> {
        self.wear.as_mut()?.next_cold_wanted(row, of, wanted)
    }

    /// Whether a plane group may have a job although neither the host nor background GC needs its blocks.
    #[inline]
    pub(super) fn may_have_job(
        &self,
        row: PlaneGroupId,
        blocks: &mut BlockManager,
        leave: &GcLimits,
    ) -> bool {
        self.migration.is_at(row)
            || self.pending_retirement.has_any(row)
            || self.requested.has_any(row)
            || self.wear.is_some()
            || Fold::has_excess(row, blocks, leave)
            || blocks.pool_of(row).next_super_block_victim(row).is_some()
            || blocks.pool_of(row).needs_reclaim_list(row)
    }

    /// Next job of a plane group, from the first source that has one.
    pub(super) fn next(&mut self, row: PlaneGroupId, view: &mut View<'_>) -> Option<Job> {
        let to = |purpose| move |job: Job| job.to(purpose);
        self.migration
            .next(row, view)
            .or_else(|| self.pending_retirement.next(row, view))
            .or_else(|| self.requested.next(row, view))
            .map(to(Purpose::Reclaiming))
            .or_else(|| Fold.next(row, view).map(to(Purpose::Folding)))
            .or_else(|| SuperBlockMembers.next(row, view))
            .or_else(|| FreeBlocks.next(row, view))
            .or_else(|| Reclaimed.next(row, view).map(to(Purpose::Reclaiming)))
            .or_else(|| self.wear.as_mut()?.next(row, view).map(to(Purpose::Levelling)))
            .or_else(|| Idle.next(row, view))
    }

    /// Clears a plane group that is out of service. Also used after a power cut.
    pub(super) fn forget(&mut self, row: PlaneGroupId) {
        self.migration.forget(row);
        self.pending_retirement.forget(row);
        self.requested.forget(row);
        if let Some(wear) = &mut self.wear {
            wear.forget(row);
        }
    }
}
