//! Super blocks: a block of each row, opened for the same stream, and cleaned as one.
//!
//! The n-th block that a row opens for a stream belongs to the stream's n-th super block. Rows go on by themselves: those
//! that are ahead begin further super blocks, and one that is too far behind leaves some out. So do rows of a lost die.
//! A super block is a candidate for cleaning when no row opens a block of it any more and all that it has are closed; to
//! the victim policy it is a block of a row of its own. One that has lost some of its blocks, because they were cleaned
//! alone, failed, or gained nothing, is shown as if its other rows were like those that are left.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, Id, state};
use wordline_nand::BlockSetId;

use super::{Block, Space, State, StreamId};
use crate::policy::placement::Row;
use crate::space::candidates::{Candidates, Closed, Indexes, Valid};

/// Super blocks of a stream in which some row has still to open a block: a row that is further behind leaves the oldest
/// out. Chosen: of one, rows that take turns leave many out; more than two make no difference under random writes.
const MOST_FORMING: usize = 4;

/// Super blocks that are cleaned at a time: a row that has done its part and needs more does not wait for the others.
/// Chosen: under random writes 98 % of the blocks of 32 rows are then cleaned with their super block, with half as many
/// 88 %.
const MOST_CLEANED: u32 = 8;

const NONE: BlockSetId = BlockSetId(u32::MAX);

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

/// The super blocks of a stream that rows have still to open blocks of.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Forming {
    /// The number of the oldest, counted over the stream.
    first: u64,
    all: VecDeque<BlockSetId>,
}

/// How super blocks were cleaned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuperBlockCounts {
    /// Super blocks that were chosen.
    pub chosen: u64,
    /// Blocks that were to be cleaned because of that.
    pub blocks: u64,
}

/// The super blocks of a device. Their numbers are of the type of blocks, because victim policies name them.
#[derive(Clone, Debug)]
pub(super) struct SuperBlocks {
    per_block: u32,
    indexes: Indexes,
    /// The super block of each block until it is erased.
    of: Column<BlockSetId, u32>,
    all: Column<BlockSetId, SuperBlock>,
    /// Valid pages of each candidate, as if it had a block of every row.
    shown: Column<BlockSetId, u32>,
    unused: Vec<BlockSetId>,
    forming: Vec<Forming>,
    /// The number of the super block that each stream of each row opens a block of next.
    next: Vec<u64>,
    candidates: Closed,
    /// Blocks of each row that are its next victims.
    due: Vec<VecDeque<BlockSetId>>,
    in_use: Vec<bool>,
    /// Super blocks that are being cleaned.
    cleaned: u32,
    /// Whether one was chosen since that was last asked.
    news: bool,
    /// While this is set, no row is too far behind.
    waits: bool,
    counts: SuperBlockCounts,
}

state!(SuperBlocks {
    values { all, unused, forming, candidates, due, in_use, cleaned, news, waits, counts }
    parts { of, shown, next }
    fixed { per_block, indexes }
});

impl SuperBlocks {
    fn rows(&self) -> u32 {
        self.in_use.len() as u32
    }

    /// Valid pages of a super block as if it had a block of every row.
    fn scaled(&self, one: &SuperBlock) -> u32 {
        let all = u64::from(one.valid) * u64::from(self.rows());
        (all / u64::from(one.kept.max(1))) as u32
    }

    /// No candidates, of so many super blocks.
    fn no_candidates(&self) -> Closed {
        Closed::new(vec![self.rows() * self.per_block], self.all.len(), self.indexes)
    }

    /// The super block that `block` is in.
    #[inline]
    fn of(&self, block: BlockSetId) -> Option<BlockSetId> {
        Some(BlockSetId(self.of[block])).filter(|of| *of != NONE)
    }

    fn open(&mut self, row: Row, stream: usize, block: BlockSetId) {
        let next = &mut self.next[row as usize * self.forming.len() + stream];
        let forming = &mut self.forming[stream];
        let number = forming.first.max(*next);
        *next = number + 1;
        let place = (number - forming.first) as usize;
        if place == forming.all.len() {
            let unused = self.unused.pop().expect("there are as many super blocks as can be in use");
            forming.all.push_back(unused);
        }
        let id = forming.all[place];
        let one = &mut self.all[id];
        one.blocks.push(block);
        one.kept += 1;
        one.joined += 1;
        self.of[block] = id.0;
        self.complete(stream);
    }

    /// No row opens a block any more of those that every row in use has opened one of, nor of the oldest of too many.
    fn complete(&mut self, stream: usize) {
        let rows = self.in_use.iter().filter(|in_use| **in_use).count() as u32;
        loop {
            let forming = &mut self.forming[stream];
            let Some(oldest) = forming.all.front().copied() else { return };
            let too_many = forming.all.len() > MOST_FORMING && !self.waits;
            if self.all[oldest].joined < rows && !too_many {
                return;
            }
            forming.all.pop_front();
            forming.first += 1;
            self.all[oldest].complete = true;
            self.settle(oldest);
        }
    }

    /// Works out what a super block is after something of it has changed.
    fn settle(&mut self, id: BlockSetId) {
        let one = &mut self.all[id];
        if one.chosen && one.due == 0 && one.kept as usize == one.blocks.len() {
            one.chosen = false;
            self.cleaned -= 1;
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
            (false, true) => self.candidates.add(0, valid, id),
            (true, false) => self.candidates.remove(0, before, id),
            (true, true) if valid != before => self.candidates.change(0, before, valid, id),
            _ => {}
        }
        self.shown[id] = valid;
    }

    #[inline]
    fn lose_page(&mut self, block: BlockSetId) {
        let Some(id) = self.of(block) else { return };
        self.all[id].valid -= 1;
        if self.all[id].indexed {
            let (before, valid) = (self.shown[id], self.scaled(&self.all[id]));
            self.candidates.lose_page(0, before, valid, id);
            self.shown[id] = valid;
        }
    }

    /// A block is to be cleaned, or is of no use: it counts no more.
    fn leave(&mut self, row: Row, block: BlockSetId, valid: u32, was_closed: bool) {
        let Some(id) = self.of(block) else { return };
        let (one, due) = (&mut self.all[id], &mut self.due[row as usize]);
        one.kept -= 1;
        one.closed -= u32::from(was_closed);
        one.valid -= valid;
        if let Some(at) = due.iter().position(|other| *other == block) {
            due.remove(at);
            one.due -= 1;
        }
        self.settle(id);
    }

    /// A block that counted no more is erased, or will never be.
    fn remove(&mut self, block: BlockSetId) {
        let Some(id) = self.of(block) else { return };
        self.of[block] = NONE.0;
        self.all[id].blocks.retain(|other| *other != block);
        self.settle(id);
    }

    /// Forgets all but which blocks were opened for which super block: their first pages tell.
    fn forget(&mut self) {
        self.candidates = self.no_candidates();
        self.due.iter_mut().for_each(VecDeque::clear);
        self.cleaned = 0;
        for id in self.all.ids() {
            let SuperBlock { joined, complete, .. } = self.all[id];
            self.all[id] = SuperBlock { joined, complete, ..SuperBlock::default() };
        }
    }
}

impl Space {
    /// Forms super blocks from now on; before the first block is written, and after [`keep`](Self::keep).
    pub fn form_super_blocks(&mut self) {
        let (rows, blocks) = (self.pools.rows() as usize, self.pools.block_sets() as usize);
        let streams = usize::from(self.streams.host + self.streams.gc);
        // A super block holds a block, or is one of those that a power cut left without any.
        let most = blocks + streams * (MOST_FORMING + 1);
        let (per_block, indexes) = (self.pools.per_block_of(0), self.indexes);
        self.super_blocks = Some(Box::new(SuperBlocks {
            per_block,
            indexes,
            of: Column::filled(blocks, NONE.0),
            all: Column::filled(most, SuperBlock::default()),
            shown: Column::filled(most, 0),
            unused: (0..most as u32).rev().map(BlockSetId).collect(),
            forming: vec![Forming::default(); streams],
            next: vec![0; rows * streams],
            candidates: Closed::new(vec![rows as u32 * per_block], most, indexes),
            due: vec![VecDeque::new(); rows],
            in_use: vec![true; rows],
            cleaned: 0,
            news: false,
            waits: false,
            counts: SuperBlockCounts::default(),
        }));
    }

    /// While super blocks wait, no row is too far behind to open a block of them: rows are filled one after the other.
    pub fn wait_for_rows(&mut self, waits: bool) {
        if let Some(all) = &mut self.super_blocks {
            all.waits = waits;
            (0..all.forming.len()).for_each(|stream| all.complete(stream));
        }
    }

    /// How super blocks were cleaned; none if there are not any.
    pub fn super_block_counts(&self) -> Option<SuperBlockCounts> {
        self.super_blocks.as_ref().map(|all| all.counts)
    }

    /// Super blocks that were chosen and of which some block is not erased yet.
    pub fn super_blocks_in_cleaning(&self) -> u32 {
        self.super_blocks.as_ref().map_or(0, |all| all.cleaned)
    }

    /// Whether one was chosen since this was last asked.
    #[inline]
    pub fn take_choice_of_super_block(&mut self) -> bool {
        self.super_blocks.as_mut().is_some_and(|all| std::mem::take(&mut all.news))
    }

    /// The super blocks that may be chosen; none while enough of them are being cleaned.
    pub fn super_candidates(&mut self) -> Option<Candidates<'_>> {
        let all = self.super_blocks.as_mut().filter(|all| all.cleaned < MOST_CLEANED)?;
        let SuperBlocks { candidates, shown, .. } = &mut **all;
        Some(Candidates::new(candidates, Valid::Shown(shown), 0))
    }

    /// Makes those blocks of a candidate the next victims of their rows that gain something.
    pub fn choose_super_block(&mut self, chosen: BlockSetId) {
        let Self { super_blocks, table, pools, .. } = self;
        let Some(all) = super_blocks else { return };
        let one = &mut all.all[chosen];
        assert!(one.indexed, "super block {chosen:?} was chosen, which is not closed");
        for block in one.blocks.iter().copied() {
            if table[block].state == State::Closed && table[block].valid < all.per_block {
                all.due[pools.row_of_block(block) as usize].push_back(block);
                one.due += 1;
            }
        }
        one.chosen = true;
        all.counts.chosen += 1;
        all.counts.blocks += u64::from(one.due);
        all.cleaned += 1;
        all.news = true;
        all.settle(chosen);
    }

    /// The block of a row that is its next victim because its super block was chosen.
    #[inline]
    pub fn next_of_super_block(&self, row: Row) -> Option<BlockSetId> {
        self.super_blocks.as_ref()?.due[row as usize].front().copied()
    }

    /// The block stays as it is, though its super block was chosen.
    pub fn leave_out(&mut self, block: BlockSetId) {
        let row = self.row_of(block);
        let Some(all) = &mut self.super_blocks else { return };
        all.due[row as usize].retain(|due| *due != block);
        if let Some(id) = all.of(block) {
            all.all[id].due -= 1;
            all.settle(id);
        }
    }

    /// Notes that a block was opened.
    pub(super) fn opened_in_super_block(&mut self, row: Row, stream: StreamId, block: BlockSetId) {
        if let Some(all) = &mut self.super_blocks {
            all.open(row, stream.0.into(), block);
        }
    }

    /// Notes that a block was closed.
    pub(super) fn closed_in_super_block(&mut self, block: BlockSetId) {
        if let Some(all) = &mut self.super_blocks
            && let Some(id) = all.of(block)
        {
            all.all[id].closed += 1;
            all.settle(id);
        }
    }

    /// Notes that a block becomes a victim, before its state says so.
    pub(super) fn leaves_super_block(&mut self, block: BlockSetId) {
        let row = self.row_of(block);
        let Self { super_blocks: Some(all), table, .. } = self else { return };
        let Block { state, valid, .. } = table[block];
        if is_kept(state) {
            all.leave(row, block, valid, state == State::Closed);
        }
    }

    /// Notes that a block is to be taken out of use, or is, before its state says so.
    pub(super) fn lost_to_super_block(&mut self, block: BlockSetId) {
        self.leaves_super_block(block);
        self.left_super_block(block);
    }

    /// Notes that a victim is erased or taken out of use.
    pub(super) fn left_super_block(&mut self, block: BlockSetId) {
        if let Some(all) = &mut self.super_blocks {
            all.remove(block);
        }
    }

    /// Notes that a row is out of use.
    pub(super) fn row_left_super_blocks(&mut self, row: Row) {
        if let Some(all) = &mut self.super_blocks {
            all.in_use[row as usize] = false;
            (0..all.forming.len()).for_each(|stream| all.complete(stream));
        }
    }

    /// Notes that a page became valid, or invalid.
    #[inline(never)]
    pub(super) fn count_in_super_block(&mut self, block: BlockSetId, is_valid: bool) {
        let Self { super_blocks: Some(all), table, .. } = self else { return };
        if !is_kept(table[block].state) {
            return;
        }
        if !is_valid {
            all.lose_page(block);
        } else if let Some(id) = all.of(block) {
            all.all[id].valid += 1;
        }
    }

    /// Forgets all but which blocks were opened for which super block.
    pub(super) fn forget_super_blocks(&mut self) {
        if let Some(all) = &mut self.super_blocks {
            all.forget();
        }
    }

    /// The blocks that are written are found again, and none of them is closed yet.
    pub(super) fn find_super_blocks(&mut self) {
        let Self { super_blocks: Some(all), table, .. } = self else { return };
        for (block, is) in table.entries() {
            match all.of(block) {
                Some(id) if is_kept(is.state) => {
                    all.all[id].blocks.push(block);
                    all.all[id].kept += 1;
                }
                _ => all.of[block] = NONE.0,
            }
        }
        all.all.ids().for_each(|id| all.settle(id));
    }

    /// Checks what is kept of super blocks against the blocks; a bug if it is wrong.
    pub fn audit_super_blocks(&self) {
        let Some(all) = &self.super_blocks else { return };
        let mut valid = vec![0; all.all.len()];
        let mut counts = vec![[0; 3]; all.all.len()];
        for (block, is) in self.table.entries() {
            let Some(id) = all.of(block) else { continue };
            let kept = is_kept(is.state);
            valid[id.index()] += if kept { is.valid } else { 0 };
            let is = [true, kept, is.state == State::Closed];
            counts[id.index()].iter_mut().zip(is).for_each(|(count, is)| *count += u32::from(is));
        }
        for (id, one) in all.all.entries() {
            assert_eq!(one.valid, valid[id.index()], "a super block holds the valid pages of its blocks");
            let found = [one.blocks.len() as u32, one.kept, one.closed];
            assert_eq!(found, counts[id.index()], "blocks, kept and closed ones of super block {id:?}");
            let due =
                one.blocks.iter().filter(|block| all.due[self.row_of(**block) as usize].contains(block));
            assert_eq!(one.due, due.count() as u32, "blocks of super block {id:?} that are to be cleaned");
            assert!(!one.indexed || all.shown[id] == all.scaled(one), "super block {id:?} is shown as it is");
        }
        let cleaned = all.all.iter().filter(|one| one.chosen).count();
        assert!(
            cleaned == all.cleaned as usize && all.cleaned <= MOST_CLEANED,
            "{cleaned} are being cleaned"
        );
    }
}

/// Whether a block in this state counts in its super block.
#[inline]
fn is_kept(state: State) -> bool {
    matches!(state, State::Open | State::Filling | State::Closed)
}
