//! Read cache: copies of flash pages that were read, programmed, or read ahead.

use serde::{Deserialize, Serialize};
use wordline_flash::RequestId;
use wordline_ftl::Sectors;
use wordline_ftl::map::LogicalPage;
use wordline_kernel::ensure;
use wordline_kernel::ensure::ensure;
use wordline_kernel::{LookupTable, state};

use super::buffer::list::{EntryId, EntryList};
use super::buffer::waiters::{NOBODY, Waiters};
use crate::policy::eviction::{Eviction, Fifo};

/// A page in the read cache.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Cached {
    /// The logical page.
    pub logical: LogicalPage,
    /// Version of the page, which is the last one that the host wrote.
    pub version: u32,
    /// Cached sectors. While the page is being fetched: the sectors that will be cached.
    pub sectors: Sectors,
    /// Number of flash reads that still fetch the page; 0 when it is cached.
    reads: u8,
    /// Whether the page was read ahead and has not been requested yet.
    ahead: bool,
    /// Whether the page was written or discarded while it was fetched. Only reads that already wait for it
    /// use it.
    stale: bool,
    waiters: u32,
}

/// The read cache. A page in the write buffer is never in it.
pub struct ReadCache {
    entries: Vec<Cached>,
    free: Vec<EntryId>,
    index: LookupTable,
    /// Cached pages in the order of arrival.
    here: EntryList,
    eviction: Box<dyn Eviction>,
    waiters: Waiters,
}

state!(ReadCache {
    values { entries, free, index, here, waiters }
    parts { eviction }
});

impl ReadCache {
    /// A cache for `pages` pages; 0 for no cache.
    pub fn new(pages: u32, mut eviction: Box<dyn Eviction>) -> Self {
        eviction.prepare(pages);
        let nothing = Cached {
            logical: LogicalPage(0),
            version: 0,
            sectors: Sectors::NONE,
            reads: 0,
            ahead: false,
            stale: false,
            waiters: NOBODY,
        };
        Self {
            entries: vec![nothing; pages as usize],
            free: (0..pages).rev().map(EntryId).collect(),
            index: LookupTable::with_capacity(pages as usize),
            here: EntryList::new(pages),
            eviction,
            waiters: Waiters::default(),
        }
    }

    /// Drops everything after a power cut.
    pub fn forget_all(&mut self) {
        let eviction = std::mem::replace(&mut self.eviction, Box::new(Fifo));
        *self = Self::new(self.entries.len() as u32, eviction);
    }

    /// Whether there is a cache.
    #[inline]
    pub fn is_on(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Entry of a page that is cached or being fetched.
    #[inline]
    pub fn find(&self, logical: LogicalPage) -> Option<EntryId> {
        self.index.get(logical.0).map(EntryId)
    }

    /// Whether these sectors of a page are cached or being fetched.
    #[inline]
    pub fn covers(&self, logical: LogicalPage, sectors: Sectors) -> bool {
        self.find(logical).is_some_and(|id| self.get(id).sectors.covers(sectors))
    }

    /// An entry.
    #[inline]
    pub fn get(&self, id: EntryId) -> &Cached {
        &self.entries[id.0 as usize]
    }

    /// Whether an entry is still being fetched.
    #[inline]
    pub fn is_fetching(&self, id: EntryId) -> bool {
        self.entries[id.0 as usize].reads > 0
    }

    /// Records a host read of a page that is cached or being fetched. Returns true if the page was read ahead
    /// and this is its first request.
    #[inline]
    pub fn touch(&mut self, id: EntryId) -> bool {
        let entry = &mut self.entries[id.0 as usize];
        let first = std::mem::take(&mut entry.ahead);
        if entry.reads == 0 {
            self.eviction.used(id);
        }
        first
    }

    /// Keeps sectors of a page that is not in the write buffer.
    pub fn keep(&mut self, logical: LogicalPage, version: u32, sectors: Sectors) {
        if let Some(id) = self.find(logical) {
            let entry = &mut self.entries[id.0 as usize];
            assert_eq!(entry.version, version, "the cache holds another version of page {}", logical.0);
            entry.sectors = entry.sectors.and(sectors);
            return;
        }
        let Some(id) = self.take() else { return };
        self.enter(id, Cached { logical, version, sectors, ..self.entries[id.0 as usize] });
        self.arrive(id);
    }

    /// Takes an entry for a page that is fetched as a whole, by reads that end with
    /// [`fetched`](Self::fetched). Returns `None` if all entries are being fetched.
    pub fn fetch(&mut self, logical: LogicalPage, version: u32, whole: Sectors) -> Option<EntryId> {
        let id = self.take()?;
        self.enter(
            id,
            Cached { logical, version, sectors: whole, ahead: true, ..self.entries[id.0 as usize] },
        );
        Some(id)
    }

    /// Sets the number of flash reads that fetch the entry.
    pub fn set_reads(&mut self, id: EntryId, reads: u32) {
        self.entries[id.0 as usize].reads = reads as u8;
    }

    /// Records the end of a read that fetches an entry. After the last one the page is cached, and the
    /// requests that waited for it go to `wake`.
    pub fn fetched(&mut self, id: EntryId, wake: &mut Vec<RequestId>) {
        let entry = &mut self.entries[id.0 as usize];
        entry.reads -= 1;
        if entry.reads > 0 {
            return;
        }
        self.waiters.wake(&mut entry.waiters, u32::MAX, wake);
        if std::mem::take(&mut entry.stale) {
            entry.ahead = false;
            self.free.push(id);
        } else {
            self.arrive(id);
        }
    }

    /// Makes `request` wait for a page that is being fetched.
    pub fn wait(&mut self, id: EntryId, request: RequestId) {
        let entry = &mut self.entries[id.0 as usize];
        self.waiters.add(&mut entry.waiters, request, entry.version);
    }

    /// Calls `f` for each request that waits for an entry.
    pub fn each_waiter(&self, id: EntryId, f: impl FnMut(RequestId)) {
        self.waiters.each(self.entries[id.0 as usize].waiters, u32::MAX, f);
    }

    /// Drops a page whose cached copy is no longer the last version.
    #[inline]
    pub fn forget(&mut self, logical: LogicalPage) {
        if !self.is_on() {
            return;
        }
        if let Some(id) = self.find(logical) {
            if self.is_fetching(id) {
                self.index.remove(logical.0);
                self.entries[id.0 as usize].stale = true;
            } else {
                self.drop_entry(id);
                self.free.push(id);
            }
        }
    }

    /// Checks a loaded state. Each entry must be free, cached or being fetched. Entries that are not stale
    /// must be found by their pages, which must be among the first `pages`. `is_last` returns whether a
    /// version of a page is the last one that the host wrote.
    pub(super) fn check_loaded(
        &self,
        pages: u32,
        known: impl Fn(RequestId) -> bool,
        is_last: impl Fn(LogicalPage, u32) -> bool,
    ) -> Result<(), String> {
        let count = self.entries.len();
        let mut is_taken = vec![false; count];
        let mut take = |id: EntryId| ensure::is_first(&mut is_taken, id.0 as usize);
        let is_list = self.here.places() == count && self.here.is_sound();
        let coming = (0..count as u32).map(EntryId).filter(|id| self.is_fetching(*id));
        let each_once = is_list
            && self.free.iter().copied().chain(self.here.iter()).chain(coming.clone()).all(&mut take)
            && is_taken.iter().all(|taken| *taken);
        ensure(each_once, || "entries of the read cache are free and in use".into())?;
        self.eviction.check_loaded(&self.here)?;
        let found = self.here.iter().chain(coming.clone().filter(|id| !self.get(*id).stale));
        ensure(self.index.is_sound(count, found.clone().count()), || {
            "the index of the read cache differs from its pages".into()
        })?;
        for (id, page) in found.map(|id| (id, self.get(id))) {
            let is_found = page.logical.0 < pages && self.find(page.logical) == Some(id);
            ensure(is_found && is_last(page.logical, page.version), || {
                format!("the read cache holds version {} of page {}", page.version, page.logical.0)
            })?;
        }
        let heads = coming.map(|id| self.get(id).waiters);
        ensure(self.waiters.match_heads(heads, known), || {
            "requests wait for pages that are not being fetched".into()
        })
    }

    /// All cached pages.
    pub fn pages(&self) -> impl Iterator<Item = &Cached> {
        self.here.iter().map(|id| self.get(id))
    }

    /// Takes an unused entry. If there is none, a page is evicted.
    fn take(&mut self) -> Option<EntryId> {
        if let Some(id) = self.free.pop() {
            return Some(id);
        }
        if self.here.is_empty() {
            return None;
        }
        let id = self.eviction.next(&self.here);
        let known = self.find(self.get(id).logical) == Some(id);
        assert!(known && !self.is_fetching(id), "the eviction policy chose entry {id:?}");
        self.drop_entry(id);
        Some(id)
    }

    fn enter(&mut self, id: EntryId, page: Cached) {
        self.entries[id.0 as usize] = page;
        self.index.insert(page.logical.0, id.0);
    }

    fn arrive(&mut self, id: EntryId) {
        self.here.push(id);
        self.eviction.added(id, self.entries[id.0 as usize].logical);
    }

    fn drop_entry(&mut self, id: EntryId) {
        let entry = &mut self.entries[id.0 as usize];
        entry.ahead = false;
        self.index.remove(entry.logical.0);
        self.here.remove(id);
        self.eviction.removed(id);
    }
}
