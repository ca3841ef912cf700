//! Pages read from blocks being reclaimed. They wait until host program units have space for them. Until they
//! are programmed, they stay valid in their blocks, and no command waits for them.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, state};
use wordline_nand::{DataTag, Location, PlaneGroupId};

use crate::blocks::BlockManager;
use crate::map::Relocation;

/// A page read from a block being reclaimed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct ReclaimedPage {
    moved: Relocation,
    /// Whether the page is being programmed.
    is_sent: bool,
}

/// Pages read from blocks being reclaimed, of all plane groups.
pub(super) struct ReclaimedPages {
    rows: Column<PlaneGroupId, Vec<ReclaimedPage>>,
    /// Number of pages of all plane groups.
    pages: u32,
}

state!(ReclaimedPages { values { rows, pages } });

impl ReclaimedPages {
    /// No pages, for `rows` plane groups.
    pub(super) fn new(rows: u32) -> Self {
        Self { rows: Column::filled(rows as usize, Vec::new()), pages: 0 }
    }

    /// Resets everything that a power cut loses.
    pub(super) fn forget(&mut self) {
        self.rows.fill(Vec::new());
        self.pages = 0;
    }

    /// Drops the pages of a plane group that is out of service.
    pub(super) fn lose(&mut self, row: PlaneGroupId) {
        self.pages -= std::mem::take(&mut self.rows[row]).len() as u32;
    }

    /// Whether there are any pages.
    #[inline]
    pub(super) fn has_any(&self) -> bool {
        self.pages > 0
    }

    /// Adds a page read from the block being reclaimed in a plane group.
    pub(super) fn add(&mut self, row: PlaneGroupId, moved: Relocation) {
        self.rows[row].push(ReclaimedPage { moved, is_sent: false });
        self.pages += 1;
    }

    /// Drops pages of a plane group that are invalid now. Also drops pages of a block whose reclaim has
    /// ended.
    pub(super) fn drop_invalid(&mut self, row: PlaneGroupId, blocks: &BlockManager) {
        let pages = &mut self.rows[row];
        let before = pages.len();
        let vacated = blocks.pool_of(row).vacated(row);
        let is_left = |from| blocks.table().is_valid(from) && vacated == Some(blocks.pools().block_of(from));
        pages.retain(|page| is_left(page.moved.from));
        self.pages -= (before - pages.len()) as u32;
    }

    /// Number of pages of a plane group that wait for a program.
    pub(super) fn waiting(&mut self, row: PlaneGroupId, blocks: &BlockManager) -> u32 {
        self.drop_invalid(row, blocks);
        self.rows[row].iter().filter(|page| !page.is_sent).count() as u32
    }

    /// Takes the first `pages` that wait in a plane group for programming and passes each to `to`.
    pub(super) fn take(&mut self, row: PlaneGroupId, pages: u32, to: impl FnMut(DataTag)) {
        let waiting = self.rows[row].iter_mut().filter(|page| !page.is_sent).take(pages as usize);
        let sent = waiting.map(|page| {
            page.is_sent = true;
            page.moved.stamp
        });
        sent.for_each(to);
    }

    /// Puts the page read from `from` back in the queue, after its program failed.
    pub(super) fn requeue(&mut self, row: PlaneGroupId, from: Location) {
        let mut pages = self.rows[row].iter_mut();
        if let Some(page) = pages.find(|page| page.moved.from == from) {
            page.is_sent = false;
        }
    }

    /// Number of plane groups.
    pub(super) fn shape(&self) -> usize {
        self.rows.len()
    }

    /// Whether the loaded count is correct and every page is in its plane group.
    pub(super) fn is_possible(&self, is_in: impl Fn(PlaneGroupId, Location) -> bool) -> bool {
        let is_own = |(row, pages): (PlaneGroupId, &Vec<ReclaimedPage>)| {
            pages.iter().all(|page| is_in(row, page.moved.from))
        };
        self.pages as usize == self.rows.iter().map(Vec::len).sum::<usize>()
            && self.rows.entries().all(is_own)
    }
}
