//! Generations: relocated pages are separated by how often they were relocated before.

use wordline_kernel::state;

use super::{RelocatedPage, Relocator};

/// Relocates a page of a block that the host wrote to the first stream, and with each further relocation to
/// the next one, up to the last: the more often a page was still valid when its block was collected, the
/// colder it is.
pub struct Generations {
    /// GC streams.
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
