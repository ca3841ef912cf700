//! Entries of the write buffer, and their progress towards flash, which the writer reports.

use wordline_flash::RequestId;
use wordline_ftl::Sectors;
use wordline_ftl::map::LogicalPage;
use wordline_kernel::Instant;
use wordline_nand::DataTag;

use super::buffer::{EntryId, EntryState};
use super::{Cache, Round};
use crate::config::Config;

/// A complete page that waits for its program unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    pub(crate) page: LogicalPage,
    pub(crate) stream: u8,
    /// Whether it must not wait for other pages to fill its program unit.
    pub(crate) urgent: bool,
}

/// A page whose program begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BegunProgram {
    pub(crate) page: LogicalPage,
    /// Data tag to program. `None` if the page was discarded meanwhile; its entry is then freed.
    pub(crate) stamp: Option<DataTag>,
    /// Whether the page was urgent, so that it did not wait for other pages.
    pub(crate) was_urgent: bool,
}

impl Cache {
    /// The entry that the eviction policy destages next. There must be one.
    #[inline]
    pub(crate) fn next_to_destage(&mut self) -> EntryId {
        self.buffer.next_to_destage()
    }

    /// Begins to destage an entry.
    #[inline]
    pub(crate) fn unlink(&mut self, id: EntryId) {
        self.buffer.unlink(id);
    }

    /// Records that the host read an entry.
    #[inline]
    pub(crate) fn touch(&mut self, id: EntryId) {
        self.buffer.touch(id);
    }

    /// Makes a request wait until the current version of an entry is in flash.
    #[inline]
    pub(crate) fn wait(&mut self, id: EntryId, request: RequestId) {
        self.buffer.wait(id, request);
    }

    /// Records that this version of an entry is in flash, and wakes its waiters. If the host has overwritten
    /// the page meanwhile, the entry is dirty again and the call returns true. Otherwise the entry is freed.
    #[inline]
    pub(crate) fn programmed(&mut self, id: EntryId, version: u32) -> bool {
        self.buffer.programmed(id, version, &mut self.waiting.wake)
    }

    /// Records that the program of an entry failed, so that its data are only in the buffer.
    pub(crate) fn program_failed(&mut self, id: EntryId) {
        self.buffer.program_failed(id);
    }

    /// Frees a discarded entry, and wakes its waiters.
    #[inline]
    pub(crate) fn drop_entry(&mut self, id: EntryId) {
        self.buffer.drop_entry(id, &mut self.waiting.wake);
    }

    /// Begins the next flush epoch for later writes. Returns the ended epoch; `None` if no page of it or of
    /// older epochs is left.
    pub(crate) fn end_epoch(&mut self) -> Option<u64> {
        self.buffer.end_epoch()
    }

    /// Begins a round that destages the current pages of the buffer; `None` if it is empty.
    pub(crate) fn begin_round(&mut self, now: Instant, config: &Config) -> Option<Round> {
        Round::begin(&mut self.buffer, now, config)
    }

    /// Whether pages must be destaged: the occupancy is above the watermark and the limit of pages in transit
    /// is not reached. `programming` entries are being programmed.
    #[inline]
    pub(crate) fn is_too_full(&mut self, programming: u32) -> bool {
        let not_programming = self.buffer.in_use() - programming;
        let on_the_way = not_programming - self.buffer.dirty();
        let full = self.buffer.waiting_sectors().unwrap_or(not_programming);
        self.marks.is_exceeded(full) && on_the_way < self.marks.most
    }

    /// Makes an entry urgent. Returns whether it was urgent before.
    #[inline]
    pub(crate) fn force(&mut self, id: EntryId) -> bool {
        std::mem::replace(&mut self.buffer.get_mut(id).urgent, true)
    }

    /// Records that an entry waits for completion: for the location of its page, for its RMW read, or for
    /// other pages of its unit.
    #[inline]
    pub(crate) fn begin_completing(&mut self, id: EntryId) {
        self.buffer.get_mut(id).state = EntryState::AwaitingRmw;
    }

    /// Sets the number of RMW reads that are queued for an entry.
    #[inline]
    pub(crate) fn await_reads(&mut self, id: EntryId, reads: u32) {
        self.buffer.get_mut(id).fills = reads as u8;
    }

    /// Records the end of an RMW read. Returns whether it was the last one of the entry.
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

    /// Records that an entry is complete, so that it can join a program unit.
    #[inline]
    pub(crate) fn completed(&mut self, id: EntryId) -> Ready {
        let drained = self.is_drained(id);
        let entry = self.buffer.get_mut(id);
        entry.urgent |= drained;
        entry.state = EntryState::Ready;
        entry.sectors = if entry.discarded { Sectors::NONE } else { self.page_size.full() };
        Ready { page: entry.logical, stream: entry.stream, urgent: entry.urgent }
    }

    /// Makes an entry ready for another program unit.
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

    /// Records that this version of an entry is programmed. Returns whether the page is mapped to it now,
    /// because it was not discarded since the program began.
    #[inline]
    pub(crate) fn mark_programmed(&mut self, id: EntryId, version: u32) -> bool {
        let entry = self.buffer.get_mut(id);
        if !entry.void {
            entry.flash_version = version;
        }
        !entry.void
    }
}
