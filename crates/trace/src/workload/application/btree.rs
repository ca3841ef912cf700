//! A document store as a B-tree of pages: a journal, a page cache, and checkpoints that write changed pages
//! out of place. Names and defaults are WiredTiger's under MongoDB.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, Seed};

use super::block_requests::{BLOCK, RequestQueue};
use super::cache::Cache;
use super::free_space::FreeSpaceMap;
use super::keys::{Clients, KeyGenerator};
use super::program::StepOutcome;

/// An application over a B-tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Btree {
    /// Clients and their operations.
    pub clients: Clients,
    /// Share of the region that pages fill at the start of the run, from 0.05 to 0.8.
    pub fill: f64,
    /// Share of the pages that is cached in memory, from 0.01 to 0.9.
    pub page_cache: f64,
    /// Size of a leaf page (`leaf_page_max`), a multiple of 4 KiB up to 128 KiB. Inner pages are always in
    /// memory.
    pub page: Bytes,
    /// Journal bytes collected before they are written and flushed; a multiple of 4 KiB up to 16 MiB.
    pub journal_piece: Bytes,
    /// Journal bytes between two checkpoints; at most 1/64 of the region.
    pub checkpoint_every: Bytes,
    /// Share of dirty pages in the cache above which a background thread writes them
    /// (`eviction_dirty_target`), from 0.01 to 0.5.
    pub dirty_target: f64,
    /// Share of dirty pages above which clients write them themselves (`eviction_dirty_trigger`), above
    /// `dirty_target`, at most 1.
    pub dirty_trigger: f64,
}

impl Btree {
    pub(super) fn check(&self, c: &mut Complaints) {
        let mut inner = Complaints::default();
        self.clients.check(&mut inner);
        c.nest("clients", inner);
        c.require((0.05..=0.8).contains(&self.fill), "fill", self.fill, "a fraction from 0.05 to 0.8");
        let cached = self.page_cache;
        c.require((0.01..=0.9).contains(&cached), "page_cache", cached, "a fraction from 0.01 to 0.9");
        let of_blocks = |size: Bytes, most: Bytes| size.0 > 0 && size.0.is_multiple_of(BLOCK) && size <= most;
        let holds = of_blocks(self.page, Bytes::kib(128)) && self.page >= self.clients.record;
        c.require(holds, "page", self.page, "a multiple of 4KiB up to 128KiB that holds a record");
        let holds = of_blocks(self.journal_piece, Bytes::mib(16));
        c.require(holds, "journal_piece", self.journal_piece, "a multiple of 4KiB up to 16MiB");
        let holds = self.checkpoint_every >= self.journal_piece;
        c.require(holds, "checkpoint_every", self.checkpoint_every, "at least journal_piece");
        let target = self.dirty_target;
        c.require((0.01..=0.5).contains(&target), "dirty_target", target, "a fraction from 0.01 to 0.5");
        let holds = self.dirty_trigger > target && self.dirty_trigger <= 1.0;
        c.require(holds, "dirty_trigger", self.dirty_trigger, "a fraction above dirty_target, at most 1");
    }
}

/// Fill factor of a page. Chosen: between a page that was just split and a full page.
const FILL_FACTOR: f64 = 0.85;

/// Bytes of an update in the journal, without its record. Chosen: header and key, rounded up to the 128 B of
/// WiredTiger.
const JOURNAL_HEADER: u64 = 128;

/// Blocks before the data: the superblock and the roots of the last checkpoints.
const BLOCKS_BEFORE_DATA: u32 = 16;

/// Part of the region, one in `FREED`, that the next checkpoint may free. When the pages that it would free
/// exceed this part, the checkpoint is made early. Chosen: otherwise the store would keep growing.
const FREED: u32 = 8;

/// The store.
#[derive(Clone, Debug)]
pub struct Store {
    keys: KeyGenerator,
    per_page: u64,
    page: u32,
    piece: u64,
    record: u64,
    checkpoint_every: u64,
    /// First block of each page as last written.
    places: Vec<u32>,
    /// Dirty pages, one bit for each page.
    dirty: Vec<u64>,
    /// The dirty pages, in the order in which they became dirty.
    in_order: VecDeque<u32>,
    dirty_count: usize,
    dirty_target: usize,
    dirty_trigger: usize,
    cache: Cache,
    space: FreeSpaceMap,
    /// Journal: first block and number of blocks.
    journal: (u32, u32),
    /// Next block of the journal to write.
    journal_at: u32,
    journaled: u64,
    since_checkpoint: u64,
    /// Old locations of pages that the next checkpoint frees.
    freed: Vec<u32>,
    /// Old locations of pages that the current checkpoint frees.
    freeing: Vec<u32>,
    most_freed: usize,
    is_checkpoint: bool,
    /// Pages that the current checkpoint has yet to write.
    to_write: usize,
    threads: Vec<Thread>,
}

/// State of a client, or of the checkpoint thread.
#[derive(Clone, Debug, Default)]
struct Thread {
    /// The page to update next.
    updates: Option<u32>,
    /// Pages written out of place: page and new location.
    moved: Vec<(u32, u32)>,
}

impl Store {
    /// Creates a store that was loaded into this many blocks.
    ///
    /// # Errors
    /// A region with space for hardly any page.
    pub fn new(
        config: &Btree,
        seed: Seed,
        blocks: u32,
        most_cached: u32,
        most_pages: u32,
    ) -> Result<Self, Complaints> {
        let record = config.clients.record.0;
        let page = (config.page.0 / BLOCK) as u32;
        let per_page = ((config.page.0 as f64 * FILL_FACTOR) as u64 / record).max(1);
        let pages = ((config.fill * f64::from(blocks)) as u32 / page).min(most_pages);
        let mut wrong = Complaints::default();
        wrong.require(pages >= 16, "model.page", config.page, "a size of which at least 16 pages fit");
        wrong.into_result(())?;
        let region = u64::from(blocks) * BLOCK;
        let checkpoint_every = config.checkpoint_every.0.min(region / 64);
        let piece = config.journal_piece.0.min(checkpoint_every / BLOCK * BLOCK);
        // The journal holds the records since the last checkpoint and the records written during the next
        // one.
        let journal = 2 * (checkpoint_every.div_ceil(BLOCK) as u32).max((piece / BLOCK) as u32);
        let space = FreeSpaceMap::new(BLOCKS_BEFORE_DATA + journal, blocks - BLOCKS_BEFORE_DATA - journal);
        let count = u64::from(pages) * per_page;
        let mut store = Self {
            keys: KeyGenerator::new(&config.clients, count.min(u64::from(u32::MAX - 1)), seed),
            per_page,
            page,
            piece,
            record,
            checkpoint_every,
            places: Vec::new(),
            dirty: vec![0; pages.div_ceil(64) as usize],
            in_order: VecDeque::new(),
            dirty_count: 0,
            dirty_target: 0,
            dirty_trigger: 0,
            cache: Cache::new(((f64::from(pages) * config.page_cache) as u32).clamp(8, most_cached)),
            space,
            journal: (BLOCKS_BEFORE_DATA, journal),
            journal_at: 0,
            journaled: 0,
            since_checkpoint: 0,
            freed: Vec::new(),
            freeing: Vec::new(),
            most_freed: (blocks / page / FREED) as usize,
            is_checkpoint: false,
            to_write: 0,
            threads: vec![Thread::default(); usize::from(config.clients.threads) + 1],
        };
        store.places =
            (0..pages).map(|_| store.place().expect("a fraction of the region is filled")).collect();
        let held = store.cache.capacity() as f64;
        store.dirty_target = (held * config.dirty_target) as usize;
        store.dirty_trigger = ((held * config.dirty_trigger) as usize).max(store.dirty_target + 1);
        // Chosen: more keys would take seconds and hardly matter, as most accesses go to fewer keys.
        let ranks = count.min(per_page * store.cache.capacity() as u64).min(1 << 22);
        for rank in (0..ranks).rev() {
            let page = store.page_of(store.keys.of_rank(rank));
            store.cache.insert(page);
        }
        Ok(store)
    }

    fn page_of(&self, key: u32) -> u32 {
        (u64::from(key) / self.per_page) as u32
    }

    /// Allocates a free location for a page in one piece. Pages are the only unit of allocation.
    fn place(&mut self) -> Option<u32> {
        let (place, blocks) = self.space.take(self.page)?;
        if blocks < self.page {
            // This is a remainder at the end of the region.
            self.space.release(place, blocks);
            return None;
        }
        Some(place)
    }

    /// Number of threads: the clients, and one thread that writes dirty pages and makes checkpoints.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// Frees blocks.
    pub fn release(&mut self, block: u32, blocks: u32) {
        self.space.release(block, blocks);
    }

    /// Advances a thread by one step. All of its requests must have been issued.
    pub fn step(&mut self, number: usize, asks: &mut RequestQueue) -> StepOutcome {
        for (page, place) in std::mem::take(&mut self.threads[number].moved) {
            self.freed.push(std::mem::replace(&mut self.places[page as usize], place));
            asks.wakes = true;
        }
        if number + 1 == self.threads.len() {
            return self.checkpoint(number, asks);
        }
        if let Some(page) = self.threads[number].updates {
            return self.update(number, page, asks);
        }
        let operation = self.keys.next();
        let page = self.page_of(operation.key);
        if operation.updates {
            self.threads[number].updates = Some(page);
        }
        // A dirty page is in memory, even if the cache has since evicted it.
        if !self.cache.touch(page) && !self.is_dirty(page) {
            asks.read(self.places[page as usize], self.page);
            self.cache.insert(page);
        }
        StepOutcome::Advanced
    }

    fn is_dirty(&self, page: u32) -> bool {
        self.dirty[page as usize / 64] >> (page % 64) & 1 == 1
    }

    fn toggle_dirty(&mut self, page: u32) {
        self.dirty[page as usize / 64] ^= 1 << (page % 64);
    }

    fn update(&mut self, number: usize, page: u32, asks: &mut RequestQueue) -> StepOutcome {
        if self.dirty_count > self.dirty_trigger {
            return if self.write_oldest(number, asks) {
                StepOutcome::Advanced
            } else {
                StepOutcome::Waiting
            };
        }
        self.threads[number].updates = None;
        asks.wakes = true;
        if !self.is_dirty(page) {
            self.toggle_dirty(page);
            self.in_order.push_back(page);
            self.dirty_count += 1;
        }
        self.journaled += self.record + JOURNAL_HEADER;
        if self.journaled >= self.piece {
            self.since_checkpoint += self.journaled;
            self.journaled = 0;
            let blocks = (self.piece / BLOCK) as u32;
            let (first, count) = self.journal;
            if self.journal_at + blocks > count {
                self.journal_at = 0;
            }
            asks.write(first + self.journal_at, blocks);
            asks.flush();
            self.journal_at += blocks;
        }
        StepOutcome::Advanced
    }

    /// Writes the page that has been dirty longest, out of place. Returns false if there is no such page, or
    /// no free location.
    fn write_oldest(&mut self, number: usize, asks: &mut RequestQueue) -> bool {
        let Some(page) = self.in_order.front().copied() else { return false };
        let Some(place) = self.place() else { return false };
        self.in_order.pop_front();
        self.toggle_dirty(page);
        self.dirty_count -= 1;
        asks.wakes = true;
        asks.write(place, self.page);
        self.threads[number].moved.push((page, place));
        // Reads are served from memory until the page is written.
        self.cache.insert(page);
        true
    }

    fn checkpoint(&mut self, number: usize, asks: &mut RequestQueue) -> StepOutcome {
        if self.is_checkpoint {
            if self.to_write > 0 && self.write_oldest(number, asks) {
                self.to_write -= 1;
                return StepOutcome::Advanced;
            }
            // Writes the root, which becomes durable after everything that it refers to. Then the old
            // locations of the moved pages are free.
            self.is_checkpoint = false;
            asks.flush();
            asks.write_through(0);
            let page = self.page;
            self.freeing.drain(..).for_each(|place| asks.free_later(place, page, false));
            return StepOutcome::Advanced;
        }
        let is_full = self.space.free() < 16 * self.page && !self.freed.is_empty();
        let is_due =
            self.since_checkpoint >= self.checkpoint_every || self.freed.len() > self.most_freed || is_full;
        if is_due {
            self.since_checkpoint = 0;
            self.is_checkpoint = true;
            self.to_write = self.dirty_count;
            self.freeing = std::mem::take(&mut self.freed);
            return StepOutcome::Advanced;
        }
        if self.dirty_count > self.dirty_target && self.write_oldest(number, asks) {
            StepOutcome::Advanced
        } else {
            StepOutcome::Waiting
        }
    }
}

#[cfg(test)]
impl Store {
    /// Returns the blocks of all pages, after checking that no block belongs to two pages.
    pub fn audit(&self, on_their_way: u32) -> Vec<bool> {
        let mut held = vec![false; (self.space.first() + self.space.blocks()) as usize];
        let moved = self.threads.iter().flat_map(|thread| &thread.moved).map(|(_, place)| *place);
        let others = self.freed.iter().chain(&self.freeing).copied().chain(moved);
        let mut count = 0;
        for (place, is_page) in
            self.places.iter().map(|place| (*place, true)).chain(others.map(|place| (place, false)))
        {
            count += self.page;
            for at in place..place + self.page {
                assert!(!held[at as usize], "block {at} belongs to two pages");
                held[at as usize] = is_page;
            }
        }
        assert_eq!(self.space.blocks() - self.space.free(), count + on_their_way, "blocks are lost");
        held
    }
}
