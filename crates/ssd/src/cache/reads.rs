//! Reads from DRAM: hits in the read cache, pages that are kept, and read-ahead; and the contents that a read would
//! find, for data verification.

use wordline_device::content::{Content, NOTHING, ZEROES};
use wordline_device::{Command, SECTOR};
use wordline_flash::{Class, Flash, RequestId, Task, Ticket};
use wordline_ftl::contents::Contents;
use wordline_ftl::map::{LogicalPage, Map};
use wordline_ftl::totals::Totals;
use wordline_ftl::{Ftl, LocationRead, Piece, Sectors, WantedSectors};
use wordline_kernel::{Duration, Schedule};
use wordline_nand::{PageId, Pool, Pools};

use crate::cache::Cache;
use crate::cache::buffer::EntryId;
use crate::event::Event;

/// Result of a read cache lookup for a piece of a page.
pub(crate) enum Cached {
    /// The cache has all sectors.
    Hit,
    /// The sectors are being fetched; the request waits for them.
    Pending,
}

impl Cache {
    /// Looks for a piece of a page that is not in the write buffer. If the cache has all of the piece, or is
    /// fetching it, the request needs no read of its own. The request gets the data at once, or when the page
    /// has been fetched.
    #[inline]
    pub(crate) fn find_cached(
        &mut self,
        id: RequestId,
        piece: Piece,
        map: &Map,
        totals: &mut Totals,
    ) -> Option<Cached> {
        if self.read.is_on() { self.find_in_cache(id, piece, map, totals) } else { None }
    }

    fn find_in_cache(
        &mut self,
        id: RequestId,
        piece: Piece,
        map: &Map,
        totals: &mut Totals,
    ) -> Option<Cached> {
        let entry = self.read.find(piece.page)?;
        let cached = *self.read.get(entry);
        if !cached.sectors.covers(piece.sectors()) {
            return None;
        }
        let wanted = map.last_written(piece.page);
        assert_eq!(Some(cached.version), wanted, "page {} in the read cache", piece.page.0);
        totals.read_cache_hits += 1;
        totals.read_ahead_used += u64::from(self.read.touch(entry));
        if !self.read.is_fetching(entry) {
            return Some(Cached::Hit);
        }
        self.read.wait(entry, id);
        Some(Cached::Pending)
    }

    /// Checks that an RMW read found the version that the host wrote last, unless the host has discarded the
    /// page meanwhile.
    #[inline]
    pub(crate) fn check_fill(
        &self,
        id: EntryId,
        read: &Task,
        flash: &Flash,
        contents: Option<&mut Contents>,
    ) {
        let entry = self.buffer.get(id);
        if !entry.discarded && !entry.void {
            flash.check_read(read);
        }
        if let Some(contents) = contents {
            contents.filled(LogicalPage(read.wanted.logical), read.wanted.version);
        }
    }

    /// Keeps data that the host read from flash, unless the host has overwritten or discarded them meanwhile.
    pub(crate) fn keep_read(&mut self, command: &Command, read: &Task, pools: &Pools, map: &Map) {
        let logical = LogicalPage(read.wanted.logical);
        let is_last = map.last_written(logical) == Some(read.wanted.version);
        if is_last && self.buffer.find(logical).is_none() {
            let sectors = sectors_read(self.page_size.piece(command, logical.0), read.page, read, pools);
            self.read.keep(logical, read.wanted.version, sectors);
        }
    }

    /// Keeps a page that leaves the write buffer because it is in flash.
    pub(crate) fn keep_programmed(&mut self, logical: LogicalPage, version: u32, map: &Map) {
        if map.last_written(logical) == Some(version) {
            self.read.keep(logical, version, self.page_size.full());
        }
    }

    /// Fetches the pages that reads will request next if they continue a sequential pattern.
    #[inline(never)]
    pub(crate) fn read_ahead(
        &mut self,
        command: &Command,
        ftl: &mut Ftl,
        calendar: &mut impl Schedule<Event>,
    ) {
        let end = command.sector + command.sectors;
        let pages = self.ahead.note(command.sector, end, self.page_size.sectors());
        for page in pages.start..pages.end.min(ftl.config.logical_pages) {
            if !self.fetch_ahead(LogicalPage(page), ftl, calendar) {
                return;
            }
        }
    }

    /// Fetches a page into the read cache if it is only in flash. Returns false if the cache has no space.
    fn fetch_ahead(
        &mut self,
        logical: LogicalPage,
        ftl: &mut Ftl,
        calendar: &mut impl Schedule<Event>,
    ) -> bool {
        let Ftl { totals, flash, blocks, map, map_cache, .. } = ftl;
        let sectors = self.page_size.full();
        if let Some(id) = self.read.find(logical) {
            if self.read.get(id).sectors == sectors {
                return true;
            }
            self.read.forget(logical);
        }
        let (location, version) = (map.get(logical), map.last_written(logical));
        let (Some(location), Some(version), None) = (location, version, self.buffer.find(logical)) else {
            return true;
        };
        // A read-ahead does not read translation pages, because its request has not arrived yet.
        if !map_cache.is_entry_cached(logical) {
            return true;
        }
        let Some(id) = self.read.fetch(logical, version, sectors) else { return false };
        totals.read_ahead_pages += 1;
        let (ticket, class) = (Ticket::Prefetch(id.0), Class::Read);
        let (sectors, waited) = (WantedSectors::Set(sectors), Duration::ZERO);
        let read = LocationRead { ticket, class, location, sectors, logical, version, waited };
        let (die, reads) = read.queue(blocks, flash, calendar.now());
        self.read.set_reads(id, reads);
        flash.start_at_end_of_event(die);
        true
    }

    /// Records the end of a flash read for read-ahead.
    #[inline(never)]
    pub(crate) fn finish_read_ahead(&mut self, id: EntryId) {
        self.read.fetched(id, &mut self.waiting.wake);
    }

    /// Whether the buffer or the read cache has all of a piece, so that its read needs no flash location.
    pub(crate) fn is_buffered(&self, piece: Piece) -> bool {
        let Some(id) = self.buffer.find(piece.page) else {
            return self.read.covers(piece.page, piece.sectors());
        };
        let entry = self.buffer.get(id);
        entry.discarded || entry.sectors.covers(piece.sectors())
    }

    /// Content of a sector of a page that a read would find, in the buffer or in flash.
    pub(crate) fn content_at(
        &self,
        page: LogicalPage,
        sector: u32,
        contents: Option<&Contents>,
        map: &Map,
        flash: &Flash,
    ) -> Content {
        let Some(contents) = contents else { return NOTHING };
        if let Some(entry) = self.buffer.find(page).map(|id| self.buffer.get(id)) {
            if entry.discarded {
                return ZEROES;
            }
            if entry.sectors.covers(Sectors::range(sector, sector + 1)) {
                return contents.in_buffer(page, sector);
            }
        }
        match map.get(page) {
            Some(location) => contents.in_flash(page, flash.stamp(location).version, sector),
            None => ZEROES,
        }
    }
}

/// Sectors of a piece that the read of one flash page transferred.
fn sectors_read(piece: Piece, page: PageId, read: &Task, pools: &Pools) -> Sectors {
    let Pool { geometry, locations, .. } = pools.of_page(page);
    if locations.pages() == 1 {
        return piece.sectors();
    }
    let n = page.0 - locations.page_of(read.location).0;
    let per_page = (geometry.page_size.0 / SECTOR.0) as u32;
    piece.sectors().common(Sectors::range(n * per_page, (n + 1) * per_page))
}
