//! L2P map from logical pages to locations in flash, with the versions that the host wrote last.

use wordline_kernel::{Pairs, id, state};
use wordline_nand::Location;

id!(
    /// A logical page: the mapping unit, as large as a [location](wordline_nand::Locations) in flash.
    LogicalPage
);

const UNMAPPED: u32 = u32::MAX;

/// Bit of an entry's count that is set if the host wrote the page and has not discarded it since. The other
/// bits are the number of its versions.
const PRESENT: u32 = 1;

/// For each logical page, its location in flash and, independently, the version that the host wrote last.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// Location, and versions with `PRESENT`.
    known: Pairs<LogicalPage>,
    mapped: u32,
}

state!(Mapping { values { mapped } parts { known } });

impl Mapping {
    /// A map of `pages` logical pages without data.
    pub fn new(pages: u32) -> Self {
        Self { known: Pairs::new(pages as usize), mapped: 0 }
    }

    /// Location of `logical` in flash; `None` if it is not mapped.
    #[inline]
    pub fn get(&self, logical: LogicalPage) -> Option<Location> {
        let location = self.known.reference(logical);
        (location != UNMAPPED).then_some(Location(location))
    }

    /// Prefetches the entry of `logical`, which will soon be looked up; see [`Pairs::prefetch`].
    #[inline]
    pub fn prefetch(&self, logical: LogicalPage) {
        self.known.prefetch(logical);
    }

    /// Maps `logical` to `location`. Returns the old location.
    #[inline]
    pub fn set(&mut self, logical: LogicalPage, location: Location) -> Option<Location> {
        let old = self.known.set_reference(logical, location.0);
        self.mapped += u32::from(old == UNMAPPED);
        (old != UNMAPPED).then_some(Location(old))
    }

    /// Unmaps `logical`. Returns the old location.
    pub fn clear(&mut self, logical: LogicalPage) -> Option<Location> {
        let old = self.known.set_reference(logical, UNMAPPED);
        self.mapped -= u32::from(old != UNMAPPED);
        (old != UNMAPPED).then_some(Location(old))
    }

    /// Unmaps all pages. The versions that the host wrote stay.
    pub fn unmap_all(&mut self) {
        self.known.ids().for_each(|logical| _ = self.known.set_reference(logical, UNMAPPED));
        self.mapped = 0;
    }

    /// Sets the version that the host wrote last. `present` is false if it was discarded since.
    pub fn set_last_written(&mut self, logical: LogicalPage, last: u32, present: bool) {
        self.known.change_count(logical, |_| last << 1 | if present { PRESENT } else { 0 });
    }

    /// Number of versions of `logical` so far.
    pub fn versions(&self, logical: LogicalPage) -> u32 {
        self.known.count(logical) >> 1
    }

    /// Number of mapped logical pages.
    pub fn mapped(&self) -> u32 {
        self.mapped
    }

    /// Number of logical pages.
    pub fn len(&self) -> u32 {
        self.known.len() as u32
    }

    /// Whether there are no logical pages.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Records a host write of `logical`. Returns the new version.
    #[inline]
    pub fn written(&mut self, logical: LogicalPage) -> u32 {
        self.known.change_count(logical, |count| (count | PRESENT) + 2) >> 1
    }

    /// Records a host discard of `logical`.
    pub fn discarded(&mut self, logical: LogicalPage) {
        self.known.change_count(logical, |count| count & !PRESENT);
    }

    /// Version that the host wrote last; `None` if there is nothing to read.
    #[inline]
    pub fn last_written(&self, logical: LogicalPage) -> Option<u32> {
        let count = self.known.count(logical);
        (count & PRESENT != 0).then_some(count >> 1)
    }
}
