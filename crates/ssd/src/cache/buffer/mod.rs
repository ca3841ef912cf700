//! Write buffer: written pages that wait to be programmed. They coalesce with later writes and serve reads.
//!
//! The states of an entry are:
//!
//! * *dirty*: in a list by age, oldest first, and also in the eviction policy's own order;
//! * *awaiting RMW*: the rest of a page that was written in part is read from flash;
//! * *ready*: complete, waiting for a program unit;
//! * *programming*.
//!
//! When its program is done, an entry is freed, unless the host has overwritten the page meanwhile.

pub(super) mod list;
mod loaded;
pub(super) mod waiters;

use serde::{Deserialize, Serialize};
use wordline_device::epochs::Epochs;
use wordline_flash::RequestId;
use wordline_ftl::map::LogicalPage;
use wordline_ftl::{HostWrite, Sectors};
use wordline_kernel::{LookupTable, prefetch, state};

use crate::policy::eviction::{Eviction, Fifo};
use waiters::{NOBODY, Waiters};

pub use list::{EntryId, EntryList, NONE};

/// Progress of an entry towards flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryState {
    /// Not in use.
    Free,
    /// In the list of dirty entries.
    Dirty,
    /// Waiting for the RMW read of the rest of its page.
    AwaitingRmw,
    /// Complete, waiting for a program unit.
    Ready,
    /// Being programmed.
    Programming,
}

/// A page in the buffer.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The logical page.
    pub logical: LogicalPage,
    /// Version in the buffer.
    pub version: u32,
    /// Version in flash; 0 if the page is not mapped there.
    pub flash_version: u32,
    /// Sectors that the host wrote.
    pub sectors: Sectors,
    /// Progress towards flash.
    pub state: EntryState,
    /// Number of RMW reads in progress.
    pub fills: u8,
    /// The last host write to the page.
    pub request: HostWrite,
    /// Stream that the host named; 0 for none.
    pub tag: u8,
    /// Write stream, set when the page is ready.
    pub stream: u8,
    /// Whether the page was written again during its program.
    pub again: bool,
    /// Whether the page was discarded after its destage began.
    pub discarded: bool,
    /// Whether the page was discarded since its current program began, so that the programmed data are
    /// invalid.
    pub void: bool,
    /// Whether the page is destaged without waiting, because of FUA, write-through completion, or a flush.
    pub urgent: bool,
    /// Flush epoch in which the entry became dirty.
    epoch: u64,
    /// Flush epoch in which the entry was written again.
    again_epoch: u64,
    /// Requests that wait until the entry is in flash, as a list head.
    waiters: u32,
    /// Occupancy in sectors; 0 if pages are counted.
    weight: u16,
}

impl Entry {
    /// An unused entry.
    const FREE: Self = Self {
        logical: LogicalPage(0),
        version: 0,
        flash_version: 0,
        sectors: Sectors::NONE,
        state: EntryState::Free,
        fills: 0,
        request: HostWrite { sector: 0, sectors: 0 },
        tag: 0,
        stream: 0,
        again: false,
        discarded: false,
        void: false,
        urgent: false,
        epoch: 0,
        again_epoch: 0,
        waiters: NOBODY,
        weight: 0,
    };
}

/// Smallest occupancy of a page if written sectors are counted: 4 KiB, a page of host memory. Chosen: a
/// smaller value would need as many entries as there are sectors.
pub const MIN_OCCUPANCY: u32 = 8;

/// The write buffer.
pub struct Buffer {
    entries: Vec<Entry>,
    free: Vec<EntryId>,
    index: LookupTable,
    /// Dirty entries. The one that became dirty first is first.
    dirty: EntryList,
    eviction: Box<dyn Eviction>,
    waiters: Waiters,
    epochs: Epochs,
    /// Capacity in sectors; `None` if pages are counted.
    room: Option<u32>,
    /// Number of occupied sectors. `waiting` counts the sectors of dirty entries among them.
    taken: u32,
    waiting: u32,
}

state!(Buffer {
    values { entries, free, index, dirty, waiters, epochs, taken, waiting }
    parts { eviction }
    fixed { room }
});

impl Buffer {
    /// A buffer of `pages` pages, which `eviction` destages in its order.
    pub fn new(pages: u32, eviction: Box<dyn Eviction>) -> Self {
        Self::with_sector_capacity(pages, None, eviction)
    }

    /// A buffer of up to `pages` pages with a capacity of `room` written sectors. Each page counts at least
    /// [`MIN_OCCUPANCY`] sectors. The last page admitted may exceed the capacity.
    pub fn with_sector_capacity(pages: u32, room: Option<u32>, mut eviction: Box<dyn Eviction>) -> Self {
        eviction.prepare(pages);
        Self {
            entries: vec![Entry::FREE; pages as usize],
            free: (0..pages).rev().map(EntryId).collect(),
            index: LookupTable::with_capacity(pages as usize),
            dirty: EntryList::new(pages),
            eviction,
            waiters: Waiters::with_capacity(pages as usize),
            epochs: Epochs::default(),
            room,
            taken: 0,
            waiting: 0,
        }
    }

    /// Drops everything after a power cut.
    pub fn forget(&mut self) {
        let eviction = std::mem::replace(&mut self.eviction, Box::new(Fifo));
        *self = Self::with_sector_capacity(self.entries.len() as u32, self.room, eviction);
    }

    /// Entry of a page; `None` if the page is not in the buffer.
    #[inline]
    pub fn find(&self, logical: LogicalPage) -> Option<EntryId> {
        if self.is_empty() { None } else { self.index.get(logical.0).map(EntryId) }
    }

    /// Prefetches the lookup of `logical`; see [`prefetch`].
    #[inline]
    pub fn prefetch(&self, logical: LogicalPage) {
        if !self.is_empty() {
            self.index.prefetch(logical.0);
        }
    }

    /// Whether no page is in the buffer. The answer needs no access to the page table.
    #[inline]
    fn is_empty(&self) -> bool {
        self.free.len() == self.entries.len()
    }

    /// The entry that became dirty after this one, and is destaged after it. Prefetches the entry after that.
    #[inline]
    pub fn prefetch_lookups(&self, id: EntryId) -> Option<EntryId> {
        let after = self.dirty.after(id)?;
        if let Some(next) = self.dirty.after(after) {
            prefetch(&self.entries[next.0 as usize]);
        }
        Some(after)
    }

    /// An entry.
    #[inline]
    pub fn get(&self, id: EntryId) -> &Entry {
        &self.entries[id.0 as usize]
    }

    /// An entry, mutable.
    #[inline]
    pub fn get_mut(&mut self, id: EntryId) -> &mut Entry {
        &mut self.entries[id.0 as usize]
    }

    /// Whether there is space for another page.
    #[inline]
    pub fn has_room(&self) -> bool {
        !self.free.is_empty() && self.room.is_none_or(|room| self.taken < room)
    }

    /// Occupied sectors and capacity, if sectors are counted.
    #[inline]
    pub fn sectors(&self) -> Option<(u32, u32)> {
        self.room.map(|room| (self.taken, room))
    }

    /// Sectors of dirty entries, if sectors are counted.
    #[inline]
    pub fn waiting_sectors(&self) -> Option<u32> {
        self.room.map(|_| self.waiting)
    }

    /// Number of pages that are being destaged, or of their sectors if sectors are counted.
    #[inline]
    pub fn in_transit(&self) -> u32 {
        match self.room {
            Some(_) => self.taken - self.waiting,
            None => self.in_use() - self.dirty(),
        }
    }

    /// Updates the occupancy of an entry that is dirty or will be.
    #[inline]
    fn update_occupancy(&mut self, id: EntryId) {
        if self.room.is_some() {
            let entry = &mut self.entries[id.0 as usize];
            let before = u32::from(std::mem::replace(&mut entry.weight, occupancy_of(entry.sectors)));
            self.taken = self.taken - before + u32::from(entry.weight);
            if entry.state == EntryState::Dirty {
                self.waiting = self.waiting - before + u32::from(entry.weight);
            }
        }
    }

    /// Number of dirty entries.
    #[inline]
    pub fn dirty(&self) -> u32 {
        self.dirty.len()
    }

    /// Number of entries: the capacity in pages, or more if sectors are counted.
    pub fn pages(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Number of pages in use.
    pub fn in_use(&self) -> u32 {
        (self.entries.len() - self.free.len()) as u32
    }

    /// The entry that became dirty first.
    #[inline]
    pub fn oldest(&self) -> Option<EntryId> {
        self.dirty.first()
    }

    /// The dirty entry that the eviction policy destages next. There must be one.
    #[inline]
    pub fn next_to_destage(&mut self) -> EntryId {
        let id = self.eviction.next(&self.dirty);
        let state = self.entries[id.0 as usize].state;
        assert_eq!(state, EntryState::Dirty, "the eviction policy chose entry {id:?}");
        id
    }

    /// Records that the host read or wrote an entry again.
    #[inline]
    pub fn touch(&mut self, id: EntryId) {
        if self.entries[id.0 as usize].state == EntryState::Dirty {
            self.eviction.used(id);
        }
    }

    /// Adds a page. There must be space.
    pub fn add(
        &mut self,
        logical: LogicalPage,
        version: u32,
        flash_version: u32,
        sectors: Sectors,
    ) -> EntryId {
        let id = self.free.pop().expect("the caller saw that there is room");
        let epoch = self.epochs.enter();
        self.entries[id.0 as usize] = Entry {
            logical,
            version,
            flash_version,
            sectors,
            state: EntryState::Dirty,
            epoch,
            again_epoch: epoch,
            ..Entry::FREE
        };
        self.index.insert(logical.0, id.0);
        self.update_occupancy(id);
        self.dirty.push(id);
        self.eviction.added(id, logical);
        id
    }

    /// Writes to a page that is in the buffer.
    pub fn rewrite(&mut self, id: EntryId, version: u32, sectors: Sectors) {
        let entry = &mut self.entries[id.0 as usize];
        entry.version = version;
        entry.sectors = if entry.discarded { sectors } else { entry.sectors.and(sectors) };
        entry.discarded = false;
        if entry.state == EntryState::Programming && !entry.again {
            entry.again = true;
            entry.again_epoch = self.epochs.enter();
        }
        if entry.state == EntryState::Dirty {
            self.update_occupancy(id);
        }
        self.touch(id);
    }

    /// Removes a dirty entry from the list.
    #[inline]
    pub fn unlink(&mut self, id: EntryId) {
        self.waiting -= u32::from(self.entries[id.0 as usize].weight);
        self.dirty.remove(id);
        self.eviction.removed(id);
    }

    /// Records that version `version` of an entry is in flash. The requests that waited for it go to `wake`.
    /// If the host has overwritten the page meanwhile, the entry is dirty again and the call returns true.
    /// Otherwise the entry is freed.
    pub fn programmed(&mut self, id: EntryId, version: u32, wake: &mut Vec<RequestId>) -> bool {
        self.wake(id, version, wake);
        let entry = &mut self.entries[id.0 as usize];
        let epoch = std::mem::replace(&mut entry.epoch, entry.again_epoch);
        let again = std::mem::take(&mut entry.again);
        self.epochs.leave(epoch);
        if again {
            let entry = &mut self.entries[id.0 as usize];
            entry.state = EntryState::Dirty;
            self.waiting += u32::from(entry.weight);
            let logical = entry.logical;
            self.update_occupancy(id);
            self.dirty.push(id);
            self.eviction.added(id, logical);
        } else {
            self.release(id);
        }
        again
    }

    /// Records that the program of an entry failed, so that its data are only in the buffer. Data written
    /// since then will be programmed with it.
    pub fn program_failed(&mut self, id: EntryId) {
        let entry = &mut self.entries[id.0 as usize];
        if std::mem::take(&mut entry.again) {
            let epoch = entry.again_epoch;
            self.epochs.leave(epoch);
        }
    }

    /// Frees an entry that is in no list, because its page was discarded. Its waiters go to `wake`.
    pub fn drop_entry(&mut self, id: EntryId, wake: &mut Vec<RequestId>) {
        self.wake(id, u32::MAX, wake);
        let epoch = self.entries[id.0 as usize].epoch;
        self.epochs.leave(epoch);
        self.release(id);
    }

    fn release(&mut self, id: EntryId) {
        let entry = &mut self.entries[id.0 as usize];
        debug_assert_eq!(entry.waiters, NOBODY, "nobody waits for a page that is gone");
        entry.state = EntryState::Free;
        self.taken -= u32::from(std::mem::take(&mut entry.weight));
        self.index.remove(entry.logical.0);
        self.free.push(id);
    }

    /// Makes `request` wait until the current version of an entry is in flash.
    pub fn wait(&mut self, id: EntryId, request: RequestId) {
        let entry = &mut self.entries[id.0 as usize];
        self.waiters.add(&mut entry.waiters, request, entry.version);
    }

    /// Whether any request waits for the entry.
    #[inline]
    pub fn has_waiters(&self, id: EntryId) -> bool {
        self.entries[id.0 as usize].waiters != NOBODY
    }

    /// Clears all waiters, because the device has completed all requests.
    pub fn forget_waiters(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.waiters = NOBODY);
        self.waiters.clear();
    }

    /// Calls `f` for each request that waits for version `version` of an entry or an older one.
    pub fn each_waiter(&self, id: EntryId, version: u32, f: impl FnMut(RequestId)) {
        self.waiters.each(self.entries[id.0 as usize].waiters, version, f);
    }

    #[inline]
    fn wake(&mut self, id: EntryId, version: u32, wake: &mut Vec<RequestId>) {
        let waiters = &mut self.entries[id.0 as usize].waiters;
        if *waiters != NOBODY {
            self.waiters.wake(waiters, version, wake);
        }
    }

    /// Ends the flush epoch. Returns it if entries of this or an older epoch are not in flash yet.
    pub fn end_epoch(&mut self) -> Option<u64> {
        if self.in_use() == 0 {
            return None;
        }
        self.epochs.end()
    }

    /// Whether all entries up to `epoch` are in flash.
    pub fn is_flushed(&self, epoch: u64) -> bool {
        self.epochs.is_over(epoch)
    }

    /// The flush epoch of an entry.
    pub fn epoch(&self, id: EntryId) -> u64 {
        self.entries[id.0 as usize].epoch
    }

    /// Entry of a page; `None` if it is not dirty.
    pub fn dirty_entry(&self, page: u32) -> Option<EntryId> {
        self.find(LogicalPage(page)).filter(|id| self.get(*id).state == EntryState::Dirty)
    }

    /// Number of entries that wait for data or a lookup before they are complete. Each call counts them.
    pub fn filling(&self) -> u32 {
        self.used().filter(|entry| entry.state == EntryState::AwaitingRmw).count() as u32
    }

    /// All entries in use, for checks and tests.
    pub fn used(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.state != EntryState::Free)
    }
}

/// Occupancy of a page with these written sectors.
#[inline]
fn occupancy_of(sectors: Sectors) -> u16 {
    sectors.count().max(MIN_OCCUPANCY) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::eviction::Lru;

    #[test]
    fn a_flush_is_done_when_older_entries_are_in_flash() {
        let mut buffer = Buffer::new(4, Box::new(Fifo));
        let mut wake = Vec::new();
        let first = buffer.add(LogicalPage(1), 1, 0, Sectors::range(0, 1));
        let epoch = buffer.end_epoch().expect("an entry is dirty");
        let second = buffer.add(LogicalPage(2), 1, 0, Sectors::range(0, 1));
        buffer.unlink(second);
        buffer.programmed(second, 1, &mut wake);
        assert!(!buffer.is_flushed(epoch));
        buffer.unlink(first);
        buffer.programmed(first, 1, &mut wake);
        assert!(buffer.is_flushed(epoch));
        assert_eq!(buffer.end_epoch(), None);
    }

    #[test]
    fn a_buffer_of_written_sectors_is_full_when_so_many_were_written_whatever_their_pages_are() {
        let mut buffer = Buffer::with_sector_capacity(8, Some(40), Box::new(Fifo));
        let mut wake = Vec::new();
        let first = buffer.add(LogicalPage(1), 1, 0, Sectors::range(0, 16));
        let second = buffer.add(LogicalPage(2), 1, 0, Sectors::range(3, 4));
        assert_eq!((buffer.waiting_sectors(), buffer.has_room()), (Some(16 + 8), true));
        buffer.rewrite(first, 2, Sectors::range(8, 32));
        assert_eq!((buffer.waiting_sectors(), buffer.has_room()), (Some(32 + 8), false));
        // While it is destaged the entry keeps its occupancy. When written again it has the occupancy of the
        // new data.
        buffer.unlink(first);
        buffer.get_mut(first).state = EntryState::Programming;
        assert_eq!((buffer.waiting_sectors(), buffer.has_room()), (Some(8), false));
        buffer.rewrite(first, 3, Sectors::range(40, 48));
        assert!(buffer.programmed(first, 2, &mut wake));
        assert_eq!((buffer.waiting_sectors(), buffer.has_room()), (Some(40 + 8), false));
        buffer.unlink(first);
        buffer.programmed(first, 3, &mut wake);
        assert_eq!((buffer.waiting_sectors(), buffer.has_room()), (Some(8), true));
        buffer.unlink(second);
        buffer.drop_entry(second, &mut wake);
        assert_eq!((buffer.taken, buffer.waiting, buffer.in_use()), (0, 0, 0));
    }

    #[test]
    fn a_buffer_that_lost_its_power_is_as_new() {
        let mut buffer = Buffer::new(2, Box::new(Lru::default()));
        for round in 0..2 {
            let ids = [5, 6].map(|page| buffer.add(LogicalPage(page), 1, 0, Sectors::range(0, 1)));
            buffer.touch(ids[0]);
            assert_eq!((buffer.next_to_destage(), buffer.has_room()), (ids[1], false), "round {round}");
            buffer.forget();
            assert_eq!((buffer.in_use(), buffer.end_epoch(), buffer.find(LogicalPage(5))), (0, None, None));
        }
    }

    #[test]
    fn a_page_written_again_while_it_is_programmed_becomes_dirty_again() {
        let mut buffer = Buffer::new(2, Box::new(Fifo));
        let mut wake = Vec::new();
        let id = buffer.add(LogicalPage(9), 1, 0, Sectors::range(0, 1));
        buffer.wait(id, RequestId(77));
        buffer.unlink(id);
        buffer.get_mut(id).state = EntryState::Programming;
        buffer.rewrite(id, 2, Sectors::range(1, 2));
        buffer.wait(id, RequestId(78));
        assert!(buffer.programmed(id, 1, &mut wake));
        assert_eq!((wake.as_slice(), buffer.dirty()), ([RequestId(77)].as_slice(), 1));
        buffer.unlink(id);
        assert!(!buffer.programmed(id, 2, &mut wake));
        assert_eq!(
            (wake.as_slice(), buffer.find(LogicalPage(9))),
            ([77, 78].map(RequestId).as_slice(), None)
        );
    }
}
