//! Superblocks. A superblock has one block of each plane group. These blocks are opened for the same stream
//! and collected together.
//!
//! The n-th block that a plane group opens for a stream belongs to the stream's n-th superblock. Plane groups
//! advance independently: a group that is ahead begins further superblocks. A group that is too far behind,
//! or out of service, skips some.
//!
//! A superblock becomes a GC candidate when no plane group can still open a block of it and all its blocks
//! are closed. The victim policy sees it as a block of a single plane group. Some of its blocks may be
//! missing: collected alone, failed, or skipped because their collection would gain no page. The policy then
//! sees the superblock as if the missing blocks had the average valid pages of the remaining ones.

mod loaded;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, Id, state};
use wordline_nand::{BlockSetId, PlaneGroupId, Pool};

use super::block::{Block, State};
use super::candidates::{Candidates, Closed, Indexes, Valid};
use super::table::BlockTable;

/// Most superblocks of a stream that are being formed. A plane group that is further behind skips the oldest.
/// Chosen: with a limit of 1, plane groups that take turns skip many superblocks. Limits above 2 make no
/// difference under random writes.
const MAX_FORMING: usize = 4;

/// Most superblocks that are collected at a time. Several are needed: a plane group that has collected its
/// block and needs more free blocks must not wait for the others. Chosen: under random writes on 32 plane
/// groups, 98 % of the blocks are then collected with their superblock. With a limit of 4, 88 % are.
const MAX_COLLECTING: u32 = 8;

const NONE: BlockSetId = BlockSetId(u32::MAX);

/// Plane group of all superblocks as the victim policy sees them.
const ROW: PlaneGroupId = PlaneGroupId(0);

/// A superblock.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct SuperBlock {
    /// Blocks of the superblock that are not erased yet.
    blocks: Vec<BlockSetId>,
    /// Number of its blocks that are not victims.
    kept: u32,
    /// Number of its closed blocks.
    closed: u32,
    /// Valid pages of the blocks that are not victims.
    valid: u32,
    /// Number of plane groups that opened a block of it.
    joined: u32,
    /// Whether no plane group can still open a block of it.
    complete: bool,
    /// Whether it is indexed as a GC candidate.
    indexed: bool,
    /// Whether it is being collected.
    chosen: bool,
    /// Number of its blocks that must be collected and are not victims yet.
    due: u32,
}

impl SuperBlock {
    /// Adds the block that a plane group opened.
    fn join(&mut self, block: BlockSetId) {
        self.blocks.push(block);
        self.kept += 1;
        self.joined += 1;
    }

    /// Stops counting a block with `valid` valid pages.
    fn leave(&mut self, valid: u32, was_closed: bool) {
        self.kept -= 1;
        self.closed -= u32::from(was_closed);
        self.valid -= valid;
    }
}

/// Superblocks of a stream that are being formed, because plane groups still open blocks of them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct FormingSuperBlocks {
    /// Number of the oldest of these superblocks, counted over the stream.
    first: u64,
    all: VecDeque<BlockSetId>,
}

/// Superblocks being formed, and the progress of each plane group.
#[derive(Clone, Debug)]
struct FormingState {
    streams: Vec<FormingSuperBlocks>,
    /// Number of the next superblock, for each stream of each plane group.
    next: Vec<u64>,
    /// Whether each plane group is in service.
    in_use: Vec<bool>,
    /// While set, no superblock is skipped.
    waits: bool,
}

state!(FormingState { values { streams, in_use, waits } parts { next } });

impl FormingState {
    /// Returns the superblock of the next block of a stream in the plane group at index `at`. `new` allocates
    /// the superblock if this is its first block.
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

    /// Removes and returns the oldest superblock of a stream if no more blocks can join it: all plane groups
    /// in service have `joined`, or too many superblocks are being formed.
    fn take_complete(&mut self, stream: usize, joined: impl FnOnce(BlockSetId) -> u32) -> Option<BlockSetId> {
        let rows = self.in_use.iter().filter(|in_use| **in_use).count() as u32;
        let forming = &mut self.streams[stream];
        let oldest = forming.all.front().copied()?;
        let too_many = forming.all.len() > MAX_FORMING && !self.waits;
        if joined(oldest) < rows && !too_many {
            return None;
        }
        forming.all.pop_front();
        forming.first += 1;
        Some(oldest)
    }
}

/// Counts of superblock GC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuperBlockCounts {
    /// Superblocks selected for GC.
    pub chosen: u64,
    /// Blocks that had to be collected with them.
    pub blocks: u64,
}

/// Superblocks under GC.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct CollectionCounts {
    /// Superblocks being collected.
    now: u32,
    /// Whether a superblock was selected since the last query.
    news: bool,
    counts: SuperBlockCounts,
}

impl CollectionCounts {
    /// Counts a selected superblock with `blocks` blocks to collect.
    fn begin(&mut self, blocks: u32) {
        self.now += 1;
        self.news = true;
        self.counts.chosen += 1;
        self.counts.blocks += u64::from(blocks);
    }
}

/// Superblocks of a pool. Their numbers have the type of block numbers, because victim policies return that
/// type.
#[derive(Clone, Debug)]
pub(super) struct SuperBlocks {
    per_block: u32,
    indexes: Indexes,
    /// First plane group of the pool.
    begins: PlaneGroupId,
    first: BlockSetId,
    /// Superblock of each block until the block is erased.
    of: Column<BlockSetId, u32>,
    all: Column<BlockSetId, SuperBlock>,
    /// Valid pages of each superblock, scaled to a block in every plane group; the victim policy sees these.
    shown: Column<BlockSetId, u32>,
    unused: Vec<BlockSetId>,
    begun: FormingState,
    candidates: Closed,
    /// Next victims of each plane group.
    due: Vec<VecDeque<BlockSetId>>,
    collecting: CollectionCounts,
}

state!(SuperBlocks {
    values { all, unused, candidates, due, collecting }
    parts { of, shown, begun }
    fixed { per_block, indexes, begins, first }
});

impl SuperBlocks {
    /// No superblocks, in a pool whose plane groups have `streams` streams.
    pub fn new(pool: &Pool, streams: usize, indexes: Indexes) -> Self {
        let Pool { geometry, locations, .. } = pool;
        let (rows, blocks) = (geometry.rows() as usize, geometry.block_sets() as usize);
        // A superblock has at least one block, or has lost all of them in a power cut.
        let most = blocks + streams * (MAX_FORMING + 1);
        let per_block = locations.per_block();
        Self {
            per_block,
            indexes,
            begins: geometry.first_group(),
            first: BlockSetId(geometry.first.block),
            of: Column::filled(blocks, NONE.0),
            all: Column::filled(most, SuperBlock::default()),
            shown: Column::filled(most, 0),
            unused: (0..most as u32).rev().map(BlockSetId).collect(),
            begun: FormingState {
                streams: vec![FormingSuperBlocks::default(); streams],
                next: vec![0; rows * streams],
                in_use: vec![true; rows],
                waits: false,
            },
            candidates: Closed::new(Column::filled(1, rows as u32 * per_block), most, indexes),
            due: vec![VecDeque::new(); rows],
            collecting: CollectionCounts::default(),
        }
    }

    fn rows(&self) -> u32 {
        self.begun.in_use.len() as u32
    }

    /// Valid pages of a superblock, scaled to a block in every plane group.
    fn scaled(&self, one: &SuperBlock) -> u32 {
        let all = u64::from(one.valid) * u64::from(self.rows());
        (all / u64::from(one.kept.max(1))) as u32
    }

    /// Empty candidate index for all superblocks.
    fn no_candidates(&self) -> Closed {
        Closed::new(Column::filled(1, self.rows() * self.per_block), self.all.len(), self.indexes)
    }

    /// Index of a plane group in the pool.
    #[inline]
    fn at(&self, row: PlaneGroupId) -> usize {
        (row.0 - self.begins.0) as usize
    }

    /// Mutable superblock number of `block`.
    #[inline]
    fn of_mut(&mut self, block: BlockSetId) -> &mut u32 {
        &mut self.of[BlockSetId(block.0 - self.first.0)]
    }

    /// Superblock of `block`.
    #[inline]
    fn of(&self, block: BlockSetId) -> Option<BlockSetId> {
        Some(BlockSetId(self.of[BlockSetId(block.0 - self.first.0)])).filter(|of| *of != NONE)
    }

    /// Blocks of the pool.
    fn blocks(&self) -> impl Iterator<Item = BlockSetId> + use<> {
        let first = self.first.0;
        self.of.ids().map(move |block| BlockSetId(first + block.0))
    }

    /// Records that a block was opened for a stream.
    pub fn open(&mut self, row: PlaneGroupId, stream: usize, block: BlockSetId) {
        let (at, unused) = (self.at(row), &mut self.unused);
        let new = || unused.pop().expect("there are as many super blocks as can be in use");
        let id = self.begun.join(at, stream, new);
        self.all[id].join(block);
        *self.of_mut(block) = id.0;
        self.complete(stream);
    }

    /// Completes superblocks that all plane groups in service have joined. Also completes the oldest if too
    /// many are being formed.
    fn complete(&mut self, stream: usize) {
        while let Some(oldest) = self.begun.take_complete(stream, |id| self.all[id].joined) {
            self.all[oldest].complete = true;
            self.settle(oldest);
        }
    }

    /// Completes the superblocks of all streams.
    fn complete_all(&mut self) {
        (0..self.begun.streams.len()).for_each(|stream| self.complete(stream));
    }

    /// Sets whether superblocks wait for all plane groups, however far behind one is.
    pub fn wait(&mut self, waits: bool) {
        self.begun.waits = waits;
        self.complete_all();
    }

    /// Records that a plane group is out of service.
    pub fn fail_group(&mut self, row: PlaneGroupId) {
        let at = self.at(row);
        self.begun.in_use[at] = false;
        self.complete_all();
    }

    /// Records that a block was closed.
    pub fn closed(&mut self, block: BlockSetId) {
        if let Some(id) = self.of(block) {
            self.all[id].closed += 1;
            self.settle(id);
        }
    }

    /// Records that pages of a block became valid or invalid.
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

    /// Counts of superblock GC.
    pub fn counts(&self) -> SuperBlockCounts {
        self.collecting.counts
    }

    /// Superblocks that were selected and are not completely erased yet.
    pub fn collecting(&self) -> u32 {
        self.collecting.now
    }

    /// Superblocks that may be selected; `None` while enough are being collected.
    pub fn candidates(&self) -> Option<Candidates<'_>> {
        let Self { candidates, shown, collecting, .. } = self;
        let may = collecting.now < MAX_COLLECTING;
        may.then(|| Candidates::new(candidates, Valid::Shown(shown), ROW))
    }

    /// Whether a superblock may be selected.
    pub fn is_candidate(&self, chosen: BlockSetId) -> bool {
        let known = chosen.index() < self.all.len();
        known && self.all[chosen].indexed && self.shown[chosen] < self.candidates.most()
    }

    /// Next victim of a plane group because its superblock was selected.
    #[inline]
    pub fn next_victim(&self, row: PlaneGroupId) -> Option<BlockSetId> {
        self.due[self.at(row)].front().copied()
    }

    /// Whether a superblock was selected since the last query.
    #[inline]
    pub fn take_choice(&mut self) -> bool {
        std::mem::take(&mut self.collecting.news)
    }

    /// Makes the blocks of a candidate the next victims of their plane groups, except blocks without gain.
    pub fn choose(&mut self, chosen: BlockSetId, table: &BlockTable) {
        let one = &mut self.all[chosen];
        assert!(one.indexed, "super block {chosen:?} was chosen, which is not closed");
        for block in one.blocks.iter().copied() {
            if table.state(block) == State::Closed && table.valid(block) < self.per_block {
                self.due[(table.group_of(block).0 - self.begins.0) as usize].push_back(block);
                one.due += 1;
            }
        }
        one.chosen = true;
        self.collecting.begin(one.due);
        self.settle(chosen);
    }

    /// Does not collect a block although its superblock was selected.
    pub fn spare_block(&mut self, row: PlaneGroupId, block: BlockSetId) {
        let at = self.at(row);
        self.due[at].retain(|due| *due != block);
        if let Some(id) = self.of(block) {
            self.all[id].due -= 1;
            self.settle(id);
        }
    }

    /// Rebuilds the lists after a power cut from the written blocks, before any of them is closed.
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

    /// Updates the stage of a superblock, and its entry among the candidates, after a change.
    fn settle(&mut self, id: BlockSetId) {
        let one = &mut self.all[id];
        if one.chosen && one.due == 0 && one.kept as usize == one.blocks.len() {
            one.chosen = false;
            self.collecting.now -= 1;
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

    /// Stops counting a block that becomes a victim or leaves service. Called before its state changes.
    pub fn leave(&mut self, row: PlaneGroupId, block: BlockSetId, known: &Block) {
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

    /// Removes a block that is erased or out of service.
    pub fn remove(&mut self, block: BlockSetId) {
        let Some(id) = self.of(block) else { return };
        *self.of_mut(block) = NONE.0;
        self.all[id].blocks.retain(|other| *other != block);
        self.settle(id);
    }

    /// Resets everything except the superblock of each block, which the first page of a block stores in
    /// flash.
    pub fn forget(&mut self) {
        self.candidates = self.no_candidates();
        self.due.iter_mut().for_each(VecDeque::clear);
        self.collecting.now = 0;
        for id in self.all.ids() {
            let SuperBlock { joined, complete, .. } = self.all[id];
            self.all[id] = SuperBlock { joined, complete, ..SuperBlock::default() };
        }
    }
}

/// Whether a block in this state counts as kept in its superblock.
#[inline]
fn is_kept(state: State) -> bool {
    matches!(state, State::Open | State::Closing | State::Closed)
}
