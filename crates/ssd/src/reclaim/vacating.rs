//! Pages that were read of blocks that are vacated. They wait for program units of the host to be completed with; until they are
//! programmed they stay valid where they are, and nothing waits for them.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, state};
use wordline_nand::{Location, RowId, Stamp};

use crate::map::Moved;
use crate::space::Space;

/// A page that was read of a block that is vacated.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Leaving {
    moved: Moved,
    /// Whether it is being programmed.
    is_sent: bool,
}

/// The pages that were read of blocks that are vacated, of all rows.
pub(super) struct Vacating {
    rows: Column<RowId, Vec<Leaving>>,
    /// Pages of all rows.
    pages: u32,
}

state!(Vacating { values { rows, pages } });

impl Vacating {
    /// None in so many rows.
    pub(super) fn new(rows: u32) -> Self {
        Self { rows: Column::filled(rows as usize, Vec::new()), pages: 0 }
    }

    /// All are forgotten, as after a power cut.
    pub(super) fn forget(&mut self) {
        self.rows.fill(Vec::new());
        self.pages = 0;
    }

    /// The row is out of use as a whole.
    pub(super) fn lose(&mut self, row: RowId) {
        self.pages -= std::mem::take(&mut self.rows[row]).len() as u32;
    }

    /// Whether there are any.
    #[inline]
    pub(super) fn has_any(&self) -> bool {
        self.pages > 0
    }

    /// A page was read of the block of a row that is vacated.
    pub(super) fn add(&mut self, row: RowId, moved: Moved) {
        self.rows[row].push(Leaving { moved, is_sent: false });
        self.pages += 1;
    }

    /// Drops the pages of a row that are not valid any more where they were read, and those of a block that is not vacated any more.
    pub(super) fn forget_void(&mut self, row: RowId, space: &Space) {
        let pages = &mut self.rows[row];
        let before = pages.len();
        let vacated = space.vacated(row);
        let is_left = |from| space.is_valid(from) && vacated == Some(space.pools().block_of(from));
        pages.retain(|page| is_left(page.moved.from));
        self.pages -= (before - pages.len()) as u32;
    }

    /// Pages of a row that wait for a program.
    pub(super) fn waiting(&mut self, row: RowId, space: &Space) -> u32 {
        self.forget_void(row, space);
        self.rows[row].iter().filter(|page| !page.is_sent).count() as u32
    }

    /// The first `pages` that wait in a row are programmed from now on: each is handed to `to`.
    pub(super) fn take(&mut self, row: RowId, pages: u32, to: impl FnMut(Stamp)) {
        let waiting = self.rows[row].iter_mut().filter(|page| !page.is_sent).take(pages as usize);
        let sent = waiting.map(|page| {
            page.is_sent = true;
            page.moved.stamp
        });
        sent.for_each(to);
    }

    /// The program of the page that was read from `from` failed: it waits again.
    pub(super) fn come_back(&mut self, row: RowId, from: Location) {
        let mut pages = self.rows[row].iter_mut();
        if let Some(page) = pages.find(|page| page.moved.from == from) {
            page.is_sent = false;
        }
    }

    /// How many rows there are.
    pub(super) fn shape(&self) -> usize {
        self.rows.len()
    }

    /// Whether what was loaded counts right, and every page is in its row.
    pub(super) fn is_possible(&self, is_in: impl Fn(RowId, Location) -> bool) -> bool {
        let is_own =
            |(row, pages): (RowId, &Vec<Leaving>)| pages.iter().all(|page| is_in(row, page.moved.from));
        self.pages as usize == self.rows.iter().map(Vec::len).sum::<usize>()
            && self.rows.entries().all(is_own)
    }
}
