//! Counts of table pages in flash, by plane group.

use serde::{Deserialize, Serialize};
use wordline_kernel::Column;
use wordline_nand::PlaneGroupId;

/// Number of pages of a table that are in flash, by plane group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TablePageCounts {
    in_row: Column<PlaneGroupId, u32>,
    all: u32,
}

impl TablePageCounts {
    /// No pages, in a device of `rows` plane groups.
    pub fn new(rows: usize) -> Self {
        Self { in_row: Column::filled(rows, 0), all: 0 }
    }

    /// Number of pages in a plane group.
    pub fn in_row(&self, row: PlaneGroupId) -> u32 {
        self.in_row[row]
    }

    /// Number of all pages.
    pub fn all(&self) -> u32 {
        self.all
    }

    /// Records that a page moved to plane group `to`, from plane group `from` if it was in flash.
    pub fn note(&mut self, from: Option<PlaneGroupId>, to: PlaneGroupId) {
        self.in_row[to] += 1;
        match from {
            Some(from) => self.in_row[from] -= 1,
            None => self.all += 1,
        }
    }

    /// Records that a page in a plane group is lost.
    pub fn lose(&mut self, row: PlaneGroupId) {
        self.in_row[row] -= 1;
        self.all -= 1;
    }

    /// Whether the loaded counts equal these for each plane group.
    pub fn counts(&self, in_row: &Column<PlaneGroupId, u32>) -> bool {
        self.in_row.iter().eq(in_row.iter()) && self.all == in_row.iter().sum::<u32>()
    }

    /// Clears the counts.
    pub fn forget(&mut self) {
        self.in_row.fill(0);
        self.all = 0;
    }
}
