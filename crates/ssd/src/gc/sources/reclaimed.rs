//! Blocks being reclaimed: the valid pages of their last super layer are read and programmed together with
//! host pages.

use wordline_nand::PlaneGroupId;

use super::view::{Source, View};
use crate::gc::job::Job;

/// Reads the pages of the block being reclaimed in a plane group.
pub(super) struct Reclaimed;

impl Source for Reclaimed {
    #[inline]
    fn next(&mut self, row: PlaneGroupId, view: &mut View<'_>) -> Option<Job> {
        let (block, pages) = view.space.list_reclaimed_pages(row)?;
        let first = pages.first().map(|page| view.space.pools().of_block(block).locations.split(*page).1);
        Some(Job { with_host: true, ..Job::relocating(pages, (block, first.unwrap_or(0))) })
    }
}
