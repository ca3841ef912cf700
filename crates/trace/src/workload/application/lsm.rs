//! A key-value store as a log-structured merge tree: a write-ahead log, memtables that are flushed, and
//! tables that are compacted level by level. Levels and defaults are RocksDB's.
//!
//! No record is stored. The level of the newest version of a key follows from the time since the last update
//! of the key. This time is drawn from an exponential distribution, whose mean follows from the popularity of
//! the key (Zipf). The number of records after a compaction follows from the expected number of distinct keys
//! among the updates.
//!
//! On a conventional device the store has any free blocks, and discards deleted ones. On a zoned namespace it
//! writes zones in order, and resets them: see [`zone_space`].

mod plan;
mod relocation;
mod space;
#[cfg(test)]
mod tests;
pub(super) mod zone_space;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, Seed, Stream};

use super::block_requests::{BLOCK, RequestQueue};
use super::cache::Cache;
use super::free_space::FreeSpaceMap;
use super::keys::{Clients, DistinctKeys, KeyGenerator, Operation};
use super::program::StepOutcome;
pub use plan::Region;
use plan::{BLOCKS_BEFORE_DATA, LOG_HEADER, Plan};
use relocation::Relocation;
use space::Space;
use zone_space::{FLUSHED, LOG, ZoneSpace};

/// An application over a log-structured merge tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lsm {
    /// Clients and their operations.
    pub clients: Clients,
    /// Share of the region that tables fill at the start of the run, from 0.05 to 0.7.
    pub fill: f64,
    /// Size of the tables at the start of the run, in place of `fill`: the same store on devices of different
    /// capacities. At most 0.7 of the region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Bytes>,
    /// Share of the data that is cached in memory, from 0 to 0.9.
    pub page_cache: f64,
    /// Size of a memtable (`write_buffer_size`); at most 1/256 of the region.
    pub memtable: Bytes,
    /// Size of a table (`target_file_size_base`); at most 1/256 of the region.
    pub table: Bytes,
    /// Target size of the first level below level 0 (`max_bytes_for_level_base`); at most 1/64 of the region.
    pub level: Bytes,
    /// Size ratio of adjacent levels, from 2 to 100 (`max_bytes_for_level_multiplier`).
    pub ratio: f64,
    /// Flushed tables in level 0 that start a compaction (`level0_file_num_compaction_trigger`).
    pub merge_at: u32,
    /// Flushed tables in level 0 at which updates stall (`level0_slowdown_writes_trigger`); above `merge_at`,
    /// at most 32.
    pub stall_at: u32,
    /// Whether an update is durable when it completes; otherwise the log is written in whole requests.
    pub sync: bool,
    /// Whether the blocks of a deleted table are discarded.
    pub discard: bool,
}

impl Lsm {
    pub(super) fn check(&self, c: &mut Complaints) {
        let mut inner = Complaints::default();
        self.clients.check(&mut inner);
        c.nest("clients", inner);
        c.require((0.05..=0.7).contains(&self.fill), "fill", self.fill, "a fraction from 0.05 to 0.7");
        let holds = self.data.is_none_or(|data| data >= Bytes::mib(1) && data <= Bytes(1 << 44));
        c.require(holds, "data", self.data.unwrap_or_default(), "from 1MiB to 16TiB");
        let cached = self.page_cache;
        c.require((0.0..=0.9).contains(&cached), "page_cache", cached, "a fraction from 0 to 0.9");
        for (key, size) in [("memtable", self.memtable), ("table", self.table), ("level", self.level)] {
            let holds = size >= Bytes::kib(64) && size <= Bytes::gib(16);
            c.require(holds, key, size, "from 64KiB to 16GiB");
        }
        c.require((2.0..=100.0).contains(&self.ratio), "ratio", self.ratio, "a number from 2 to 100");
        c.require(self.merge_at > 0, "merge_at", self.merge_at, "at least 1");
        let holds = self.stall_at > self.merge_at && self.stall_at <= 32;
        c.require(holds, "stall_at", self.stall_at, "more than merge_at, at most 32");
    }
}

/// A sorted table.
#[derive(Clone, Debug)]
struct Table {
    /// First key, and the key after the last.
    first: u64,
    end: u64,
    blocks: u32,
    records: f64,
    runs: Vec<(u32, u32)>,
}

impl Table {
    /// Returns the block of a key.
    fn block(&self, key: u64) -> u32 {
        let mut at = ((key - self.first) * u64::from(self.blocks) / (self.end - self.first)) as u32;
        for (block, blocks) in &self.runs {
            if at < *blocks {
                return block + at;
            }
            at -= blocks;
        }
        unreachable!("a table has all its blocks")
    }
}

/// A compaction in progress.
#[derive(Clone, Debug)]
struct Compaction {
    /// The upper level of the compaction.
    level: usize,
    /// The tables of the upper level that are compacted.
    upper: std::ops::Range<usize>,
    /// The tables of the level below that are compacted.
    lower: std::ops::Range<usize>,
    made: Vec<Table>,
}

/// The write-ahead log of a memtable.
#[derive(Clone, Debug, Default)]
struct WriteAheadLog {
    runs: Vec<(u32, u32)>,
    /// Bytes appended.
    bytes: u64,
    /// Bytes written.
    written: u64,
    /// Clients whose writes to the log are not answered yet.
    writers: Vec<usize>,
}

/// The store.
#[derive(Clone, Debug)]
pub struct Store {
    keys: KeyGenerator,
    count: u64,
    distinct: DistinctKeys,
    record: u64,
    space: Space,
    /// Updates per memtable, and blocks per table.
    memtable: u64,
    table: u32,
    merge_at: usize,
    stall_at: usize,
    sync: bool,
    discard: bool,
    /// Flushed tables (level 0), oldest first. Then the other levels, each ordered by key.
    levels: Vec<Vec<Table>>,
    /// Target number of records per level.
    targets: Vec<f64>,
    /// First cache number of the blocks of each level.
    cached_from: Vec<u64>,
    /// Upper bound of the time since the last update of the keys of a level, in updates.
    windows: Vec<f64>,
    /// Key at which the next compaction of each level begins.
    cursors: Vec<u64>,
    cache: Cache,
    updates: u64,
    log: WriteAheadLog,
    /// Log of the memtable being flushed.
    flushed: Option<WriteAheadLog>,
    flush: Option<Table>,
    merge: Option<Compaction>,
    relocation: Option<Relocation>,
    /// Zones with the tables that the store begins with; `None` on addresses.
    filled_zones: Option<u32>,
    /// Runs of compacted tables, which may still have readers.
    retired: Vec<(u32, u32)>,
    /// Whether the next operation of a client is an update, by thread.
    pending: Vec<bool>,
    ages: Stream,
}

impl Store {
    /// Creates a store that was loaded into this many blocks, or into these zones, with levels as after long
    /// use.
    ///
    /// # Errors
    /// A region without space for the tables.
    pub fn new(config: &Lsm, seed: Seed, region: Region, most_cached: u32) -> Result<Self, Complaints> {
        let plan = Plan::new(config, region)?;
        let Plan { count, memtable, table, targets } = plan;
        let space = match region {
            Region::Blocks(blocks) => {
                Space::Addresses(FreeSpaceMap::new(BLOCKS_BEFORE_DATA, blocks - BLOCKS_BEFORE_DATA))
            }
            Region::Zones(layout) => Space::Zones(ZoneSpace::new(layout, targets.len() - 1)),
        };
        let mut store = Self {
            keys: KeyGenerator::new(&config.clients, count, seed),
            count,
            distinct: DistinctKeys::new(count, config.clients.theta),
            record: config.clients.record.0,
            space,
            memtable,
            table,
            merge_at: config.merge_at as usize,
            stall_at: config.stall_at as usize,
            sync: config.sync,
            discard: config.discard,
            levels: vec![Vec::new(); targets.len()],
            cached_from: Vec::new(),
            windows: Vec::new(),
            cursors: vec![0; targets.len()],
            cache: Cache::new(0),
            updates: 0,
            log: WriteAheadLog::default(),
            flushed: None,
            flush: None,
            merge: None,
            relocation: None,
            filled_zones: None,
            retired: Vec::new(),
            pending: vec![false; usize::from(config.clients.threads)],
            ages: seed.stream("workload.ages", 0),
            targets,
        };
        for level in 1..store.levels.len() {
            let records = store.targets[level];
            store.levels[level] =
                store.tables(level, 0..count, records).expect("a fraction of the region is filled");
        }
        if let Space::Zones(zones) = &mut store.space {
            store.filled_zones = Some(zones.seal_all());
        }
        store.log = store.new_log().expect("a fraction of the region is filled");
        store.warm(config.page_cache, most_cached);
        store.update_windows();
        Ok(store)
    }

    /// Number of zones, from the first on, that have the tables at the start; `None` on addresses.
    pub fn filled_zones(&self) -> Option<u32> {
        self.filled_zones
    }

    /// Fills the cache with the most popular keys.
    fn warm(&mut self, share: f64, most: u32) {
        let mut from = 0;
        for target in self.targets.iter().rev() {
            self.cached_from.push(from);
            from += self.blocks_of(*target).max(1);
        }
        self.cached_from.reverse();
        let room = (from as f64 * share).min(f64::from(most)) as u32;
        self.cache = Cache::new(room);
        // Chosen: more keys would take seconds and hardly matter, as most accesses go to fewer keys.
        let ranks = self.count.min(2 * u64::from(room)).min(1 << 22);
        let last = self.levels.len() - 1;
        for rank in (0..ranks).rev() {
            let number = self.number(last, u64::from(self.keys.of_rank(rank)));
            self.cache.insert(number);
        }
    }

    fn blocks_of(&self, records: f64) -> u64 {
        (records * self.record as f64 / BLOCK as f64) as u64
    }

    /// Cache number of the block of a key in a level.
    fn number(&self, level: usize, key: u64) -> u32 {
        let blocks = self.blocks_of(self.targets[level]).max(1);
        (self.cached_from[level] + key * blocks / self.count) as u32
    }

    /// Number of threads: the clients, one thread that flushes and one that compacts.
    pub fn thread_count(&self) -> usize {
        self.pending.len() + 2
    }

    /// Frees blocks, or a zone that was reset.
    pub fn release(&mut self, block: u32, blocks: u32) {
        self.space.release(block, blocks);
    }

    /// Advances a thread by one step. All of its requests must have been issued.
    pub fn step(&mut self, number: usize, asks: &mut RequestQueue) -> StepOutcome {
        let clients = self.pending.len();
        self.end_log_writes(number, asks);
        if number == clients {
            self.flush(asks)
        } else if number > clients {
            self.merge(asks)
        } else if self.pending[number] {
            self.update(number, asks)
        } else {
            let operation = self.keys.next();
            self.pending[number] = operation.updates;
            self.read(operation, asks);
            StepOutcome::Advanced
        }
    }

    /// Reads the newest version of a record. YCSB's client of RocksDB reads a record before it updates it.
    fn read(&mut self, operation: Operation, asks: &mut RequestQueue) {
        let key = u64::from(operation.key);
        let age = self.ages.exponential() / self.distinct.share(operation.rank);
        let in_memory = self.updates + if self.flushed.is_some() { self.memtable } else { 0 };
        let age = age - in_memory as f64;
        if age < 0.0 {
            return;
        }
        let newest = self.windows.iter().position(|window| age < *window).unwrap_or(self.levels.len() - 1);
        let Some((level, block)) = (newest..self.levels.len()).find_map(|level| self.find(level, key, age))
        else {
            return;
        };
        let number = self.number(level, key);
        if !self.cache.touch(number) {
            asks.read(block, 1);
            self.cache.insert(number);
        }
    }

    /// Returns the block of a key that was last updated `age` updates ago, if the level has it.
    fn find(&self, level: usize, key: u64, age: f64) -> Option<(usize, u32)> {
        let tables = &self.levels[level];
        let at = match level {
            0 => tables.len().checked_sub(1 + age as usize / self.memtable as usize)?,
            _ => tables.partition_point(|table| table.first <= key).checked_sub(1)?,
        };
        (key < tables[at].end).then(|| (level, tables[at].block(key)))
    }

    fn update(&mut self, number: usize, asks: &mut RequestQueue) -> StepOutcome {
        let is_full = self.updates == self.memtable;
        let is_stalled = self.levels[0].len() >= self.stall_at || is_full && self.flushed.is_some();
        if is_stalled || !self.space.has_log_room() {
            return StepOutcome::Waiting;
        }
        if is_full {
            let Some(next) = self.new_log() else { return StepOutcome::Waiting };
            self.write_log(number, 1, asks);
            self.flushed = Some(std::mem::replace(&mut self.log, next));
            self.updates = 0;
            asks.wakes = true;
        }
        self.pending[number] = false;
        self.updates += 1;
        self.log.bytes += self.record + LOG_HEADER;
        if self.sync {
            self.write_log(number, 1, asks);
            asks.flush();
        } else {
            self.write_log(number, u64::from(self.space.log_piece()) * BLOCK, asks);
        }
        StepOutcome::Advanced
    }

    /// Records that the requests of a client are answered.
    fn end_log_writes(&mut self, number: usize, asks: &mut RequestQueue) {
        self.log.writers.retain(|writer| *writer != number);
        if let Some(flushed) = self.flushed.as_mut().filter(|log| log.writers.contains(&number)) {
            flushed.writers.retain(|writer| *writer != number);
            asks.wakes = true;
        }
    }

    /// Writes the new part of the log if it has at least `least` bytes.
    fn write_log(&mut self, number: usize, least: u64, asks: &mut RequestQueue) {
        let unwritten = self.log.bytes - self.log.written;
        if unwritten < least {
            return;
        }
        self.log.writers.push(number);
        // In zones a block is written once: a piece of the log begins with a new block, and the last one is
        // padded if it must be durable.
        let whole = unwritten.div_ceil(BLOCK).min(u64::from(self.space.log_piece())) as u32;
        if let Some(extent) = self.space.append_log(whole, asks) {
            self.log.runs.push(extent);
            self.log.written += unwritten.min(u64::from(whole) * BLOCK);
            return;
        }
        let from = (self.log.written / BLOCK) as u32;
        let to = self.log.bytes.div_ceil(BLOCK) as u32;
        self.log.written = self.log.bytes;
        let mut at = 0;
        for (block, blocks) in &self.log.runs {
            let (first, end) = (from.max(at), to.min(at + blocks));
            if first < end {
                asks.write(block + first - at, end - first);
            }
            at += blocks;
        }
    }

    /// Creates the log of a memtable; `None` if there is no space. In zones it gets its blocks piece by piece.
    fn new_log(&mut self) -> Option<WriteAheadLog> {
        let runs = match self.space {
            Space::Addresses(_) => {
                let bytes = self.memtable * (self.record + LOG_HEADER);
                self.space.take(LOG, bytes.div_ceil(BLOCK) as u32)?
            }
            Space::Zones(_) => Vec::new(),
        };
        Some(WriteAheadLog { runs, ..WriteAheadLog::default() })
    }

    fn flush(&mut self, asks: &mut RequestQueue) -> StepOutcome {
        // As in RocksDB, a log is deleted when its memtable is flushed and all writes to it are answered.
        let is_being_written = |log: &WriteAheadLog| !log.writers.is_empty();
        if self.flush.is_some() && self.flushed.as_ref().is_some_and(is_being_written) {
            return StepOutcome::Waiting;
        }
        if let Some(table) = self.flush.take() {
            self.levels[0].push(table);
            asks.wakes = true;
            let log = self.flushed.take().expect("a memtable is flushed with its log");
            log.runs.into_iter().for_each(|run| self.space.free_later(run, self.discard, asks));
            self.update_windows();
            return StepOutcome::Advanced;
        }
        if self.flushed.is_none() {
            return StepOutcome::Waiting;
        }
        let records = self.distinct.of(self.memtable as f64);
        let blocks = self.blocks_of(records).max(1) as u32;
        let Some(runs) = self.space.take(FLUSHED, blocks) else { return StepOutcome::Waiting };
        runs.iter().for_each(|(block, blocks)| asks.write(*block, *blocks));
        self.space.install(asks);
        self.flush = Some(Table { first: 0, end: self.count, blocks, records, runs });
        StepOutcome::Advanced
    }

    fn merge(&mut self, asks: &mut RequestQueue) -> StepOutcome {
        if let Some(merge) = self.merge.take() {
            self.finish(merge, asks);
            return StepOutcome::Advanced;
        }
        if let Some(relocation) = self.relocation.take() {
            self.finish_relocation(relocation, asks);
            return StepOutcome::Advanced;
        }
        if self.space.is_short() && self.make_room(asks) {
            return StepOutcome::Advanced;
        }
        let mut candidates = self.candidates();
        if candidates.is_empty() {
            return StepOutcome::Waiting;
        }
        // In zones the fullest level may need more than there is, and another one less.
        candidates.truncate(if self.filled_zones.is_some() { candidates.len() } else { 1 });
        let Some(merge) = candidates.into_iter().find_map(|(level, upper)| self.begin(level, upper)) else {
            let is_made = self.make_room(asks);
            return if is_made { StepOutcome::Advanced } else { StepOutcome::Waiting };
        };
        self.issue_compaction(&merge, asks);
        self.merge = Some(merge);
        StepOutcome::Advanced
    }

    /// Frees the retired tables now, because there is no space. If there are none, relocates a zone. Returns
    /// whether anything was done.
    fn make_room(&mut self, asks: &mut RequestQueue) -> bool {
        if self.retired.is_empty() {
            return self.begin_relocation(asks);
        }
        self.release_retired(asks);
        true
    }

    /// Returns the levels that are due for a compaction, the fullest relative to its target first, each with
    /// its tables that are compacted into the next level.
    fn candidates(&self) -> Vec<(usize, std::ops::Range<usize>)> {
        let records = |level: usize| self.levels[level].iter().map(|table| table.records).sum::<f64>();
        let score = |level: usize| match level {
            0 => self.levels[0].len() as f64 / self.merge_at as f64,
            _ => records(level) / self.targets[level],
        };
        // Flushed tables are compacted when there are `merge_at` of them; a level is compacted when it
        // exceeds its target.
        let mut due: Vec<(usize, f64)> = (0..self.levels.len() - 1)
            .map(|level| (level, score(level)))
            .filter(|(level, score)| if *level == 0 { *score >= 1.0 } else { *score > 1.0 })
            .collect();
        due.sort_by(|one, other| other.1.total_cmp(&one.1));
        let upper = |level: usize| {
            let tables = &self.levels[level];
            if level == 0 {
                return 0..tables.len();
            }
            let next = tables.partition_point(|table| table.first < self.cursors[level]);
            let next = if next < tables.len() { next } else { 0 };
            next..next + 1
        };
        due.into_iter().map(|(level, _)| (level, upper(level))).collect()
    }

    /// Selects the tables of the next level for a compaction, and allocates its output.
    fn begin(&mut self, level: usize, upper: std::ops::Range<usize>) -> Option<Compaction> {
        let (from, to) = match level {
            0 => (0, self.count),
            _ => (self.levels[level][upper.start].first, self.levels[level][upper.end - 1].end),
        };
        let below = &self.levels[level + 1];
        let lower =
            below.partition_point(|table| table.end <= from)..below.partition_point(|table| table.first < to);
        let (first, end) = match below.get(lower.clone()) {
            Some([one, .., other]) => (from.min(one.first), to.max(other.end)),
            Some([one]) => (from.min(one.first), to.max(one.end)),
            _ => (from, to),
        };
        let part = (end - first) as f64 / self.count as f64;
        let mut records: f64 = below[lower.clone()].iter().map(|table| table.records).sum();
        for table in &self.levels[level][upper.clone()] {
            records = self.distinct.merged(table.records, records, part);
        }
        let records = records.min((end - first) as f64);
        let made = self.tables(level + 1, first..end, records)?;
        self.cursors[level] = to;
        Some(Compaction { level, upper, lower, made })
    }

    /// Issues the reads and writes of a compaction, interleaved in proportion.
    fn issue_compaction(&mut self, merge: &Compaction, asks: &mut RequestQueue) {
        let (mut reads, mut writes) = (RequestQueue::default(), RequestQueue::default());
        let upper = &self.levels[merge.level][merge.upper.clone()];
        let lower = &self.levels[merge.level + 1][merge.lower.clone()];
        for (block, blocks) in upper.iter().chain(lower).flat_map(|table| &table.runs) {
            reads.read(*block, *blocks);
        }
        for table in &merge.made {
            table.runs.iter().for_each(|(block, blocks)| writes.write(*block, *blocks));
            writes.flush();
        }
        asks.interleave(reads, writes);
        self.space.install(asks);
    }

    fn finish(&mut self, merge: Compaction, asks: &mut RequestQueue) {
        let Compaction { level, upper, lower, made } = merge;
        // Tables that the previous compaction retired have no readers now.
        self.release_retired(asks);
        let mut gone: Vec<Table> = self.levels[level].drain(upper).collect();
        gone.extend(self.levels[level + 1].splice(lower, made));
        self.retired.extend(gone.into_iter().flat_map(|table| table.runs));
        asks.wakes = true;
        self.update_windows();
    }

    fn release_retired(&mut self, asks: &mut RequestQueue) {
        for run in self.retired.drain(..) {
            self.space.free_later(run, self.discard, asks);
        }
    }

    /// Updates the age window of each level.
    fn update_windows(&mut self) {
        let mut back = 0.0;
        self.windows.clear();
        for (level, tables) in self.levels.iter().enumerate() {
            let records: f64 = tables.iter().map(|table| table.records).sum();
            back += match level {
                0 => tables.len() as f64 * self.memtable as f64,
                _ => self.distinct.updates(records),
            };
            self.windows.push(back);
        }
    }

    /// Allocates tables of a level for this many records in a range of keys; `None` if there is no space.
    fn tables(&mut self, level: usize, keys: std::ops::Range<u64>, records: f64) -> Option<Vec<Table>> {
        let (first, span) = (keys.start, keys.end - keys.start);
        let class = self.space.class_of(level);
        let blocks = self.blocks_of(records).max(1);
        let count = blocks.div_ceil(u64::from(self.table)).min(span);
        let bound = |n: u64| first + (u128::from(span) * u128::from(n) / u128::from(count)) as u64;
        if !self.space.may_have_room(class, blocks) {
            return None;
        }
        let mut made: Vec<Table> = Vec::new();
        for n in 0..count {
            let of_table = (blocks * (n + 1) / count - blocks * n / count).max(1) as u32;
            let Some(runs) = self.space.take(class, of_table) else {
                made.iter()
                    .flat_map(|table| &table.runs)
                    .for_each(|(block, blocks)| self.space.undo(*block, *blocks));
                return None;
            };
            let (first, end) = (bound(n), bound(n + 1));
            made.push(Table { first, end, blocks: of_table, records: records / count as f64, runs });
        }
        Some(made)
    }
}
