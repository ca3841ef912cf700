//! Requests of a thread to the device, in blocks of 4 KiB.

use std::collections::VecDeque;

use wordline_kernel::Bytes;

use crate::{Op, Request};

/// Block size in bytes: the block of ext4, XFS and most other file systems, and a memory page.
pub const BLOCK: u64 = 4096;

/// Largest read in blocks: the default read-ahead of Linux (128 KiB).
pub const MAX_READ_BLOCKS: u32 = 32;

/// Largest write in blocks. Chosen: 512 KiB, the transfer limit of many NVMe drives.
pub const MAX_WRITE_BLOCKS: u32 = 128;

/// One request of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// Operation.
    pub op: Op,
    /// Whether the request must be durable when it completes.
    pub fua: bool,
    /// First block; meaningless for a flush.
    pub block: u32,
    /// Number of blocks; none for a flush.
    pub blocks: u32,
}

impl BlockRequest {
    /// Converts the request to bytes.
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
pub enum DeferredWork {
    /// A request to the device.
    Request(BlockRequest),
    /// Frees this many blocks from this one on.
    Free(u32, u32),
}

/// The pending requests of a thread in order, and the deferred work after the last of them.
#[derive(Clone, Debug, Default)]
pub struct RequestQueue {
    asked: VecDeque<BlockRequest>,
    /// Deferred work of the system, started after the requests.
    pub later: Vec<DeferredWork>,
    /// File that these requests write back although it is not open. Until the last request is issued no
    /// thread may read or delete it.
    pub writes_back: Option<u32>,
    /// Whether this step may unblock threads that wait for other threads.
    pub wakes: bool,
}

impl RequestQueue {
    /// Removes the next request.
    #[inline]
    pub fn pop(&mut self) -> Option<BlockRequest> {
        self.asked.pop_front()
    }

    /// Appends reads of blocks.
    pub fn read(&mut self, block: u32, blocks: u32) {
        self.split_request(Op::Read, block, blocks, MAX_READ_BLOCKS);
    }

    /// Appends writes of blocks.
    pub fn write(&mut self, block: u32, blocks: u32) {
        self.split_request(Op::Write, block, blocks, MAX_WRITE_BLOCKS);
    }

    /// Appends a write of one block that is durable when it completes (FUA).
    pub fn write_through(&mut self, block: u32) {
        self.asked.push_back(BlockRequest { op: Op::Write, fua: true, block, blocks: 1 });
    }

    /// Adds an append of one block to the zone with this first block, durable when it completes (FUA).
    pub fn append_through(&mut self, zone: u32) {
        self.asked.push_back(BlockRequest { op: Op::ZoneAppend, fua: true, block: zone, blocks: 1 });
    }

    /// Appends a flush.
    pub fn flush(&mut self) {
        self.asked.push_back(BlockRequest { op: Op::Flush, fua: false, block: 0, blocks: 0 });
    }

    /// Frees blocks after these requests. If `discard` is set, discards them first.
    pub fn free_later(&mut self, block: u32, blocks: u32, discard: bool) {
        if discard {
            self.later.push(DeferredWork::Request(BlockRequest {
                op: Op::Discard,
                fua: false,
                block,
                blocks,
            }));
        }
        self.later.push(DeferredWork::Free(block, blocks));
    }

    /// Resets the zone with this first block after these requests.
    pub fn reset_later(&mut self, zone: u32) {
        let reset = BlockRequest { op: Op::ZoneReset, fua: false, block: zone, blocks: 0 };
        self.later.push(DeferredWork::Request(reset));
    }

    /// Writes a block in place after these requests.
    pub fn write_later(&mut self, block: u32) {
        self.later.push(DeferredWork::Request(BlockRequest { op: Op::Write, fua: false, block, blocks: 1 }));
    }

    /// Appends two sequences of requests, interleaved in proportion, reads first.
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

    fn split_request(&mut self, op: Op, block: u32, blocks: u32, most: u32) {
        let mut at = 0;
        while at < blocks {
            let here = most.min(blocks - at);
            self.asked.push_back(BlockRequest { op, fua: false, block: block + at, blocks: here });
            at += here;
        }
    }
}
