//! Blocks that are used as an SLC cache. Such a block holds a page for each word line, in the first of its locations, and
//! counts as a block in which the others are invalid: any victim policy sees what cleaning it gains, and the guarantees
//! of the collector hold as they are, for to fold a block always gains space. Folding is cleaning.

use std::collections::VecDeque;

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, Geometry, Pool, RowId};

use super::{Block, Space, State, StreamId};

/// The streams whose blocks are opened in SLC mode, where the share of the row lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcStreams {
    /// One of the host's, by its number.
    pub host: Option<u8>,
    /// Those of the collector, one bit each by their numbers.
    pub gc: u16,
}

impl SlcStreams {
    /// None of them.
    pub const NONE: Self = Self { host: None, gc: 0 };

    /// Whether a stream is among them.
    #[inline]
    fn has(self, stream: StreamId, of_host: u8) -> bool {
        match stream.0.checked_sub(of_host) {
            Some(gc) => u32::from(self.gc) >> gc & 1 != 0,
            None => self.host == Some(stream.0),
        }
    }
}

/// The streams and blocks that may be in SLC mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlcShare {
    /// The streams that are cached.
    pub streams: SlcStreams,
    /// Locations that a program in SLC mode writes.
    pub unit: u32,
    /// Bits of a cell.
    pub bits: u32,
    /// Blocks of a row that are spare for the cache.
    pub blocks: u32,
    /// Fraction of its other spare blocks that the cache may take.
    pub spare: f64,
    /// It takes them while more blocks than this are free.
    pub spare_above: usize,
}

/// The blocks of a pool in SLC mode.
#[derive(Clone, Debug)]
pub(super) struct SlcBlocks {
    share: SlcShare,
    /// The first row of the pool.
    begins: RowId,
    /// Blocks of each row that are in SLC mode.
    used: Vec<u32>,
    /// Those of them that are being cleaned.
    folding: Vec<u32>,
    /// Those of them that can be folded, the oldest first. Blocks that were cleaned meanwhile are passed over.
    closed: Vec<VecDeque<BlockSetId>>,
    /// While this is set, no block is opened in SLC mode.
    paused: bool,
}

state!(SlcBlocks { values { used, folding, closed, paused } fixed { share, begins } });

impl SlcBlocks {
    /// Which of the lists is that of a row.
    #[inline]
    fn at(&self, row: RowId) -> usize {
        (row.0 - self.begins.0) as usize
    }

    /// Locations that a program in SLC mode takes away from a row: its blocks hold a part of what others do.
    #[inline]
    fn cost(&self) -> u32 {
        self.share.unit * self.share.bits
    }

    /// No block of a pool is in SLC mode.
    pub fn new(share: SlcShare, geometry: &Geometry) -> Self {
        let rows = geometry.rows() as usize;
        Self {
            share,
            begins: geometry.first_row(),
            used: vec![0; rows],
            folding: vec![0; rows],
            closed: vec![VecDeque::new(); rows],
            paused: false,
        }
    }

    /// Opens no blocks in SLC mode while `paused`.
    pub fn pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// A block of a row was opened in SLC mode.
    pub fn opened(&mut self, row: RowId) {
        let at = self.at(row);
        self.used[at] += 1;
    }

    /// A block of a row in SLC mode was closed: it can be folded.
    pub fn closed(&mut self, row: RowId, block: BlockSetId) {
        let at = self.at(row);
        self.closed[at].push_back(block);
    }

    /// A block of a row in SLC mode is a victim.
    pub fn folds(&mut self, row: RowId) {
        let at = self.at(row);
        self.folding[at] += 1;
    }

    /// A block of a row is in SLC mode no more; whether it was a victim.
    pub fn left(&mut self, row: RowId, was_victim: bool) {
        let at = self.at(row);
        self.used[at] -= 1;
        self.folding[at] -= u32::from(was_victim);
    }

    /// The oldest closed block of a row in SLC mode.
    #[inline(never)]
    pub fn oldest(&mut self, row: RowId, table: &Column<BlockSetId, Block>) -> Option<BlockSetId> {
        let at = self.at(row);
        while let Some(block) = self.closed[at].front().copied() {
            if table[block].state == State::Closed && table[block].is_slc {
                return Some(block);
            }
            self.closed[at].pop_front();
        }
        None
    }

    /// Forgets which blocks can be folded, or are.
    pub fn forget(&mut self) {
        self.closed.iter_mut().for_each(VecDeque::clear);
        self.folding.fill(0);
    }
}

impl Space {
    /// Whether blocks of a pool are opened in SLC mode.
    pub fn has_slc_cache(&self) -> bool {
        self.each.iter().any(|pool| pool.slc.is_some())
    }

    /// Locations that programs in SLC mode write, in each pool that has such blocks.
    pub fn smaller_units(&self) -> impl Iterator<Item = u32> + '_ {
        self.each.iter().filter_map(|pool| Some(pool.slc.as_ref()?.share.unit))
    }

    /// Whether blocks of a row are opened in SLC mode.
    #[inline]
    pub fn caches(&self, row: RowId) -> bool {
        self.of(row).slc.is_some()
    }

    /// Locations that a program of the host takes away from a row at most: blocks in SLC mode hold a part of what others do.
    #[inline]
    pub fn dearest(&self, row: RowId) -> u32 {
        let usual = self.pools.per_program(row);
        self.of(row).slc.as_ref().map_or(usual, |slc| slc.cost().max(usual))
    }

    /// Whether a block is in SLC mode.
    #[inline]
    pub fn is_slc(&self, block: BlockSetId) -> bool {
        self.table[block].is_slc
    }

    /// Locations of a block that can be written.
    #[inline]
    pub(super) fn capacity(&self, block: BlockSetId) -> u32 {
        let Pool { geometry, locations, .. } = self.pools.of_block(block);
        match self.is_slc(block) {
            true => locations.per_block() / geometry.bits_per_cell(),
            false => locations.per_block(),
        }
    }

    /// Locations that the next program of a stream writes to the row.
    #[inline]
    pub fn unit(&self, row: RowId, stream: StreamId) -> u32 {
        match &self.of(row).slc {
            Some(slc) if self.writes_slc(row, stream) => slc.share.unit,
            _ => self.pools.per_program(row),
        }
    }

    /// Locations that the next program of a stream takes away from the row: a block in SLC mode holds only a part of
    /// what others do.
    #[inline]
    pub fn cost(&self, row: RowId, stream: StreamId) -> u32 {
        match &self.of(row).slc {
            Some(slc) if self.writes_slc(row, stream) => slc.cost(),
            _ => self.pools.per_program(row),
        }
    }

    /// Whether the next program of a stream goes to a block in SLC mode.
    pub fn writes_slc(&self, row: RowId, stream: StreamId) -> bool {
        match self.open[self.at(row, stream)] {
            Some((block, _)) => self.is_slc(block),
            None => self.opens_slc(row, stream),
        }
    }

    /// Whether the pages of a stream go to blocks in SLC mode of the row, where its share for them lasts: its blocks are opened in one mode or
    /// the other.
    #[inline]
    pub fn changes_mode(&self, row: RowId, stream: StreamId) -> bool {
        self.of(row).slc.as_ref().is_some_and(|slc| slc.share.streams.has(stream, self.streams.host))
    }

    /// Whether a block that is opened for the stream takes programs of the same size as one that it has.
    pub(super) fn opens_alike(&self, row: RowId, stream: StreamId, block: BlockSetId) -> bool {
        !self.changes_mode(row, stream) || self.opens_slc(row, stream) == self.is_slc(block)
    }

    /// Whether a block that is opened for the stream is in SLC mode: it is none of those kept for the collector, which have to take as
    /// much as a victim holds.
    pub(super) fn opens_slc(&self, row: RowId, stream: StreamId) -> bool {
        let Some(slc) = self.of(row).slc.as_ref().filter(|slc| !slc.paused) else { return false };
        if !self.may_open(row, false) || !slc.share.streams.has(stream, self.streams.host) {
            return false;
        }
        let used = slc.used[slc.at(row)];
        used < slc.share.blocks
            || (self.free(row) > slc.share.spare_above
                && used - slc.share.blocks < (f64::from(self.other_spare(row, slc)) * slc.share.spare) as u32)
    }

    /// Spare blocks of a row beside those at work and those for the cache alone: more than it was made with, where not
    /// everything is written.
    fn other_spare(&self, row: RowId, slc: &SlcBlocks) -> u32 {
        let full = self.valid_in(row).div_ceil(self.pools.per_block_of(row));
        self.good(row).saturating_sub(full + slc.share.blocks + self.of(row).at_work)
    }

    /// Blocks of a row in SLC mode that are not being folded.
    pub fn cached(&self, row: RowId) -> u32 {
        self.of(row).slc.as_ref().map_or(0, |slc| slc.used[slc.at(row)] - slc.folding[slc.at(row)])
    }

    /// The same of all rows.
    pub fn cached_blocks(&self) -> u32 {
        self.pools.all_rows().map(|row| self.cached(row)).sum()
    }
}
