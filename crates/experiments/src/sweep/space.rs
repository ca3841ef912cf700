//! Space that is available to GC, as an input of closed forms.

use wordline_lab::error::{Error, Result};

/// Space available to garbage collection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Space {
    /// Pages of a block that is erased as a whole.
    pub pages_per_block: u32,
    /// Number of valid pages.
    pub logical_pages: f64,
    /// Number of pages over which the data are distributed: all pages except the pages of blocks that are
    /// kept free.
    pub physical_pages: f64,
}

impl Space {
    /// Valid share of the pages over which the data are distributed.
    pub fn live_share(&self) -> f64 {
        self.logical_pages / self.physical_pages
    }

    /// The valid share. It is an error if the closed forms do not accept it.
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
