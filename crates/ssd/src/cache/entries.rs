//! Entries of the write buffer, for those who move them on towards flash.

use super::Cache;
use super::buffer::{Entry, EntryId};
use crate::command::RequestId;
use crate::map::LogicalPage;

impl Cache {
    /// The entry of a page that is in the buffer.
    #[inline]
    pub(crate) fn find(&self, page: LogicalPage) -> Option<EntryId> {
        self.buffer.find(page)
    }

    /// An entry.
    #[inline]
    pub(crate) fn entry(&self, id: EntryId) -> &Entry {
        self.buffer.get(id)
    }

    /// An entry, to be changed.
    #[inline]
    pub(crate) fn entry_mut(&mut self, id: EntryId) -> &mut Entry {
        self.buffer.get_mut(id)
    }

    /// The flush epoch in which an entry was written.
    #[inline]
    pub(crate) fn epoch(&self, id: EntryId) -> u64 {
        self.buffer.epoch(id)
    }

    /// Entries in use.
    #[inline]
    pub(crate) fn in_use(&self) -> u32 {
        self.buffer.in_use()
    }

    /// Entries that have not begun to leave.
    #[inline]
    pub(crate) fn dirty(&self) -> u32 {
        self.buffer.dirty()
    }

    /// Whether another page finds room.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.buffer.has_room()
    }

    /// The entry that became dirty first of those that have not begun to leave.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<EntryId> {
        self.buffer.oldest()
    }

    /// The entry that leaves next by the eviction policy; there is one.
    #[inline]
    pub(crate) fn next_out(&mut self) -> EntryId {
        self.buffer.next_out()
    }

    /// An entry begins to leave.
    #[inline]
    pub(crate) fn unlink(&mut self, id: EntryId) {
        self.buffer.unlink(id);
    }

    /// The host read an entry.
    #[inline]
    pub(crate) fn touch(&mut self, id: EntryId) {
        self.buffer.touch(id);
    }

    /// A request waits until an entry is in flash as it is now.
    #[inline]
    pub(crate) fn wait(&mut self, id: EntryId, request: RequestId) {
        self.buffer.wait(id, request);
    }

    /// Tells of the requests that wait for this version of an entry, or an older one.
    #[inline]
    pub(crate) fn each_waiter(&self, id: EntryId, version: u32, f: impl FnMut(RequestId)) {
        self.buffer.each_waiter(id, version, f);
    }

    /// This version of an entry is in flash: whoever waited for it wakes. Whether the entry is dirty again, for it was written
    /// meanwhile; else it is gone.
    #[inline]
    pub(crate) fn programmed(&mut self, id: EntryId, version: u32) -> bool {
        self.buffer.programmed(id, version, &mut self.wake)
    }

    /// The program of an entry failed: it is as it was before.
    pub(crate) fn program_failed(&mut self, id: EntryId) {
        self.buffer.program_failed(id);
    }

    /// An entry that was discarded leaves: whoever waited for it wakes.
    #[inline]
    pub(crate) fn drop_entry(&mut self, id: EntryId) {
        self.buffer.drop_entry(id, &mut self.wake);
    }

    /// Asks for what is looked up of a page.
    #[inline]
    pub(crate) fn prefetch(&self, page: LogicalPage) {
        self.buffer.prefetch(page);
    }

    /// What is written from now on belongs to the next flush epoch; the epoch that ends, unless nothing of it or of older
    /// ones is left.
    pub(crate) fn end_epoch(&mut self) -> Option<u64> {
        self.buffer.end_epoch()
    }

    /// Whether more is in the buffer than may stay there, where so many entries are being programmed, and no more is on
    /// its way to a program unit than may be.
    #[inline]
    pub(crate) fn is_too_full(&mut self, programming: u32) -> bool {
        let not_programming = self.buffer.in_use() - programming;
        let on_the_way = not_programming - self.buffer.dirty();
        let full = self.buffer.waiting_sectors().unwrap_or(not_programming);
        self.marks.are_passed(full) && on_the_way < self.marks.most
    }
}
