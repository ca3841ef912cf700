//! Sub-requests: what of a unit of consecutive logical pages is on its way to flash together, in a device with several
//! pools. A unit is what a program of the first pool writes, unless `ftl.mapping.sub_request` says otherwise.
//!
//! Pages leave the buffer with all dirty ones of their unit, and the router sends them to a pool together. Until all of
//! them are in flash, others of the unit wait, so that at most one sub-request of a unit is under way. To a pool that is
//! mapped by page its pages go one by one; to one that is mapped by whole units they go in one program with the rest of the
//! unit, which is read from wherever it is.
//!
//! A page is valid where it was programmed last, so that a program of a whole unit leaves no other copy of its pages valid,
//! and a program of one page takes that page alone from its unit. The valid pages of a unit in the pool of whole units
//! are always in one program unit of it, at their places there.

mod between;
mod loaded;
mod send;
mod whole;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::state;
use wordline_nand::{RowId, Stamp};

use crate::cache::Cache;
use crate::cache::buffer::{EntryId, NONE};
use crate::config::Config;
use crate::design::Waits;
use crate::engines::Core;
use crate::flash::Class;
use crate::map::LogicalPage;
use crate::pools::EVERYTHING_IN;
use crate::space::Space;

/// No sub-request.
const NO_SUB: u32 = u32::MAX;

/// The pages of a unit that go to flash together.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct SubRequest {
    unit: u32,
    stream: u8,
    /// Whether it is programmed as a whole unit.
    whole: bool,
    /// The entry of the buffer at each place of the unit.
    entries: Vec<EntryId>,
    /// The stamps in flash of the other pages, at each place, where it is programmed as a whole.
    carried: Vec<Stamp>,
    /// The pool that the page at each place goes to by itself; the first where none does.
    goes_to: Vec<u8>,
    /// Pages that it waits for before it is programmed as a whole; and else its pages that are not in flash.
    waits: u32,
    /// Dirty pages of the unit that left the buffer's list meanwhile.
    later: Vec<EntryId>,
    /// Whether a victim's page of the unit is to leave its pool.
    migrates: bool,
}

/// The sub-requests of a device.
#[derive(Debug)]
pub(crate) struct SubRequests {
    /// Pages of a unit.
    pub per_unit: u32,
    /// The pool that each of the router's streams goes to, and whether as whole units.
    pools: Vec<(u8, bool)>,
    /// The last pool, which has the translation pages.
    last_pool: usize,
    /// The sub-request of each unit, if one is under way.
    of_unit: Vec<u32>,
    /// Those under way, and those whose numbers are free.
    all: Vec<SubRequest>,
    free: Vec<u32>,
    /// Those that wait for a whole program unit, by stream.
    ready: Vec<VecDeque<u32>>,
    /// Lists that are empty between events, kept for their room.
    members: Vec<EntryId>,
    left: Vec<RowId>,
    over: Vec<LogicalPage>,
    counts: Counts,
}

state!(SubRequests {
    values { all, free, ready, counts }
    parts { of_unit }
    fixed { per_unit, pools, last_pool, members, left, over }
});

/// Counts of sub-requests, and of the bytes that the host wrote with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Sent to the first pool, and to the others, by the router.
    pub sent: [u64; 2],
    /// Bytes of them.
    pub sent_bytes: [u64; 2],
    /// Sent to another pool than the router's, which had no room.
    pub turned_away: u64,
    /// Taken from the first pool's queue for another.
    pub stolen: u64,
    /// Units that were written to the first pool because a victim of another held some of it.
    pub migrated: u64,
    /// Pages of these that left another pool.
    pub migrated_pages: u64,
}

impl Counts {
    /// The counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let [sent, sent_bytes] = [(self.sent, earlier.sent), (self.sent_bytes, earlier.sent_bytes)]
            .map(|(now, before)| [now[0] - before[0], now[1] - before[1]]);
        Self {
            sent,
            sent_bytes,
            turned_away: self.turned_away - earlier.turned_away,
            stolen: self.stolen - earlier.stolen,
            migrated: self.migrated - earlier.migrated,
            migrated_pages: self.migrated_pages - earlier.migrated_pages,
        }
    }
}

impl SubRequests {
    /// None are under way. `pools` says which pool each of the router's streams goes to.
    pub fn new(config: &Config, pools: Vec<u8>) -> Self {
        let per_unit = config.pages_of_a_sub_request();
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

    /// Forgets what is under way, as when the power is cut.
    pub fn forget(&mut self) {
        self.of_unit.fill(NO_SUB);
        self.all.clear();
        self.free.clear();
        self.ready.iter_mut().for_each(VecDeque::clear);
    }

    /// Whether a stream's sub-requests are programmed as whole units.
    #[inline]
    pub(crate) fn is_whole(&self, stream: u8) -> bool {
        self.pools.get(usize::from(stream)).is_some_and(|(_, whole)| *whole)
    }

    /// The pool of a stream of the host, or of translation pages, which are in the last pool.
    #[inline]
    pub fn pool_of(&self, stream: u8) -> usize {
        self.pools.get(usize::from(stream)).map_or(self.last_pool, |(pool, _)| usize::from(*pool))
    }

    /// The sub-request under way of the unit that a page is in.
    fn of(&self, page: LogicalPage) -> Option<u32> {
        let id = self.of_unit[(page.0 / self.per_unit) as usize];
        (id != NO_SUB).then_some(id)
    }

    /// Whether something of the unit that a page is in is on its way to flash.
    pub fn is_under_way(&self, page: LogicalPage) -> bool {
        self.of(page).is_some()
    }

    /// The place of a page in its unit.
    fn place(&self, page: LogicalPage) -> usize {
        (page.0 % self.per_unit) as usize
    }

    /// A new sub-request of a unit, with no pages as yet.
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
        one.carried.resize(per_unit, Stamp::PADDING);
        one.goes_to.clear();
        one.goes_to.resize(per_unit, EVERYTHING_IN as u8);
        self.of_unit[unit as usize] = id;
        id
    }

    /// The page at a place of a sub-request goes to a pool by itself, or to the first with others, or is over.
    fn note_goes_to(&mut self, sub: u32, place: usize, pool: usize, space: &mut Space) {
        let before = std::mem::replace(&mut self.all[sub as usize].goes_to[place], pool as u8);
        space.note_on_their_way(usize::from(before), 1, false);
        space.note_on_their_way(pool, 1, true);
    }

    /// The first stream of the host that goes to a pool.
    pub fn stream_to(&self, pool: usize) -> u8 {
        self.pools.iter().position(|(to, _)| usize::from(*to) == pool).map_or(0, |stream| stream as u8)
    }

    /// The entries of a sub-request, and the pages of its unit.
    pub fn members_of(&self, id: u32) -> (Vec<EntryId>, std::ops::Range<u32>) {
        let one = &self.all[id as usize];
        let first = one.unit * self.per_unit;
        (one.entries.iter().copied().filter(|id| *id != NONE).collect(), first..first + self.per_unit)
    }

    /// Those that wait for a whole program unit and have pages in the buffer, the oldest of each stream first: where they wait, and what
    /// a design sees of them.
    fn waiting(&self) -> impl Iterator<Item = ((usize, usize), Waits)> + '_ {
        let queues = self.ready.iter().enumerate();
        let all = queues
            .flat_map(|(stream, queue)| queue.iter().enumerate().map(move |(at, sub)| ((stream, at), *sub)));
        all.filter_map(|(place, sub)| {
            let one = &self.all[sub as usize];
            let pages = one.entries.iter().filter(|id| **id != NONE).count() as u32;
            (pages > 0).then_some((place, Waits { logical: one.unit * self.per_unit, pages }))
        })
    }

    fn get(&mut self, id: u32) -> &mut SubRequest {
        &mut self.all[id as usize]
    }

    /// Counts of them by their pools.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The first stream of the host that goes to the first pool.
    fn first_stream(&self) -> u8 {
        self.stream_to(EVERYTHING_IN)
    }

    /// The first page of the unit of a sub-request.
    fn first_page(&self, sub: u32) -> LogicalPage {
        LogicalPage(self.all[sub as usize].unit * self.per_unit)
    }

    /// Whether an entry that is ready waits in a list, and not for its whole unit.
    pub fn waits_in_list(&self, page: LogicalPage) -> bool {
        self.of(page).is_none_or(|sub| !self.all[sub as usize].whole)
    }

    /// A sub-request that is programmed as a whole waits for a page less; for none, it is ready.
    fn waits_less(&mut self, sub: u32) {
        let one = self.get(sub);
        one.waits -= 1;
        if one.waits == 0 {
            let stream = usize::from(one.stream);
            self.ready[stream].push_back(sub);
        }
    }

    /// Whether a pool has room for this many pages beside those that it holds and those on their way to it. The first has room for
    /// everything.
    pub fn has_room(&self, pool: usize, pages: u64, core: &Core) -> bool {
        pool == EVERYTHING_IN
            || core.map.held(pool, &core.base) + core.base.space.on_their_way(pool) + pages
                <= core.base.life.room[pool]
    }

    /// The class of reads for a sub-request: does a command of the host wait for a page of it, or for one that waits for
    /// its turn?
    fn class_of_reads(&self, sub: u32, cache: &Cache) -> Class {
        let one = &self.all[sub as usize];
        let mut entries = one.entries.iter().chain(&one.later).filter(|id| **id != NONE);
        if entries.any(|id| cache.is_waited_for(*id)) { Class::Read } else { Class::Background }
    }

    /// A list for pages that are over.
    pub fn take_over(&mut self) -> Vec<LogicalPage> {
        std::mem::take(&mut self.over)
    }
}
