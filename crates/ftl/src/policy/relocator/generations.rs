//! Generations: one GC stream for each number of relocations.

use wordline_kernel::state;

use super::{RelocatedPage, Relocator};

/// Sends a page to the first stream when it is relocated for the first time, and to the next stream at each
/// further relocation. The last stream keeps its pages. The more often a page is still valid when its block
/// is collected, the colder it is.
pub struct Generations {
    /// Number of GC streams.
    pub streams: u8,
}

state!(Generations { fixed { streams } });

impl Relocator for Generations {
    fn streams(&self) -> u8 {
        self.streams
    }

    fn route(&mut self, page: &RelocatedPage) -> u8 {
        page.relocated_by.map_or(0, |before| (before + 1).min(self.streams - 1))
    }
}
