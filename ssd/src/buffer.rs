//! The DRAM buffer: written pages that wait to be programmed, merge with what is written over them, and answer reads.
//!
//! An entry goes from *dirty* (in a list, oldest first) to *filling* (the rest of a partly written page is read from
//! flash) to *ready* to *programming*, and is gone when the program is done, unless it was written again meanwhile.

use std::collections::VecDeque;

use wordline_kernel::LookupTable;

use crate::Sectors;
use crate::ftl::mapping::LogicalPage;

/// Number of an entry.
pub type EntryId = u32;

/// No entry, no waiter.
pub const NONE: u32 = u32::MAX;

/// Where an entry is on its way to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// Not in use.
    Free,
    /// Waiting in the list.
    Dirty,
    /// Waiting for the rest of the page from flash.
    Filling,
    /// Complete, waiting for a program unit.
    Ready,
    /// Being programmed.
    Programming,
}

/// A page in the buffer.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Which page.
    pub logical: LogicalPage,
    /// Its version in the buffer.
    pub version: u32,
    /// The version that flash holds, when the mapping points there.
    pub flash_version: u32,
    /// Which sectors the host wrote.
    pub sectors: Sectors,
    /// Where it is on its way to flash.
    pub state: EntryState,
    /// Reads under way for the rest of the page.
    pub fills: u8,
    /// The stream that the host named when it wrote the page last; 0 for none.
    pub tag: u8,
    /// The write stream that it goes to, once it is ready.
    pub stream: u8,
    /// Written again while it was being programmed.
    pub again: bool,
    /// Discarded while it was on its way to flash.
    pub discarded: bool,
    /// Discarded since its present program began, so that what is programmed is void.
    pub void: bool,
    /// Must not wait in the list: forced unit access, write-through, or a flush that covers it.
    pub urgent: bool,
    /// The flush epoch in which it became dirty.
    epoch: u64,
    /// The flush epoch in which it was written again.
    again_epoch: u64,
    next: EntryId,
    previous: EntryId,
    /// Requests that wait for it to be in flash.
    waiters: u32,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    request: u32,
    version: u32,
    next: u32,
}

/// The buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    entries: Vec<Entry>,
    free: Vec<EntryId>,
    index: LookupTable,
    oldest: EntryId,
    newest: EntryId,
    dirty: u32,
    waiters: Vec<Waiter>,
    free_waiters: Vec<u32>,
    epochs: Epochs,
}

/// Counts the entries of each flush epoch that are not in flash yet. A flush ends the current epoch and is done when
/// no older entry is left.
#[derive(Clone, Debug)]
struct Epochs {
    first: u64,
    pending: VecDeque<u32>,
}

impl Epochs {
    fn current(&self) -> u64 {
        self.first + self.pending.len() as u64 - 1
    }

    fn count(&mut self, epoch: u64) -> &mut u32 {
        &mut self.pending[(epoch - self.first) as usize]
    }

    /// Forgets the oldest epochs that are over and empty.
    fn trim(&mut self) {
        while self.pending.len() > 1 && self.pending[0] == 0 {
            self.pending.pop_front();
            self.first += 1;
        }
    }
}

impl Buffer {
    /// A buffer for `pages` pages.
    pub fn new(pages: u32) -> Self {
        let free = Entry {
            logical: LogicalPage(0),
            version: 0,
            flash_version: 0,
            sectors: Sectors::NONE,
            state: EntryState::Free,
            fills: 0,
            tag: 0,
            stream: 0,
            again: false,
            discarded: false,
            void: false,
            urgent: false,
            epoch: 0,
            again_epoch: 0,
            next: NONE,
            previous: NONE,
            waiters: NONE,
        };
        Self {
            entries: vec![free; pages as usize],
            free: (0..pages).rev().collect(),
            index: LookupTable::with_capacity(pages as usize),
            oldest: NONE,
            newest: NONE,
            dirty: 0,
            waiters: Vec::with_capacity(pages as usize),
            free_waiters: Vec::with_capacity(pages as usize),
            epochs: Epochs { first: 0, pending: VecDeque::from([0]) },
        }
    }

    /// The entry of a page.
    #[inline]
    pub fn find(&self, logical: LogicalPage) -> Option<EntryId> {
        self.index.get(logical.0)
    }

    /// An entry.
    #[inline]
    pub fn get(&self, id: EntryId) -> &Entry {
        &self.entries[id as usize]
    }

    /// An entry, to be changed.
    #[inline]
    pub fn get_mut(&mut self, id: EntryId) -> &mut Entry {
        &mut self.entries[id as usize]
    }

    /// Whether there is room for another page.
    #[inline]
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Pages that wait in the list.
    #[inline]
    pub fn dirty(&self) -> u32 {
        self.dirty
    }

    /// Pages in use.
    pub fn in_use(&self) -> u32 {
        (self.entries.len() - self.free.len()) as u32
    }

    /// The entry that became dirty first.
    #[inline]
    pub fn oldest(&self) -> Option<EntryId> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Adds a page; there must be room.
    pub fn add(
        &mut self,
        logical: LogicalPage,
        version: u32,
        flash_version: u32,
        sectors: Sectors,
    ) -> EntryId {
        let id = self.free.pop().expect("the caller saw that there is room");
        let epoch = self.epochs.current();
        *self.epochs.count(epoch) += 1;
        self.entries[id as usize] = Entry {
            logical,
            version,
            flash_version,
            sectors,
            state: EntryState::Dirty,
            fills: 0,
            tag: 0,
            stream: 0,
            again: false,
            discarded: false,
            void: false,
            urgent: false,
            epoch,
            again_epoch: epoch,
            next: NONE,
            previous: NONE,
            waiters: NONE,
        };
        self.index.insert(logical.0, id);
        self.link(id);
        id
    }

    /// Writes into a page that is in the buffer already.
    pub fn rewrite(&mut self, id: EntryId, version: u32, sectors: Sectors) {
        let current = self.epochs.current();
        let entry = &mut self.entries[id as usize];
        entry.version = version;
        entry.sectors = if entry.discarded { sectors } else { entry.sectors.and(sectors) };
        entry.discarded = false;
        if entry.state == EntryState::Programming && !entry.again {
            entry.again = true;
            entry.again_epoch = current;
            *self.epochs.count(current) += 1;
        }
    }

    fn link(&mut self, id: EntryId) {
        let newest = std::mem::replace(&mut self.newest, id);
        let entry = &mut self.entries[id as usize];
        entry.previous = newest;
        entry.next = NONE;
        if newest == NONE {
            self.oldest = id;
        } else {
            self.entries[newest as usize].next = id;
        }
        self.dirty += 1;
    }

    /// Takes a dirty entry out of the list.
    pub fn unlink(&mut self, id: EntryId) {
        let Entry { next, previous, .. } = self.entries[id as usize];
        match previous {
            NONE => self.oldest = next,
            other => self.entries[other as usize].next = next,
        }
        match next {
            NONE => self.newest = previous,
            other => self.entries[other as usize].previous = previous,
        }
        self.dirty -= 1;
    }

    /// Notes that version `version` of an entry is in flash; the requests that waited for it go to `wake`. The entry
    /// becomes dirty again if it was written meanwhile, else it is free. True if it became dirty.
    pub fn programmed(&mut self, id: EntryId, version: u32, wake: &mut Vec<u32>) -> bool {
        self.wake(id, version, wake);
        let entry = &mut self.entries[id as usize];
        let epoch = std::mem::replace(&mut entry.epoch, entry.again_epoch);
        let again = std::mem::take(&mut entry.again);
        *self.epochs.count(epoch) -= 1;
        self.epochs.trim();
        if again {
            self.entries[id as usize].state = EntryState::Dirty;
            self.link(id);
        } else {
            self.release(id);
        }
        again
    }

    /// Notes that an entry, which was being programmed, is in the buffer alone still. What was written into it meanwhile
    /// goes to flash with it.
    pub fn program_failed(&mut self, id: EntryId) {
        let entry = &mut self.entries[id as usize];
        if std::mem::take(&mut entry.again) {
            let epoch = entry.again_epoch;
            *self.epochs.count(epoch) -= 1;
            self.epochs.trim();
        }
    }

    /// Forgets an entry that is in no list, because its page was discarded. Its waiters go to `wake`.
    pub fn drop_entry(&mut self, id: EntryId, wake: &mut Vec<u32>) {
        self.wake(id, u32::MAX, wake);
        let epoch = self.entries[id as usize].epoch;
        *self.epochs.count(epoch) -= 1;
        self.epochs.trim();
        self.release(id);
    }

    fn release(&mut self, id: EntryId) {
        let entry = &mut self.entries[id as usize];
        debug_assert_eq!(entry.waiters, NONE, "nobody waits for a page that is gone");
        entry.state = EntryState::Free;
        self.index.remove(entry.logical.0);
        self.free.push(id);
    }

    /// Lets `request` wait until the present version of the entry is in flash.
    pub fn wait(&mut self, id: EntryId, request: u32) {
        let entry = &mut self.entries[id as usize];
        let waiter = Waiter { request, version: entry.version, next: entry.waiters };
        entry.waiters = match self.free_waiters.pop() {
            Some(free) => {
                self.waiters[free as usize] = waiter;
                free
            }
            None => {
                self.waiters.push(waiter);
                self.waiters.len() as u32 - 1
            }
        };
    }

    /// Nobody waits for anything any more: the device has answered everybody.
    pub fn forget_waiters(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.waiters = NONE);
        self.waiters.clear();
        self.free_waiters.clear();
    }

    /// Calls `f` for each request that waits for version `version` of the entry or an older one.
    pub fn each_waiter(&self, id: EntryId, version: u32, mut f: impl FnMut(u32)) {
        let mut at = self.entries[id as usize].waiters;
        while at != NONE {
            let waiter = self.waiters[at as usize];
            if waiter.version <= version {
                f(waiter.request);
            }
            at = waiter.next;
        }
    }

    fn wake(&mut self, id: EntryId, version: u32, wake: &mut Vec<u32>) {
        let mut at = std::mem::replace(&mut self.entries[id as usize].waiters, NONE);
        while at != NONE {
            let waiter = self.waiters[at as usize];
            if waiter.version <= version {
                wake.push(waiter.request);
                self.free_waiters.push(at);
            } else {
                self.waiters[at as usize].next = self.entries[id as usize].waiters;
                self.entries[id as usize].waiters = at;
            }
            at = waiter.next;
        }
    }

    /// Ends the flush epoch; returns it if entries of it or of an older one are not in flash yet.
    pub fn end_epoch(&mut self) -> Option<u64> {
        if self.in_use() == 0 {
            return None;
        }
        let ended = self.epochs.current();
        self.epochs.pending.push_back(0);
        self.epochs.trim();
        (self.epochs.first <= ended).then_some(ended)
    }

    /// Whether every entry of `epoch` and older ones is in flash.
    pub fn is_flushed(&self, epoch: u64) -> bool {
        self.epochs.first > epoch
    }

    /// The flush epoch of an entry.
    pub fn epoch(&self, id: EntryId) -> u64 {
        self.entries[id as usize].epoch
    }

    /// All entries in use, for checks and tests.
    pub fn used(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.state != EntryState::Free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_is_done_when_older_entries_are_in_flash() {
        let mut buffer = Buffer::new(4);
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
    fn a_page_written_again_while_it_is_programmed_becomes_dirty_again() {
        let mut buffer = Buffer::new(2);
        let mut wake = Vec::new();
        let id = buffer.add(LogicalPage(9), 1, 0, Sectors::range(0, 1));
        buffer.wait(id, 77);
        buffer.unlink(id);
        buffer.get_mut(id).state = EntryState::Programming;
        buffer.rewrite(id, 2, Sectors::range(1, 2));
        buffer.wait(id, 78);
        assert!(buffer.programmed(id, 1, &mut wake));
        assert_eq!((wake.as_slice(), buffer.dirty()), ([77].as_slice(), 1));
        buffer.unlink(id);
        assert!(!buffer.programmed(id, 2, &mut wake));
        assert_eq!((wake.as_slice(), buffer.find(LogicalPage(9))), ([77, 78].as_slice(), None));
    }
}
