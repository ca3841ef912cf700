//! Pages of victims that migrate to another pool one by one. Their data leave the plane group of the victim.
//! They wait until they fill a program unit of the other pool, which the writer queues like a program unit of
//! host pages.
//!
//! Until that unit is programmed, the plane group of the victim counts the page as still to be relocated. The
//! plane group relocates the page itself if the other pool does not accept the page. So no pool waits for
//! another.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, state};
use wordline_nand::{DataTag, Location, PlaneGroupId};

use crate::blocks::BlockManager;
use crate::map::Relocation;

/// A page of a victim that migrates.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct MigratingPage {
    moved: Relocation,
    /// Host stream that will write the page.
    stream: u8,
    /// Whether the page is being programmed.
    is_sent: bool,
}

impl MigratingPage {
    fn waits_for(&self, stream: u8) -> bool {
        self.stream == stream && !self.is_sent
    }
}

/// Migrating pages of a plane group.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct GroupPages {
    pages: Vec<MigratingPage>,
    /// Whether GC cannot continue before the pages are programmed.
    hurries: bool,
}

impl GroupPages {
    fn waiting(&self) -> u32 {
        self.pages.iter().filter(|page| !page.is_sent).count() as u32
    }
}

/// Migrating pages of all plane groups.
pub struct MigratingPages {
    rows: Column<PlaneGroupId, GroupPages>,
    /// Number of pages that wait for a program, over all plane groups.
    waiting: u32,
}

state!(MigratingPages { values { rows, waiting } });

impl MigratingPages {
    pub(super) fn new(rows: u32) -> Self {
        Self { rows: Column::filled(rows as usize, GroupPages::default()), waiting: 0 }
    }

    /// Resets everything that a power cut loses.
    pub(super) fn forget(&mut self) {
        self.rows.fill(GroupPages::default());
        self.waiting = 0;
    }

    /// Adds a page read from a victim. This host stream will program it in another pool.
    pub(super) fn add(&mut self, row: PlaneGroupId, stream: u8, moved: Relocation) {
        self.rows[row].pages.push(MigratingPage { moved, stream, is_sent: false });
        self.waiting += 1;
    }

    /// Whether pages wait for a program in another pool.
    #[inline]
    pub fn has_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Number of pages of a plane group that must still be relocated.
    pub(super) fn left_in(&self, row: PlaneGroupId, blocks: &BlockManager) -> usize {
        self.rows[row].pages.iter().filter(|page| blocks.table().is_valid(page.moved.from)).count()
    }

    /// Drops invalid pages: those programmed elsewhere, overwritten or discarded.
    pub(super) fn drop_invalid(&mut self, row: PlaneGroupId, blocks: &BlockManager) {
        let of_group = &mut self.rows[row];
        if of_group.pages.is_empty() {
            return;
        }
        let before = of_group.waiting();
        of_group.pages.retain(|page| blocks.table().is_valid(page.moved.from));
        self.waiting -= before - of_group.waiting();
    }

    /// Drops the pages of a plane group that is out of service.
    pub(super) fn lose(&mut self, row: PlaneGroupId) {
        self.waiting -= std::mem::take(&mut self.rows[row]).waiting();
    }

    /// Requests that the migrating pages of a plane group are programmed soon, because it has nothing else to
    /// collect. Returns whether it has such pages.
    pub(super) fn force(&mut self, row: PlaneGroupId, blocks: &BlockManager) -> bool {
        self.drop_invalid(row, blocks);
        let of_group = &mut self.rows[row];
        of_group.hurries = !of_group.pages.is_empty();
        of_group.hurries
    }

    /// Withdraws the request of [`force`](Self::force), because the plane group has a block to collect.
    pub(super) fn go_on(&mut self, row: PlaneGroupId) {
        self.rows[row].hurries = false;
    }

    /// Number of pages that wait for a host stream in another pool. Also returns whether some plane group
    /// cannot continue GC before some of them are programmed.
    pub(crate) fn to(&mut self, stream: u8, blocks: &BlockManager) -> (u32, bool) {
        let (mut pages, mut hurries) = (0, false);
        for row in (0..self.rows.len() as u32).map(PlaneGroupId) {
            self.drop_invalid(row, blocks);
            let of_group = &self.rows[row];
            let here = of_group.pages.iter().filter(|page| page.waits_for(stream)).count() as u32;
            pages += here;
            hurries |= here > 0 && of_group.hurries;
        }
        (pages, hurries)
    }

    /// Takes the next `pages` pages that wait for a stream for programming, and passes each to `to`. There
    /// must be as many.
    pub(crate) fn take(&mut self, stream: u8, pages: u32, to: impl FnMut(DataTag)) {
        let all = self.rows.iter_mut().flat_map(|of_group| of_group.pages.iter_mut());
        let first = all.filter(|page| page.waits_for(stream)).take(pages as usize);
        let sent = first.map(|page| {
            page.is_sent = true;
            page.moved.stamp
        });
        sent.for_each(to);
        self.waiting -= pages;
    }

    /// Puts a page back in the queue, after its program in another pool failed.
    pub(crate) fn requeue(&mut self, row: PlaneGroupId, from: Location) {
        let mut pages = self.rows[row].pages.iter_mut();
        if let Some(page) = pages.find(|page| page.is_sent && page.moved.from == from) {
            page.is_sent = false;
            self.waiting += 1;
        }
    }

    /// Cancels the migration of the pages of a plane group that wait for a stream, and returns them.
    pub(super) fn cancel(&mut self, row: PlaneGroupId, stream: u8) -> Vec<Relocation> {
        let of_group = &mut self.rows[row];
        let called_off: Vec<Relocation> =
            of_group.pages.iter().filter(|page| page.waits_for(stream)).map(|page| page.moved).collect();
        of_group.pages.retain(|page| !page.waits_for(stream));
        of_group.hurries = false;
        self.waiting -= called_off.len() as u32;
        called_off
    }

    /// Number of migrating pages of a plane group.
    pub(super) fn count(&self, row: PlaneGroupId) -> usize {
        self.rows[row].pages.len()
    }

    /// Checks the loaded state: every page must be in a block of its plane group.
    pub(super) fn is_possible(&self, row: PlaneGroupId, is_here: impl Fn(Location) -> bool) -> bool {
        self.rows[row].pages.iter().all(|page| is_here(page.moved.from))
    }

    /// Number of plane groups.
    pub(super) fn shape(&self) -> usize {
        self.rows.len()
    }

    /// Whether the loaded counts are consistent.
    pub(super) fn counts_right(&self) -> bool {
        self.waiting == self.rows.iter().map(GroupPages::waiting).sum::<u32>()
    }
}
