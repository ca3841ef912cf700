//! Requests of a thread to the device, in blocks of 4 KiB.

use std::collections::VecDeque;

use wordline_kernel::Bytes;

use crate::{Op, Request};

/// Bytes of a block. It is that of ext4, XFS and most others, and of a page of memory.
pub const BLOCK: u64 = 4096;

/// Blocks of a read at most: the read-ahead of Linux (128 KiB).
pub const MOST_READ: u32 = 32;

/// Blocks of a write at most. Chosen: 512 KiB, what many NVMe drives take at once.
pub const MOST_WRITTEN: u32 = 128;

/// One request of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Its operation.
    pub op: Op,
    /// Whether it is to be durable when it is answered.
    pub fua: bool,
    /// The first block, and how many; none for a flush.
    pub block: u32,
    /// How many.
    pub blocks: u32,
}

impl Ask {
    /// The request.
    pub fn request(self) -> Request {
        Request {
            fua: self.fua,
            ..Request::new(
                self.op,
                Bytes(u64::from(self.block) * BLOCK),
                Bytes(u64::from(self.blocks) * BLOCK),
            )
        }
    }
}

/// Deferred work of the system, such as writing metadata in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Later {
    /// It asks something of the device.
    Ask(Ask),
    /// From now on this many blocks from this one on are free.
    Free(u32, u32),
}

/// The requests of a thread, one after the other, and the deferred work after the last of them.
#[derive(Clone, Debug, Default)]
pub struct Asks {
    asked: VecDeque<Ask>,
    /// Deferred work of the system, for then.
    pub later: Vec<Later>,
    /// The file that these requests write though it is not open; no thread may read or delete it before.
    pub writes_back: Option<u32>,
    /// Whether threads that wait for others may go on for what this one did.
    pub wakes: bool,
}

impl Asks {
    /// The next one.
    #[inline]
    pub fn pop(&mut self) -> Option<Ask> {
        self.asked.pop_front()
    }

    /// Reads blocks.
    pub fn read(&mut self, block: u32, blocks: u32) {
        self.in_pieces(Op::Read, block, blocks, MOST_READ);
    }

    /// Writes blocks.
    pub fn write(&mut self, block: u32, blocks: u32) {
        self.in_pieces(Op::Write, block, blocks, MOST_WRITTEN);
    }

    /// Writes one block that is durable when that is answered.
    pub fn write_through(&mut self, block: u32) {
        self.asked.push_back(Ask { op: Op::Write, fua: true, block, blocks: 1 });
    }

    /// Makes everything durable that was written.
    pub fn flush(&mut self) {
        self.asked.push_back(Ask { op: Op::Flush, fua: false, block: 0, blocks: 0 });
    }

    /// Frees blocks once these requests have gone, and discards them before if that is asked.
    pub fn free_later(&mut self, block: u32, blocks: u32, discard: bool) {
        if discard {
            self.later.push(Later::Ask(Ask { op: Op::Discard, fua: false, block, blocks }));
        }
        self.later.push(Later::Free(block, blocks));
    }

    /// Writes a block once these requests have gone.
    pub fn write_later(&mut self, block: u32) {
        self.later.push(Later::Ask(Ask { op: Op::Write, fua: false, block, blocks: 1 }));
    }

    /// Appends two rows of requests in proportion, reads before writes.
    pub fn interleave(&mut self, reads: Self, writes: Self) {
        let (count, all) = (reads.asked.len(), writes.asked.len().max(1));
        let mut reads = reads.asked.into_iter();
        for (n, write) in writes.asked.into_iter().enumerate() {
            let until = count * (n + 1) / all - count * n / all;
            self.asked.extend(reads.by_ref().take(until));
            self.asked.push_back(write);
        }
        self.asked.extend(reads);
    }

    fn in_pieces(&mut self, op: Op, block: u32, blocks: u32, most: u32) {
        let mut at = 0;
        while at < blocks {
            let here = most.min(blocks - at);
            self.asked.push_back(Ask { op, fua: false, block: block + at, blocks: here });
            at += here;
        }
    }
}
