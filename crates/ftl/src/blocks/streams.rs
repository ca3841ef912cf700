//! Write streams of a plane group, and the blocks that each may write to.

use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};
use wordline_kernel::Id;
use wordline_nand::{BlockSetId, PlaneGroupId};

use super::table::BlockTable;

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

    /// Number of streams of a plane group.
    #[inline]
    pub(super) fn count(self) -> usize {
        usize::from(self.host + self.gc)
    }

    /// All streams of a plane group.
    pub fn all(self) -> impl Iterator<Item = StreamId> {
        (0..self.host + self.gc).map(StreamId)
    }

    /// Streams whose active block `stream` may use if it cannot open one: the host streams or the GC streams.
    fn same_side(self, stream: StreamId) -> std::ops::Range<u8> {
        if self.is_gc(stream) { self.host..self.host + self.gc } else { 0..self.host }
    }
}

/// Open block and its write pointer, in locations.
pub(super) type OpenPlace = (BlockSetId, u32);

/// Active block of each stream, ordered by plane group.
pub(super) struct ActiveBlocks {
    pub streams: Streams,
    pub blocks: Vec<Option<OpenPlace>>,
}

impl ActiveBlocks {
    /// No active blocks of `rows` plane groups.
    pub fn new(streams: Streams, rows: usize) -> Self {
        Self { streams, blocks: vec![None; rows * streams.count()] }
    }

    /// Index of the active block of a stream.
    #[inline]
    pub fn at(&self, row: PlaneGroupId, stream: StreamId) -> usize {
        row.index() * self.streams.count() + usize::from(stream.0)
    }

    /// Active block of a stream.
    #[inline]
    pub fn of(&self, row: PlaneGroupId, stream: StreamId) -> Option<OpenPlace> {
        self.blocks[self.at(row, stream)]
    }

    /// Stream whose active block takes the writes of `stream` if no block can be opened: `stream` itself, or
    /// another stream of the same side (host or GC).
    #[inline]
    pub fn shared(&self, row: PlaneGroupId, stream: StreamId, table: &BlockTable) -> Option<StreamId> {
        if self.of(row, stream).is_some() {
            return Some(stream);
        }
        let can_be_shared =
            |other: &StreamId| self.of(row, *other).is_some_and(|(block, _)| table.is_native(block));
        self.streams.same_side(stream).map(StreamId).find(can_be_shared)
    }

    /// Clears the active blocks of a plane group.
    pub fn clear(&mut self, row: PlaneGroupId) {
        let first = self.at(row, StreamId(0));
        self.blocks[first..first + self.streams.count()].fill(None);
    }
}

impl Index<usize> for ActiveBlocks {
    type Output = Option<OpenPlace>;

    #[inline]
    fn index(&self, at: usize) -> &Option<OpenPlace> {
        &self.blocks[at]
    }
}

impl IndexMut<usize> for ActiveBlocks {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut Option<OpenPlace> {
        &mut self.blocks[at]
    }
}
