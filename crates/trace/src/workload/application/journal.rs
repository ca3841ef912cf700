//! File-system metadata: their layout, and the journal that makes their changes durable.
//!
//! Chosen: as in ext4 with journaled metadata, changed blocks are collected in one transaction of all
//! threads. A thread that commits the transaction writes a descriptor and the blocks sequentially into the
//! journal, flushes, and writes the commit block with FUA. The blocks themselves are written in place later.

use wordline_kernel::Bytes;

use super::block_requests::{BLOCK, RequestQueue};
use super::cache::Cache;

/// Upper bound on metadata blocks in a transaction. Chosen: it replaces the five seconds after which ext4
/// commits by itself, as a generator has no time.
const MAX_TRANSACTION_BLOCKS: usize = 256;

/// Part of the journal, one block in this many, that may be committed and not yet written in place. Chosen:
/// the journal cannot hold more than its size, and most blocks are in it more than once.
const NOT_IN_PLACE: u32 = 4;

/// Part of the file system, one block in this many, that may wait for the next commit to be freed. Chosen: a
/// file system commits before it runs out of space.
const MOST_FREED: u32 = 64;

/// Inodes per block: an inode of ext4 has 256 bytes.
const INODES: u32 = 16;

/// Directory entries per block. Chosen: names of some 40 bytes, in blocks that are two thirds full.
const NAMES: u32 = 64;

/// Blocks covered by one block of the bitmap.
const IN_BITMAP: u32 = 1 << 15;

/// Layout of the metadata on the device: journal, bitmap, inodes, directories, and then the data.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    journal: u32,
    bitmap: u32,
    inodes: u32,
    names: u32,
    data: u32,
}

impl Layout {
    /// Lays out the metadata from the first block of the region on.
    pub fn new(blocks: u32, files: u32, journal: u32) -> Self {
        // Block 0 holds the boot sector and the superblock.
        let bitmap = 1 + journal;
        let inodes = bitmap + blocks.div_ceil(IN_BITMAP);
        let names = inodes + files.div_ceil(INODES);
        Self { journal, bitmap, inodes, names, data: names + files.div_ceil(NAMES) }
    }

    /// Returns the first block of data.
    pub fn data(&self) -> u32 {
        self.data
    }
}

/// The journal of a file system.
#[derive(Clone, Debug)]
pub struct Journal {
    layout: Layout,
    /// Position of the next transaction, counted from the first block of the journal.
    head: u32,
    /// Blocks changed by the current transaction; each is listed once.
    changed: Vec<u32>,
    /// Runs of blocks that become free when the transaction is committed.
    freed: Vec<(u32, u32)>,
    freed_blocks: u32,
    most_freed: u32,
    not_in_place: Cache,
}

impl Journal {
    /// Creates an empty journal. Without journal blocks, changes are written in place at once.
    pub fn new(layout: Layout, blocks: u32) -> Self {
        let not_in_place = Cache::new(layout.journal / NOT_IN_PLACE);
        let (changed, freed, most_freed) = (Vec::new(), Vec::new(), blocks / MOST_FREED);
        Self { layout, head: 0, changed, freed, freed_blocks: 0, most_freed, not_in_place }
    }

    /// Records a change to the inode of a file.
    pub fn inode(&mut self, file: u32) {
        self.change(self.layout.inodes + file / INODES);
    }

    /// Records that the name of a file is added or removed.
    pub fn name(&mut self, file: u32) {
        self.change(self.layout.names + file / NAMES);
    }

    /// Records that a block is allocated.
    pub fn record_allocation(&mut self, block: u32) {
        self.change(self.layout.bitmap + block / IN_BITMAP);
    }

    /// Frees blocks at the next commit.
    pub fn free(&mut self, block: u32, blocks: u32) {
        self.record_allocation(block);
        self.freed.push((block, blocks));
        self.freed_blocks += blocks;
    }

    fn change(&mut self, block: u32) {
        if self.changed.last() != Some(&block) && !self.changed.contains(&block) {
            self.changed.push(block);
        }
    }

    /// Whether the transaction is full.
    pub fn is_full(&self) -> bool {
        self.changed.len().max(self.freed.len()) >= MAX_TRANSACTION_BLOCKS
            || self.freed_blocks > self.most_freed
    }

    /// Makes all writes and metadata changes durable. Returns the runs that become free.
    pub fn commit(&mut self, asks: &mut RequestQueue) -> Vec<(u32, u32)> {
        if self.changed.is_empty() {
            asks.flush();
        } else if self.layout.journal == 0 {
            self.changed.drain(..).for_each(|block| asks.write(block, 1));
            asks.flush();
        } else {
            let count = self.changed.len() as u32;
            self.append(1 + count, asks);
            asks.flush();
            let commit = self.next(1);
            asks.write_through(commit);
            for block in self.changed.drain(..) {
                self.not_in_place.insert(block).into_iter().for_each(|gone| asks.write_later(gone));
            }
        }
        self.freed_blocks = 0;
        std::mem::take(&mut self.freed)
    }

    /// Drops the current transaction, because all of it is on the device.
    pub fn forget(&mut self) {
        self.changed.clear();
    }

    /// Writes this many blocks to the journal, wrapping around at its end.
    fn append(&mut self, blocks: u32, asks: &mut RequestQueue) {
        let mut left = blocks;
        while left > 0 {
            let here = left.min(self.layout.journal - self.head);
            let first = self.next(here);
            asks.write(first, here);
            left -= here;
        }
    }

    /// Returns the next blocks of the journal. They do not wrap around.
    fn next(&mut self, blocks: u32) -> u32 {
        let first = 1 + self.head;
        self.head = (self.head + blocks) % self.layout.journal;
        first
    }
}

#[cfg(test)]
impl Journal {
    /// Blocks to be freed at the next commit.
    pub fn blocks_being_freed(&self) -> u32 {
        self.freed.iter().map(|(_, blocks)| blocks).sum()
    }
}

/// Returns the journal size in blocks for `asked` bytes in a region of this many blocks. It is at most a
/// sixty-fourth of the region, as mke2fs limits it for small file systems.
pub fn journal_blocks(asked: Bytes, blocks: u32) -> u32 {
    let asked = u32::try_from(asked.0 / BLOCK).unwrap_or(u32::MAX);
    asked.min(blocks / 64)
}
