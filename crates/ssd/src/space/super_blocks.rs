//! Super blocks: a block of each row, opened for the same stream, and cleaned as one.
//!
//! The n-th block that a row opens for a stream belongs to the stream's n-th super block. Rows go on by themselves: those
//! that are ahead begin further super blocks, and one that is too far behind leaves some out. So do rows of a lost die.
//! A super block is a candidate for cleaning when no row opens a block of it any more and all that it has are closed; to
//! the victim policy it is a block of a row of its own. One that has lost some of its blocks, because they were cleaned
//! alone, failed, or gained nothing, is shown as if its other rows were like those that are left.

mod loaded;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, Id, state};
use wordline_nand::{BlockSetId, Pool, Pools, RowId};

use super::{Block, Space, State};
use crate::space::candidates::{Candidates, Closed, Indexes, Valid};

/// Super blocks of a stream in which some row has still to open a block: a row that is further behind leaves the oldest
/// out. Chosen: of one, rows that take turns leave many out; more than two make no difference under random writes.
const MOST_FORMING: usize = 4;

/// Super blocks that are cleaned at a time: a row that has done its part and needs more does not wait for the others.
/// Chosen: under random writes 98 % of the blocks of 32 rows are then cleaned with their super block, with half as many
/// 88 %.
const MOST_CLEANED: u32 = 8;

const NONE: BlockSetId = BlockSetId(u32::MAX);

/// The row that all super blocks are of, to the victim policy.
const ROW: RowId = RowId(0);

/// A super block.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct SuperBlock {
    /// Its blocks, until they are erased.
    blocks: Vec<BlockSetId>,
    /// Those of them that are not being cleaned.
    kept: u32,
    /// Those of the kept ones that are closed.
    closed: u32,
    /// Valid pages of the kept ones.
    valid: u32,
    /// Rows that opened a block of it.
    joined: u32,
    /// Whether no row opens one any more.
    complete: bool,
    /// Whether it is a candidate.
    indexed: bool,
    /// Whether it is being cleaned.
    chosen: bool,
    /// Blocks of it that are to be cleaned and are not yet.
    due: u32,
}

impl SuperBlock {
    /// A row opened a block of it.
    fn join(&mut self, block: BlockSetId) {
        self.blocks.push(block);
        self.kept += 1;
        self.joined += 1;
    }

    /// A block of it, with `valid` valid pages, is no longer counted.
    fn leave(&mut self, valid: u32, was_closed: bool) {
        self.kept -= 1;
        self.closed -= u32::from(was_closed);
        self.valid -= valid;
    }
}

/// The super blocks of a stream that rows have still to open blocks of.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Forming {
    /// The number of the oldest, counted over the stream.
    first: u64,
    all: VecDeque<BlockSetId>,
}

/// The super blocks that rows have still to open blocks of, and how far each row is.
#[derive(Clone, Debug)]
struct Begun {
    streams: Vec<Forming>,
    /// The number of the super block that each stream of each row opens a block of next.
    next: Vec<u64>,
    /// Whether each row is in use.
    in_use: Vec<bool>,
    /// While this is set, no row is too far behind.
    waits: bool,
}

state!(Begun { values { streams, in_use, waits } parts { next } });

impl Begun {
    /// The super block that the next block of a stream belongs to, of the `at`-th row; a `new` one where it is the first.
    fn join(&mut self, at: usize, stream: usize, new: impl FnOnce() -> BlockSetId) -> BlockSetId {
        let next = &mut self.next[at * self.streams.len() + stream];
        let forming = &mut self.streams[stream];
        let number = forming.first.max(*next);
        *next = number + 1;
        let place = (number - forming.first) as usize;
        if place == forming.all.len() {
            forming.all.push_back(new());
        }
        forming.all[place]
    }

    /// Takes out the oldest super block of a stream if no row opens a block of it any more: each one in use did, of those that are
    /// `joined`, or there are too many.
    fn take_complete(&mut self, stream: usize, joined: impl FnOnce(BlockSetId) -> u32) -> Option<BlockSetId> {
        let rows = self.in_use.iter().filter(|in_use| **in_use).count() as u32;
        let forming = &mut self.streams[stream];
        let oldest = forming.all.front().copied()?;
        let too_many = forming.all.len() > MOST_FORMING && !self.waits;
        if joined(oldest) < rows && !too_many {
            return None;
        }
        forming.all.pop_front();
        forming.first += 1;
        Some(oldest)
    }
}

/// How super blocks were cleaned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuperBlockCounts {
    /// Super blocks that were chosen.
    pub chosen: u64,
    /// Blocks that were to be cleaned because of that.
    pub blocks: u64,
}

/// The super blocks that were chosen.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Cleaning {
    /// Those that are being cleaned.
    now: u32,
    /// Whether one was chosen since that was last asked.
    news: bool,
    counts: SuperBlockCounts,
}

impl Cleaning {
    /// One was chosen, of which this many blocks are to be cleaned.
    fn begin(&mut self, blocks: u32) {
        self.now += 1;
        self.news = true;
        self.counts.chosen += 1;
        self.counts.blocks += u64::from(blocks);
    }
}

/// The super blocks of a pool. Their numbers are of the type of blocks, because victim policies name them.
#[derive(Clone, Debug)]
pub(super) struct SuperBlocks {
    per_block: u32,
    indexes: Indexes,
    /// The first row of the pool, and its first block.
    begins: RowId,
    first: BlockSetId,
    /// The super block of each block until it is erased.
    of: Column<BlockSetId, u32>,
    all: Column<BlockSetId, SuperBlock>,
    /// Valid pages of each candidate, as if it had a block of every row.
    shown: Column<BlockSetId, u32>,
    unused: Vec<BlockSetId>,
    begun: Begun,
    candidates: Closed,
    /// Blocks of each row that are its next victims.
    due: Vec<VecDeque<BlockSetId>>,
    cleaning: Cleaning,
}

state!(SuperBlocks {
    values { all, unused, candidates, due, cleaning }
    parts { of, shown, begun }
    fixed { per_block, indexes, begins, first }
});

impl SuperBlocks {
    /// None yet, in a pool whose rows have `streams` streams.
    pub fn new(pool: &Pool, streams: usize, indexes: Indexes) -> Self {
        let Pool { geometry, locations, .. } = pool;
        let (rows, blocks) = (geometry.rows() as usize, geometry.block_sets() as usize);
        // A super block holds a block, or is one of those that a power cut left without any.
        let most = blocks + streams * (MOST_FORMING + 1);
        let per_block = locations.per_block();
        Self {
            per_block,
            indexes,
            begins: geometry.first_row(),
            first: BlockSetId(geometry.first.block),
            of: Column::filled(blocks, NONE.0),
            all: Column::filled(most, SuperBlock::default()),
            shown: Column::filled(most, 0),
            unused: (0..most as u32).rev().map(BlockSetId).collect(),
            begun: Begun {
                streams: vec![Forming::default(); streams],
                next: vec![0; rows * streams],
                in_use: vec![true; rows],
                waits: false,
            },
            candidates: Closed::new(Column::filled(1, rows as u32 * per_block), most, indexes),
            due: vec![VecDeque::new(); rows],
            cleaning: Cleaning::default(),
        }
    }

    fn rows(&self) -> u32 {
        self.begun.in_use.len() as u32
    }

    /// Valid pages of a super block as if it had a block of every row.
    fn scaled(&self, one: &SuperBlock) -> u32 {
        let all = u64::from(one.valid) * u64::from(self.rows());
        (all / u64::from(one.kept.max(1))) as u32
    }

    /// No candidates, of this many super blocks.
    fn no_candidates(&self) -> Closed {
        Closed::new(Column::filled(1, self.rows() * self.per_block), self.all.len(), self.indexes)
    }

    /// Which of the lists is that of a row.
    #[inline]
    fn at(&self, row: RowId) -> usize {
        (row.0 - self.begins.0) as usize
    }

    /// The super block that `block` is in, to be changed.
    #[inline]
    fn of_mut(&mut self, block: BlockSetId) -> &mut u32 {
        &mut self.of[BlockSetId(block.0 - self.first.0)]
    }

    /// The super block that `block` is in.
    #[inline]
    fn of(&self, block: BlockSetId) -> Option<BlockSetId> {
        Some(BlockSetId(self.of[BlockSetId(block.0 - self.first.0)])).filter(|of| *of != NONE)
    }

    /// Its numbers of the blocks of the pool.
    fn blocks(&self) -> impl Iterator<Item = BlockSetId> + use<> {
        let first = self.first.0;
        self.of.ids().map(move |block| BlockSetId(first + block.0))
    }

    /// A block of a row was opened for a stream.
    pub fn open(&mut self, row: RowId, stream: usize, block: BlockSetId) {
        let (at, unused) = (self.at(row), &mut self.unused);
        let new = || unused.pop().expect("there are as many super blocks as can be in use");
        let id = self.begun.join(at, stream, new);
        self.all[id].join(block);
        *self.of_mut(block) = id.0;
        self.complete(stream);
    }

    /// No row opens a block any more of those that every row in use has opened one of, nor of the oldest of too many.
    fn complete(&mut self, stream: usize) {
        while let Some(oldest) = self.begun.take_complete(stream, |id| self.all[id].joined) {
            self.all[oldest].complete = true;
            self.settle(oldest);
        }
    }

    /// Completes the super blocks of all streams.
    fn complete_all(&mut self) {
        (0..self.begun.streams.len()).for_each(|stream| self.complete(stream));
    }

    /// While super blocks wait, no row is too far behind to open a block of them.
    pub fn wait(&mut self, waits: bool) {
        self.begun.waits = waits;
        self.complete_all();
    }

    /// A row is out of use.
    pub fn lose_row(&mut self, row: RowId) {
        let at = self.at(row);
        self.begun.in_use[at] = false;
        self.complete_all();
    }

    /// A block was closed.
    pub fn closed(&mut self, block: BlockSetId) {
        if let Some(id) = self.of(block) {
            self.all[id].closed += 1;
            self.settle(id);
        }
    }

    /// A number of pages of a block became valid, or invalid.
    #[inline(never)]
    pub fn count(&mut self, block: BlockSetId, state: State, pages: u32, is_valid: bool) {
        if !is_kept(state) {
            return;
        }
        if !is_valid {
            self.lose_pages(block, pages);
        } else if let Some(id) = self.of(block) {
            self.all[id].valid += pages;
        }
    }

    /// Whether one was chosen since this was last asked.
    #[inline]
    pub fn take_choice(&mut self) -> bool {
        std::mem::take(&mut self.cleaning.news)
    }

    /// Makes those blocks of a candidate the next victims of their rows that gain something.
    pub fn choose(&mut self, chosen: BlockSetId, table: &Column<BlockSetId, Block>, pools: &Pools) {
        let one = &mut self.all[chosen];
        assert!(one.indexed, "super block {chosen:?} was chosen, which is not closed");
        for block in one.blocks.iter().copied() {
            if table[block].state == State::Closed && table[block].valid < self.per_block {
                self.due[(pools.row_of_block(block).0 - self.begins.0) as usize].push_back(block);
                one.due += 1;
            }
        }
        one.chosen = true;
        self.cleaning.begin(one.due);
        self.settle(chosen);
    }

    /// A block of a row stays as it is, though its super block was chosen.
    pub fn leave_out(&mut self, row: RowId, block: BlockSetId) {
        let at = self.at(row);
        self.due[at].retain(|due| *due != block);
        if let Some(id) = self.of(block) {
            self.all[id].due -= 1;
            self.settle(id);
        }
    }

    /// The blocks that are written are found again, and none of them is closed yet.
    pub fn find(&mut self, table: &Column<BlockSetId, Block>) {
        for block in self.blocks() {
            match self.of(block) {
                Some(id) if is_kept(table[block].state) => {
                    self.all[id].blocks.push(block);
                    self.all[id].kept += 1;
                }
                _ => *self.of_mut(block) = NONE.0,
            }
        }
        self.all.ids().for_each(|id| self.settle(id));
    }

    /// Works out what a super block is after something of it has changed.
    fn settle(&mut self, id: BlockSetId) {
        let one = &mut self.all[id];
        if one.chosen && one.due == 0 && one.kept as usize == one.blocks.len() {
            one.chosen = false;
            self.cleaning.now -= 1;
        }
        let (was, before) = (one.indexed, self.shown[id]);
        one.indexed = one.complete && !one.chosen && one.kept > 0 && one.closed == one.kept;
        let is = one.indexed;
        if one.complete && one.blocks.is_empty() {
            *one = SuperBlock { blocks: std::mem::take(&mut one.blocks), ..SuperBlock::default() };
            self.unused.push(id);
        }
        let valid = self.scaled(&self.all[id]);
        match (was, is) {
            (false, true) => self.candidates.add(ROW, valid, id),
            (true, false) => self.candidates.remove(ROW, before, id),
            (true, true) if valid != before => self.candidates.change(ROW, before, valid, id),
            _ => {}
        }
        self.shown[id] = valid;
    }

    #[inline]
    fn lose_pages(&mut self, block: BlockSetId, lost: u32) {
        let Some(id) = self.of(block).filter(|_| lost > 0) else { return };
        self.all[id].valid -= lost;
        if self.all[id].indexed {
            let (before, valid) = (self.shown[id], self.scaled(&self.all[id]));
            self.candidates.lose_page(ROW, before, valid, id);
            self.shown[id] = valid;
        }
    }

    /// A block is to be cleaned, or is of no use, before its state says so: it counts no more.
    pub fn leave(&mut self, row: RowId, block: BlockSetId, known: &Block) {
        let Some(id) = self.of(block).filter(|_| is_kept(known.state)) else { return };
        let at = self.at(row);
        let (one, due) = (&mut self.all[id], &mut self.due[at]);
        one.leave(known.valid, known.state == State::Closed);
        if let Some(at) = due.iter().position(|other| *other == block) {
            due.remove(at);
            one.due -= 1;
        }
        self.settle(id);
    }

    /// A block that counted no more is erased, or will never be.
    pub fn remove(&mut self, block: BlockSetId) {
        let Some(id) = self.of(block) else { return };
        *self.of_mut(block) = NONE.0;
        self.all[id].blocks.retain(|other| *other != block);
        self.settle(id);
    }

    /// Forgets all but which blocks were opened for which super block: their first pages tell.
    pub fn forget(&mut self) {
        self.candidates = self.no_candidates();
        self.due.iter_mut().for_each(VecDeque::clear);
        self.cleaning.now = 0;
        for id in self.all.ids() {
            let SuperBlock { joined, complete, .. } = self.all[id];
            self.all[id] = SuperBlock { joined, complete, ..SuperBlock::default() };
        }
    }
}

impl Space {
    /// The super blocks of each pool that has some.
    fn all_super_blocks(&self) -> impl Iterator<Item = &SuperBlocks> {
        self.each.iter().filter_map(|pool| pool.super_blocks.as_deref())
    }

    /// How super blocks were cleaned; none if there are not any.
    pub fn super_block_counts(&self) -> Option<SuperBlockCounts> {
        let counts = self.all_super_blocks().map(|all| all.cleaning.counts);
        counts.reduce(|one, other| SuperBlockCounts {
            chosen: one.chosen + other.chosen,
            blocks: one.blocks + other.blocks,
        })
    }

    /// Super blocks that were chosen and of which some block is not erased yet.
    pub fn super_blocks_in_cleaning(&self) -> u32 {
        self.all_super_blocks().map(|all| all.cleaning.now).sum()
    }

    /// The super blocks of the pool of a row that may be chosen; none while enough of them are being cleaned.
    pub fn super_candidates(&self, row: RowId) -> Option<Candidates<'_>> {
        let all = self.of(row).super_blocks.as_deref().filter(|all| all.cleaning.now < MOST_CLEANED)?;
        let SuperBlocks { candidates, shown, .. } = all;
        Some(Candidates::new(candidates, Valid::Shown(shown), ROW))
    }

    /// Whether a super block of the pool of a row may be chosen.
    pub fn is_super_candidate(&self, row: RowId, chosen: BlockSetId) -> bool {
        self.of(row).super_blocks.as_ref().is_some_and(|all| {
            let known = chosen.index() < all.all.len();
            known && all.all[chosen].indexed && all.shown[chosen] < all.candidates.most()
        })
    }

    /// The block of a row that is its next victim because its super block was chosen.
    #[inline]
    pub fn next_of_super_block(&self, row: RowId) -> Option<BlockSetId> {
        let all = self.of(row).super_blocks.as_deref()?;
        all.due[all.at(row)].front().copied()
    }
}

/// Whether a block in this state counts in its super block.
#[inline]
fn is_kept(state: State) -> bool {
    matches!(state, State::Open | State::Filling | State::Closed)
}
