//! The stripe cache: stripe heads. A stripe head keeps a row while work on it is in progress, and afterwards
//! until the head is reused for another row.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, Instant, id, state};

use super::write_method::{MemberSet, WriteMethod};

id!(
    /// A stripe head.
    HeadId
);

/// Sectors of a block as a bitmap, the first in the lowest bit.
pub type SectorSet = u64;

/// Maximum number of sectors of a block: the bits of [`SectorSet`].
pub const MOST_SECTORS: u64 = 64;

/// No head: the end of a list.
pub const NONE: u32 = u32::MAX;

/// The sectors of a part of a block, as a bitmap.
pub fn sectors(part: &Range<u64>) -> SectorSet {
    let to = |end: u64| if end == MOST_SECTORS { SectorSet::MAX } else { (1 << end) - 1 };
    to(part.end) & !to(part.start)
}

/// The work in progress on a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Job {
    /// None.
    #[default]
    None,
    /// Host writes with parity.
    Write,
    /// Host writes of data only. Their parity is deferred.
    WriteData,
    /// The write of deferred parity.
    Settle,
    /// Reads of blocks that the host could not read from their member.
    Read,
    /// The row's part in a rebuild, a resync or a scrub.
    Sync,
}

/// The condition that a stripe head waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Nothing.
    #[default]
    Idle,
    /// The end of the instant. More writes of the row may arrive until then.
    Plugged,
    /// The turn of the head in the queue of heads to handle.
    Queued,
    /// The end of other pre-reads.
    Delayed,
    /// Permission to read. Stripes without reads are handled first.
    Held,
    /// Reads of blocks.
    Fetching,
    /// The write of the log entry of the row, or log space for it.
    Logging,
    /// Writes of blocks.
    Storing,
}

/// A stripe head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripeHead {
    /// The row; `None` before the first.
    pub row: Option<u64>,
    /// The work in progress.
    pub job: Job,
    /// The condition that the work waits for.
    pub step: Step,
    /// Write method: how the parity is updated.
    pub way: Option<WriteMethod>,
    /// Members whose block the current writes touch.
    pub written: MemberSet,
    /// Members whose block the current writes cover entirely.
    pub whole: MemberSet,
    /// Number of blocks read for the job.
    pub fetched: u32,
    /// Host writes that wait.
    pub pending: Vec<u32>,
    /// Host writes in progress.
    pub current: Vec<u32>,
    /// Host reads, each with the member of the requested block.
    pub reads: Vec<(u32, u16)>,
    /// Members whose block is in memory.
    pub known: MemberSet,
    /// Members whose block could not be read.
    pub bad: MemberSet,
    /// Members whose block is being read again in parts.
    pub split: MemberSet,
    /// By member: the sectors that could not be read, if the block is bad or being read again.
    pub unread: Vec<SectorSet>,
    /// Members whose block was computed for the job from the other blocks.
    pub computed: MemberSet,
    /// Members whose block is written in addition to the writes of the job.
    pub rewrite: MemberSet,
    /// Sectors whose parity is deferred.
    pub stale: SectorSet,
    /// Whether the delta of the deferred parity is in memory.
    pub has_delta: bool,
    /// Time and flush epoch at which the deferral of parity began.
    pub since: (Instant, u32),
    /// Blocks to store once the row's entry is in the partial parity log.
    pub logged: MemberSet,
    /// Outstanding member commands.
    pub left: u32,
    /// Flags for further work on the row.
    pub turns: RowFlags,
    /// Number of the synchronisation for which the row is worked on.
    pub sync: u32,
    /// By member: the sectors of the block that the current writes cover.
    pub covered: Vec<SectorSet>,
    /// The heads of the following rows in the same batch.
    pub batch: Vec<HeadId>,
    /// Neighbours in the LRU list ([`NONE`] at its ends), and the next head in the same hash bucket.
    links: Links,
}

/// Flags of a row, besides the host's work on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowFlags {
    /// Deferred parity has to be written.
    pub settle: bool,
    /// A rebuild, a resync or a scrub has reached the row.
    pub sync: bool,
    /// The row counts among the stripes with pre-reads.
    pub preread: bool,
    /// The row counts among the full stripes being written.
    pub full: bool,
    /// A write of the row is FUA.
    pub fua: bool,
    /// The head is evicted once its parity is written.
    pub leave: bool,
    /// The parity in memory is the old one from the member: its update is deferred.
    pub raw: bool,
    /// The writes in progress change data or parity.
    pub changes: bool,
    /// Blocks were lost and replaced, so the parity on the member does not match them.
    pub lost: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Links {
    older: u32,
    newer: u32,
    hash: u32,
}

impl Default for Links {
    fn default() -> Self {
        Self { older: NONE, newer: NONE, hash: NONE }
    }
}

/// The stripe cache.
#[derive(Clone, Debug)]
pub struct StripeCache {
    heads: Column<HeadId, StripeHead>,
    /// First head of each hash bucket.
    buckets: Vec<u32>,
    /// The least recently used idle head: the first of the LRU list.
    oldest: u32,
    /// The most recently used idle head: the last of the LRU list.
    newest: u32,
    /// Number of heads with work.
    pub active: u32,
    /// Whether a row had to wait for a head, and at least three quarters of the heads have been active since.
    pub blocked: bool,
    /// Heads to be evicted once their parity is written.
    pub leaving: u32,
    lists: HeadQueues,
}

/// Queues of heads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct HeadQueues {
    /// Heads to handle: md's `handle_list`.
    queued: VecDeque<HeadId>,
    /// Heads that read once other pre-reads are done: `delayed_list`.
    delayed: VecDeque<HeadId>,
    /// Heads that may read: `hold_list`.
    held: VecDeque<HeadId>,
    /// Stripes with pre-reads in progress: `preread_active_stripes`.
    prereads: u32,
    /// Full stripes being written: `pending_full_writes`.
    full: u32,
    /// Number of bypasses of stripes that wait to read: `bypass_count`.
    passed_over: u32,
}

/// Limit of stripes with pre-reads in progress: below it, others may start to read. `IO_THRESHOLD` of md.
const IO_THRESHOLD: u32 = 1;
/// Number of times that other stripes may bypass the stripes that wait to read, while full stripes are
/// written: `BYPASS_THRESHOLD` of md.
const BYPASS_THRESHOLD: u32 = 1;

state!(StripeCache { values { heads, buckets, oldest, newest, active, blocked, leaving, lists } });

impl StripeCache {
    /// A cache of `count` heads, for rows of `members` blocks.
    pub fn new(count: u32, members: u64) -> Self {
        let buckets = vec![NONE; (count as usize).next_power_of_two()];
        let none = vec![0; members as usize];
        let head = StripeHead { covered: none.clone(), unread: none, ..StripeHead::default() };
        let mut heads = Self {
            heads: Column::filled(count as usize, head),
            buckets,
            oldest: NONE,
            newest: NONE,
            active: count,
            blocked: false,
            leaving: 0,
            lists: HeadQueues::default(),
        };
        (0..count).for_each(|id| heads.make_idle(HeadId(id)));
        heads
    }

    /// Number of heads.
    pub fn count(&self) -> u32 {
        self.heads.len() as u32
    }

    /// A head.
    pub fn get(&self, id: HeadId) -> &StripeHead {
        &self.heads[id]
    }

    /// A head, mutable.
    pub fn get_mut(&mut self, id: HeadId) -> &mut StripeHead {
        &mut self.heads[id]
    }

    /// All heads.
    pub fn all(&self) -> impl Iterator<Item = (HeadId, &StripeHead)> {
        self.heads.entries()
    }

    fn bucket(&self, row: u64) -> usize {
        // Fibonacci hashing: neighbouring rows go to distant buckets.
        (row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.buckets.len() - 1)
    }

    /// The head of a row, if the row is cached.
    pub fn find(&self, row: u64) -> Option<HeadId> {
        let mut next = self.buckets[self.bucket(row)];
        while next != NONE {
            let id = HeadId(next);
            if self.heads[id].row == Some(row) {
                return Some(id);
            }
            next = self.heads[id].links.hash;
        }
        None
    }

    /// Activates an idle head: removes it from the LRU list.
    pub fn take(&mut self, id: HeadId) {
        debug_assert_eq!(self.heads[id].step, Step::Idle, "it has no work");
        let Links { older, newer, .. } = self.heads[id].links;
        match older {
            NONE => self.oldest = newer,
            older => self.heads[HeadId(older)].links.newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.heads[HeadId(newer)].links.older = older,
        }
        self.active += 1;
    }

    /// Makes a head idle. A head to be evicted becomes the least recently used head, any other head the most
    /// recently used.
    pub fn make_idle(&mut self, id: HeadId) {
        self.active -= 1;
        let head = &mut self.heads[id];
        (head.step, head.job) = (Step::Idle, Job::None);
        if std::mem::take(&mut head.turns.leave) {
            self.leaving -= 1;
            let oldest = self.oldest;
            let links = &mut self.heads[id].links;
            (links.older, links.newer) = (NONE, oldest);
            match oldest {
                NONE => self.newest = id.0,
                oldest => self.heads[HeadId(oldest)].links.older = id.0,
            }
            self.oldest = id.0;
            return;
        }
        let newest = self.newest;
        let links = &mut self.heads[id].links;
        (links.older, links.newer) = (newest, NONE);
        match newest {
            NONE => self.oldest = id.0,
            newest => self.heads[HeadId(newest)].links.newer = id.0,
        }
        self.newest = id.0;
    }

    /// The next head to evict: the least recently used idle one.
    pub fn next_to_evict(&self) -> Option<HeadId> {
        (self.oldest != NONE).then_some(HeadId(self.oldest))
    }

    /// Whether a row that is not cached may get a head. After a row had to wait for one, this is true only
    /// while fewer than three quarters are active.
    pub fn has_room(&self) -> bool {
        let most = if self.blocked { self.count() * 3 / 4 } else { self.count() };
        self.active < most
    }

    /// Assigns a head to a row. The old contents of the head are dropped.
    pub fn assign(&mut self, id: HeadId, row: u64) {
        self.forget(id);
        let bucket = self.bucket(row);
        let first = std::mem::replace(&mut self.buckets[bucket], id.0);
        let head = &mut self.heads[id];
        head.links.hash = first;
        head.row = Some(row);
    }

    /// Drops the contents of a head.
    pub fn forget(&mut self, id: HeadId) {
        let Some(row) = self.heads[id].row.take() else { return };
        let after = self.heads[id].links.hash;
        let bucket = self.bucket(row);
        let mut place = self.buckets[bucket];
        if place == id.0 {
            self.buckets[bucket] = after;
        } else {
            while self.heads[HeadId(place)].links.hash != id.0 {
                place = self.heads[HeadId(place)].links.hash;
            }
            self.heads[HeadId(place)].links.hash = after;
        }
        let head = &mut self.heads[id];
        (head.known, head.bad, head.split, head.rewrite) = (0, 0, 0, 0);
        (head.stale, head.has_delta) = (0, false);
    }

    /// Queues a head to be handled.
    pub fn queue(&mut self, id: HeadId) {
        self.heads[id].step = Step::Queued;
        self.lists.queued.push_back(id);
    }

    /// Delays a head until it may read.
    pub fn delay(&mut self, id: HeadId) {
        self.heads[id].step = Step::Delayed;
        self.lists.delayed.push_back(id);
    }

    /// The next head to handle, in md's order:
    /// 1. Heads that need no reads.
    /// 2. Heads that may read. While full stripes are written, these heads come only after enough heads
    ///    without reads were handled before them (`BYPASS_THRESHOLD`).
    ///
    /// When no stripe has pre-reads in progress, all delayed heads may start to read.
    pub fn next_to_handle(&mut self) -> Option<HeadId> {
        let HeadQueues { queued, delayed, held, prereads, full, passed_over } = &mut self.lists;
        if let Some(id) = queued.pop_front() {
            *passed_over = if held.is_empty() { 0 } else { *passed_over + 1 };
            return Some(id);
        }
        if *prereads < IO_THRESHOLD && !delayed.is_empty() {
            for id in delayed.drain(..) {
                let head = &mut self.heads[id];
                (head.step, head.turns.preread) = (Step::Held, true);
                *prereads += 1;
                held.push_back(id);
            }
        }
        if *full > 0 && *passed_over <= BYPASS_THRESHOLD {
            return None;
        }
        let id = held.pop_front()?;
        *passed_over = passed_over.saturating_sub(BYPASS_THRESHOLD);
        Some(id)
    }

    /// Notes the end of the pre-reads of a head.
    pub fn end_preread(&mut self, id: HeadId) {
        if std::mem::take(&mut self.heads[id].turns.preread) {
            self.lists.prereads -= 1;
        }
    }

    /// Notes the begin or the end of a full-stripe write.
    pub fn full(&mut self, id: HeadId, begins: bool) {
        let was = std::mem::replace(&mut self.heads[id].turns.full, begins);
        match (was, begins) {
            (false, true) => self.lists.full += 1,
            (true, false) => self.lists.full -= 1,
            _ => {}
        }
    }

    /// Checks a restored state, for rows of `members` blocks and an array of `rows` rows.
    pub fn is_sound(&self, members: u64, rows: u64) -> bool {
        let HeadQueues { queued, delayed, held, .. } = &self.lists;
        let listed = queued.iter().chain(delayed).chain(held).map(|id| id.0);
        let links = self.heads.iter().flat_map(|head| [head.links.older, head.links.newer, head.links.hash]);
        let ends = [self.oldest, self.newest].into_iter().chain(self.buckets.iter().copied());
        let batches = self.heads.iter().flat_map(|head| head.batch.iter().map(|id| id.0));
        let mut all = listed.chain(links.chain(ends).filter(|id| *id != NONE)).chain(batches);
        let is_whole = |head: &StripeHead| {
            head.covered.len() as u64 == members
                && head.unread.len() as u64 == members
                && head.row.is_none_or(|row| row < rows)
                && (head.step == Step::Idle || head.row.is_some())
        };
        all.all(|id| id < self.count())
            && self.buckets.len() == (self.count() as usize).next_power_of_two()
            && self.active <= self.count()
            && self.heads.iter().all(is_whole)
    }

    /// Checks the lists and counters against the heads.
    pub fn audit(&self) {
        let idle = self.all().filter(|(_, head)| head.step == Step::Idle).count() as u32;
        assert_eq!(self.active + idle, self.count(), "every head has work or has none");
        let (mut listed, mut next) = (0, self.oldest);
        while next != NONE {
            assert_eq!(self.heads[HeadId(next)].step, Step::Idle, "a head in the list has no work");
            listed += 1;
            next = self.heads[HeadId(next)].links.newer;
        }
        assert_eq!(listed, idle, "every head without work is in the list");
        for (id, head) in self.all() {
            if let Some(row) = head.row {
                assert_eq!(self.find(row), Some(id), "a row has one head");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_row_that_was_used_first_leaves_first() {
        let mut heads = StripeCache::new(17, 3);
        for row in 0..17 {
            let id = heads.next_to_evict().expect("a head without work");
            heads.take(id);
            heads.assign(id, row * 1000);
            heads.make_idle(id);
        }
        let third = heads.find(2000).expect("it is in the cache");
        (0..2).for_each(|row| {
            let id = heads.find(row * 1000).expect("it is in the cache");
            heads.take(id);
            heads.make_idle(id);
        });
        heads.audit();
        assert_eq!(heads.next_to_evict(), Some(third));
        heads.take(third);
        heads.assign(third, 7);
        heads.make_idle(third);
        assert_eq!((heads.find(2000), heads.find(7)), (None, Some(third)));
        heads.audit();
    }

    #[test]
    fn after_a_row_had_to_wait_others_do_until_a_quarter_has_no_work() {
        let mut heads = StripeCache::new(20, 3);
        (0..20).for_each(|id| heads.take(HeadId(id)));
        assert!(!heads.has_room());
        heads.blocked = true;
        (0..5).for_each(|id| heads.make_idle(HeadId(id)));
        assert!(!heads.has_room(), "15 of 20 are active");
        heads.make_idle(HeadId(5));
        assert!(heads.has_room());
    }

    #[test]
    fn parts_of_blocks_are_sectors() {
        assert_eq!(sectors(&(0..8)), 0xff);
        assert_eq!(sectors(&(4..6)), 0x30);
        assert_eq!(sectors(&(0..64)), SectorSet::MAX);
        assert_eq!(sectors(&(63..64)), 1 << 63);
    }
}
