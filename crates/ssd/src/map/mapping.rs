//! The map from logical units to locations of the flash, and the shadow table that knows what the host last wrote.

use wordline_kernel::{Column, id, state, word};
use wordline_nand::Location;

id!(
    /// A logical page: what is mapped as one, as large as a [location](wordline_nand::Locations) of the flash.
    LogicalPage
);

const UNMAPPED: u32 = u32::MAX;

/// The highest bit of a shadow entry: the host wrote the page and did not discard it since.
const PRESENT: u32 = 1 << 31;

/// The state of a logical page, in one place because all of it is looked up together.
#[derive(Clone, Copy, Debug)]
struct Known {
    location: u32,
    shadow: u32,
}

word!(Known { location: u32, shadow: u32 });

/// Where each logical page is in flash, and, independently, which version of it the host wrote last.
#[derive(Clone, Debug)]
pub struct Mapping {
    known: Column<LogicalPage, Known>,
    mapped: u32,
}

state!(Mapping { values { mapped } parts { known } });

impl Mapping {
    /// A table for `pages` logical pages, none of them written.
    pub fn new(pages: u32) -> Self {
        let nothing = Known { location: UNMAPPED, shadow: 0 };
        Self { known: Column::filled(pages as usize, nothing), mapped: 0 }
    }

    /// Where `logical` is in flash, if it is there.
    #[inline]
    pub fn get(&self, logical: LogicalPage) -> Option<Location> {
        let location = self.known[logical].location;
        (location != UNMAPPED).then_some(Location(location))
    }

    /// `logical` is looked up soon; see [`Column::prefetch`].
    #[inline]
    pub fn prefetch(&self, logical: LogicalPage) {
        self.known.prefetch(logical);
    }

    /// Points `logical` to `location`; returns where it was.
    #[inline]
    pub fn set(&mut self, logical: LogicalPage, location: Location) -> Option<Location> {
        let old = std::mem::replace(&mut self.known[logical].location, location.0);
        if old == UNMAPPED {
            self.mapped += 1;
            return None;
        }
        Some(Location(old))
    }

    /// Forgets where `logical` is; returns where it was.
    pub fn clear(&mut self, logical: LogicalPage) -> Option<Location> {
        let old = std::mem::replace(&mut self.known[logical].location, UNMAPPED);
        (old != UNMAPPED).then(|| {
            self.mapped -= 1;
            Location(old)
        })
    }

    /// Forgets where everything is, but not what the host wrote last.
    pub fn forget_places(&mut self) {
        self.known.ids().for_each(|logical| self.known[logical].location = UNMAPPED);
        self.mapped = 0;
    }

    /// Takes it from here that the host wrote version `last` last, or discarded what it wrote.
    pub fn take_as_written(&mut self, logical: LogicalPage, last: u32, present: bool) {
        self.known[logical].shadow = last | if present { PRESENT } else { 0 };
    }

    /// How many versions of `logical` the device has counted.
    pub fn versions(&self, logical: LogicalPage) -> u32 {
        self.known[logical].shadow & !PRESENT
    }

    /// Logical pages that are in flash.
    pub fn mapped(&self) -> u32 {
        self.mapped
    }

    /// Logical pages in all.
    pub fn len(&self) -> u32 {
        self.known.len() as u32
    }

    /// Whether there are no logical pages.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Notes that the host writes `logical`; returns the new version.
    #[inline]
    pub fn written(&mut self, logical: LogicalPage) -> u32 {
        let shadow = &mut self.known[logical].shadow;
        *shadow = ((*shadow & !PRESENT) + 1) | PRESENT;
        *shadow & !PRESENT
    }

    /// Notes that the host discards `logical`.
    pub fn discarded(&mut self, logical: LogicalPage) {
        self.known[logical].shadow &= !PRESENT;
    }

    /// The version that the host wrote last; `None` if there is nothing to be read.
    #[inline]
    pub fn last_written(&self, logical: LogicalPage) -> Option<u32> {
        let shadow = self.known[logical].shadow;
        (shadow & PRESENT != 0).then_some(shadow & !PRESENT)
    }
}
