//! The write streams of a row.

use serde::{Deserialize, Serialize};

/// A write stream of a row: those of the host first, then those of the collector. Each fills a block of its own, so that
/// what is written by one stream is erased together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamId(pub u8);

/// How many write streams each row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    /// What the host writes.
    pub host: u8,
    /// What the collector moves.
    pub gc: u8,
}

impl Streams {
    /// One stream for the host and one for the collector.
    pub const ONE_EACH: Self = Self { host: 1, gc: 1 };

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

    /// Blocks of a row that cannot count on holding data: those kept for the collector, an open one for each of its
    /// streams, and what is left of the open blocks of all host streams but one.
    pub fn blocks_at_work(self) -> u32 {
        self.kept_blocks() as u32 + u32::from(self.gc) + u32::from(self.host).saturating_sub(1)
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
