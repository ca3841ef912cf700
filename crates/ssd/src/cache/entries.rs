//! Entries of the write buffer and their progress towards flash, which the writer reports.

use wordline_kernel::Instant;
use wordline_nand::DataTag;

use super::buffer::{Entry, EntryId, EntryState};
use super::{Cache, Round};
use crate::base::Base;
use crate::command::RequestId;
use crate::map::LogicalPage;
use crate::sectors::Sectors;

/// A complete page that waits for its program unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) page: LogicalPage,
    pub(crate) stream: u8,
    /// Whether it must not wait for others.
    pub(crate) urgent: bool,
}

/// A page whose program begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BegunProgram {
    pub(crate) page: LogicalPage,
    /// The data tag to program; none if the page was discarded meanwhile: its entry is freed then.
    pub(crate) stamp: Option<DataTag>,
    /// Whether it had to be programmed without waiting for others.
    pub(crate) was_urgent: bool,
}

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

    /// Dirty entries.
    #[inline]
    pub(crate) fn dirty(&self) -> u32 {
        self.buffer.dirty()
    }

    /// Entries that wait for data or a lookup before they are complete, counted one by one.
    pub(crate) fn filling(&self) -> u32 {
        self.buffer.used().filter(|entry| entry.state == EntryState::AwaitingRmw).count() as u32
    }

    /// Whether there is space for another page.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.buffer.has_room()
    }

    /// The entry that became dirty first, among the dirty ones.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<EntryId> {
        self.buffer.oldest()
    }

    /// The entry that the eviction policy destages next; there is one.
    #[inline]
    pub(crate) fn next_to_destage(&mut self) -> EntryId {
        self.buffer.next_to_destage()
    }

    /// Begins to destage an entry.
    #[inline]
    pub(crate) fn unlink(&mut self, id: EntryId) {
        self.buffer.unlink(id);
    }

    /// Notes that the host read an entry.
    #[inline]
    pub(crate) fn touch(&mut self, id: EntryId) {
        self.buffer.touch(id);
    }

    /// Lets a request wait until the current version of an entry is in flash.
    #[inline]
    pub(crate) fn wait(&mut self, id: EntryId, request: RequestId) {
        self.buffer.wait(id, request);
    }

    /// Calls `f` for each request that waits for this version of an entry, or an older one.
    #[inline]
    pub(crate) fn each_waiter(&self, id: EntryId, version: u32, f: impl FnMut(RequestId)) {
        self.buffer.each_waiter(id, version, f);
    }

    /// This version of an entry is in flash: its waiters wake. Returns whether the entry is dirty again,
    /// because it was written meanwhile; otherwise it is freed.
    #[inline]
    pub(crate) fn programmed(&mut self, id: EntryId, version: u32) -> bool {
        self.buffer.programmed(id, version, &mut self.wake)
    }

    /// The program of an entry failed: it is as before.
    pub(crate) fn program_failed(&mut self, id: EntryId) {
        self.buffer.program_failed(id);
    }

    /// Frees a discarded entry: its waiters wake.
    #[inline]
    pub(crate) fn drop_entry(&mut self, id: EntryId) {
        self.buffer.drop_entry(id, &mut self.wake);
    }

    /// Prefetches the lookup of a page.
    #[inline]
    pub(crate) fn prefetch(&self, page: LogicalPage) {
        self.buffer.prefetch(page);
    }

    /// Begins the next flush epoch for later writes. Returns the ended epoch, unless nothing of it or of
    /// older ones is left.
    pub(crate) fn end_epoch(&mut self) -> Option<u64> {
        self.buffer.end_epoch()
    }

    /// Begins a round that destages the current pages of the buffer; none if it is empty.
    pub(crate) fn begin_round(&mut self, now: Instant, base: &Base) -> Option<Round> {
        Round::begin(&mut self.buffer, now, base)
    }

    /// Whether the occupancy is above the watermark, with this many entries being programmed, and the limit
    /// of pages on their way to a program unit is not reached.
    #[inline]
    pub(crate) fn is_too_full(&mut self, programming: u32) -> bool {
        let not_programming = self.buffer.in_use() - programming;
        let on_the_way = not_programming - self.buffer.dirty();
        let full = self.buffer.waiting_sectors().unwrap_or(not_programming);
        self.marks.is_exceeded(full) && on_the_way < self.marks.most
    }

    /// Makes an entry urgent; returns whether it was already.
    #[inline]
    pub(crate) fn force(&mut self, id: EntryId) -> bool {
        std::mem::replace(&mut self.buffer.get_mut(id).urgent, true)
    }

    /// An entry begins to wait before it is complete: for the location of its page, its RMW read, or other
    /// pages of its unit.
    #[inline]
    pub(crate) fn begin_completing(&mut self, id: EntryId) {
        self.buffer.get_mut(id).state = EntryState::AwaitingRmw;
    }

    /// This many RMW reads of its page are queued.
    #[inline]
    pub(crate) fn await_reads(&mut self, id: EntryId, reads: u32) {
        self.buffer.get_mut(id).fills = reads as u8;
    }

    /// One of them has ended; whether it was the last.
    #[inline]
    pub(crate) fn finish_read(&mut self, id: EntryId) -> bool {
        let entry = self.buffer.get_mut(id);
        entry.fills -= 1;
        entry.fills == 0
    }

    /// Sets the write stream of an entry.
    #[inline]
    pub(crate) fn set_stream(&mut self, id: EntryId, stream: u8) {
        self.buffer.get_mut(id).stream = stream;
    }

    /// An entry is complete, and ready for a program unit.
    #[inline]
    pub(crate) fn completed(&mut self, id: EntryId, base: &Base) -> Ready {
        let drained = self.is_drained(id);
        let entry = self.buffer.get_mut(id);
        entry.urgent |= drained;
        entry.state = EntryState::Ready;
        entry.sectors = if entry.discarded { Sectors::NONE } else { base.full_page() };
        Ready { page: entry.logical, stream: entry.stream, urgent: entry.urgent }
    }

    /// A complete entry is ready again for another program unit.
    #[inline]
    pub(crate) fn return_to_ready(&mut self, id: EntryId) {
        self.buffer.get_mut(id).state = EntryState::Ready;
    }

    /// Begins the program of an entry.
    #[inline]
    pub(crate) fn begin_program(&mut self, id: EntryId) -> BegunProgram {
        let entry = self.buffer.get_mut(id);
        let was_urgent = std::mem::take(&mut entry.urgent);
        let (page, version) = (entry.logical, entry.version);
        if entry.discarded {
            self.drop_entry(id);
            return BegunProgram { page, stamp: None, was_urgent };
        }
        (entry.state, entry.void) = (EntryState::Programming, false);
        BegunProgram { page, stamp: Some(DataTag { logical: page.0, version }), was_urgent }
    }

    /// The program of this version of an entry is done; returns whether its page is mapped there now, because
    /// it was not discarded since the program began.
    #[inline]
    pub(crate) fn mark_programmed(&mut self, id: EntryId, version: u32) -> bool {
        let entry = self.buffer.get_mut(id);
        if !entry.void {
            entry.flash_version = version;
        }
        !entry.void
    }
}
