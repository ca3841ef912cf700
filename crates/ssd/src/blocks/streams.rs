//! Write streams of a plane group, and the blocks that each may write to.

use serde::{Deserialize, Serialize};
use wordline_kernel::Id;
use wordline_nand::PlaneGroupId;

use super::BlockManager;

/// Write stream of a plane group. Host streams come first, then GC streams. Each stream has its own active
/// block, so that data of one stream are erased together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamId(pub u8);

/// Number of write streams of each plane group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    /// Host streams.
    pub host: u8,
    /// GC streams.
    pub gc: u8,
    /// Most open blocks of a stream in any pool.
    pub open_blocks: u8,
    /// Most suspended blocks of a plane group in any pool, summed over its streams.
    pub suspended: u32,
}

impl Streams {
    /// One host stream and one GC stream.
    pub const ONE_EACH: Self = Self { host: 1, gc: 1, open_blocks: 1, suspended: 0 };

    /// The host stream with number `n`.
    #[inline]
    pub fn host(self, n: u8) -> StreamId {
        debug_assert!(n < self.host, "host stream {n} of {}", self.host);
        StreamId(n)
    }

    /// The GC stream with number `n`.
    #[inline]
    pub fn gc(self, n: u8) -> StreamId {
        debug_assert!(n < self.gc, "collector stream {n} of {}", self.gc);
        StreamId(self.host + n)
    }

    /// Whether a stream belongs to GC.
    #[inline]
    pub fn is_gc(self, stream: StreamId) -> bool {
        stream.0 >= self.host
    }

    /// Free blocks of a plane group that only GC may open. One block lets GC finish any victim. One more
    /// block for each GC stream takes the pages that do not fill a program unit and that GC carries over to
    /// the next victim.
    #[inline]
    pub fn reserved_blocks(self) -> usize {
        1 + usize::from(self.gc)
    }

    /// Blocks of a plane group that are not available for data. They are the blocks reserved for GC, the open
    /// blocks of each GC stream, all but one of the host's open blocks, and the suspended blocks.
    pub fn active_blocks(self) -> u32 {
        let [host, gc, each] = [self.host, self.gc, self.open_blocks].map(u32::from);
        self.reserved_blocks() as u32 + gc * each + (host * each).saturating_sub(1) + self.suspended
    }

    /// All streams of a plane group.
    pub fn all(self) -> impl Iterator<Item = StreamId> {
        (0..self.host + self.gc).map(StreamId)
    }

    /// Streams whose active block `stream` may use if it cannot open one: the host streams or the GC streams.
    pub(super) fn same_side(self, stream: StreamId) -> std::ops::Range<u8> {
        if self.is_gc(stream) { self.host..self.host + self.gc } else { 0..self.host }
    }
}

impl BlockManager {
    /// Whether a stream can write a program unit of `pages` to a plane group.
    #[inline]
    pub fn has_room(&self, row: PlaneGroupId, stream: StreamId, pages: u32) -> bool {
        let gc = self.streams.is_gc(stream);
        (gc || !self.is_full(row, pages))
            && (self.can_open(row, gc)
                || self.open_block(row, stream).is_some()
                || self.selected_reprogram(row, stream).is_some())
    }

    /// Whether a host stream can write to a plane group that is not full. It writes to a block of its own, or
    /// to a block of another stream if it `may_share`.
    #[inline]
    pub fn takes(&self, row: PlaneGroupId, stream: StreamId, may_share: bool) -> bool {
        self.can_open(row, false)
            || self.open[self.at(row, stream)].is_some()
            || self.selected_reprogram(row, stream).is_some()
            || (may_share && self.can_share(row, stream))
    }

    /// Whether another stream of the same side (host or GC) has an active block.
    #[inline(never)]
    fn can_share(&self, row: PlaneGroupId, stream: StreamId) -> bool {
        self.open_block(row, stream).is_some()
    }

    /// Whether GC (if `gc`) or the host may open a block.
    #[inline]
    pub fn can_open(&self, row: PlaneGroupId, gc: bool) -> bool {
        self.free(row) > if gc { 0 } else { self.kept(row) }
    }

    /// Index of the active block of a stream.
    #[inline]
    pub(super) fn at(&self, row: PlaneGroupId, stream: StreamId) -> usize {
        row.index() * usize::from(self.streams.host + self.streams.gc) + usize::from(stream.0)
    }

    /// Stream whose active block takes the writes of `stream` if no block can be opened: `stream` itself, or
    /// another stream of the same side (host or GC).
    #[inline]
    pub(super) fn open_block(&self, row: PlaneGroupId, stream: StreamId) -> Option<StreamId> {
        if self.open[self.at(row, stream)].is_some() {
            return Some(stream);
        }
        let can_be_shared = |other: &StreamId| {
            self.open[self.at(row, *other)].is_some_and(|(block, _)| self.is_native(block))
        };
        self.streams.same_side(stream).map(StreamId).find(can_be_shared)
    }
}
