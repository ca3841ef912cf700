//! The read cache at work: what reads find in it, what is kept, and what is fetched ahead.

use wordline_kernel::{Duration, Schedule};
use wordline_nand::{PageId, Pool};

use super::front::Piece;
use super::read::{SlotRead, Wanted};
use super::{Device, Event};
use crate::Command;
use crate::buffer::EntryId;
use crate::command::{RequestId, SECTOR};
use crate::flash::{Class, Task, Ticket};
use crate::ftl::mapping::LogicalPage;
use crate::sectors::Sectors;

/// Where the read cache has a piece of a page.
pub(super) enum Cached {
    /// It is there.
    Here,
    /// It is being fetched: the request that asked waits for it.
    Coming,
}

impl Device {
    /// Looks for a piece of a page that is not in the write buffer. If the cache has all of it, it comes without a read
    /// of its own: at once, or if the request waits for it, once the page is fetched.
    #[inline]
    pub(super) fn cache_has(&mut self, id: RequestId, piece: Piece) -> Option<Cached> {
        if self.cache.is_on() { self.find_in_cache(id, piece) } else { None }
    }

    fn find_in_cache(&mut self, id: RequestId, piece: Piece) -> Option<Cached> {
        let entry = self.cache.find(piece.page)?;
        let cached = *self.cache.get(entry);
        if !cached.sectors.covers(piece.sectors()) {
            return None;
        }
        let wanted = self.mapping.last_written(piece.page);
        assert_eq!(Some(cached.version), wanted, "page {} in the read cache", piece.page.0);
        self.totals.read_cache_hits += 1;
        self.totals.read_ahead_used += u64::from(self.cache.touch(entry));
        if !self.cache.is_coming(entry) {
            return Some(Cached::Here);
        }
        self.cache.wait(entry, id);
        Some(Cached::Coming)
    }

    /// Keeps what the host read from flash, unless it was written or discarded meanwhile.
    pub(super) fn keep_read(&mut self, command: &Command, read: &Task) {
        let logical = LogicalPage(read.wanted.logical);
        let is_last = self.mapping.last_written(logical) == Some(read.wanted.version);
        if is_last && self.buffer.find(logical).is_none() {
            let sectors = self.sectors_read(self.piece(command, logical.0), read.page, read);
            self.cache.keep(logical, read.wanted.version, sectors);
        }
    }

    /// The sectors of a piece that the read of one page moved out of the chip.
    fn sectors_read(&self, piece: Piece, page: PageId, read: &Task) -> Sectors {
        let Pool { geometry, slots, .. } = self.config.pools.of_page(page);
        if slots.pages() == 1 {
            return piece.sectors();
        }
        let n = page.0 - slots.page_of(read.slot).0;
        let per_page = (geometry.page_size.0 / SECTOR.0) as u32;
        piece.sectors().common(Sectors::range(n * per_page, (n + 1) * per_page))
    }

    /// Keeps a page that left the write buffer because it is in flash.
    pub(super) fn keep_programmed(&mut self, logical: LogicalPage, version: u32) {
        if self.mapping.last_written(logical) == Some(version) {
            self.cache.keep(logical, version, self.full_page());
        }
    }

    /// Fetches the pages that reads will ask for next if they go on as they did.
    #[inline(never)]
    pub(super) fn read_ahead(&mut self, command: &Command, calendar: &mut impl Schedule<Event>) {
        let end = command.sector + command.sectors;
        let pages = self.ahead.note(command.sector, end, self.sectors_per_page());
        for page in pages.start..pages.end.min(self.config.logical_pages) {
            if !self.fetch_ahead(LogicalPage(page), calendar) {
                return;
            }
        }
    }

    /// Fetches a page into the read cache if it is only in flash; false if there is no room.
    fn fetch_ahead(&mut self, logical: LogicalPage, calendar: &mut impl Schedule<Event>) -> bool {
        let sectors = self.full_page();
        if let Some(id) = self.cache.find(logical) {
            if self.cache.get(id).sectors == sectors {
                return true;
            }
            self.cache.forget(logical);
        }
        let (slot, version) = (self.mapping.get(logical), self.mapping.last_written(logical));
        let (Some(slot), Some(version), None) = (slot, version, self.buffer.find(logical)) else {
            return true;
        };
        // Translation pages are not read for what nobody asked for yet.
        let known = self.translation.as_mut().is_none_or(|translation| translation.mapper.lookup(logical));
        if !known {
            return true;
        }
        let Some(id) = self.cache.fetch(logical, version, sectors) else { return false };
        self.totals.read_ahead_pages += 1;
        let (ticket, class) = (Ticket::Prefetch(id), Class::Read);
        let (sectors, waited) = (Wanted::Set(sectors), Duration::ZERO);
        let read = SlotRead { ticket, class, slot, sectors, logical, version, waited };
        let (die, reads) = self.queue_read(read, calendar);
        self.cache.set_reads(id, reads);
        self.kick(die, calendar);
        true
    }

    /// A read ahead of the host is done.
    #[inline(never)]
    pub(super) fn fetched_ahead(&mut self, id: EntryId) {
        self.totals.read_ahead_reads += 1;
        self.cache.fetched(id, &mut self.wake);
    }
}
