//! The closed blocks as a victim policy sees them: by valid pages always, and by number, by closing or by the last
//! invalidation where the policy asks for it. A choice never scans the blocks.

mod loaded;

use std::cell::Cell;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, Id, Stream};
use wordline_nand::{BlockSetId, RowId};

use super::{Block, Space};

/// The orders of candidates that a victim policy needs besides the numbers of valid pages. Each costs time, so it
/// is kept only when asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indexes {
    /// Candidates by number, for choices at random. Two writes when a block becomes a candidate, and when it is
    /// cleaned.
    pub numbered: bool,
    /// Candidates in the order of closing. An ordered set gains and loses each block once between two erases.
    pub by_closing: bool,
    /// The last invalidation of each block. A write at each invalidation.
    pub by_invalidation: bool,
}

const NONE: u32 = u32::MAX;

/// The neighbours of a block in its list.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Link {
    next: u32,
    previous: u32,
}

/// Closed blocks by row and number of valid pages: linked lists, newest first. The block before the first one of a
/// list is its last one.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Buckets {
    /// Heads of a row: one for each number of valid pages, up to that of the largest blocks.
    per_row: usize,
    head: Vec<u32>,
    links: Column<BlockSetId, Link>,
    /// No bucket of the row below this one holds a block.
    least: Column<RowId, Cell<u32>>,
}

impl Buckets {
    fn new(full: &Column<RowId, u32>, blocks: usize) -> Self {
        let rows = full.len();
        let per_row = full.iter().max().map_or(0, |most| *most as usize) + 1;
        Self {
            per_row,
            head: vec![NONE; rows * per_row],
            links: Column::filled(blocks, Link { next: NONE, previous: NONE }),
            least: Column::filled(rows, Cell::new(per_row as u32)),
        }
    }

    fn insert(&mut self, row: RowId, valid: u32, block: BlockSetId) {
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

    fn remove(&mut self, row: RowId, valid: u32, block: BlockSetId) {
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

    /// The buckets of a row without that of full blocks, which hold `full` valid pages.
    fn heads(&self, row: RowId, full: u32) -> &[u32] {
        &self.head[row.index() * self.per_row..][..full as usize]
    }

    /// The same, from the first bucket on that holds a block.
    fn occupied(&self, row: RowId, full: u32) -> &[u32] {
        let mut least = self.least[row].get() as usize;
        let heads = self.heads(row, full);
        while heads.get(least) == Some(&NONE) {
            least += 1;
        }
        self.least[row].set(least as u32);
        &heads[heads.len().min(least)..]
    }

    /// The block that has been in the bucket with this head for longest.
    fn last(&self, head: u32) -> BlockSetId {
        BlockSetId(self.links[BlockSetId(head)].previous)
    }
}

/// Candidates by number: a dense list a row, in which the last one takes the place of one that leaves.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Numbered {
    list: Column<RowId, Vec<BlockSetId>>,
    place: Column<BlockSetId, u32>,
}

impl Numbered {
    fn add(&mut self, row: RowId, block: BlockSetId) {
        let list = &mut self.list[row];
        self.place[block] = list.len() as u32;
        list.push(block);
    }

    fn remove(&mut self, row: RowId, block: BlockSetId) {
        let list = &mut self.list[row];
        let place = self.place[block];
        list.swap_remove(place as usize);
        if let Some(moved) = list.get(place as usize) {
            self.place[*moved] = place;
        }
    }
}

/// Candidates in the order in which they were closed. A block becomes a candidate long after it closed, at its first
/// invalidation, hence an ordered set and no list.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ByClosing {
    closed: u64,
    closed_at: Column<BlockSetId, u64>,
    order: Column<RowId, BTreeMap<u64, BlockSetId>>,
}

/// When a block lost its last page, by a clock that counts the pages that the closed blocks of a row lost. Blocks come
/// to the head of a bucket as they lose a page, so the last block of a bucket is the one that lost none for longest.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ByInvalidation {
    clock: Column<RowId, u64>,
    last: Column<BlockSetId, u64>,
}

/// The closed blocks of a device, or its closed super blocks, as blocks of a single row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Closed {
    /// Valid pages of a full block of each row.
    full: Column<RowId, u32>,
    /// Pages of the closed blocks of each row that are not valid.
    invalid: Column<RowId, u32>,
    buckets: Buckets,
    numbered: Option<Numbered>,
    by_closing: Option<ByClosing>,
    by_invalidation: Option<ByInvalidation>,
}

impl Closed {
    /// None yet, of `blocks` in all; `full` says for each row how many valid pages a full block has.
    pub(super) fn new(full: Column<RowId, u32>, blocks: usize, indexes: Indexes) -> Self {
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

    /// The block loses a page soon; see [`Column::prefetch`].
    #[inline]
    pub(super) fn prefetch(&self, block: BlockSetId) {
        self.buckets.links.prefetch(block);
    }

    /// Valid pages of a full block of the first row.
    pub(super) fn most(&self) -> u32 {
        self.full[RowId(0)]
    }

    /// Rows that it was made for.
    pub(super) fn rows(&self) -> usize {
        self.invalid.len()
    }

    /// Pages of the closed blocks of a row that are not valid.
    #[inline]
    pub(super) fn invalid(&self, row: RowId) -> u32 {
        self.invalid[row]
    }

    /// A block closed with `valid` valid pages.
    pub(super) fn add(&mut self, row: RowId, valid: u32, block: BlockSetId) {
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

    /// A closed block lost one of its `valid` valid pages, and counts as one with `left` of them now.
    #[inline]
    pub(super) fn lose_page(&mut self, row: RowId, valid: u32, left: u32, block: BlockSetId) {
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

    /// A block with `valid` valid pages is closed no more.
    pub(super) fn remove(&mut self, row: RowId, valid: u32, block: BlockSetId) {
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

    /// A closed block counts as one with other valid pages, though it lost none.
    pub(super) fn change(&mut self, row: RowId, before: u32, valid: u32, block: BlockSetId) {
        self.remove(row, before, block);
        self.buckets.insert(row, valid, block);
        self.invalid[row] += self.full[row] - valid;
        if let Some(ages) = &mut self.by_invalidation {
            // The blocks of a bucket stay in the order of their ages.
            ages.last[block] = ages.clock[row];
        }
        if valid < self.full[row] {
            self.join(row, block);
        }
    }

    /// A block becomes a candidate.
    fn join(&mut self, row: RowId, block: BlockSetId) {
        if let Some(numbered) = &mut self.numbered {
            numbered.add(row, block);
        }
        if let Some(ages) = &mut self.by_closing {
            ages.order[row].insert(ages.closed_at[block], block);
        }
    }
}

/// The closed blocks of a row that hold at least one invalid page: what a victim policy may look at. Where super blocks
/// are cleaned, they are shown like this first, as if they were the blocks of a row: each has a number of its own.
pub struct Candidates<'a> {
    closed: &'a Closed,
    valid: Valid<'a>,
    row: RowId,
    /// The block table, of which the suspended blocks of the row are candidates, too.
    beside: Option<&'a Space>,
}

/// Where the valid pages of candidates are noted.
#[derive(Clone, Copy)]
pub(super) enum Valid<'a> {
    /// Those of blocks.
    OfBlocks(&'a Column<BlockSetId, Block>),
    /// Those of super blocks, as they are shown.
    Shown(&'a Column<BlockSetId, u32>),
}

/// Why an index is there.
const ASKED_FOR: &str = "the policy names in needs() what it looks at";

impl<'a> Candidates<'a> {
    pub(super) fn new(closed: &'a Closed, valid: Valid<'a>, row: RowId) -> Self {
        Self { closed, valid, row, beside: None }
    }

    /// The same, with the suspended blocks of the row.
    pub(super) fn beside(self, space: &'a Space) -> Self {
        Self { beside: Some(space), ..self }
    }

    /// The suspended blocks of the row of which no program is under way. They are no candidates of the orders below; to clean one gains the
    /// pages that it does not hold.
    pub fn suspended(&self) -> impl Iterator<Item = BlockSetId> + '_ {
        self.beside.into_iter().flat_map(|space| space.resting_in(self.row))
    }

    /// Logical pages that a block holds.
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

    /// The block with the fewest valid pages; among equals the one that got there last.
    pub fn fewest_valid(self) -> Option<BlockSetId> {
        let full = self.pages_per_block();
        self.closed.buckets.occupied(self.row, full).first().map(|head| BlockSetId(*head))
    }

    /// The candidates by their valid pages, fewest first; of equals the one that got there last.
    pub fn fewest_first(&self) -> impl Iterator<Item = BlockSetId> + '_ {
        let buckets = &self.closed.buckets;
        let heads = buckets.occupied(self.row, self.pages_per_block()).iter().filter(|head| **head != NONE);
        let next = |block: &BlockSetId| {
            let next = buckets.links[*block].next;
            (next != NONE).then_some(BlockSetId(next))
        };
        heads.flat_map(move |head| std::iter::successors(Some(BlockSetId(*head)), next))
    }

    /// A candidate, each equally likely. Wants [`Indexes::numbered`].
    pub fn random(&self, random: &mut Stream) -> Option<BlockSetId> {
        let list = &self.closed.numbered.as_ref().expect(ASKED_FOR).list[self.row];
        (!list.is_empty()).then(|| list[random.below(list.len() as u64) as usize])
    }

    /// The candidates, the one that was closed first at the front. Wants [`Indexes::by_closing`].
    pub fn oldest_first(&self) -> impl Iterator<Item = BlockSetId> + '_ {
        let ages = self.closed.by_closing.as_ref().expect(ASKED_FOR);
        ages.order[self.row].values().copied()
    }

    /// For each number of valid pages that a candidate has, fewest first: the block that lost no page for longest, and
    /// its age, which is the number of pages that the closed blocks of the row lost since this one closed or lost a
    /// page. Wants [`Indexes::by_invalidation`].
    pub fn stalest(&self) -> impl Iterator<Item = (BlockSetId, u64)> + '_ {
        let buckets = &self.closed.buckets;
        let ages = self.closed.by_invalidation.as_ref().expect(ASKED_FOR);
        let now = ages.clock[self.row];
        let heads = buckets.heads(self.row, self.pages_per_block()).iter().filter(|head| **head != NONE);
        heads.map(move |head| buckets.last(*head)).map(move |block| (block, now - ages.last[block]))
    }
}
