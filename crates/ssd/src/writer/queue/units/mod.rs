//! Sub-requests: pages of a unit that go to flash together, in a device with several pools. A unit is a range
//! of consecutive logical pages. Its size is `ftl.mapping.sub_request`, or by default a program unit of the
//! first pool.
//!
//! When a page is destaged, all dirty pages of its unit are destaged with it. The router sends them to one
//! pool. Other pages of the unit wait until this sub-request is in flash, so a unit has at most one
//! sub-request in progress.
//!
//! A page-mapped pool programs the pages of a sub-request one by one. A coarsely mapped pool programs whole
//! units: the pages of the unit that are not in the sub-request are read from any pool and programmed with it
//! ("carried").
//!
//! A page is valid where it was programmed last. The program of a whole unit therefore invalidates all other
//! copies of its pages; the program of one page invalidates only that page. The valid pages of a unit in the
//! coarsely mapped pool are always in one program unit, at their offsets in the unit.

mod between;
mod loaded;
mod send;
mod whole;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_flash::Class;
use wordline_ftl::blocks::BlockManager;
use wordline_ftl::design::WaitingPages;
use wordline_ftl::map::LogicalPage;
use wordline_ftl::pools::FALLBACK_POOL;
use wordline_ftl::{Config, Ftl};
use wordline_kernel::state;
use wordline_nand::{DataTag, PlaneGroupId};

use crate::cache::Cache;
use crate::cache::buffer::{EntryId, NONE};
use crate::engines::Core;

/// Mark of a unit without a sub-request.
const NO_SUB: u32 = u32::MAX;

/// Pages of a unit that go to flash together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct SubRequest {
    unit: u32,
    stream: u8,
    /// Whether it is programmed as a whole unit.
    whole: bool,
    /// Buffer entry at each offset in the unit, or `NONE`.
    entries: Vec<EntryId>,
    /// Data tag of the carried page at each offset, if there is one.
    carried: Vec<DataTag>,
    /// Target pool of the page at each offset, if the page is counted as on its way; otherwise the first
    /// pool.
    goes_to: Vec<u8>,
    /// For a whole unit: pages and reads that it still waits for. Otherwise: pages that are not in flash yet.
    waits: u32,
    /// Entries of the unit that were destaged after this sub-request began. They wait for its end.
    later: Vec<EntryId>,
    /// Whether a victim has a page of the unit that must leave its pool.
    migrates: bool,
}

/// Sub-requests of a device.
#[derive(Debug)]
pub(crate) struct SubRequests {
    /// Pages in a unit.
    pub per_unit: u32,
    /// For each host stream that the router uses: its pool, and whether that pool programs whole units.
    pools: Vec<(u8, bool)>,
    /// Last pool, which has the translation pages.
    last_pool: usize,
    /// Sub-request in progress of each unit, or `NO_SUB`.
    of_unit: Vec<u32>,
    /// Sub-requests by number. `free` lists the unused numbers.
    all: Vec<SubRequest>,
    free: Vec<u32>,
    /// Sub-requests that are ready to be programmed as whole units, by stream.
    ready: Vec<VecDeque<u32>>,
    /// Lists that are empty between events, kept for their capacity.
    members: Vec<EntryId>,
    left: Vec<PlaneGroupId>,
    over: Vec<LogicalPage>,
    counts: Counts,
}

state!(SubRequests {
    values { all, free, ready, counts }
    parts { of_unit }
    fixed { per_unit, pools, last_pool, members, left, over }
});

/// Counts of sub-requests, and of the host bytes in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Sub-requests that the router sent to the first pool, and to the other pools.
    pub sent: [u64; 2],
    /// Host bytes in the sub-requests of `sent`.
    pub sent_bytes: [u64; 2],
    /// Sub-requests sent to the first pool because the pool that the router selected was full.
    pub redirected: u64,
    /// Sub-requests that another pool stole from the first pool's queue.
    pub stolen: u64,
    /// Units migrated to the first pool because a victim of another pool had some of their pages.
    pub migrated: u64,
    /// Pages of migrated units that left another pool.
    pub migrated_pages: u64,
}

impl Counts {
    /// Counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let [sent, sent_bytes] = [(self.sent, earlier.sent), (self.sent_bytes, earlier.sent_bytes)]
            .map(|(now, before)| [now[0] - before[0], now[1] - before[1]]);
        Self {
            sent,
            sent_bytes,
            redirected: self.redirected - earlier.redirected,
            stolen: self.stolen - earlier.stolen,
            migrated: self.migrated - earlier.migrated,
            migrated_pages: self.migrated_pages - earlier.migrated_pages,
        }
    }
}

impl SubRequests {
    /// Empty set of sub-requests. `pools` has the pool of each host stream that the router uses.
    pub fn new(config: &Config, pools: Vec<u8>) -> Self {
        let per_unit = config.pages_per_sub_request();
        let whole_units = config.pool_of_whole_units();
        let pools = pools.into_iter().map(|pool| (pool, whole_units == Some(usize::from(pool))));
        Self {
            per_unit,
            of_unit: vec![NO_SUB; config.mapped_pages().div_ceil(per_unit) as usize],
            all: Vec::new(),
            free: Vec::new(),
            ready: vec![VecDeque::new(); pools.len()],
            last_pool: config.pools.count() - 1,
            members: Vec::new(),
            left: Vec::new(),
            over: Vec::new(),
            counts: Counts::default(),
            pools: pools.collect(),
        }
    }

    /// Drops all sub-requests, in a power loss.
    pub fn forget(&mut self) {
        self.of_unit.fill(NO_SUB);
        self.all.clear();
        self.free.clear();
        self.ready.iter_mut().for_each(VecDeque::clear);
    }

    /// Whether sub-requests of a stream are programmed as whole units.
    #[inline]
    pub(crate) fn is_whole(&self, stream: u8) -> bool {
        self.pools.get(usize::from(stream)).is_some_and(|(_, whole)| *whole)
    }

    /// Pool of a host stream, or of the stream of translation pages.
    #[inline]
    pub fn pool_of(&self, stream: u8) -> usize {
        self.pools.get(usize::from(stream)).map_or(self.last_pool, |(pool, _)| usize::from(*pool))
    }

    /// Sub-request in progress of a page's unit.
    fn of(&self, page: LogicalPage) -> Option<u32> {
        let id = self.of_unit[(page.0 / self.per_unit) as usize];
        (id != NO_SUB).then_some(id)
    }

    /// Whether a page of the same unit is on its way to flash.
    pub fn is_under_way(&self, page: LogicalPage) -> bool {
        self.of(page).is_some()
    }

    /// Offset of a page in its unit.
    fn place(&self, page: LogicalPage) -> usize {
        (page.0 % self.per_unit) as usize
    }

    /// Begins a sub-request of a unit, without pages. Returns its number.
    fn begin(&mut self, unit: u32, stream: u8) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.all.push(SubRequest::default());
            self.all.len() as u32 - 1
        });
        let per_unit = self.per_unit as usize;
        let whole = self.is_whole(stream);
        let one = &mut self.all[id as usize];
        (one.unit, one.stream, one.whole, one.waits) = (unit, stream, whole, 0);
        one.migrates = false;
        one.entries.clear();
        one.entries.resize(per_unit, NONE);
        one.carried.clear();
        one.carried.resize(per_unit, DataTag::PADDING);
        one.goes_to.clear();
        one.goes_to.resize(per_unit, FALLBACK_POOL as u8);
        self.of_unit[unit as usize] = id;
        id
    }

    /// Sets the target pool of a page of a sub-request, and updates the counts of pages on their way. The
    /// first pool means "not counted".
    fn set_target_pool(&mut self, sub: u32, place: usize, pool: usize, blocks: &mut BlockManager) {
        let before = std::mem::replace(&mut self.all[sub as usize].goes_to[place], pool as u8);
        blocks.count_in_flight(usize::from(before), 1, false);
        blocks.count_in_flight(pool, 1, true);
    }

    /// First host stream of a pool.
    pub fn stream_to(&self, pool: usize) -> u8 {
        self.pools.iter().position(|(to, _)| usize::from(*to) == pool).map_or(0, |stream| stream as u8)
    }

    /// Entries of a sub-request, and all pages of its unit.
    pub fn members_of(&self, id: u32) -> (Vec<EntryId>, std::ops::Range<u32>) {
        let one = &self.all[id as usize];
        let first = one.unit * self.per_unit;
        (one.entries.iter().copied().filter(|id| *id != NONE).collect(), first..first + self.per_unit)
    }

    /// Sub-requests with buffered pages that are ready to be programmed as whole units, oldest first in each
    /// stream. Returns the queue position of each, and its view for designs.
    fn waiting(&self) -> impl Iterator<Item = ((usize, usize), WaitingPages)> + '_ {
        let queues = self.ready.iter().enumerate();
        let all = queues
            .flat_map(|(stream, queue)| queue.iter().enumerate().map(move |(at, sub)| ((stream, at), *sub)));
        all.filter_map(|(place, sub)| {
            let one = &self.all[sub as usize];
            let pages = one.entries.iter().filter(|id| **id != NONE).count() as u32;
            (pages > 0).then_some((place, WaitingPages { logical: one.unit * self.per_unit, pages }))
        })
    }

    fn get(&mut self, id: u32) -> &mut SubRequest {
        &mut self.all[id as usize]
    }

    /// Counts of the sub-requests by pool.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// First host stream of the first pool.
    fn first_stream(&self) -> u8 {
        self.stream_to(FALLBACK_POOL)
    }

    /// First page of a sub-request's unit.
    fn first_page(&self, sub: u32) -> LogicalPage {
        LogicalPage(self.all[sub as usize].unit * self.per_unit)
    }

    /// Whether a ready entry waits in a list. If not, it waits for the other pages of its whole unit.
    pub fn is_in_list(&self, page: LogicalPage) -> bool {
        self.of(page).is_none_or(|sub| !self.all[sub as usize].whole)
    }

    /// Ends one of the waits of a whole unit. After the last one the sub-request is ready.
    fn end_wait(&mut self, sub: u32) {
        let one = self.get(sub);
        one.waits -= 1;
        if one.waits == 0 {
            let stream = usize::from(one.stream);
            self.ready[stream].push_back(sub);
        }
    }

    /// Whether a pool has space for `pages` pages, after the pages that it has and those on their way to it.
    /// The first pool always has.
    pub fn has_room(&self, pool: usize, pages: u64, core: &Core) -> bool {
        let Ftl { config, blocks, map_cache, tables, health, .. } = &core.ftl;
        let held = || tables.held_by_host(pool, map_cache, &config.shares(), blocks);
        pool == FALLBACK_POOL || held() + blocks.by_pool()[pool].on_their_way() + pages <= health.room[pool]
    }

    /// Class of the reads for a sub-request. They are host reads if a host command waits for one of its
    /// pages, or for a page in `later`.
    fn class_of_reads(&self, sub: u32, cache: &Cache) -> Class {
        let one = &self.all[sub as usize];
        let mut entries = one.entries.iter().chain(&one.later).filter(|id| **id != NONE);
        if entries.any(|id| cache.has_waiters(*id)) { Class::Read } else { Class::Background }
    }

    /// Empty list for pages that have ended, with its old capacity.
    pub fn take_page_list(&mut self) -> Vec<LogicalPage> {
        std::mem::take(&mut self.over)
    }
}
