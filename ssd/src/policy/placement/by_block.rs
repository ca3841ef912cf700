//! By block: all pages of a logical block have one home.

use wordline_kernel::snapshot::{Broken, Reader, State, Writer};

use super::{Placement, Row, RowSet};

/// A placement whose pages are logical blocks of so many pages each. Where it gives them no home, they go round the rows.
pub struct ByBlock {
    placement: Box<dyn Placement>,
    per_block: u32,
    rows: u32,
}

impl ByBlock {
    /// `placement`, asked about blocks of `per_block` pages.
    pub fn new(placement: Box<dyn Placement>, per_block: u32, rows: u32) -> Self {
        Self { placement, per_block, rows }
    }
}

impl State for ByBlock {
    fn save_state(&self, to: &mut Writer<'_>) -> Result<(), Broken> {
        self.placement.save_state(to)
    }

    fn load_state(&mut self, from: &mut Reader<'_>) -> Result<(), Broken> {
        self.placement.load_state(from)
    }
}

impl Placement for ByBlock {
    fn home(&self, page: u32) -> Option<Row> {
        let logical = page / self.per_block;
        Some(self.placement.home(logical).unwrap_or(logical % self.rows))
    }

    fn next(&mut self, _: &RowSet) -> Option<Row> {
        None
    }
}
