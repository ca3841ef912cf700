//! Blocks that are used as an SLC cache. Such a block holds a page for each word line, in the first of its locations, and
//! counts as a block in which the others are invalid: any victim policy sees what cleaning it gains, and the guarantees
//! of the collector hold as they are, for to fold a block always gains space. Folding is cleaning.

use std::collections::VecDeque;

use wordline_kernel::{Column, state};
use wordline_nand::BlockSetId;

use super::{Space, State, StreamId};
use crate::policy::placement::Row;

/// What may be cached, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlcShare {
    /// The stream of the host that is cached.
    pub stream: StreamId,
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

/// The blocks in SLC mode.
#[derive(Clone, Debug)]
pub(super) struct SlcBlocks {
    share: SlcShare,
    is_slc: Column<BlockSetId, bool>,
    /// Blocks of each row that are in SLC mode.
    used: Vec<u32>,
    /// Those of them that are being cleaned.
    folding: Vec<u32>,
    /// Those of them that can be folded, the oldest first. What was cleaned meanwhile is passed over.
    closed: Vec<VecDeque<BlockSetId>>,
    /// While this is set, no block is opened in SLC mode.
    paused: bool,
}

state!(SlcBlocks { values { is_slc, used, folding, closed, paused } fixed { share } });

impl Space {
    /// Opens blocks in SLC mode from now on; before the first one is written.
    pub fn cache(&mut self, share: SlcShare) {
        let rows = self.pools.rows() as usize;
        self.slc = Some(Box::new(SlcBlocks {
            share,
            is_slc: Column::filled(self.pools.block_sets() as usize, false),
            used: vec![0; rows],
            folding: vec![0; rows],
            closed: vec![VecDeque::new(); rows],
            paused: false,
        }));
    }

    /// Opens no blocks in SLC mode while `paused`.
    pub fn pause_cache(&mut self, paused: bool) {
        if let Some(slc) = &mut self.slc {
            slc.paused = paused;
        }
    }

    /// Whether blocks are opened in SLC mode.
    #[inline]
    pub fn has_slc_cache(&self) -> bool {
        self.slc.is_some()
    }

    /// Locations that a program of the host takes away from a row at most: blocks in SLC mode hold a part of what others do.
    #[inline]
    pub fn dearest(&self, row: Row) -> u32 {
        let usual = self.pools.per_program(row);
        self.slc.as_ref().map_or(usual, |slc| (slc.share.unit * slc.share.bits).max(usual))
    }

    /// Whether a block is in SLC mode.
    #[inline]
    pub fn is_slc(&self, block: BlockSetId) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.is_slc[block])
    }

    /// Locations of a block that can be written.
    #[inline]
    pub(super) fn capacity(&self, block: BlockSetId) -> u32 {
        match &self.slc {
            Some(slc) if slc.is_slc[block] => self.pools.per_block(block) / slc.share.bits,
            _ => self.pools.per_block(block),
        }
    }

    /// Locations that the next program of a stream of the host writes to the row.
    #[inline]
    pub fn unit(&self, row: Row, stream: StreamId) -> u32 {
        match &self.slc {
            Some(slc) if self.writes_slc(row, stream) => slc.share.unit,
            _ => self.pools.per_program(row),
        }
    }

    /// Locations that the next program of a stream of the host takes away from the row: a block in SLC mode holds only a part of
    /// what others do.
    #[inline]
    pub fn cost(&self, row: Row, stream: StreamId) -> u32 {
        match &self.slc {
            Some(slc) if self.writes_slc(row, stream) => slc.share.unit * slc.share.bits,
            _ => self.pools.per_program(row),
        }
    }

    /// Whether the next program of a stream of the host goes to a block in SLC mode.
    pub fn writes_slc(&self, row: Row, stream: StreamId) -> bool {
        match self.open[self.at(row, stream)] {
            Some((block, _)) => self.is_slc(block),
            None => self.may_open(row, false) && self.opens_slc(row, stream),
        }
    }

    /// Whether a block that is opened for the stream is in SLC mode.
    pub(super) fn opens_slc(&self, row: Row, stream: StreamId) -> bool {
        let Some(slc) = self.slc.as_ref().filter(|slc| slc.share.stream == stream && !slc.paused) else {
            return false;
        };
        let used = slc.used[row as usize];
        used < slc.share.blocks
            || (self.free(row) > slc.share.spare_above
                && used - slc.share.blocks < (f64::from(self.other_spare(row)) * slc.share.spare) as u32)
    }

    /// Spare blocks of a row beside those at work and those for the cache alone: more than it was made with, where not
    /// everything is written.
    fn other_spare(&self, row: Row) -> u32 {
        let full = self.valid_in(row).div_ceil(self.pools.per_block_of(row));
        let cached = self.slc.as_ref().map_or(0, |slc| slc.share.blocks);
        self.good(row).saturating_sub(full + cached + self.streams.blocks_at_work())
    }

    /// Notes that a block was opened in SLC mode.
    #[inline(never)]
    pub(super) fn opened_slc(&mut self, block: BlockSetId) {
        let row = self.row_of(block) as usize;
        let slc = self.slc.as_mut().expect("it was opened for the cache");
        slc.is_slc[block] = true;
        slc.used[row] += 1;
    }

    /// Notes that a block was closed: it can be folded if it is in SLC mode.
    pub(super) fn closed_slc(&mut self, block: BlockSetId) {
        let row = self.row_of(block) as usize;
        if let Some(slc) = &mut self.slc
            && slc.is_slc[block]
        {
            slc.closed[row].push_back(block);
        }
    }

    /// Notes that a block is erased, or out of use, before its state says so.
    pub(super) fn left_slc(&mut self, block: BlockSetId) {
        let row = self.row_of(block) as usize;
        if let Some(slc) = &mut self.slc
            && std::mem::take(&mut slc.is_slc[block])
        {
            slc.used[row] -= 1;
            slc.folding[row] -= u32::from(self.table[block].state == State::Victim);
        }
    }

    /// Notes that a block is a victim.
    pub(super) fn folds_slc(&mut self, block: BlockSetId) {
        let row = self.row_of(block) as usize;
        if let Some(slc) = &mut self.slc {
            slc.folding[row] += u32::from(slc.is_slc[block]);
        }
    }

    /// Forgets which blocks can be folded, or are.
    pub(super) fn forget_closed_slc(&mut self) {
        if let Some(slc) = &mut self.slc {
            slc.closed.iter_mut().for_each(VecDeque::clear);
            slc.folding.fill(0);
        }
    }

    /// Blocks of a row in SLC mode that are not being folded.
    pub fn cached(&self, row: Row) -> u32 {
        self.slc.as_ref().map_or(0, |slc| slc.used[row as usize] - slc.folding[row as usize])
    }

    /// The oldest closed block in SLC mode, if there are more such blocks in the row than `keep`.
    pub fn to_fold(&mut self, row: Row, keep: u32) -> Option<BlockSetId> {
        if self.cached(row) <= keep {
            return None;
        }
        let Self { slc, table, .. } = self;
        let slc = slc.as_mut()?;
        let closed = &mut slc.closed[row as usize];
        while let Some(block) = closed.front().copied() {
            if table[block].state == State::Closed && slc.is_slc[block] {
                return Some(block);
            }
            closed.pop_front();
        }
        None
    }
}
