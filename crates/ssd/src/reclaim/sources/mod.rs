//! The sources of jobs, a file each. A row that has time for a job asks them in their order.

mod condemned;
mod fold;
mod free_blocks;
mod idle;
mod migration;
mod super_block;
mod vacated;
pub(super) mod view;
mod wear;

use wordline_kernel::{Stream, state};
use wordline_nand::{BlockSetId, RowId};

use crate::flash::{Flash, Purpose};
use crate::policy::wear::WearLeveller;
use crate::reclaim::job::Job;
use crate::space::Space;
use condemned::Condemned;
use free_blocks::FreeBlocks;
use idle::Idle;
use migration::Migration;
use super_block::Members;
use vacated::Vacated;
use view::{Leave, View};

pub(super) use fold::Fold;
pub(super) use view::Source;
use wear::Wear;

/// The sources of jobs.
pub(super) struct Sources {
    pub(super) migration: Migration,
    pub(super) condemned: Condemned,
    wear: Option<Wear>,
}

state!(Sources { parts { migration, condemned, wear } });

impl Sources {
    /// Sources for this many rows, that have nothing to be done.
    pub(super) fn new(rows: u32) -> Self {
        Self { migration: Migration::new(rows), condemned: Condemned::new(rows), wear: None }
    }

    /// Checks what was loaded of the wear leveller.
    pub(super) fn check_wear(&self, space: &Space) -> Result<(), String> {
        self.wear.as_ref().map_or(Ok(()), |wear| wear.check_loaded(space))
    }

    /// Levels wear from now on, if there is anything to it.
    pub(super) fn level(&mut self, wear: Box<dyn WearLeveller>, random: Stream, rows: u32) {
        self.wear = wear.is_on().then(|| Wear::new(wear, random, rows));
    }

    /// A block was erased.
    pub(super) fn erased(&mut self, block: BlockSetId, space: &Space) {
        if let Some(wear) = &mut self.wear {
            wear.erased(block, space);
        }
    }

    /// The next block of a row whose data lie still and that is `wanted`.
    pub(super) fn next_still(
        &mut self,
        row: RowId,
        of: (&Flash, &Space),
        wanted: impl Fn(BlockSetId) -> bool,
    ) -> Option<BlockSetId> {
        self.wear.as_mut()?.next_wanted(row, of, wanted)
    }

    /// Whether a row that needs no blocks, for itself or ahead of need, may have a job.
    #[inline]
    pub(super) fn may_have_one(&self, row: RowId, space: &mut Space, leave: &Leave) -> bool {
        self.migration.is_at(row)
            || self.condemned.has_any(row)
            || self.wear.is_some()
            || Fold::has_one(row, space, leave)
            || space.next_of_super_block(row).is_some()
            || space.is_to_vacate(row)
    }

    /// The next job of a row: that of the first source that has one.
    pub(super) fn next(&mut self, row: RowId, view: &mut View<'_>) -> Option<Job> {
        let to = |purpose| move |job: Job| job.to(purpose);
        self.migration
            .next(row, view)
            .or_else(|| self.condemned.next(row, view))
            .map(to(Purpose::Vacating))
            .or_else(|| Fold.next(row, view).map(to(Purpose::Folding)))
            .or_else(|| Members.next(row, view))
            .or_else(|| FreeBlocks.next(row, view))
            .or_else(|| Vacated.next(row, view).map(to(Purpose::Vacating)))
            .or_else(|| self.wear.as_mut()?.next(row, view).map(to(Purpose::Levelling)))
            .or_else(|| Idle.next(row, view))
    }

    /// The row is out of use as a whole, or the power is cut.
    pub(super) fn forget(&mut self, row: RowId) {
        self.migration.forget(row);
        self.condemned.forget(row);
        if let Some(wear) = &mut self.wear {
            wear.forget(row);
        }
    }
}
