//! The SLC cache is folded: the oldest of its blocks are emptied into native ones.

use wordline_nand::RowId;

use super::view::{Source, View};
use crate::reclaim::job::Job;

/// Folds what a row has of the SLC cache beyond what may stay.
pub(super) struct Fold;

impl Source for Fold {
    /// The oldest cached block of a row, if it has more of them than are to stay, and room for its pages.
    #[inline]
    fn next(&mut self, row: RowId, view: &mut View<'_>) -> Option<Job> {
        let block = view.space.to_fold(row, view.leave.keep_cached)?;
        view.has_room_for(row, block).then(|| Job::empty(block))
    }
}
