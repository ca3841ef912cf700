//! Pages of victims that go to another pool alone. The data that were read leave the row of the victim and waits for a whole program
//! unit there, which the writer queues as it does those of the host. Until that is programmed the page counts as one that its row has yet
//! to move, so that it can be moved in the row whenever the other pool does not take it: no pool waits for another one.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, state};
use wordline_nand::{Location, RowId, Stamp};

use crate::map::Moved;
use crate::space::Space;

/// A page of a victim that goes to another pool alone.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Departure {
    moved: Moved,
    /// The stream of the host that it goes to.
    stream: u8,
    /// Whether it is being programmed.
    is_sent: bool,
}

impl Departure {
    fn waits_for(&self, stream: u8) -> bool {
        self.stream == stream && !self.is_sent
    }
}

/// Those of a row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct OfRow {
    pages: Vec<Departure>,
    /// Whether cleaning cannot go on before they are moved.
    hurries: bool,
}

impl OfRow {
    fn waiting(&self) -> u32 {
        self.pages.iter().filter(|page| !page.is_sent).count() as u32
    }
}

/// The pages of all rows that go to another pool alone.
pub(crate) struct Departures {
    rows: Column<RowId, OfRow>,
    /// Pages that wait for a program, of all rows.
    waiting: u32,
}

state!(Departures { values { rows, waiting } });

impl Departures {
    pub(super) fn new(rows: u32) -> Self {
        Self { rows: Column::filled(rows as usize, OfRow::default()), waiting: 0 }
    }

    /// Nothing goes anywhere, as after a power cut.
    pub(super) fn forget(&mut self) {
        self.rows.fill(OfRow::default());
        self.waiting = 0;
    }

    /// A page that was read of a victim of the row goes to another pool, with this stream of the host.
    pub(super) fn add(&mut self, row: RowId, stream: u8, moved: Moved) {
        self.rows[row].pages.push(Departure { moved, stream, is_sent: false });
        self.waiting += 1;
    }

    /// Whether pages wait for a program in another pool.
    #[inline]
    pub(crate) fn has_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// How many pages of a row are still to be moved.
    pub(super) fn left_in(&self, row: RowId, space: &Space) -> usize {
        self.rows[row].pages.iter().filter(|page| space.is_valid(page.moved.from)).count()
    }

    /// Drops pages that are valid no more: they were programmed elsewhere, or the host wrote or discarded them.
    pub(super) fn forget_void(&mut self, row: RowId, space: &Space) {
        let of_row = &mut self.rows[row];
        if of_row.pages.is_empty() {
            return;
        }
        let before = of_row.waiting();
        of_row.pages.retain(|page| space.is_valid(page.moved.from));
        self.waiting -= before - of_row.waiting();
    }

    /// The row is out of use as a whole, with what was read of its victims.
    pub(super) fn lose(&mut self, row: RowId) {
        self.waiting -= std::mem::take(&mut self.rows[row]).waiting();
    }

    /// The row has nothing else to clean: whether it cannot go on before pages of it are moved.
    pub(super) fn hurry(&mut self, row: RowId, space: &Space) -> bool {
        self.forget_void(row, space);
        let of_row = &mut self.rows[row];
        of_row.hurries = !of_row.pages.is_empty();
        of_row.hurries
    }

    /// The row has a block to clean.
    pub(super) fn go_on(&mut self, row: RowId) {
        self.rows[row].hurries = false;
    }

    /// How many pages wait for a stream of the host in another pool, and whether a row cannot go on cleaning before some of them are moved.
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

    /// The next `pages` pages that wait for a stream, which must be that many, are programmed from now on: each is handed to `to`.
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

    /// The program of a page that was to be in another pool failed: it waits again.
    pub(crate) fn come_back(&mut self, row: RowId, from: Location) {
        let mut pages = self.rows[row].pages.iter_mut();
        if let Some(page) = pages.find(|page| page.is_sent && page.moved.from == from) {
            page.is_sent = false;
            self.waiting += 1;
        }
    }

    /// The pages of a row that wait for a stream go nowhere.
    pub(super) fn call_off(&mut self, row: RowId, stream: u8) -> Vec<Moved> {
        let of_row = &mut self.rows[row];
        let called_off: Vec<Moved> =
            of_row.pages.iter().filter(|page| page.waits_for(stream)).map(|page| page.moved).collect();
        of_row.pages.retain(|page| !page.waits_for(stream));
        of_row.hurries = false;
        self.waiting -= called_off.len() as u32;
        called_off
    }

    /// How many pages of a row go to another pool.
    pub(super) fn count(&self, row: RowId) -> usize {
        self.rows[row].pages.len()
    }

    /// Checks what was loaded: every page is in a block of its row.
    pub(super) fn is_possible(&self, row: RowId, is_here: impl Fn(Location) -> bool) -> bool {
        self.rows[row].pages.iter().all(|page| is_here(page.moved.from))
    }

    /// How many rows there are.
    pub(super) fn shape(&self) -> usize {
        self.rows.len()
    }

    /// Whether what was loaded counts right.
    pub(super) fn counts_right(&self) -> bool {
        self.waiting == self.rows.iter().map(OfRow::waiting).sum::<u32>()
    }
}
