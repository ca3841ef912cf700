//! A program unit: the pages of one program of a plane group. Some are in the buffer; where a unit is written
//! as a whole, the others were read from wherever they are. Units of table pages have data tags only.

use serde::{Deserialize, Serialize};
use wordline_nand::{DataTag, Location};

use crate::cache::buffer::{EntryId, NONE};

/// The pages of one program of a plane group.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ProgramUnit {
    /// The buffer entry of each page of the program unit, up to the last page that has one.
    entries: Vec<EntryId>,
    /// The data tag of each page.
    pub(super) stamps: Vec<DataTag>,
    /// The sub-request of which this is the whole unit, each page at its offset; none for pages that go
    /// anywhere.
    pub(super) extent: Option<u32>,
    /// The valid pages of reprogrammed word lines beside the replaced ones.
    pub(super) kept: Vec<(Location, DataTag)>,
}

/// Counts of pages in a program unit.
pub(crate) struct PageCounts {
    /// Host pages.
    pub(crate) host: u64,
    /// Pages written because others of their unit are.
    pub(crate) carried: u64,
    /// All data pages.
    pub(crate) data: u64,
}

impl ProgramUnit {
    /// Appends a page of the buffer.
    #[inline]
    pub(super) fn push(&mut self, id: EntryId, stamp: DataTag) {
        self.entries.push(id);
        self.stamps.push(stamp);
    }

    /// Appends a page that flash already has, or padding.
    pub(super) fn carry(&mut self, stamp: DataTag) {
        self.push(NONE, stamp);
    }

    /// Pads the program unit to this many pages.
    pub(super) fn pad(&mut self, places: usize) {
        debug_assert!(self.stamps.len() <= places, "{} pages in {places} places", self.stamps.len());
        self.stamps.resize(places, DataTag::PADDING);
    }

    /// The buffer entries in the program unit.
    #[inline]
    pub(crate) fn entries(&self) -> impl Iterator<Item = EntryId> + '_ {
        self.entries.iter().copied().filter(|id| *id != NONE)
    }

    /// The entries in the program unit with the versions that are written.
    pub(crate) fn versions(&self) -> impl Iterator<Item = (EntryId, u32)> + '_ {
        let written = self.entries.iter().copied().zip(self.stamps.iter().map(|stamp| stamp.version));
        written.filter(|(id, _)| *id != NONE)
    }

    /// Number of entries in the program unit.
    #[inline]
    pub(super) fn entry_count(&self) -> u32 {
        self.entries().count() as u32
    }

    /// The page at an index, if it has data: its data tag, and its buffer entry.
    #[inline]
    pub(super) fn page(&self, place: usize) -> Option<(DataTag, Option<EntryId>)> {
        let stamp = self.stamps[place];
        let id = self.entries.get(place).copied().filter(|id| *id != NONE);
        stamp.is_data().then_some((stamp, id))
    }

    /// Whether a loaded program unit is possible: its entries are `programmed`, no entry belongs to an
    /// unwritten page, and all pages are among the first `pages`.
    pub(super) fn is_possible(&self, programmed: impl Fn(EntryId) -> bool, pages: u32) -> bool {
        let stamps = self.stamps.iter().chain(self.kept.iter().map(|(_, stamp)| stamp));
        self.entries.len() <= self.stamps.len()
            && self.entries().all(programmed)
            && stamps.filter(|stamp| stamp.is_data()).all(|stamp| stamp.logical < pages)
    }

    /// Whether nothing is to be written.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.stamps.is_empty()
    }

    /// Counts the pages: of the host, written with them, and all, including table pages.
    pub(crate) fn count_pages(&self) -> PageCounts {
        let data = self.stamps.iter().filter(|stamp| stamp.is_data()).count() as u64;
        let host = u64::from(self.entry_count());
        PageCounts { host, carried: data - host, data }
    }

    /// Relocated pages in the program unit that go to another pool: they have no entry and are not part of a
    /// unit.
    pub(super) fn relocated_tags(&self) -> impl Iterator<Item = DataTag> + '_ {
        let alone = self.entries.iter().zip(&self.stamps).filter(|(id, _)| **id == NONE);
        alone.filter(|_| self.extent.is_none()).map(|(_, stamp)| *stamp)
    }

    /// Number of these pages.
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
