//! A file system over an extent allocator: files are created, grow, are read and deleted, behind a page
//! cache.

use std::collections::VecDeque;

use wordline_kernel::Stream;

use super::block_requests::{BLOCK, MAX_WRITE_BLOCKS, RequestQueue};
use super::cache::Cache;
use super::free_space::FreeSpaceMap;
use super::journal::{Journal, Layout};

/// No extent, or no file.
const NONE: u32 = u32::MAX;

/// Marks a file that does not exist, instead of its first extent.
const ABSENT: u32 = u32::MAX - 1;

/// Marks a file without a dirty block.
const CLEAN: u16 = u16::MAX;

/// Random draws after which no file is considered to exist. Chosen: if one in a hundred files exists, one
/// pick in 20,000 fails.
const MAX_DRAWS: usize = 1000;

/// Upper bound on items put into the page cache before the run. Chosen: this many take two seconds.
const MAX_WARM_ITEMS: u64 = 1 << 24;

/// Upper bound on file sizes, so that the dirty part of a file is counted in 16 bits. A size of 64 times the
/// mean has a probability of 1e-27.
pub const MAX_FILE_BYTES: u64 = 128 << 20;

/// An extent of a file. The slots of first extents precede the spare slots for further extents.
#[derive(Clone, Copy, Debug)]
struct Extent {
    start: u32,
    /// Bytes in the extent: whole blocks, except in the last extent of a file.
    bytes: u32,
    next: u32,
}

/// Size and contents of a file system.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Total blocks of 4 KiB.
    pub blocks: u32,
    /// Number of file slots.
    pub files: u32,
    /// Share of the files that exist at first.
    pub present: f64,
    /// Mean file size in bytes.
    pub mean: u64,
    /// Whether all files have the mean size.
    pub all_equal: bool,
    /// Blocks of the journal, 0 for none.
    pub journal: u32,
    /// Share of the files that the page cache holds; with `by_blocks`, share of their blocks.
    pub page_cache: f64,
    pub by_blocks: bool,
    /// Upper bound on items in the page cache.
    pub most_cached: u32,
    /// Whether freed blocks are discarded.
    pub discard: bool,
}

/// A file system.
#[derive(Clone, Debug)]
pub struct FileSystem {
    space: FreeSpaceMap,
    journal: Journal,
    extents: Vec<Extent>,
    /// First unused extent; `next` links the other unused extents.
    spare: u32,
    files: u32,
    absent: Vec<u32>,
    cache: Cache,
    by_blocks: bool,
    /// First dirty block of each file.
    dirty_from: Vec<u16>,
    /// The files with dirty blocks, in write-back order.
    dirty: VecDeque<u32>,
    most_dirty: usize,
    discard: bool,
}

impl FileSystem {
    /// Creates a freshly filled file system: its files are laid out one after another.
    pub fn new(plan: &Plan, sizes: &mut Stream, random: &mut Stream) -> Self {
        let layout = Layout::new(plan.blocks, plan.files, plan.journal);
        let data = layout.data();
        let space = FreeSpaceMap::new(data, plan.blocks - data);
        // One more slot, for the log file.
        let all = plan.files as usize + 1;
        let absent = Extent { start: NONE, bytes: 0, next: ABSENT };
        let mut fs = Self {
            space,
            journal: Journal::new(layout, plan.blocks),
            extents: vec![absent; all],
            spare: NONE,
            files: plan.files,
            absent: Vec::new(),
            cache: Cache::new(0),
            by_blocks: plan.by_blocks,
            dirty_from: Vec::new(),
            dirty: VecDeque::new(),
            most_dirty: 0,
            discard: plan.discard,
        };
        fs.fill(plan, sizes, random);
        fs.warm(plan);
        fs
    }

    fn fill(&mut self, plan: &Plan, sizes: &mut Stream, random: &mut Stream) {
        for file in 0..plan.files {
            if plan.present < 1.0 && random.unit() >= plan.present {
                self.absent.push(file);
                continue;
            }
            let bytes = if plan.all_equal { plan.mean } else { gamma(sizes, plan.mean) };
            self.extents[file as usize].next = NONE;
            self.grow(file, bytes.clamp(1, MAX_FILE_BYTES));
        }
        self.extents[plan.files as usize].next = NONE;
        // Journal writes from before the run are already on the device.
        self.journal.forget();
    }

    /// Fills the page cache with evenly spaced files.
    fn warm(&mut self, plan: &Plan) {
        let blocks = u64::from(self.files) * plan.mean.div_ceil(BLOCK);
        let all = if plan.by_blocks { blocks } else { u64::from(self.files) };
        let room = (all as f64 * plan.present * plan.page_cache) as u64;
        self.cache = Cache::new(room.min(u64::from(plan.most_cached)) as u32);
        let held = self.cache.capacity() as u64;
        // A tenth of the page cache may be dirty (vm.dirty_background_ratio of Linux). Without a page cache
        // nothing is dirty.
        self.most_dirty = (held / 10) as usize;
        self.dirty_from = if held == 0 { Vec::new() } else { vec![CLEAN; self.files as usize + 1] };
        if held == 0 {
            return;
        }
        // Inserts twice as many items as fit, because some sets would otherwise stay half empty.
        let (given, of_file) = (all.min(2 * held).min(MAX_WARM_ITEMS), plan.mean.div_ceil(BLOCK));
        for number in (0..given).map(|n| n * all / given) {
            let number = match plan.by_blocks {
                true => self.block_of((number / of_file) as u32, (number % of_file) as u32),
                false => Some(number as u32).filter(|file| self.exists(*file)),
            };
            if let Some(number) = number {
                self.cache.insert(number);
            }
        }
    }

    /// Picks an existing file that is not among the `open` ones.
    pub fn pick(&self, random: &mut Stream, open: &[u32]) -> Option<u32> {
        let draws = (0..MAX_DRAWS).map(|_| random.below(u64::from(self.files)) as u32);
        draws.into_iter().find(|file| self.exists(*file) && !open.contains(file))
    }

    /// Whether a file exists.
    pub fn exists(&self, file: u32) -> bool {
        self.extents[file as usize].next != ABSENT
    }

    /// Size of a file in bytes.
    pub fn size(&self, file: u32) -> u64 {
        let (mut bytes, mut at) = (0, file);
        while at < ABSENT {
            bytes += u64::from(self.extents[at as usize].bytes);
            at = self.extents[at as usize].next;
        }
        bytes
    }

    /// Number of the log file, which follows the other files.
    pub fn log(&self) -> u32 {
        self.files
    }

    /// Creates a file that does not exist; `None` if all exist.
    pub fn create(&mut self, random: &mut Stream, asks: &mut RequestQueue) -> Option<u32> {
        let count = self.absent.len() as u64;
        if count == 0 {
            return None;
        }
        let file = self.absent.swap_remove(random.below(count) as usize);
        self.extents[file as usize] = Extent { start: NONE, bytes: 0, next: NONE };
        self.journal.name(file);
        self.journal.inode(file);
        self.mark_dirty(file);
        self.commit_if_full(asks);
        Some(file)
    }

    /// Deletes a file.
    pub fn delete(&mut self, file: u32, asks: &mut RequestQueue) {
        self.empty(file);
        self.extents[file as usize].next = ABSENT;
        self.absent.push(file);
        self.journal.name(file);
        self.journal.inode(file);
        if !self.by_blocks {
            self.cache.remove(file);
        }
        self.commit_if_full(asks);
    }

    /// Truncates a file to zero.
    pub fn empty(&mut self, file: u32) {
        let mut at = file;
        while at < ABSENT {
            let Extent { start, bytes, next } = self.extents[at as usize];
            if bytes > 0 {
                self.journal.free(start, bytes.div_ceil(BLOCK as u32));
            }
            if at != file {
                self.extents[at as usize].next = self.spare;
                self.spare = at;
            }
            at = next;
        }
        self.extents[file as usize] = Extent { start: NONE, bytes: 0, next: NONE };
        if let Some(from) = self.dirty_from.get_mut(file as usize) {
            *from = CLEAN;
        }
    }

    /// Appends to a file, in memory. If the file system is full, appends less.
    pub fn append(&mut self, file: u32, bytes: u64) {
        self.grow(file, bytes);
        self.journal.inode(file);
        self.mark_dirty(file);
    }

    fn grow(&mut self, file: u32, bytes: u64) {
        let mut last = file;
        while self.extents[last as usize].next != NONE {
            last = self.extents[last as usize].next;
        }
        let mut left = bytes;
        let extent = &mut self.extents[last as usize];
        // Fills the last block first, then the blocks after it.
        let in_tail = (BLOCK - u64::from(extent.bytes) % BLOCK) % BLOCK;
        let here = left.min(in_tail);
        extent.bytes += here as u32;
        left -= here;
        if left > 0 && extent.bytes > 0 {
            let end = extent.start + (u64::from(extent.bytes) / BLOCK) as u32;
            let room = u64::from(u32::MAX - extent.bytes) / BLOCK;
            let taken = self.space.allocate_at(end, left.div_ceil(BLOCK).min(room) as u32);
            if taken > 0 {
                self.journal.record_allocation(end);
            }
            let here = left.min(u64::from(taken) * BLOCK);
            self.extents[last as usize].bytes += here as u32;
            left -= here;
        }
        while left > 0 {
            let Some((start, blocks)) = self.space.take(left.div_ceil(BLOCK) as u32) else { return };
            self.journal.record_allocation(start);
            let here = left.min(u64::from(blocks) * BLOCK);
            let extent = Extent { start, bytes: here as u32, next: NONE };
            if self.extents[last as usize].bytes == 0 {
                self.extents[last as usize] = extent;
            } else {
                let at = self.spare_extent(extent);
                self.extents[last as usize].next = at;
                last = at;
            }
            left -= here;
        }
    }

    fn spare_extent(&mut self, extent: Extent) -> u32 {
        if self.spare == NONE {
            self.extents.push(extent);
            return self.extents.len() as u32 - 1;
        }
        let at = self.spare;
        self.spare = self.extents[at as usize].next;
        self.extents[at as usize] = extent;
        at
    }

    /// Returns the runs of blocks of a file, starting at the block that holds byte `from`.
    fn runs(&self, file: u32, from: u64) -> impl Iterator<Item = (u32, u32)> + use<'_> {
        let (mut at, mut skip) = (file, (from / BLOCK) as u32);
        std::iter::from_fn(move || {
            while at < ABSENT {
                let Extent { start, bytes, next } = self.extents[at as usize];
                at = next;
                let blocks = bytes.div_ceil(BLOCK as u32);
                let passed = skip.min(blocks);
                skip -= passed;
                if passed < blocks {
                    return Some((start + passed, blocks - passed));
                }
            }
            None
        })
    }

    /// Returns a block of a file.
    pub fn block_of(&self, file: u32, number: u32) -> Option<u32> {
        self.runs(file, u64::from(number) * BLOCK).next().map(|(block, _)| block)
    }

    /// Number of blocks of a file.
    pub fn blocks_of(&self, file: u32) -> u32 {
        self.runs(file, 0).map(|(_, blocks)| blocks).sum()
    }

    /// Reads a whole file, unless it is in the page cache.
    pub fn read_whole(&mut self, file: u32, asks: &mut RequestQueue) {
        if self.is_dirty(file) || self.cache.touch(file) {
            return;
        }
        self.runs(file, 0).for_each(|(block, blocks)| asks.read(block, blocks));
        self.mark_dirty(file);
    }

    /// Puts a block into the page cache, as a write of a whole block does.
    pub fn cache_block(&mut self, block: u32) {
        self.cache.insert(block);
    }

    /// Reads a block, unless it is in the page cache.
    pub fn read_block(&mut self, block: u32, asks: &mut RequestQueue) {
        if !self.cache.touch(block) {
            asks.read(block, 1);
            self.cache.insert(block);
        }
    }

    /// Writes blocks of a file durably, from block `number` on. Each request is followed by a flush.
    pub fn write_durably(&mut self, file: u32, number: u32, blocks: u32, asks: &mut RequestQueue) {
        let (mut left, from) = (blocks, u64::from(number) * BLOCK);
        for (block, run) in self.runs(file, from) {
            let here = run.min(left);
            asks.write(block, here);
            left -= here;
            if left == 0 {
                break;
            }
        }
        asks.flush();
    }

    /// Makes a file durable from byte `from` on. All bytes before `from` are already written.
    pub fn fsync(&mut self, file: u32, from: u64, asks: &mut RequestQueue) {
        let from = self.clean(file).map_or(from, |dirty| dirty.min(from));
        if from < self.size(file) {
            self.runs(file, from).for_each(|(block, blocks)| asks.write(block, blocks));
        }
        self.commit(asks);
    }

    /// Closes a file whose data from byte `from` on are not yet written. They are written back later, or at
    /// once without a page cache.
    pub fn write_later(&mut self, file: u32, from: u64, asks: &mut RequestQueue) {
        if self.most_dirty == 0 {
            self.runs(file, from).for_each(|(block, blocks)| asks.write(block, blocks));
            asks.writes_back = Some(file);
            return self.commit_if_full(asks);
        }
        let from = (from / BLOCK).min(u64::from(CLEAN) - 1) as u16;
        let before = &mut self.dirty_from[file as usize];
        if *before == CLEAN {
            self.dirty.push_back(file);
        }
        *before = from.min(*before);
        // A file that has been deleted meanwhile keeps its slot in the queue until its turn.
        let oldest = if self.dirty.len() > self.most_dirty { self.dirty.pop_front() } else { None };
        if let Some((oldest, from)) = oldest.and_then(|file| self.clean(file).map(|from| (file, from))) {
            self.runs(oldest, from).for_each(|(block, blocks)| asks.write(block, blocks));
            asks.writes_back = Some(oldest);
        }
        self.commit_if_full(asks);
    }

    /// Frees blocks.
    pub fn release(&mut self, block: u32, blocks: u32) {
        self.space.release(block, blocks);
    }

    /// Returns the first dirty byte of a file, and marks the file clean.
    fn clean(&mut self, file: u32) -> Option<u64> {
        let from = std::mem::replace(self.dirty_from.get_mut(file as usize)?, CLEAN);
        (from != CLEAN).then(|| u64::from(from) * BLOCK)
    }

    fn is_dirty(&self, file: u32) -> bool {
        self.dirty_from.get(file as usize).is_some_and(|from| *from != CLEAN)
    }

    /// Appends to the log, which is written in whole requests and restarts at `limit` bytes.
    pub fn append_to_log(&mut self, bytes: u64, limit: u64, asks: &mut RequestQueue) {
        let log = self.log();
        let before = self.size(log);
        if before + bytes > limit && before > 0 {
            self.empty(log);
            return self.append_to_log(bytes, limit.max(bytes), asks);
        }
        self.grow(log, bytes);
        self.journal.inode(log);
        let piece = if self.most_dirty == 0 { 1 } else { u64::from(MAX_WRITE_BLOCKS) * BLOCK };
        if before / piece != self.size(log) / piece {
            let from = before / piece * piece;
            self.runs(log, from).for_each(|(block, blocks)| asks.write(block, blocks));
        }
        self.commit_if_full(asks);
    }

    fn commit_if_full(&mut self, asks: &mut RequestQueue) {
        if self.journal.is_full() {
            self.commit(asks);
        }
    }

    fn commit(&mut self, asks: &mut RequestQueue) {
        for (block, blocks) in self.journal.commit(asks) {
            asks.free_later(block, blocks, self.discard);
        }
    }

    fn mark_dirty(&mut self, file: u32) {
        if !self.by_blocks {
            self.cache.insert(file);
        }
    }
}

#[cfg(test)]
impl FileSystem {
    /// Returns the blocks that belong to files, after checking that no block belongs to two files. Blocks
    /// that belong to no file and are not free must be in the process of being freed.
    pub fn audit(&self, on_their_way: u32) -> Vec<bool> {
        let mut held = vec![false; (self.space.first() + self.space.blocks()) as usize];
        let mut count = 0;
        for file in (0..=self.files).filter(|file| self.exists(*file)) {
            for (block, blocks) in self.runs(file, 0) {
                count += blocks;
                for at in block..block + blocks {
                    assert!(
                        !std::mem::replace(&mut held[at as usize], true),
                        "block {at} belongs to two files"
                    );
                }
            }
        }
        let on_their_way = on_their_way + self.journal.blocks_being_freed();
        assert_eq!(self.space.blocks() - self.space.free(), count + on_their_way, "blocks are lost");
        held
    }

    /// Number of extents ever allocated at the same time.
    pub fn extent_count(&self) -> usize {
        self.extents.len()
    }
}

/// Draws a size from the gamma distribution with shape 1.5, from which Filebench draws file sizes.
fn gamma(random: &mut Stream, mean: u64) -> u64 {
    // The sum of gamma variates of shape 1 and shape 1/2. The variate of shape 1/2 is half the square of a
    // normal deviate (Box and Muller).
    let cosine = libm::cos(std::f64::consts::TAU * random.unit());
    let sum = random.exponential() + random.exponential() * cosine * cosine;
    (sum / 1.5 * mean as f64) as u64
}
