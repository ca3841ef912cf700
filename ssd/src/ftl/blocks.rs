//! The block table: which row blocks are free, open, closed, being cleaned or bad, and how many valid pages each has.
//!
//! Free blocks of a row wait in a heap by erase count (dynamic wear levelling: the least worn is opened next, the
//! lowest number wins a tie). Closed blocks are [indexed](super::candidates) for the victim policy.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wordline_kernel::{Column, Id};
use wordline_nand::{Geometry, PageId, RowBlockId};

use super::candidates::{Candidates, Closed, Indexes};
use crate::policy::placement::Row;

/// A write point of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteStream {
    /// What the host writes.
    Host,
    /// What the collector moves.
    Gc,
}

/// Write points of a row.
const STREAMS: usize = 2;

/// Free blocks of a row that only the collector may open. With one of them it finishes any victim; the second is
/// for the pages of an unfinished program unit that it carries over from one victim to the next.
pub const COLLECTOR_BLOCKS: usize = 2;

/// Blocks of a row that cannot count on holding data: the collector's own, and its open one.
const OVERHEAD_BLOCKS: u32 = COLLECTOR_BLOCKS as u32 + 1;

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Erased and waiting.
    Free,
    /// A write point.
    Open,
    /// Full, but not all of its programs are done.
    Filling,
    /// Full: a candidate for cleaning.
    Closed,
    /// Being cleaned.
    Victim,
    /// Out of use.
    Bad,
}

/// The block table of a device.
#[derive(Clone, Debug)]
pub struct Blocks {
    geometry: Geometry,
    state: Column<RowBlockId, State>,
    valid: Column<RowBlockId, u32>,
    /// Programs under way and reads queued: a block is closed, or erased, only when they are done.
    programs: Column<RowBlockId, u32>,
    readers: Column<RowBlockId, u32>,
    is_valid: Vec<u64>,
    free: Vec<BinaryHeap<Reverse<(u32, u32)>>>,
    open: Vec<[Option<(RowBlockId, u32)>; STREAMS]>,
    closed: Closed,
    row_valid: Vec<u32>,
    good: Vec<u32>,
}

impl Blocks {
    /// All blocks free, but for the `bad` ones.
    pub fn new(geometry: Geometry, bad: impl Fn(RowBlockId) -> bool) -> Self {
        let (rows, blocks) = (geometry.rows() as usize, geometry.row_blocks() as usize);
        let mut table = Self {
            state: Column::filled(blocks, State::Free),
            valid: Column::filled(blocks, 0),
            programs: Column::filled(blocks, 0),
            readers: Column::filled(blocks, 0),
            is_valid: vec![0; (geometry.pages() as usize).div_ceil(64)],
            free: vec![BinaryHeap::with_capacity(geometry.blocks_per_plane as usize); rows],
            open: vec![[None; STREAMS]; rows],
            closed: Closed::new(&geometry, Indexes::default()),
            row_valid: vec![0; rows],
            good: vec![geometry.blocks_per_plane; rows],
            geometry,
        };
        for block in table.state.ids() {
            let row = table.row_of(block) as usize;
            if bad(block) {
                table.state[block] = State::Bad;
                table.good[row] -= 1;
            } else {
                table.free[row].push(Reverse((0, block.0)));
            }
        }
        table
    }

    /// Keeps what a victim policy needs from now on; before the first block is written.
    pub fn keep(&mut self, indexes: Indexes) {
        debug_assert!(
            self.state.iter().all(|state| matches!(state, State::Free | State::Bad)),
            "nothing is written"
        );
        self.closed = Closed::new(&self.geometry, indexes);
    }

    /// The row that `block` is in.
    #[inline]
    pub fn row_of(&self, block: RowBlockId) -> Row {
        block.0 / self.geometry.blocks_per_plane
    }

    /// Free blocks of a row.
    #[inline]
    pub fn free(&self, row: Row) -> usize {
        self.free[row as usize].len()
    }

    /// Valid pages of a block.
    pub fn valid(&self, block: RowBlockId) -> u32 {
        self.valid[block]
    }

    /// What a block is.
    pub fn state(&self, block: RowBlockId) -> State {
        self.state[block]
    }

    /// Whether the page holds what its logical page is mapped to.
    #[inline]
    pub fn is_valid(&self, page: PageId) -> bool {
        self.is_valid[page.index() / 64] >> (page.index() % 64) & 1 != 0
    }

    /// Valid pages of the device: the sum over the blocks.
    pub fn total_valid(&self) -> u64 {
        self.valid.iter().map(|v| u64::from(*v)).sum()
    }

    /// Blocks that are out of use.
    pub fn bad(&self) -> u64 {
        self.good.iter().map(|good| u64::from(self.geometry.blocks_per_plane - good)).sum()
    }

    /// Pages that a row can hold for the host, with what the collector needs left over.
    pub fn limit(&self, row: Row) -> u32 {
        self.good[row as usize].saturating_sub(OVERHEAD_BLOCKS) * self.geometry.pages_per_row_block()
    }

    /// Pages that the collector can write in a row without erasing anything.
    pub fn collector_room(&self, row: Row) -> usize {
        let per_block = self.geometry.pages_per_row_block();
        let open = self.open_offset(row, WriteStream::Gc).map_or(0, |offset| per_block - offset);
        self.free(row) * per_block as usize + open as usize
    }

    /// Whether the row holds so many valid pages that `pages` more are too many.
    #[inline]
    pub fn is_full(&self, row: Row, pages: u32) -> bool {
        self.row_valid[row as usize] + pages > self.limit(row)
    }

    /// Whether the stream can write a program unit of `pages` to the row.
    #[inline]
    pub fn has_room(&self, row: Row, stream: WriteStream, pages: u32) -> bool {
        let kept = if stream == WriteStream::Host { COLLECTOR_BLOCKS } else { 0 };
        let fits = stream == WriteStream::Gc || !self.is_full(row, pages);
        fits && (self.open[row as usize][stream as usize].is_some() || self.free(row) > kept)
    }

    /// The next `pages` of the stream's open block, a divisor of the block; opens a free block if it must.
    /// A bug if there is no room.
    pub fn take(&mut self, row: Row, stream: WriteStream, pages: u32) -> PageId {
        let slot = &mut self.open[row as usize][stream as usize];
        let (block, offset) = slot.unwrap_or_else(|| {
            let Reverse((_, block)) =
                self.free[row as usize].pop().expect("the caller saw that there is room");
            self.state[RowBlockId(block)] = State::Open;
            (RowBlockId(block), 0)
        });
        self.programs[block] += 1;
        let after = offset + pages;
        let full = after == self.geometry.pages_per_row_block();
        *slot = (!full).then_some((block, after));
        if full {
            self.state[block] = State::Filling;
        }
        self.geometry.page(block, offset)
    }

    /// How far the stream's open block is written; `None` if none is open.
    pub fn open_offset(&self, row: Row, stream: WriteStream) -> Option<u32> {
        self.open[row as usize][stream as usize].map(|(_, offset)| offset)
    }

    /// Notes that the program of what [`take`](Self::take) gave is done.
    pub fn program_done(&mut self, first: PageId) {
        let block = self.geometry.block_of(first);
        self.programs[block] -= 1;
        if self.programs[block] == 0 && self.state[block] == State::Filling {
            self.state[block] = State::Closed;
            self.closed.add(self.row_of(block), self.valid[block], block);
        }
    }

    /// Notes that a logical page is mapped to `page` now.
    #[inline]
    pub fn validate(&mut self, page: PageId) {
        let block = self.geometry.block_of(page);
        debug_assert!(!self.is_valid(page), "a page becomes valid once");
        self.is_valid[page.index() / 64] |= 1 << (page.index() % 64);
        debug_assert!(self.state[block] != State::Closed, "a page becomes valid while its block is written");
        self.valid[block] += 1;
        let row = self.row_of(block);
        self.row_valid[row as usize] += 1;
    }

    /// Notes that no logical page is mapped to `page` any more.
    #[inline]
    pub fn invalidate(&mut self, page: PageId) {
        let block = self.geometry.block_of(page);
        debug_assert!(self.is_valid(page), "only a valid page becomes invalid");
        self.is_valid[page.index() / 64] &= !(1 << (page.index() % 64));
        let row = self.row_of(block);
        let valid = self.valid[block];
        self.row_valid[row as usize] -= 1;
        self.valid[block] = valid - 1;
        if self.state[block] == State::Closed {
            self.closed.lose_page(row, valid, block);
        }
    }

    /// The candidates of a row.
    pub fn candidates(&mut self, row: Row) -> Candidates<'_> {
        Candidates::new(&mut self.closed, &self.valid, row)
    }

    /// Makes a closed block a victim.
    pub fn clean(&mut self, block: RowBlockId) {
        assert_eq!(self.state[block], State::Closed, "a victim is closed");
        self.closed.remove(self.row_of(block), self.valid[block], block);
        self.state[block] = State::Victim;
    }

    /// Whether a victim can be erased: nothing valid is left and nobody reads.
    pub fn is_clean(&self, block: RowBlockId) -> bool {
        self.valid[block] == 0 && self.readers[block] == 0
    }

    /// Notes that a victim was erased for the `erases`-th time.
    pub fn erased(&mut self, block: RowBlockId, erases: u32) {
        assert!(self.state[block] == State::Victim && self.is_clean(block), "only a clean victim is erased");
        self.state[block] = State::Free;
        let row = self.row_of(block);
        self.free[row as usize].push(Reverse((erases, block.0)));
    }

    /// Takes a victim out of use.
    pub fn retire(&mut self, block: RowBlockId) {
        assert!(self.state[block] == State::Victim && self.is_clean(block), "only a clean victim is retired");
        self.state[block] = State::Bad;
        let row = self.row_of(block);
        self.good[row as usize] -= 1;
    }

    /// Notes that a read of `page` is queued.
    #[inline]
    pub fn read_queued(&mut self, page: PageId) {
        let block = self.geometry.block_of(page);
        self.readers[block] += 1;
    }

    /// Notes that a read of `page` is done; true if a victim waited for it.
    #[inline]
    pub fn read_done(&mut self, page: PageId) -> bool {
        let block = self.geometry.block_of(page);
        self.readers[block] -= 1;
        self.readers[block] == 0 && self.state[block] == State::Victim
    }

    /// The geometry of the device.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }
}
