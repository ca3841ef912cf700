//! Where the pages of a table are: how many of them have their place in each row.

use serde::{Deserialize, Serialize};
use wordline_kernel::Column;
use wordline_nand::RowId;

/// The pages of a table that are in flash.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Placed {
    in_row: Column<RowId, u32>,
    all: u32,
}

impl Placed {
    /// None, in a device of `rows` rows.
    pub fn new(rows: usize) -> Self {
        Self { in_row: Column::filled(rows, 0), all: 0 }
    }

    /// Those that have their place in a row.
    pub fn in_row(&self, row: RowId) -> u32 {
        self.in_row[row]
    }

    /// All of them.
    pub fn all(&self) -> u32 {
        self.all
    }

    /// A page has its place in row `to` now, and had it before in row `from`.
    pub fn note(&mut self, from: Option<RowId>, to: RowId) {
        self.in_row[to] += 1;
        match from {
            Some(from) => self.in_row[from] -= 1,
            None => self.all += 1,
        }
    }

    /// A page in a row is lost.
    pub fn lose(&mut self, row: RowId) {
        self.in_row[row] -= 1;
        self.all -= 1;
    }

    /// Whether what was loaded counts this many pages in each row.
    pub fn counts(&self, in_row: &Column<RowId, u32>) -> bool {
        self.in_row.iter().eq(in_row.iter()) && self.all == in_row.iter().sum::<u32>()
    }

    /// None is known to be there.
    pub fn forget(&mut self) {
        self.in_row.fill(0);
        self.all = 0;
    }
}
