//! What the rows of a pool have in common: when they are cleaned, what is kept free, how much is mapped as one, in which order
//! and mode their blocks are written, and what is cleaned together. A device has one such pool at least; none is special.

use wordline_kernel::state;
use wordline_nand::{BlockSetId, Location, RowId};

use super::order::Order;
use super::slc::SlcBlocks;
use super::super_blocks::SuperBlocks;
use super::{Space, State, Streams};

/// What the rows of a pool have in common.
pub(super) struct PoolSpace {
    /// Free blocks of a row that only the collector may open; see [`Streams::kept_blocks`].
    kept: usize,
    /// Blocks of a row that cannot count on holding data; see [`Streams::blocks_at_work`].
    pub at_work: u32,
    /// Free blocks of a row below which cleaning starts, and at which it stops.
    marks: [usize; 2],
    /// Pages of an extent that is a whole program unit; none where each page has an entry of its own in the map.
    whole_unit: Option<u32>,
    /// Valid pages.
    valid: u64,
    /// Valid pages beyond which those of the host leave the pool for the first.
    most: u64,
    /// None unless blocks are used as an SLC cache.
    pub slc: Option<Box<SlcBlocks>>,
    /// None where word lines are programmed by their numbers.
    pub order: Option<Box<Order>>,
    /// None where blocks are cleaned one by one.
    pub super_blocks: Option<Box<SuperBlocks>>,
}

state!(PoolSpace {
    values { valid, most }
    parts { slc, order, super_blocks }
    fixed { kept, at_work, marks, whole_unit }
});

impl PoolSpace {
    /// A pool that is mapped by page and written by word lines in order, of which nothing is valid.
    pub fn new(streams: Streams) -> Self {
        Self {
            kept: streams.kept_blocks(),
            at_work: streams.blocks_at_work(),
            marks: [0, 0],
            whole_unit: None,
            valid: 0,
            most: u64::MAX,
            slc: None,
            order: None,
            super_blocks: None,
        }
    }

    /// Nothing is valid any more, and nothing is known of the blocks.
    pub fn forget(&mut self) {
        (self.valid, self.most) = (0, u64::MAX);
        if let Some(slc) = &mut self.slc {
            slc.forget();
        }
        if let Some(all) = &mut self.super_blocks {
            all.forget();
        }
    }
}

impl Space {
    /// What the rows of the pool of `row` have in common.
    #[inline]
    pub(super) fn of(&self, row: RowId) -> &PoolSpace {
        &self.each[self.pools.number_of_row(row)]
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn of_mut(&mut self, row: RowId) -> &mut PoolSpace {
        &mut self.each[self.pools.number_of_row(row)]
    }

    /// Cleans the rows of a pool between these numbers of free blocks from now on: below the first it starts, at the second it
    /// stops.
    pub fn clean_between(&mut self, pool: usize, marks: [u32; 2]) {
        self.each[pool].marks = marks.map(|blocks| blocks as usize);
    }

    /// Maps a pool by whole program units from now on; before the first block is written.
    pub fn map_whole_units(&mut self, pool: usize) {
        self.each[pool].whole_unit = Some(self.pools.get(pool).locations.per_program);
    }

    /// Free blocks of a row below which cleaning starts, and at which it stops.
    #[inline]
    pub fn marks(&self, row: RowId) -> [usize; 2] {
        self.of(row).marks
    }

    /// Free blocks of a row that only the collector may open.
    #[inline]
    pub fn kept(&self, row: RowId) -> usize {
        self.of(row).kept
    }

    /// Whether a row is of a pool that is mapped by program units. Its valid pages count as whole units.
    #[inline]
    pub fn has_whole_units(&self, row: RowId) -> bool {
        self.of(row).whole_unit.is_some()
    }

    /// Whether the map of pages tells of a location, of which a part may be in flash. A pool of whole units has a map of its
    /// own, with an entry for each unit, which is in memory.
    #[inline]
    pub fn is_mapped_by_page(&self, location: Location) -> bool {
        self.each[self.pools.number_of_location(location)].whole_unit.is_none()
    }

    /// Pages of the host leave a pool, which is not the first, as long as more than so many are valid there.
    pub fn hold_at_most(&mut self, pool: usize, pages: u64) {
        self.each[pool].most = pages;
    }

    /// Whether pages of the host are to leave the pool of a row for the first.
    #[inline]
    pub fn is_crowded(&self, row: RowId) -> bool {
        let pool = self.of(row);
        pool.valid > pool.most
    }

    /// Valid pages of a pool.
    pub fn valid_of(&self, pool: usize) -> u64 {
        self.each[pool].valid
    }

    /// The closed block of a row with the fewest valid pages, of those that are `wanted`. It looks at all of them.
    pub fn emptiest_of(&self, row: RowId, wanted: impl Fn(&BlockSetId) -> bool) -> Option<BlockSetId> {
        let closed = self.blocks_of(row).filter(|block| self.state(*block) == State::Closed);
        closed.filter(wanted).min_by_key(|block| self.valid(*block))
    }

    /// Valid pages of the device.
    pub fn total_valid(&self) -> u64 {
        self.each.iter().map(|pool| pool.valid).sum()
    }

    /// Counts a location of a pool that becomes valid, or is so no more. Returns the pages that it takes room for, or gives up
    /// room of: a unit that is mapped as a whole takes room as a whole while anything of it is valid.
    #[inline]
    pub(super) fn count_valid_page(&mut self, pool: usize, location: Location, is_valid: bool) -> u32 {
        let one = &mut self.each[pool];
        one.valid = if is_valid { one.valid + 1 } else { one.valid - 1 };
        match one.whole_unit {
            Some(unit) => self.pages_alone(pool, location, unit),
            None => 1,
        }
    }

    /// Pages that take room because of this location alone, whether it is valid or not.
    #[inline(never)]
    fn pages_alone(&self, pool: usize, location: Location, unit: u32) -> u32 {
        let locations = &self.pools.get(pool).locations;
        let first = location.0 - locations.split(location).1 % unit;
        let alone = (first..first + unit).all(|other| other == location.0 || !self.is_valid(Location(other)));
        if alone { unit } else { 0 }
    }
}
