//! Closed blocks as a victim policy sees them. They are always indexed by valid pages. If the policy needs
//! it, they are also indexed by number, closing time or last invalidation. A selection never scans the
//! blocks. A block *loses* a page when the page becomes invalid.

mod loaded;

use std::cell::Cell;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, Id, Stream};
use wordline_nand::{BlockSetId, PlaneGroupId};

use super::block::Block;
use super::pool::PoolBlocks;
use super::table::BlockTable;

/// Indexes of the candidates that a victim policy needs in addition to the index by valid pages. Each index
/// costs time, so the device maintains it only on request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indexes {
    /// Candidates by number, for random choices. Costs two writes when a block becomes a candidate, and two
    /// when it is collected.
    pub numbered: bool,
    /// Candidates in the order of closing. Costs an insertion into an ordered set, and a removal, between two
    /// erases of a block.
    pub by_closing: bool,
    /// Last invalidation of each block. Costs a write at each invalidation.
    pub by_invalidation: bool,
}

const NONE: u32 = u32::MAX;

/// Neighbours of a block in its list.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Link {
    next: u32,
    previous: u32,
}

/// Closed blocks by plane group and number of valid pages. Each bucket is a circular list, newest first: the
/// `previous` link of its first block points to the last one.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Buckets {
    /// List heads of a plane group: one for each possible number of valid pages.
    per_row: usize,
    head: Vec<u32>,
    links: Column<BlockSetId, Link>,
    /// Lower bound of the first bucket with a block, for each plane group.
    least: Column<PlaneGroupId, Cell<u32>>,
}

impl Buckets {
    fn new(full: &Column<PlaneGroupId, u32>, blocks: usize) -> Self {
        let rows = full.len();
        let per_row = full.iter().max().map_or(0, |most| *most as usize) + 1;
        Self {
            per_row,
            head: vec![NONE; rows * per_row],
            links: Column::filled(blocks, Link { next: NONE, previous: NONE }),
            least: Column::filled(rows, Cell::new(per_row as u32)),
        }
    }

    fn insert(&mut self, row: PlaneGroupId, valid: u32, block: BlockSetId) {
        let head = &mut self.head[row.index() * self.per_row + valid as usize];
        let next = std::mem::replace(head, block.0);
        let previous = if next == NONE {
            block.0
        } else {
            std::mem::replace(&mut self.links[BlockSetId(next)].previous, block.0)
        };
        self.links[block] = Link { next, previous };
        let least = &self.least[row];
        least.set(least.get().min(valid));
    }

    fn remove(&mut self, row: PlaneGroupId, valid: u32, block: BlockSetId) {
        let Link { next, previous } = self.links[block];
        let head = &mut self.head[row.index() * self.per_row + valid as usize];
        if *head == block.0 {
            *head = next;
        } else {
            self.links[BlockSetId(previous)].next = next;
        }
        let after = if next == NONE { *head } else { next };
        if after != NONE {
            self.links[BlockSetId(after)].previous = previous;
        }
    }

    /// Buckets of a plane group for fewer than `full` valid pages.
    fn heads(&self, row: PlaneGroupId, full: u32) -> &[u32] {
        &self.head[row.index() * self.per_row..][..full as usize]
    }

    /// Buckets of a plane group, from the first one with a block.
    fn occupied(&self, row: PlaneGroupId, full: u32) -> &[u32] {
        let mut least = self.least[row].get() as usize;
        let heads = self.heads(row, full);
        while heads.get(least) == Some(&NONE) {
            least += 1;
        }
        self.least[row].set(least as u32);
        &heads[heads.len().min(least)..]
    }

    /// Block that has been in the bucket with this head for the longest time.
    fn last(&self, head: u32) -> BlockSetId {
        BlockSetId(self.links[BlockSetId(head)].previous)
    }
}

/// Candidates by number: a dense list for each plane group. The last entry fills the gap of a removed one.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Numbered {
    list: Column<PlaneGroupId, Vec<BlockSetId>>,
    place: Column<BlockSetId, u32>,
}

impl Numbered {
    fn add(&mut self, row: PlaneGroupId, block: BlockSetId) {
        let list = &mut self.list[row];
        self.place[block] = list.len() as u32;
        list.push(block);
    }

    fn remove(&mut self, row: PlaneGroupId, block: BlockSetId) {
        let list = &mut self.list[row];
        let place = self.place[block];
        list.swap_remove(place as usize);
        if let Some(moved) = list.get(place as usize) {
            self.place[*moved] = place;
        }
    }
}

/// Candidates in the order of closing. A block becomes a candidate at its first invalidation, long after it
/// closed, so the order needs a set and not a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ByClosing {
    closed: u64,
    closed_at: Column<BlockSetId, u64>,
    order: Column<PlaneGroupId, BTreeMap<u64, BlockSetId>>,
}

/// Last invalidation of each block. The clock of a plane group counts the pages that its closed blocks lost.
/// A block that loses a page moves to the head of a bucket. The last block of a bucket has therefore not lost
/// a page for the longest time.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ByInvalidation {
    clock: Column<PlaneGroupId, u64>,
    last: Column<BlockSetId, u64>,
}

/// Closed blocks of a device; or closed superblocks, as blocks of a single plane group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Closed {
    /// Valid pages of a full block of each plane group.
    full: Column<PlaneGroupId, u32>,
    /// Invalid pages in the closed blocks of each plane group.
    invalid: Column<PlaneGroupId, u32>,
    buckets: Buckets,
    numbered: Option<Numbered>,
    by_closing: Option<ByClosing>,
    by_invalidation: Option<ByInvalidation>,
}

impl Closed {
    /// No closed blocks among `blocks` blocks. `full` has the valid pages of a full block of each plane
    /// group.
    pub(super) fn new(full: Column<PlaneGroupId, u32>, blocks: usize, indexes: Indexes) -> Self {
        let rows = full.len();
        let numbered =
            || Numbered { list: Column::filled(rows, Vec::new()), place: Column::filled(blocks, 0) };
        let by_closing = || ByClosing {
            closed: 0,
            closed_at: Column::filled(blocks, 0),
            order: Column::filled(rows, BTreeMap::new()),
        };
        let by_invalidation =
            || ByInvalidation { clock: Column::filled(rows, 0), last: Column::filled(blocks, 0) };
        Self {
            buckets: Buckets::new(&full, blocks),
            invalid: Column::filled(rows, 0),
            full,
            numbered: indexes.numbered.then(numbered),
            by_closing: indexes.by_closing.then(by_closing),
            by_invalidation: indexes.by_invalidation.then(by_invalidation),
        }
    }

    /// Prefetches the entry of a block that will soon lose a page; see [`Column::prefetch`].
    #[inline]
    pub(super) fn prefetch(&self, block: BlockSetId) {
        self.buckets.links.prefetch(block);
    }

    /// Valid pages of a full block of the first plane group.
    pub(super) fn most(&self) -> u32 {
        self.full[PlaneGroupId(0)]
    }

    /// Number of plane groups.
    pub(super) fn rows(&self) -> usize {
        self.invalid.len()
    }

    /// Invalid pages in the closed blocks of a plane group.
    #[inline]
    pub(super) fn invalid(&self, row: PlaneGroupId) -> u32 {
        self.invalid[row]
    }

    /// Adds a block that closed with `valid` valid pages.
    pub(super) fn add(&mut self, row: PlaneGroupId, valid: u32, block: BlockSetId) {
        self.buckets.insert(row, valid, block);
        self.invalid[row] += self.full[row] - valid;
        if let Some(ages) = &mut self.by_closing {
            ages.closed += 1;
            ages.closed_at[block] = ages.closed;
        }
        if let Some(ages) = &mut self.by_invalidation {
            ages.last[block] = ages.clock[row];
        }
        if valid < self.full[row] {
            self.join(row, block);
        }
    }

    /// Records that a closed block with `valid` valid pages lost some. `left` is its new number.
    #[inline]
    pub(super) fn lose_page(&mut self, row: PlaneGroupId, valid: u32, left: u32, block: BlockSetId) {
        self.buckets.remove(row, valid, block);
        self.buckets.insert(row, left, block);
        self.invalid[row] += valid - left;
        if let Some(ages) = &mut self.by_invalidation {
            ages.clock[row] += 1;
            ages.last[block] = ages.clock[row];
        }
        if valid == self.full[row] {
            self.join(row, block);
        }
    }

    /// Removes a block with `valid` valid pages.
    pub(super) fn remove(&mut self, row: PlaneGroupId, valid: u32, block: BlockSetId) {
        self.buckets.remove(row, valid, block);
        self.invalid[row] -= self.full[row] - valid;
        if valid == self.full[row] {
            return;
        }
        if let Some(numbered) = &mut self.numbered {
            numbered.remove(row, block);
        }
        if let Some(ages) = &mut self.by_closing {
            ages.order[row].remove(&ages.closed_at[block]);
        }
    }

    /// Records a new number of valid pages of a closed block that did not lose a page.
    pub(super) fn change(&mut self, row: PlaneGroupId, before: u32, valid: u32, block: BlockSetId) {
        self.remove(row, before, block);
        self.buckets.insert(row, valid, block);
        self.invalid[row] += self.full[row] - valid;
        if let Some(ages) = &mut self.by_invalidation {
            // Blocks of a bucket stay ordered by age.
            ages.last[block] = ages.clock[row];
        }
        if valid < self.full[row] {
            self.join(row, block);
        }
    }

    /// Makes a block a candidate.
    fn join(&mut self, row: PlaneGroupId, block: BlockSetId) {
        if let Some(numbered) = &mut self.numbered {
            numbered.add(row, block);
        }
        if let Some(ages) = &mut self.by_closing {
            ages.order[row].insert(ages.closed_at[block], block);
        }
    }
}

/// Closed blocks of a plane group with at least one invalid page, from which a victim policy selects. If
/// superblocks are collected, these are superblocks, as blocks of a single plane group with numbers of their
/// own.
pub struct Candidates<'a> {
    closed: &'a Closed,
    valid: Valid<'a>,
    row: PlaneGroupId,
    /// Pool and block table whose suspended blocks in the plane group are also candidates.
    beside: Option<(&'a PoolBlocks, &'a BlockTable)>,
}

/// Source of the candidates' valid pages.
#[derive(Clone, Copy)]
pub(super) enum Valid<'a> {
    /// Blocks.
    OfBlocks(&'a Column<BlockSetId, Block>),
    /// Superblocks: scaled counts.
    Shown(&'a Column<BlockSetId, u32>),
}

/// Message if an index is used that the policy did not request.
const INDEX_IS_KEPT: &str = "the policy names in needs() what it looks at";

impl<'a> Candidates<'a> {
    pub(super) fn new(closed: &'a Closed, valid: Valid<'a>, row: PlaneGroupId) -> Self {
        Self { closed, valid, row, beside: None }
    }

    /// Adds the suspended blocks of the plane group.
    pub(super) fn beside(self, pool: &'a PoolBlocks, table: &'a BlockTable) -> Self {
        Self { beside: Some((pool, table)), ..self }
    }

    /// Suspended blocks of the plane group without a program in progress. The orders below do not include
    /// them. Collecting one gains the pages that are written and not valid.
    pub fn suspended(&self) -> impl Iterator<Item = BlockSetId> + '_ {
        self.beside.into_iter().flat_map(|(pool, table)| pool.suspended_candidates(self.row, table))
    }

    /// Logical pages of a block.
    pub fn pages_per_block(&self) -> u32 {
        self.closed.full[self.row]
    }

    /// Valid pages of a block.
    pub fn valid(&self, block: BlockSetId) -> u32 {
        match self.valid {
            Valid::OfBlocks(table) => table[block].valid,
            Valid::Shown(valid) => valid[block],
        }
    }

    /// Block with the fewest valid pages; among equals, the last one to reach this number.
    pub fn fewest_valid(self) -> Option<BlockSetId> {
        let full = self.pages_per_block();
        self.closed.buckets.occupied(self.row, full).first().map(|head| BlockSetId(*head))
    }

    /// Candidates by valid pages, fewest first; among equals, the last one to reach this number comes first.
    pub fn fewest_first(&self) -> impl Iterator<Item = BlockSetId> + '_ {
        let buckets = &self.closed.buckets;
        let heads = buckets.occupied(self.row, self.pages_per_block()).iter().filter(|head| **head != NONE);
        let next = |block: &BlockSetId| {
            let next = buckets.links[*block].next;
            (next != NONE).then_some(BlockSetId(next))
        };
        heads.flat_map(move |head| std::iter::successors(Some(BlockSetId(*head)), next))
    }

    /// Random candidate, with equal probabilities. Needs [`Indexes::numbered`].
    pub fn random(&self, random: &mut Stream) -> Option<BlockSetId> {
        let list = &self.closed.numbered.as_ref().expect(INDEX_IS_KEPT).list[self.row];
        (!list.is_empty()).then(|| list[random.below(list.len() as u64) as usize])
    }

    /// Candidates in the order of closing. Needs [`Indexes::by_closing`].
    pub fn oldest_first(&self) -> impl Iterator<Item = BlockSetId> + '_ {
        let ages = self.closed.by_closing.as_ref().expect(INDEX_IS_KEPT);
        ages.order[self.row].values().copied()
    }

    /// For each number of valid pages, fewest first: the candidate that has not lost a page for the longest
    /// time, and its age. The age is the number of pages that the closed blocks of the plane group lost since
    /// this one closed or last lost a page. Needs [`Indexes::by_invalidation`].
    pub fn stalest(&self) -> impl Iterator<Item = (BlockSetId, u64)> + '_ {
        let buckets = &self.closed.buckets;
        let ages = self.closed.by_invalidation.as_ref().expect(INDEX_IS_KEPT);
        let now = ages.clock[self.row];
        let heads = buckets.heads(self.row, self.pages_per_block()).iter().filter(|head| **head != NONE);
        heads.map(move |head| buckets.last(*head)).map(move |block| (block, now - ages.last[block]))
    }
}
