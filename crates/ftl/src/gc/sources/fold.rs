//! Folding of the SLC cache: the pages of its oldest blocks are relocated to native blocks.

use wordline_nand::{CellMode, Location, PlaneGroupId};

use super::view::{GcLimits, Source, View};
use crate::blocks::BlockManager;
use crate::config::Config;
use crate::gc::job::Job;

/// Folds the oldest blocks of the SLC cache, if it has more blocks than may stay.
pub(crate) struct Fold;

impl Fold {
    /// Whether a plane group has an SLC cache.
    #[inline]
    pub fn is_in(row: PlaneGroupId, blocks: &BlockManager) -> bool {
        blocks.modes(row).opens(CellMode::Slc)
    }

    /// Cached blocks of a plane group that are not being folded.
    #[inline]
    pub fn cached(row: PlaneGroupId, blocks: &BlockManager) -> u32 {
        blocks.modes(row).blocks_in(row, CellMode::Slc)
    }

    /// Whether a page is in a cached block.
    pub fn holds(page: Location, blocks: &BlockManager) -> bool {
        blocks.table().mode(blocks.pools().block_of(page)) == CellMode::Slc
    }

    /// Whether a plane group has more cached blocks than may stay.
    #[inline]
    pub fn has_excess(row: PlaneGroupId, blocks: &mut BlockManager, leave: &GcLimits) -> bool {
        blocks.oldest_in_mode(row, CellMode::Slc, leave.keep_cached).is_some()
    }

    /// Number of SLC-cache blocks of a pool's plane group above which the oldest are folded while the host is
    /// active.
    pub fn kept_in(config: &Config, pool: usize) -> u32 {
        config.file.slc_cache_of(pool).and_then(|cache| cache.fold_above).unwrap_or(u32::MAX)
    }
}

impl Source for Fold {
    /// The oldest block of the SLC cache of a plane group, if the cache has more blocks than may stay and
    /// there is space for the block's pages.
    #[inline]
    fn next(&mut self, row: PlaneGroupId, view: &mut View<'_>) -> Option<Job> {
        let block = view.blocks.oldest_in_mode(row, CellMode::Slc, view.leave.keep_cached)?;
        view.has_room_for(row, block).then(|| Job::empty(block))
    }
}
