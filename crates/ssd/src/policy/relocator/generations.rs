//! Generations: pages that were moved before are kept apart from those that are moved for the first time.

use wordline_kernel::state;

use super::{Leaving, Relocator};

/// A page of a block that the host wrote goes to the first stream, and with each move to the next one, up to the last:
/// the more often a page was still valid when its block was cleaned, the colder it is.
pub struct Generations {
    /// Streams of the collector.
    pub streams: u8,
}

state!(Generations { fixed { streams } });

impl Relocator for Generations {
    fn streams(&self) -> u8 {
        self.streams
    }

    fn route(&mut self, page: &Leaving) -> u8 {
        page.moved_by.map_or(0, |before| (before + 1).min(self.streams - 1))
    }
}
