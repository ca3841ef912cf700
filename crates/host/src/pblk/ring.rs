//! The write ring buffer: host writes and pages relocated by GC, in order, until they are in flash.
//!
//! The ring has four positions:
//! - Entries from `tail` to `synced` are in flash. They stay until their space is needed, and serve reads,
//!   including reads of data that the device cannot read yet.
//! - Entries from `synced` to `submitted` are being written.
//! - Entries from `submitted` to `head` wait.

use serde::{Deserialize, Serialize};
use wordline_kernel::state;
use wordline_nand::DataTag;

use super::layout::{Layout, Page, Ppa};

/// Flag in the data tag of a page that was unreadable when GC relocated it. The page is lost until it is
/// written again.
pub(super) const LOST: u32 = 1 << 31;

/// The page of a data tag.
#[inline]
pub(super) fn page_of(stamp: DataTag) -> Page {
    Page(stamp.logical & !LOST)
}

/// Writer of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Origin {
    Host,
    Collector,
}

/// Write progress of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Progress {
    /// To be written, for the first time or after a failed write.
    Waits,
    Sent,
    Written,
    /// The write of this entry failed, and its page has a newer version.
    Dropped,
}

/// A logical page in the ring.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) stamp: DataTag,
    pub(super) origin: Origin,
    pub(super) progress: Progress,
    /// The location that the entry is written to.
    pub(super) place: Ppa,
    /// The newest copy of the page in flash, unless a newer ring entry has the page.
    pub(super) durable: Ppa,
}

impl Entry {
    const EMPTY: Self = Self {
        stamp: DataTag::PADDING,
        origin: Origin::Host,
        progress: Progress::Dropped,
        place: Ppa::NONE,
        durable: Ppa::NONE,
    };

    pub(super) fn is_lost(&self) -> bool {
        self.stamp.logical & LOST != 0
    }
}

/// The ring. A position counts all entries since the ring was made. An index is a slot of the ring.
pub(super) struct Ring {
    entries: Vec<Entry>,
    tail: u64,
    synced: u64,
    submitted: u64,
    head: u64,
    /// Entries of the host in the ring.
    of_host: u32,
    /// Entries of GC in the ring.
    of_collector: u32,
    threshold: u32,
}

state!(Ring {
    values { entries, tail, synced, submitted, head, of_host, of_collector }
    fixed { threshold }
});

impl Ring {
    pub(super) fn new(layout: &Layout) -> Self {
        Self {
            entries: vec![Entry::EMPTY; layout.ring as usize],
            tail: 0,
            synced: 0,
            submitted: 0,
            head: 0,
            of_host: 0,
            of_collector: 0,
            threshold: layout.threshold,
        }
    }

    fn mask(&self) -> u64 {
        self.entries.len() as u64 - 1
    }

    #[inline]
    pub(super) fn index(&self, position: u64) -> u32 {
        (position & self.mask()) as u32
    }

    /// The position of the entry at an index.
    pub(super) fn position(&self, index: u32) -> u64 {
        let last = self.head - 1;
        last - (last.wrapping_sub(u64::from(index)) & self.mask())
    }

    #[inline]
    pub(super) fn at(&self, index: u32) -> &Entry {
        &self.entries[index as usize]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, index: u32) -> &mut Entry {
        &mut self.entries[index as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, position: u64) -> &mut Entry {
        let index = self.index(position);
        self.at_mut(index)
    }

    pub(super) fn head(&self) -> u64 {
        self.head
    }

    pub(super) fn synced(&self) -> u64 {
        self.synced
    }

    pub(super) fn submitted(&self) -> u64 {
        self.submitted
    }

    pub(super) fn of(&self, origin: Origin) -> u32 {
        match origin {
            Origin::Host => self.of_host,
            Origin::Collector => self.of_collector,
        }
    }

    /// Entries not yet submitted for the first time.
    #[inline]
    pub(super) fn waiting(&self) -> u32 {
        (self.head - self.submitted) as u32
    }

    /// Entries in use, and how many of them are in flash.
    pub(super) fn lengths(&self) -> (u32, u32) {
        ((self.head - self.tail) as u32, (self.synced - self.tail) as u32)
    }

    /// Whether this many more entries fit beside the entries that are not in flash and the entries that must
    /// stay readable.
    #[inline]
    pub(super) fn can_accept(&self, entries: u32) -> bool {
        let used = self.head - self.synced + u64::from(entries + self.threshold);
        used < self.entries.len() as u64
    }

    /// Whether this many more entries fit without an eviction.
    #[inline]
    pub(super) fn has_space(&self, entries: u32) -> bool {
        self.head - self.tail + u64::from(entries) < self.entries.len() as u64
    }

    /// Appends an entry, for which there must be space. Returns its index.
    #[inline]
    pub(super) fn push(&mut self, stamp: DataTag, origin: Origin, durable: Ppa) -> u32 {
        let index = self.index(self.head);
        self.entries[index as usize] =
            Entry { stamp, origin, progress: Progress::Waits, place: Ppa::NONE, durable };
        self.head += 1;
        match origin {
            Origin::Host => self.of_host += 1,
            Origin::Collector => self.of_collector += 1,
        }
        index
    }

    /// Marks the next new entry as submitted and returns its position.
    #[inline]
    pub(super) fn submit(&mut self) -> Option<u64> {
        if self.submitted == self.head {
            return None;
        }
        self.submitted += 1;
        Some(self.submitted - 1)
    }

    /// Marks the next entry in order as synced and returns it, if it is in flash or superseded.
    #[inline]
    pub(super) fn sync(&mut self) -> Option<Entry> {
        if self.synced == self.submitted {
            return None;
        }
        let entry = *self.at(self.index(self.synced));
        if !matches!(entry.progress, Progress::Written | Progress::Dropped) {
            return None;
        }
        self.synced += 1;
        Some(entry)
    }

    /// The oldest entry in flash, with its index.
    #[inline]
    pub(super) fn oldest_synced(&self) -> Option<(u32, &Entry)> {
        let index = self.index(self.tail);
        (self.tail < self.synced).then(|| (index, self.at(index)))
    }

    /// Evicts the oldest entry.
    #[inline]
    pub(super) fn pop(&mut self) {
        let entry = *self.at(self.index(self.tail));
        self.tail += 1;
        match entry.origin {
            Origin::Host => self.of_host -= 1,
            Origin::Collector => self.of_collector -= 1,
        }
    }

    /// Empties the ring after a power cut.
    pub(super) fn forget(&mut self) {
        (self.tail, self.synced, self.submitted) = (self.head, self.head, self.head);
        (self.of_host, self.of_collector) = (0, 0);
    }

    /// The positions of the entries in use.
    pub(super) fn positions(&self) -> std::ops::Range<u64> {
        self.tail..self.head
    }

    /// Submitted entries that are not synced, without dropped ones.
    pub(super) fn pending(&self) -> u32 {
        let entries = (self.synced..self.submitted).map(|position| self.at(self.index(position)).progress);
        entries.filter(|progress| matches!(progress, Progress::Sent | Progress::Written)).count() as u32
    }

    /// Whether the entry at an index is in use.
    pub(super) fn has(&self, index: u32) -> bool {
        self.head > self.tail && self.positions().contains(&self.position(index))
    }

    /// Number of entries in all.
    pub(super) fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// Checks the order of the positions and the counters of the entries.
    pub(super) fn check(&self) -> Result<(), String> {
        let in_order =
            self.tail <= self.synced && self.synced <= self.submitted && self.submitted <= self.head;
        if !in_order || self.head - self.tail > self.entries.len() as u64 {
            return Err("positions of the ring that are out of order".into());
        }
        let of_host =
            self.positions().filter(|position| self.at(self.index(*position)).origin == Origin::Host);
        let of_host = of_host.count() as u64;
        let of_collector = self.head - self.tail - of_host;
        if (u64::from(self.of_host), u64::from(self.of_collector)) != (of_host, of_collector) {
            return Err("counters of the ring that differ from its entries".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(entries: u32, threshold: u32) -> Ring {
        let of_nothing = Ring {
            entries: vec![Entry::EMPTY; entries as usize],
            tail: 0,
            synced: 0,
            submitted: 0,
            head: 0,
            of_host: 0,
            of_collector: 0,
            threshold,
        };
        of_nothing.check().expect("an empty ring is in order");
        of_nothing
    }

    fn push(ring: &mut Ring, page: u32) -> u32 {
        ring.push(DataTag { logical: page, version: 1 }, Origin::Host, Ppa::NONE)
    }

    #[test]
    fn no_entry_of_an_empty_ring_is_in_use() {
        let mut ring = ring(8, 0);
        assert!(!ring.has(0));
        push(&mut ring, 3);
        assert!(ring.has(0));
    }

    #[test]
    fn entries_are_synced_in_order_whichever_is_written_first() {
        let mut ring = ring(8, 0);
        (0..3).for_each(|page| assert_eq!(push(&mut ring, page), page));
        let positions: Vec<u64> = std::iter::from_fn(|| ring.submit()).collect();
        assert_eq!(positions, [0, 1, 2]);
        ring.get_mut(1).progress = Progress::Written;
        assert!(ring.sync().is_none(), "the first is not written");
        ring.get_mut(0).progress = Progress::Written;
        let synced: Vec<u32> = std::iter::from_fn(|| ring.sync()).map(|entry| entry.stamp.logical).collect();
        assert_eq!(synced, [0, 1]);
    }

    #[test]
    fn an_entry_less_than_there_are_fits() {
        let mut ring = ring(8, 0);
        assert!(ring.can_accept(7) && !ring.can_accept(8));
        (0..7).for_each(|page| _ = push(&mut ring, page));
        assert!(!ring.has_space(1));
    }

    #[test]
    fn what_is_to_stay_readable_takes_room_from_what_is_not_in_flash() {
        let ring = ring(8, 4);
        assert!(ring.can_accept(3) && !ring.can_accept(4));
    }

    #[test]
    fn an_index_is_the_position_of_its_newest_entry() {
        let mut ring = ring(4, 0);
        for page in 0..11 {
            let index = push(&mut ring, page);
            assert_eq!(ring.position(index), u64::from(page));
            if page > 1 {
                assert_eq!(ring.position((index + 3) % 4), u64::from(page) - 1);
            }
            let position = ring.submit().expect("it was just pushed");
            ring.get_mut(position).progress = Progress::Written;
            ring.sync().expect("it is written");
            if page > 1 {
                ring.pop();
            }
            ring.check().expect("it is in order");
        }
    }
}
