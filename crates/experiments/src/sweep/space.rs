//! The space in which the collector of a device works, as models want it.

use wordline_lab::error::{Error, Result};

/// The space in which a garbage collector works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Space {
    /// Pages of a block that is erased as one.
    pub pages_per_block: u32,
    /// Pages that hold live data.
    pub logical_pages: f64,
    /// Pages over which the data are spread: all of them but those of blocks that are kept free.
    pub physical_pages: f64,
}

impl Space {
    /// Live share of the pages over which the data are spread.
    pub fn live_share(&self) -> f64 {
        self.logical_pages / self.physical_pages
    }

    /// The live share, where a model can say something of it.
    pub(crate) fn checked_share(&self) -> Result<f64> {
        let share = self.live_share();
        if share > 0.0 && share < 1.0 && self.pages_per_block > 0 {
            return Ok(share);
        }
        Err(Error::Argument {
            what: "space of the analytic model".into(),
            found: format!("{share} of the pages live, {} pages a block", self.pages_per_block),
            wanted: "a live share above 0 and below 1, and at least one page a block".into(),
        })
    }
}
