//! The newest versions of all pages: the L2P map, and the ring with the pages that are not in flash yet.

use wordline_device::PhysicalDevice;
use wordline_nand::DataTag;

use super::flash::Flash;
use super::l2p::{L2pMap, PageLocation};
use super::layout::{Layout, Page, Ppa};
use super::lines::Lines;
use super::ring::{Origin, Progress, Ring, page_of};

/// The L2P map and the ring that it points to.
pub(super) struct Buffer {
    pub(super) map: L2pMap,
    pub(super) ring: Ring,
}

impl Buffer {
    pub(super) fn new(layout: &Layout) -> Self {
        Self { map: L2pMap::new(layout.pages), ring: Ring::new(layout) }
    }

    /// The newest copy of a page in flash.
    #[inline]
    fn durable(&self, page: Page) -> Ppa {
        match self.map.get(page) {
            PageLocation::Unmapped => Ppa::NONE,
            PageLocation::Flash(place) => place,
            PageLocation::Ring(index) => self.ring.at(index).durable,
        }
    }

    /// Writes a new version of a page to the ring, which must have space. Returns the version.
    #[inline]
    pub(super) fn write(&mut self, page: Page) -> u32 {
        let version = self.map.next_version(page);
        let durable = self.durable(page);
        let index = self.ring.push(DataTag { logical: page.0, version }, Origin::Host, durable);
        self.map.set(page, PageLocation::Ring(index));
        version
    }

    /// Unmaps a page. As in pblk, a power cut may bring its data back. Returns whether the page was mapped.
    pub(super) fn trim(&mut self, page: Page, lines: &mut Lines) -> bool {
        if self.map.get(page) == PageLocation::Unmapped {
            return false;
        }
        let durable = self.durable(page);
        if durable != Ppa::NONE {
            lines.invalidate(durable);
        }
        self.map.set(page, PageLocation::Unmapped);
        true
    }

    /// Whether a location has the newest version of a page that is in flash. A ring entry may have a newer
    /// one.
    #[inline]
    pub(super) fn is_newest_in_flash(&self, page: Page, place: Ppa) -> bool {
        match self.map.get(page) {
            PageLocation::Unmapped => false,
            PageLocation::Flash(newest) => newest == place,
            PageLocation::Ring(index) => {
                self.ring.at(index).place == place && self.ring.at(index).durable == place
            }
        }
    }

    /// Inserts a page that GC read from this location into the ring, which must have space, unless the page
    /// has a newer version.
    #[inline]
    pub(super) fn relocate(&mut self, place: Ppa, stamp: DataTag) {
        let page = page_of(stamp);
        if self.is_newest_in_flash(page, place) {
            let index = self.ring.push(stamp, Origin::Collector, place);
            self.map.set(page, PageLocation::Ring(index));
        }
    }

    /// Makes space in the ring for this many entries. Returns false if too few old entries are in flash and
    /// readable there.
    pub(super) fn make_space<D: PhysicalDevice>(&mut self, entries: u32, flash: &Flash<D>) -> bool {
        if !self.ring.can_accept(entries) {
            return false;
        }
        while !self.ring.has_space(entries) {
            if !self.evict_oldest(flash) {
                return false;
            }
        }
        true
    }

    /// Evicts the oldest entry from the ring if it is in flash and readable there. Returns whether it did.
    pub(super) fn evict_oldest<D: PhysicalDevice>(&mut self, flash: &Flash<D>) -> bool {
        let Some((index, entry)) = self.ring.oldest_synced() else { return false };
        let (page, place) = (page_of(entry.stamp), entry.place);
        // Otherwise the page has a newer version, or is unmapped.
        if self.map.get(page) == PageLocation::Ring(index) {
            if !flash.can_read(place) {
                return false;
            }
            self.map.set(page, PageLocation::Flash(place));
        }
        self.ring.pop();
        true
    }

    /// Syncs entries that are in flash, in order. Their pages are mapped to flash from then on.
    #[inline]
    pub(super) fn sync(&mut self, lines: &mut Lines) {
        while let Some(entry) = self.ring.sync() {
            if entry.progress == Progress::Dropped {
                continue;
            }
            lines.drop_pending(entry.place);
            lines.set_content(entry.place, entry.stamp);
            // The page may have been discarded after the write began.
            if let PageLocation::Ring(newest) = self.map.get(page_of(entry.stamp)) {
                let old = std::mem::replace(&mut self.ring.at_mut(newest).durable, entry.place);
                if old != Ppa::NONE {
                    lines.invalidate(old);
                }
                lines.validate(entry.place);
            }
        }
    }
}
