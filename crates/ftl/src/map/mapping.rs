//! L2P map from logical pages to locations in flash. Also the shadow table, with the versions that the host
//! wrote last.

use wordline_kernel::{Column, id, state, word};
use wordline_nand::Location;

id!(
    /// A logical page: the mapping unit, as large as a [location](wordline_nand::Locations) in flash.
    LogicalPage
);

const UNMAPPED: u32 = u32::MAX;

/// Highest bit of a shadow entry. It is set if the host wrote the page and has not discarded it since.
const PRESENT: u32 = 1 << 31;

/// Entry of a logical page. The location and the shadow entry are looked up together, so they are stored
/// together.
#[derive(Clone, Copy, Debug)]
struct Known {
    location: u32,
    shadow: u32,
}

word!(Known { location: u32, shadow: u32 });

/// For each logical page, its location in flash and, independently, the version that the host wrote last.
#[derive(Clone, Debug)]
pub struct Mapping {
    known: Column<LogicalPage, Known>,
    mapped: u32,
}

state!(Mapping { values { mapped } parts { known } });

impl Mapping {
    /// A map of `pages` logical pages without data.
    pub fn new(pages: u32) -> Self {
        let nothing = Known { location: UNMAPPED, shadow: 0 };
        Self { known: Column::filled(pages as usize, nothing), mapped: 0 }
    }

    /// Location of `logical` in flash; `None` if it is not mapped.
    #[inline]
    pub fn get(&self, logical: LogicalPage) -> Option<Location> {
        let location = self.known[logical].location;
        (location != UNMAPPED).then_some(Location(location))
    }

    /// Prefetches the entry of `logical`, which will soon be looked up; see [`Column::prefetch`].
    #[inline]
    pub fn prefetch(&self, logical: LogicalPage) {
        self.known.prefetch(logical);
    }

    /// Maps `logical` to `location`. Returns the old location.
    #[inline]
    pub fn set(&mut self, logical: LogicalPage, location: Location) -> Option<Location> {
        let old = std::mem::replace(&mut self.known[logical].location, location.0);
        if old == UNMAPPED {
            self.mapped += 1;
            return None;
        }
        Some(Location(old))
    }

    /// Unmaps `logical`. Returns the old location.
    pub fn clear(&mut self, logical: LogicalPage) -> Option<Location> {
        let old = std::mem::replace(&mut self.known[logical].location, UNMAPPED);
        (old != UNMAPPED).then(|| {
            self.mapped -= 1;
            Location(old)
        })
    }

    /// Unmaps all pages. The versions that the host wrote stay.
    pub fn unmap_all(&mut self) {
        self.known.ids().for_each(|logical| self.known[logical].location = UNMAPPED);
        self.mapped = 0;
    }

    /// Sets the version that the host wrote last. `present` is false if it was discarded since.
    pub fn set_last_written(&mut self, logical: LogicalPage, last: u32, present: bool) {
        self.known[logical].shadow = last | if present { PRESENT } else { 0 };
    }

    /// Number of versions of `logical` so far.
    pub fn versions(&self, logical: LogicalPage) -> u32 {
        self.known[logical].shadow & !PRESENT
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
        let shadow = &mut self.known[logical].shadow;
        *shadow = ((*shadow & !PRESENT) + 1) | PRESENT;
        *shadow & !PRESENT
    }

    /// Records a host discard of `logical`.
    pub fn discarded(&mut self, logical: LogicalPage) {
        self.known[logical].shadow &= !PRESENT;
    }

    /// Version that the host wrote last; `None` if there is nothing to read.
    #[inline]
    pub fn last_written(&self, logical: LogicalPage) -> Option<u32> {
        let shadow = self.known[logical].shadow;
        (shadow & PRESENT != 0).then_some(shadow & !PRESENT)
    }
}
