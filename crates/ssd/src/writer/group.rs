//! A group: what one program writes to a row. A part of it is in the buffer; where an extent is written as a whole, the rest was read
//! from wherever it is. Groups of pages of tables are stamps alone.

use serde::{Deserialize, Serialize};
use wordline_nand::{Location, Stamp};

use crate::cache::buffer::{EntryId, NONE};

/// The pages of one program of a row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Group {
    /// The entry of the buffer at each place, up to the last that has one.
    entries: Vec<EntryId>,
    /// The stamp that is written to each place.
    pub(super) stamps: Vec<Stamp>,
    /// The sub-request of which this is the whole extent, each page at its place; none for pages that go wherever there is room.
    pub(super) extent: Option<u32>,
    /// The valid pages beside those that are replaced, where a word line is programmed again.
    pub(super) kept: Vec<(Location, Stamp)>,
}

/// Pages in a group.
pub(crate) struct Counted {
    /// Those of the host.
    pub(crate) host: u64,
    /// Those that are written because others of their unit are.
    pub(crate) carried: u64,
    /// All of them.
    pub(crate) data: u64,
}

impl Group {
    /// A page of the buffer goes to the next place.
    #[inline]
    pub(super) fn push(&mut self, id: EntryId, stamp: Stamp) {
        self.entries.push(id);
        self.stamps.push(stamp);
    }

    /// Puts a page that flash holds already, or padding, into the next place.
    pub(super) fn carry(&mut self, stamp: Stamp) {
        self.push(NONE, stamp);
    }

    /// Fills it with padding, up to this many places.
    pub(super) fn pad(&mut self, places: usize) {
        debug_assert!(self.stamps.len() <= places, "{} pages in {places} places", self.stamps.len());
        self.stamps.resize(places, Stamp::PADDING);
    }

    /// The entries of the buffer in it.
    #[inline]
    pub(crate) fn entries(&self) -> impl Iterator<Item = EntryId> + '_ {
        self.entries.iter().copied().filter(|id| *id != NONE)
    }

    /// The entries in it with the versions of them that are written.
    pub(crate) fn versions(&self) -> impl Iterator<Item = (EntryId, u32)> + '_ {
        let written = self.entries.iter().copied().zip(self.stamps.iter().map(|stamp| stamp.version));
        written.filter(|(id, _)| *id != NONE)
    }

    /// How many entries are in it.
    #[inline]
    pub(super) fn brought(&self) -> u32 {
        self.entries().count() as u32
    }

    /// The page at a place, if there is one: what is written, and the entry that brings it.
    #[inline]
    pub(super) fn page(&self, place: usize) -> Option<(Stamp, Option<EntryId>)> {
        let stamp = self.stamps[place];
        let id = self.entries.get(place).copied().filter(|id| *id != NONE);
        stamp.is_data().then_some((stamp, id))
    }

    /// Whether what was loaded can be a group: its entries are `programmed`, nobody brings a page that is not written, and all are of the
    /// first `pages`.
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

    /// Its pages: the host's, those that are written with them, and all, those of tables too.
    pub(crate) fn counted(&self) -> Counted {
        let data = self.stamps.iter().filter(|stamp| stamp.is_data()).count() as u64;
        let host = u64::from(self.brought());
        Counted { host, carried: data - host, data }
    }

    /// The pages in it that go to its pool alone: no entry brings them, and they are no part of an extent.
    pub(super) fn moved_stamps(&self) -> impl Iterator<Item = Stamp> + '_ {
        let alone = self.entries.iter().zip(&self.stamps).filter(|(id, _)| **id == NONE);
        alone.filter(|_| self.extent.is_none()).map(|(_, stamp)| *stamp)
    }

    /// How many these are.
    pub(super) fn moved(&self) -> u32 {
        self.moved_stamps().count() as u32
    }

    /// Its program is over.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.stamps.clear();
        self.extent = None;
        self.kept.clear();
    }
}
