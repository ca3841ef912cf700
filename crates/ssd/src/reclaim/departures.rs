//! Pages of victims that are migrated to another pool individually. Their data leave the plane group of the
//! victim and wait until they fill a program unit there, which the writer queues like those of the host.
//! Until that unit is programmed, such a page counts as one that its plane group has yet to relocate, so that
//! it can be relocated there whenever the other pool does not accept it: no pool waits for another.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, state};
use wordline_nand::{Location, RowId, Stamp};

use crate::map::Moved;
use crate::space::Space;

/// A page of a victim that is migrated individually.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Departure {
    moved: Moved,
    /// Host stream that it is written to.
    stream: u8,
    /// Whether it is being programmed.
    is_sent: bool,
}

impl Departure {
    fn waits_for(&self, stream: u8) -> bool {
        self.stream == stream && !self.is_sent
    }
}

/// Migrating pages of a plane group.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct OfRow {
    pages: Vec<Departure>,
    /// Whether GC cannot continue before they are programmed.
    hurries: bool,
}

impl OfRow {
    fn waiting(&self) -> u32 {
        self.pages.iter().filter(|page| !page.is_sent).count() as u32
    }
}

/// Individually migrating pages of all plane groups.
pub(crate) struct Departures {
    rows: Column<RowId, OfRow>,
    /// Pages waiting for a program, over all plane groups.
    waiting: u32,
}

state!(Departures { values { rows, waiting } });

impl Departures {
    pub(super) fn new(rows: u32) -> Self {
        Self { rows: Column::filled(rows as usize, OfRow::default()), waiting: 0 }
    }

    /// Resets everything that a power cut loses.
    pub(super) fn forget(&mut self) {
        self.rows.fill(OfRow::default());
        self.waiting = 0;
    }

    /// Adds a page read from a victim, to be programmed in another pool by this host stream.
    pub(super) fn add(&mut self, row: RowId, stream: u8, moved: Moved) {
        self.rows[row].pages.push(Departure { moved, stream, is_sent: false });
        self.waiting += 1;
    }

    /// Whether pages wait for a program in another pool.
    #[inline]
    pub(crate) fn has_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Number of pages of a plane group still to be relocated.
    pub(super) fn left_in(&self, row: RowId, space: &Space) -> usize {
        self.rows[row].pages.iter().filter(|page| space.is_valid(page.moved.from)).count()
    }

    /// Drops invalid pages: those programmed elsewhere, overwritten or discarded.
    pub(super) fn forget_void(&mut self, row: RowId, space: &Space) {
        let of_row = &mut self.rows[row];
        if of_row.pages.is_empty() {
            return;
        }
        let before = of_row.waiting();
        of_row.pages.retain(|page| space.is_valid(page.moved.from));
        self.waiting -= before - of_row.waiting();
    }

    /// Drops the pages of a plane group that is out of service.
    pub(super) fn lose(&mut self, row: RowId) {
        self.waiting -= std::mem::take(&mut self.rows[row]).waiting();
    }

    /// Forces the pages of a plane group that has nothing else to collect; returns whether it has any.
    pub(super) fn hurry(&mut self, row: RowId, space: &Space) -> bool {
        self.forget_void(row, space);
        let of_row = &mut self.rows[row];
        of_row.hurries = !of_row.pages.is_empty();
        of_row.hurries
    }

    /// Stops forcing pages when the plane group has a block to collect.
    pub(super) fn go_on(&mut self, row: RowId) {
        self.rows[row].hurries = false;
    }

    /// Number of pages waiting for a host stream in another pool, and whether some plane group cannot
    /// continue GC before some of them are programmed.
    pub(crate) fn to(&mut self, stream: u8, space: &Space) -> (u32, bool) {
        let (mut pages, mut hurries) = (0, false);
        for row in (0..self.rows.len() as u32).map(RowId) {
            self.forget_void(row, space);
            let of_row = &self.rows[row];
            let here = of_row.pages.iter().filter(|page| page.waits_for(stream)).count() as u32;
            pages += here;
            hurries |= here > 0 && of_row.hurries;
        }
        (pages, hurries)
    }

    /// Takes the next `pages` pages waiting for a stream, of which there must be as many, for programming and
    /// passes each to `to`.
    pub(crate) fn take(&mut self, stream: u8, pages: u32, to: impl FnMut(Stamp)) {
        let all = self.rows.iter_mut().flat_map(|of_row| of_row.pages.iter_mut());
        let first = all.filter(|page| page.waits_for(stream)).take(pages as usize);
        let sent = first.map(|page| {
            page.is_sent = true;
            page.moved.stamp
        });
        sent.for_each(to);
        self.waiting -= pages;
    }

    /// Puts a page back in the queue after its program in another pool failed.
    pub(crate) fn come_back(&mut self, row: RowId, from: Location) {
        let mut pages = self.rows[row].pages.iter_mut();
        if let Some(page) = pages.find(|page| page.is_sent && page.moved.from == from) {
            page.is_sent = false;
            self.waiting += 1;
        }
    }

    /// Cancels the migration of the pages of a plane group that wait for a stream, and returns them.
    pub(super) fn call_off(&mut self, row: RowId, stream: u8) -> Vec<Moved> {
        let of_row = &mut self.rows[row];
        let called_off: Vec<Moved> =
            of_row.pages.iter().filter(|page| page.waits_for(stream)).map(|page| page.moved).collect();
        of_row.pages.retain(|page| !page.waits_for(stream));
        of_row.hurries = false;
        self.waiting -= called_off.len() as u32;
        called_off
    }

    /// Number of migrating pages of a plane group.
    pub(super) fn count(&self, row: RowId) -> usize {
        self.rows[row].pages.len()
    }

    /// Checks the loaded state: every page is in a block of its plane group.
    pub(super) fn is_possible(&self, row: RowId, is_here: impl Fn(Location) -> bool) -> bool {
        self.rows[row].pages.iter().all(|page| is_here(page.moved.from))
    }

    /// Number of plane groups.
    pub(super) fn shape(&self) -> usize {
        self.rows.len()
    }

    /// Whether the loaded counts are consistent.
    pub(super) fn counts_right(&self) -> bool {
        self.waiting == self.rows.iter().map(OfRow::waiting).sum::<u32>()
    }
}
