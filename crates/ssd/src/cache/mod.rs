//! Host data in DRAM: the write buffer and the read cache, and the requests that wait for either.

pub mod buffer;
pub mod config;
mod destage;
mod entries;
pub mod protection;
pub mod read_ahead;
pub mod read_cache;
mod reads;
mod waiting;
mod watermarks;
mod writes;

use serde::{Deserialize, Serialize};
use wordline_device::{Command, Operation};
use wordline_flash::{Class, Flash, RequestId, Ticket};
use wordline_ftl::ActivePolicies;
use wordline_ftl::blocks::BlockManager;
use wordline_ftl::map::{LogicalPage, Map, MapCache};
use wordline_ftl::policy::event::BufferOccupancy;
use wordline_ftl::{PageSize, Sectors};
use wordline_kernel::ensure::ensure;
use wordline_kernel::{Instant, Schedule, state};

use crate::cache::buffer::{Buffer, EntryId};
use crate::cache::read_ahead::ReadAhead;
use crate::cache::read_cache::ReadCache;
use crate::config::{BufferMode, Config};
use crate::event::Event;
use crate::policy::destage::Destage;
use crate::policy::eviction::Eviction;
use destage::Destaging;
use waiting::WaitingRequests;
use watermarks::Watermarks;

pub(crate) use destage::Round;
pub(crate) use entries::{BegunProgram, Ready};
pub(crate) use reads::Cached;

/// A page of the buffer that survived a power cut.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct SavedPage {
    logical: LogicalPage,
    version: u32,
    sectors: Sectors,
}

/// Written pages that are not in flash yet, pages that were read, and the requests that wait for either.
pub(crate) struct Cache {
    buffer: Buffer,
    page_size: PageSize,
    /// Whether writes to a page of the buffer coalesce.
    coalesces: bool,
    marks: Watermarks,
    /// `None` if no page is destaged as soon as it is written.
    destage: Option<Box<Destaging>>,
    read: ReadCache,
    ahead: ReadAhead,
    waiting: WaitingRequests,
    /// Pages of the buffer that survived the last power cut.
    saved: Vec<SavedPage>,
}

state!(Cache of {
    Self { buffer, page_size: _, coalesces: _, marks, destage, read, ahead, waiting, saved },
    WaitingRequests { stalled, flushes, wake, drain } = waiting,
} {
    values { ahead, stalled, flushes, wake, drain, saved }
    parts { buffer, marks, destage, read }
});

impl Cache {
    /// Empty buffers.
    pub(crate) fn new(config: &Config, policies: [Box<dyn Eviction>; 2], destage: Box<dyn Destage>) -> Self {
        let [eviction, read_eviction] = policies;
        Self {
            buffer: new_buffer(config, eviction),
            page_size: PageSize::new(&config.ftl),
            coalesces: config.file.buffer.mode != BufferMode::Off,
            marks: Watermarks::new(config),
            destage: Destaging::of(config, destage),
            read: ReadCache::new(config.cache_pages.min(config.ftl.logical_pages), read_eviction),
            ahead: ReadAhead::new(config.file.buffer.read_ahead),
            waiting: WaitingRequests::default(),
            saved: Vec::new(),
        }
    }

    /// Drops everything after a power cut.
    pub(crate) fn forget(&mut self, config: &Config) {
        self.buffer.forget();
        self.read.forget_all();
        self.ahead = ReadAhead::new(config.file.buffer.read_ahead);
        self.marks = Watermarks::new(config);
        if let Some(destage) = &mut self.destage {
            destage.forget();
        }
        self.waiting.forget();
    }

    /// The write buffer.
    #[inline]
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// The read cache.
    #[inline]
    pub(crate) fn read_cache(&self) -> &ReadCache {
        &self.read
    }

    /// Read-ahead into the read cache.
    #[inline]
    pub(crate) fn ahead(&self) -> &ReadAhead {
        &self.ahead
    }

    /// Requests that wait for the buffer.
    #[inline]
    pub(crate) fn waiting(&self) -> &WaitingRequests {
        &self.waiting
    }

    /// Version of a logical page that a read would find now, counted from 1 with each host write. `None` if
    /// the page has no data.
    pub(crate) fn version(&self, page: LogicalPage, map: &Map, flash: &Flash) -> Option<u32> {
        match self.buffer.find(page) {
            Some(id) => Some(self.buffer.get(id)).filter(|entry| !entry.discarded).map(|entry| entry.version),
            None => map.get(page).map(|at| flash.stamp(at).version),
        }
    }

    /// Whether a page needs no RMW read, because the buffer has all of it or flash has none of it.
    #[inline]
    pub(crate) fn is_complete(&self, id: EntryId, map: &Map) -> bool {
        let entry = self.buffer.get(id);
        entry.sectors == self.page_size.full() || map.get(entry.logical).is_none()
    }

    /// Prefetches the lookups for the next two pages to destage. For the second it is the location; for the
    /// first it is the data tag, if the rest of the page must be read.
    #[inline]
    pub(crate) fn prefetch_destage(&self, map: &Map, blocks: &BlockManager, flash: &Flash) {
        let Some(first) = self.buffer.oldest() else { return };
        if let Some(second) = self.buffer.prefetch_lookups(first) {
            map.prefetch(self.buffer.get(second).logical);
        }
        let entry = self.buffer.get(first);
        if entry.sectors != self.page_size.full() {
            map.prefetch_read(entry.logical, blocks, flash);
        }
    }

    /// Occupancy of the write buffer.
    #[inline]
    pub(crate) fn level(&self) -> BufferOccupancy {
        match self.buffer.sectors() {
            None => BufferOccupancy { used: self.buffer.in_use(), capacity: self.buffer.pages() },
            Some((taken, room)) => {
                let per_page = self.page_size.sectors() as u32;
                BufferOccupancy { used: taken.div_ceil(per_page), capacity: room / per_page }
            }
        }
    }

    /// Whether a flush requires that an entry is destaged at once.
    pub(crate) fn is_drained(&self, id: EntryId) -> bool {
        self.waiting.is_drained(|| self.buffer.epoch(id))
    }

    /// Stalls a write until there is buffer space.
    pub(crate) fn stall(&mut self, id: RequestId) {
        self.waiting.stalled.push_back(id);
    }

    /// Removes the write that has been stalled for the longest time.
    pub(crate) fn end_first_stall(&mut self) {
        self.waiting.stalled.pop_front();
    }

    /// Makes a flush command wait until all entries up to an epoch are in flash. They are destaged at once.
    pub(crate) fn flush(&mut self, epoch: u64, id: RequestId) {
        self.waiting.drain = Some(epoch);
        self.waiting.flushes.push_back((epoch, id));
    }

    /// Destages entries up to an epoch at once.
    pub(crate) fn drain_to(&mut self, epoch: u64) {
        self.waiting.drain = self.waiting.drain.max(Some(epoch));
    }

    /// Forgets all requests that wait for buffer entries.
    pub(crate) fn forget_waiters(&mut self) {
        self.buffer.forget_waiters();
        self.waiting.forget_waiters();
    }

    /// Text with the occupancy of the buffer and what waits for it.
    pub(crate) fn describe(&self, config: &Config) -> String {
        format!(
            "buffer: {} of {} pages in use, {} in the list; {} writes stalled; drains to {:?}, flush commands wait for {:?}\n",
            self.buffer.in_use(),
            config.buffer_pages,
            self.buffer.dirty(),
            self.waiting.stalled(),
            self.waiting.drain,
            self.waiting.flushes,
        )
    }

    /// Checks that the read cache has the last version of each of its pages, and none that is also in the
    /// write buffer. Panics otherwise.
    pub(crate) fn audit(&self, map: &Map) {
        for page in self.read.pages() {
            let (logical, version) = (page.logical, Some(page.version));
            assert_eq!(version, map.last_written(logical), "the cache has the latest version");
            assert!(
                self.buffer.find(logical).is_none(),
                "a page is in the read cache or in the write buffer"
            );
        }
    }

    /// Lengths of the lists that follow from the configuration.
    pub(crate) fn shape(&self) -> [usize; 2] {
        self.buffer.shape()
    }

    /// Checks a loaded state: the pages must agree with the map, and the waiting requests must be `known`.
    pub(crate) fn check_loaded(
        &self,
        map: &Map,
        known: impl Fn(RequestId) -> bool + Copy,
    ) -> Result<(), String> {
        self.buffer.check_loaded(map.pages(), known)?;
        let is_last = |page, version| map.last_written(page) == Some(version);
        self.read.check_loaded(map.pages(), known, |page, version| {
            self.buffer.find(page).is_none() && is_last(page, version)
        })?;
        for entry in self.buffer.used() {
            ensure(entry.discarded || is_last(entry.logical, entry.version), || {
                format!("the buffer holds version {} of page {}", entry.version, entry.logical.0)
            })?;
        }
        self.waiting.check_loaded(known)
    }

    /// Checks that a read will find the expected version of each page, once the map is known. It is the last
    /// version that the host wrote or, for a page in the buffer, the flash version that its entry records.
    pub(crate) fn check_versions(&self, host_pages: u32, map: &Map, flash: &Flash) -> Result<(), String> {
        for page in (0..host_pages).map(LogicalPage) {
            let (written, entry) = (map.last_written(page), self.buffer.find(page));
            let Some(found) = map.version_in_flash(page, flash) else {
                let is_missed = written.is_some() && entry.is_none() && !map.is_lost(page);
                ensure(!is_missed, || format!("page {} was written and is nowhere", page.0))?;
                continue;
            };
            let wanted = entry.map_or(written, |id| Some(self.buffer.get(id).flash_version));
            ensure(wanted == Some(found), || {
                format!("version {found} of page {} is in flash, wanted {wanted:?}", page.0)
            })?;
        }
        Ok(())
    }

    /// Takes the next woken request.
    pub(crate) fn next_woken(&mut self) -> Option<RequestId> {
        self.waiting.next_woken(&self.buffer)
    }

    /// Prefetches lookups for the first pages of the next two host commands. For the later command it is the
    /// location; for the next one it is the data tag. Changes nothing.
    #[inline]
    pub(crate) fn prefetch_lookups(
        &self,
        [next, later]: [Option<&Command>; 2],
        map: &Map,
        blocks: &BlockManager,
        flash: &Flash,
    ) {
        if let Some(command) = later {
            let (first, _) = self.page_size.pages_of(command);
            map.prefetch(LogicalPage(first));
            self.buffer.prefetch(LogicalPage(first));
        }
        if let Some(command) = next
            && command.operation == Operation::Read
        {
            let (first, _) = self.page_size.pages_of(command);
            map.prefetch_read(LogicalPage(first), blocks, flash);
        }
    }

    /// Whether a host command waits until the entry is in flash.
    pub(crate) fn has_waiters(&self, id: EntryId) -> bool {
        self.waiting.has_waiters(id, &self.buffer)
    }

    /// Scheduling class of reads for an entry that is being destaged.
    #[inline]
    pub(crate) fn class_of_reads_for(&self, id: EntryId) -> Class {
        if self.has_waiters(id) { Class::Read } else { Class::Background }
    }

    /// Promotes the RMW reads of an entry, because the host waits for it.
    #[inline]
    pub(crate) fn promote_rmw_reads(
        &self,
        id: EntryId,
        map_cache: &MapCache,
        flash: &mut Flash,
        policies: &ActivePolicies,
        calendar: &mut impl Schedule<Event>,
    ) {
        if flash.has_background() {
            let fill = Ticket::Rmw(id.0);
            let table = map_cache.ticket_of_table(self.buffer.get(id).logical);
            let tickets = [fill, table.unwrap_or(fill)];
            flash.promote(&tickets, policies, &mut calendar.within(Event::Flash));
        }
    }

    /// Whether a page that the host wrote is destaged at once.
    pub(crate) fn is_destaged_at_once(&mut self, page: LogicalPage, now: Instant) -> bool {
        self.destage.as_mut().is_some_and(|at_once| at_once.written(page, now))
    }

    /// Whether a write of `page` must wait, because it would be destaged at once and the limit of pages in
    /// transit is reached.
    #[inline(never)]
    pub(crate) fn must_wait_for_destage(&self, page: LogicalPage, now: Instant) -> bool {
        self.destage.as_ref().is_some_and(|at_once| at_once.must_wait(page, self.buffer.in_transit(), now))
    }

    /// Whether some pages are destaged as soon as they are written.
    #[inline]
    pub(crate) fn destages_at_once(&self) -> bool {
        self.destage.is_some()
    }

    /// Saves the data in a protected buffer at a power cut.
    pub(crate) fn save_buffer(&mut self) {
        let written = self.buffer.used().filter(|entry| !entry.discarded);
        self.saved.extend(written.map(|entry| SavedPage {
            logical: entry.logical,
            version: entry.version,
            sectors: entry.sectors,
        }));
    }

    /// Restores the saved entries of the buffer, except those that had reached flash. Returns the number of
    /// pages restored.
    pub(crate) fn restore_buffer(&mut self, map: &mut Map, flash: &Flash) -> u64 {
        let mut restored = 0;
        for SavedPage { logical, version, sectors } in std::mem::take(&mut self.saved) {
            let in_flash = map.get(logical).map_or(0, |location| flash.stamp(location).version);
            if in_flash < version {
                self.buffer.add(logical, version, in_flash, sectors);
                map.set_last_written(logical, version, true);
                restored += 1;
            }
        }
        restored
    }

    /// Forgets the copy of a lost page in the read cache. Returns the sectors of the page in the write buffer;
    /// `None` if it is not there.
    pub(crate) fn lose(&mut self, page: LogicalPage) -> Option<Sectors> {
        self.read.forget(page);
        let kept = self.buffer.find(page).map(|id| self.buffer.get(id));
        kept.filter(|entry| !entry.discarded).map(|entry| entry.sectors)
    }
}

/// A new write buffer. It has no more entries than the device has pages, whatever its configured size.
fn new_buffer(config: &Config, eviction: Box<dyn Eviction>) -> Buffer {
    Buffer::with_sector_capacity(
        config.buffer_pages.min(config.ftl.logical_pages),
        config.file.buffer.room(),
        eviction,
    )
}
