//! Partial page programs (NOP). Locations that are erased in the registers are not programmed, and the
//! programs of each page are counted.

use wordline_kernel::{Column, state};

use super::refusal::Refusal;
use crate::Pools;
use crate::geometry::{BlockSetId, Geometry, PageId};

/// Programs of each page since its block was erased.
#[derive(Clone, Debug)]
pub(super) struct PartialPrograms {
    programs: Column<PageId, u8>,
}

state!(PartialPrograms { parts { programs } });

impl PartialPrograms {
    pub(super) fn of(pools: &Pools) -> Self {
        let pages = pools.iter().map(|pool| pool.geometry.end(0).page).max().unwrap_or(0);
        Self { programs: Column::filled(pages as usize, 0) }
    }

    /// Programs of `page` since its block was erased.
    pub(super) fn programs(&self, page: PageId) -> u8 {
        self.programs[page]
    }

    /// Checks that each page may be programmed once more, at most `most` times.
    pub(super) fn check(&self, pages: impl Iterator<Item = PageId>, most: u32) -> Result<(), Refusal> {
        for page in pages {
            if u32::from(self.programs[page]) >= most {
                return Err(Refusal::Programs { page, most });
            }
        }
        Ok(())
    }

    /// Counts a program of each page.
    pub(super) fn count(&mut self, pages: impl Iterator<Item = PageId>) {
        pages.for_each(|page| self.programs[page] = self.programs[page].saturating_add(1));
    }

    /// Resets the counters of an erased block.
    pub(super) fn reset(&mut self, geometry: &Geometry, block: BlockSetId) {
        let (first, pages) = (geometry.page(block, 0), geometry.pages_per_block_set());
        (first.0..).take(pages as usize).for_each(|page| self.programs[PageId(page)] = 0);
    }
}
