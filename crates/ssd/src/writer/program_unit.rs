//! Program unit: the pages of one program command of a plane group. Host pages have buffer entries. Pages
//! that are programmed with them, relocated pages and table pages have only data tags.

use serde::{Deserialize, Serialize};
use wordline_ftl::recovery::PageCounts;
use wordline_nand::{DataTag, Location};

use crate::cache::buffer::{EntryId, NONE};

/// Pages of one program command of a plane group.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ProgramUnit {
    /// Buffer entry of each page, or `NONE`. May end before `stamps` does.
    entries: Vec<EntryId>,
    /// Data tag of each page.
    pub(super) stamps: Vec<DataTag>,
    /// Sub-request whose whole unit this is, with each page at its offset in the unit. `None` if the pages
    /// are independent.
    pub(super) extent: Option<u32>,
    /// Other valid pages of the word lines that this unit reprograms.
    pub(super) kept: Vec<(Location, DataTag)>,
}

impl ProgramUnit {
    /// Appends a page of the write buffer.
    #[inline]
    pub(super) fn push(&mut self, id: EntryId, stamp: DataTag) {
        self.entries.push(id);
        self.stamps.push(stamp);
    }

    /// Appends a page without a buffer entry, or padding.
    pub(super) fn carry(&mut self, stamp: DataTag) {
        self.push(NONE, stamp);
    }

    /// Pads the program unit to `places` pages.
    pub(super) fn pad(&mut self, places: usize) {
        debug_assert!(self.stamps.len() <= places, "{} pages in {places} places", self.stamps.len());
        self.stamps.resize(places, DataTag::PADDING);
    }

    /// Buffer entries of the program unit.
    #[inline]
    pub(crate) fn entries(&self) -> impl Iterator<Item = EntryId> + '_ {
        self.entries.iter().copied().filter(|id| *id != NONE)
    }

    /// Buffer entries of the program unit, with the versions that are programmed.
    pub(crate) fn versions(&self) -> impl Iterator<Item = (EntryId, u32)> + '_ {
        let written = self.entries.iter().copied().zip(self.stamps.iter().map(|stamp| stamp.version));
        written.filter(|(id, _)| *id != NONE)
    }

    /// Number of buffer entries.
    #[inline]
    pub(super) fn entry_count(&self) -> u32 {
        self.entries().count() as u32
    }

    /// Data tag and buffer entry of the page at an index; `None` for padding.
    #[inline]
    pub(super) fn page(&self, place: usize) -> Option<(DataTag, Option<EntryId>)> {
        let stamp = self.stamps[place];
        let id = self.entries.get(place).copied().filter(|id| *id != NONE);
        stamp.is_data().then_some((stamp, id))
    }

    /// Whether a loaded program unit is possible: its entries are being `programmed`, every entry has a page,
    /// and all logical pages are below `pages`.
    pub(super) fn is_possible(&self, programmed: impl Fn(EntryId) -> bool, pages: u32) -> bool {
        let stamps = self.stamps.iter().chain(self.kept.iter().map(|(_, stamp)| stamp));
        self.entries.len() <= self.stamps.len()
            && self.entries().all(programmed)
            && stamps.filter(|stamp| stamp.is_data()).all(|stamp| stamp.logical < pages)
    }

    /// Whether the program unit has no pages.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.stamps.is_empty()
    }

    /// Counts the pages by kind.
    #[inline]
    pub(crate) fn count_pages(&self) -> PageCounts {
        let data = self.stamps.iter().filter(|stamp| stamp.is_data()).count() as u64;
        let host = u64::from(self.entry_count());
        PageCounts { host, carried: data - host, data }
    }

    /// Relocated pages that migrate to another pool. They have no buffer entry and are not part of a unit.
    pub(super) fn relocated_tags(&self) -> impl Iterator<Item = DataTag> + '_ {
        let alone = self.entries.iter().zip(&self.stamps).filter(|(id, _)| **id == NONE);
        alone.filter(|_| self.extent.is_none()).map(|(_, stamp)| *stamp)
    }

    /// Number of relocated pages that migrate to another pool.
    pub(super) fn relocated_count(&self) -> u32 {
        self.relocated_tags().count() as u32
    }

    /// Clears the program unit after its program.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.stamps.clear();
        self.extent = None;
        self.kept.clear();
    }
}
