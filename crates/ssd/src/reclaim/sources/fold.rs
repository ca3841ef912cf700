//! Folding of the SLC cache: its oldest blocks are collected into native ones.

use wordline_nand::{CellMode, Location, RowId};

use super::view::{Leave, Source, View};
use crate::config::Config;
use crate::reclaim::job::Job;
use crate::space::Space;

/// Folds the blocks of the SLC cache beyond those that may stay.
pub(in crate::reclaim) struct Fold;

impl Fold {
    /// Whether a plane group has an SLC cache.
    #[inline]
    pub fn is_in(row: RowId, space: &Space) -> bool {
        space.opens_in(row, CellMode::Slc)
    }

    /// Cached blocks of a plane group that are not being folded.
    #[inline]
    pub fn cached(row: RowId, space: &Space) -> u32 {
        space.blocks_in(row, CellMode::Slc)
    }

    /// Whether a page is in a cached block.
    pub fn holds(page: Location, space: &Space) -> bool {
        space.mode(space.pools().block_of(page)) == CellMode::Slc
    }

    /// Whether a plane group has more cached blocks than may stay.
    #[inline]
    pub fn has_one(row: RowId, space: &mut Space, leave: &Leave) -> bool {
        space.oldest_in(row, CellMode::Slc, leave.keep_cached).is_some()
    }

    /// Number of cached blocks of a pool's plane group above which the oldest are folded while the host is
    /// active.
    pub fn kept_in(config: &Config, pool: usize) -> u32 {
        config.file.slc_cache_of(pool).and_then(|cache| cache.fold_above).unwrap_or(u32::MAX)
    }
}

impl Source for Fold {
    /// Oldest cached block of a plane group, if it has more than may stay and room for its pages.
    #[inline]
    fn next(&mut self, row: RowId, view: &mut View<'_>) -> Option<Job> {
        let block = view.space.oldest_in(row, CellMode::Slc, view.leave.keep_cached)?;
        view.has_room_for(row, block).then(|| Job::empty(block))
    }
}
