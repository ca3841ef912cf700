//! The L2P map: location and newest version of each logical page.

use wordline_kernel::{Column, state};

use super::layout::{Page, Ppa};

/// Location of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageLocation {
    /// Never written, or discarded since.
    Unmapped,
    /// In this entry of the ring.
    Ring(u32),
    /// In flash.
    Flash(Ppa),
}

/// Bit of a map word that marks a ring entry. Locations are smaller than this bit.
const IN_RING: u32 = 1 << 31;
const UNMAPPED: u32 = u32::MAX;

/// The L2P map, one word for each logical page, as in pblk.
pub(super) struct L2pMap {
    words: Column<Page, u32>,
    versions: Column<Page, u32>,
}

state!(L2pMap { parts { words, versions } });

impl L2pMap {
    pub(super) fn new(pages: u32) -> Self {
        Self { words: Column::filled(pages as usize, UNMAPPED), versions: Column::filled(pages as usize, 0) }
    }

    pub(super) fn pages(&self) -> u32 {
        self.words.len() as u32
    }

    #[inline]
    pub(super) fn get(&self, page: Page) -> PageLocation {
        match self.words[page] {
            UNMAPPED => PageLocation::Unmapped,
            word if word & IN_RING != 0 => PageLocation::Ring(word & !IN_RING),
            word => PageLocation::Flash(Ppa(word)),
        }
    }

    /// Prefetches the entries of a page.
    #[inline]
    pub(super) fn prefetch(&self, page: Page) {
        self.words.prefetch(page);
        self.versions.prefetch(page);
    }

    #[inline]
    pub(super) fn set(&mut self, page: Page, address: PageLocation) {
        self.words[page] = match address {
            PageLocation::Unmapped => UNMAPPED,
            PageLocation::Ring(index) => index | IN_RING,
            PageLocation::Flash(place) => place.0,
        };
    }

    #[inline]
    pub(super) fn version(&self, page: Page) -> u32 {
        self.versions[page]
    }

    /// The number for a new version of a page.
    #[inline]
    pub(super) fn next_version(&mut self, page: Page) -> u32 {
        self.versions[page] += 1;
        self.versions[page]
    }

    /// Maps a page to the location where the recovery found this version.
    pub(super) fn found(&mut self, page: Page, version: u32, place: Ppa) {
        self.set(page, PageLocation::Flash(place));
        self.versions[page] = version;
    }

    /// Unmaps all pages.
    pub(super) fn forget(&mut self) {
        self.words.fill(UNMAPPED);
        self.versions.fill(0);
    }

    /// All pages with their locations.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Page, PageLocation)> {
        self.words.ids().map(|page| (page, self.get(page)))
    }
}
