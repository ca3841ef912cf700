//! The write streams of a row, and which of them can write where.

use serde::{Deserialize, Serialize};
use wordline_kernel::Id;
use wordline_nand::RowId;

use super::Space;

/// A write stream of a row: those of the host first, then those of the collector. Each fills a block of its own, so that
/// what is written by one stream is erased together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamId(pub u8);

/// How many write streams each row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    /// Streams of the host.
    pub host: u8,
    /// Streams of the collector.
    pub gc: u8,
    /// Blocks that each has open at once, at most, in any pool.
    pub open_blocks: u8,
    /// Blocks of a row that all of them together have suspended at once, at most, in any pool.
    pub suspended: u32,
}

impl Streams {
    /// One stream for the host and one for the collector.
    pub const ONE_EACH: Self = Self { host: 1, gc: 1, open_blocks: 1, suspended: 0 };

    /// A stream of the host.
    #[inline]
    pub fn host(self, n: u8) -> StreamId {
        debug_assert!(n < self.host, "host stream {n} of {}", self.host);
        StreamId(n)
    }

    /// A stream of the collector.
    #[inline]
    pub fn gc(self, n: u8) -> StreamId {
        debug_assert!(n < self.gc, "collector stream {n} of {}", self.gc);
        StreamId(self.host + n)
    }

    /// Whether a stream is the collector's.
    #[inline]
    pub fn is_gc(self, stream: StreamId) -> bool {
        stream.0 >= self.host
    }

    /// Free blocks of a row that only the collector may open. With one of them it finishes any victim; the others are
    /// for the pages of unfinished program units, one for each of its streams, that it carries over from one victim to
    /// the next.
    #[inline]
    pub fn kept_blocks(self) -> usize {
        1 + usize::from(self.gc)
    }

    /// Blocks of a row that cannot count on holding data: those kept for the collector, the open ones of each of its streams,
    /// what is left of all open blocks of the host's streams but one, and those that are suspended.
    pub fn blocks_at_work(self) -> u32 {
        let [host, gc, each] = [self.host, self.gc, self.open_blocks].map(u32::from);
        self.kept_blocks() as u32 + gc * each + (host * each).saturating_sub(1) + self.suspended
    }

    /// All streams of a row.
    pub fn all(self) -> impl Iterator<Item = StreamId> {
        (0..self.host + self.gc).map(StreamId)
    }

    /// The streams that may help `stream` out when it cannot open a block: those of the same side.
    pub(super) fn of_side(self, stream: StreamId) -> std::ops::Range<u8> {
        if self.is_gc(stream) { self.host..self.host + self.gc } else { 0..self.host }
    }
}

impl Space {
    /// Whether the stream can write a program unit of `pages` to the row.
    #[inline]
    pub fn has_room(&self, row: RowId, stream: StreamId, pages: u32) -> bool {
        let gc = self.streams.is_gc(stream);
        (gc || !self.is_full(row, pages))
            && (self.may_open(row, gc)
                || self.open_block(row, stream).is_some()
                || self.named_again(row, stream).is_some())
    }

    /// Whether the host's stream can write something to the row that is not full: to a block of its own, or, where it
    /// `may_share`, to that of another stream.
    #[inline]
    pub fn takes(&self, row: RowId, stream: StreamId, may_share: bool) -> bool {
        self.may_open(row, false)
            || self.open[self.at(row, stream)].is_some()
            || self.named_again(row, stream).is_some()
            || (may_share && self.can_share(row, stream))
    }

    /// Whether another stream of the same side has an open block.
    #[inline(never)]
    fn can_share(&self, row: RowId, stream: StreamId) -> bool {
        self.open_block(row, stream).is_some()
    }

    /// Whether the collector, or the host, may open a block.
    #[inline]
    pub fn may_open(&self, row: RowId, gc: bool) -> bool {
        self.free(row) > if gc { 0 } else { self.kept(row) }
    }

    /// Where the open block of a stream is noted.
    #[inline]
    pub(super) fn at(&self, row: RowId, stream: StreamId) -> usize {
        row.index() * usize::from(self.streams.host + self.streams.gc) + usize::from(stream.0)
    }

    /// The stream whose open block takes what `stream` writes, without another block being opened: its own, or that of
    /// another stream of the same side.
    #[inline]
    pub(super) fn open_block(&self, row: RowId, stream: StreamId) -> Option<StreamId> {
        if self.open[self.at(row, stream)].is_some() {
            return Some(stream);
        }
        let can_be_shared = |other: &StreamId| {
            self.open[self.at(row, *other)].is_some_and(|(block, _)| self.is_native(block))
        };
        self.streams.of_side(stream).map(StreamId).find(can_be_shared)
    }
}
