//! Blocks being reclaimed. Valid pages of a super layer are read, beginning with the last super layer, and
//! programmed together with host pages.

use wordline_nand::PlaneGroupId;

use super::view::{Source, View};
use crate::gc::job::Job;

/// Reads pages of the block being reclaimed in a plane group.
pub(super) struct Reclaimed;

impl Source for Reclaimed {
    #[inline]
    fn next(&mut self, row: PlaneGroupId, view: &mut View<'_>) -> Option<Job> {
        let (block, pages) = view.blocks.list_reclaimed_pages(row)?;
        let first = pages.first().map(|page| view.blocks.pools().of_block(block).locations.split(*page).1);
        Some(Job { with_host: true, ..Job::relocating(pages, (block, first.unwrap_or(0))) })
    }
}
