//! Pools: a device consists of pools of dies, and all dies of a pool are of one part. Dies, plane groups,
//! block sets, pages and locations are numbered pool by pool, so that a number identifies the pool. Pools may
//! share channels.

use wordline_kernel::Bytes;

use crate::Part;
use crate::geometry::{BlockSetId, DieId, FirstIds, Geometry, PageId, PlaneGroupId};
use crate::locations::{Location, Locations};

/// Dies of one part, and the division of their pages into locations.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// The part.
    pub part: Part,
    /// Dies and channels.
    pub geometry: Geometry,
    /// Locations (physical mapping units).
    pub locations: Locations,
}

/// The pools of a device, at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Pools {
    first: Pool,
    others: Vec<Pool>,
    /// The first numbers beyond the first pool, which is the only one in most devices.
    end: FirstIds,
    end_location: u32,
}

impl Pools {
    /// A single pool whose locations are its pages.
    pub fn of_pages(part: Part, geometry: Geometry) -> Self {
        Self::one(Pool { part, geometry, locations: Locations::of_pages(&geometry) })
    }

    /// A single pool.
    pub fn one(pool: Pool) -> Self {
        let (end, end_location) = (pool.geometry.end(0), pool.locations.end());
        Self { first: pool, others: Vec::new(), end, end_location }
    }

    /// Adds a pool on channels from `channel` on. Its numbers follow the numbers of the pools that exist
    /// already.
    pub fn add(&mut self, pool: Pool, channel: u32) {
        let last = self.last();
        let Pool { part, geometry, locations } = pool;
        let geometry = geometry.from(last.geometry.end(channel));
        let locations = locations.within(&geometry, last.locations.end());
        self.others.push(Pool { part, geometry, locations });
    }

    /// The first pool: the only one of most devices.
    #[inline]
    pub fn first(&self) -> &Pool {
        &self.first
    }

    /// All pools.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Pool> + Clone {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Number of pools.
    pub fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// Pool number `n`.
    #[inline]
    pub fn get(&self, n: usize) -> &Pool {
        if n == 0 { &self.first } else { &self.others[n - 1] }
    }

    /// The number of the last pool, beyond the first one, for which `begins` is true.
    #[cold]
    fn later(&self, begins: impl Fn(&Pool) -> bool) -> usize {
        1 + self.others.iter().rposition(begins).expect("numbers beyond the first pool are of another one")
    }

    /// The number of the pool of `die`.
    #[inline]
    pub fn number_of(&self, die: DieId) -> usize {
        if die.0 < self.end.die { 0 } else { self.later(|pool| pool.geometry.first.die <= die.0) }
    }

    /// The number of the pool of a plane group.
    #[inline]
    pub fn number_of_group(&self, row: PlaneGroupId) -> usize {
        if row.0 < self.end.row { 0 } else { self.later(|pool| pool.geometry.first.row <= row.0) }
    }

    /// The pool of `die`.
    #[inline]
    pub fn of_die(&self, die: DieId) -> &Pool {
        self.get(self.number_of(die))
    }

    /// The pool of a plane group.
    #[inline]
    pub fn of_group(&self, row: PlaneGroupId) -> &Pool {
        if row.0 < self.end.row {
            return &self.first;
        }
        self.get(self.number_of_group(row))
    }

    /// The pool of `block`.
    #[inline]
    pub fn of_block(&self, block: BlockSetId) -> &Pool {
        if block.0 < self.end.block {
            return &self.first;
        }
        self.get(self.later(|pool| pool.geometry.first.block <= block.0))
    }

    /// The pool of `page`.
    #[inline]
    pub fn of_page(&self, page: PageId) -> &Pool {
        if page.0 < self.end.page {
            return &self.first;
        }
        self.get(self.later(|pool| pool.geometry.first.page <= page.0))
    }

    /// The number of the pool of `block`.
    #[inline]
    pub fn number_of_block(&self, block: BlockSetId) -> usize {
        if block.0 < self.end.block { 0 } else { self.later(|pool| pool.geometry.first.block <= block.0) }
    }

    /// The number of the pool of `location`.
    #[inline]
    pub fn number_of_location(&self, location: Location) -> usize {
        if location.0 < self.end_location {
            0
        } else {
            self.later(|pool| pool.locations.first() <= location.0)
        }
    }

    /// The pool of `location`.
    #[inline]
    pub fn of_location(&self, location: Location) -> &Pool {
        if location.0 < self.end_location {
            return &self.first;
        }
        self.get(self.later(|pool| pool.locations.first() <= location.0))
    }

    /// Channels of the device.
    pub fn channels(&self) -> u32 {
        self.iter().map(|pool| pool.geometry.first.channel + pool.geometry.channels).max().unwrap_or(0)
    }

    /// The last pool, which may be the first one.
    pub fn last(&self) -> &Pool {
        self.others.last().unwrap_or(&self.first)
    }

    /// Dies of the device.
    pub fn dies(&self) -> u32 {
        self.last().geometry.end(0).die
    }

    /// Plane groups of the device.
    pub fn rows(&self) -> u32 {
        self.last().geometry.end(0).row
    }

    /// Block sets of the device.
    pub fn block_sets(&self) -> u32 {
        self.last().geometry.end(0).block
    }

    /// Locations of the device.
    pub fn locations(&self) -> u32 {
        self.last().locations.end()
    }

    /// Data bytes of the device.
    pub fn capacity(&self) -> Bytes {
        self.iter().map(|pool| pool.geometry.capacity()).sum()
    }

    /// All dies of the device.
    pub fn all_dies(&self) -> impl Iterator<Item = DieId> + use<> {
        (0..self.dies()).map(DieId)
    }

    /// All block sets of the device.
    pub fn all_blocks(&self) -> impl Iterator<Item = BlockSetId> + use<> {
        (0..self.block_sets()).map(BlockSetId)
    }

    /// The block set that holds `location`.
    #[inline]
    pub fn block_of(&self, location: Location) -> BlockSetId {
        self.of_location(location).locations.block_of(location)
    }

    /// The number of the pool that holds `location`, its block set, and its plane group.
    #[inline]
    pub fn locate_block(&self, location: Location) -> (usize, BlockSetId, PlaneGroupId) {
        let number = self.number_of_location(location);
        let Pool { geometry, locations, .. } = self.get(number);
        let block = locations.block_of(location);
        (number, block, geometry.group_of(block))
    }

    /// The block set that holds `page`.
    #[inline]
    pub fn block_of_page(&self, page: PageId) -> BlockSetId {
        self.of_page(page).geometry.block_of(page)
    }

    /// The die that holds `location`.
    #[inline]
    pub fn die_of(&self, location: Location) -> DieId {
        let Pool { geometry, locations, .. } = self.of_location(location);
        geometry.die_of(locations.block_of(location))
    }

    /// The die that holds `location`, and its page, or the first of its pages.
    #[inline]
    pub fn die_and_page_of(&self, location: Location) -> (DieId, PageId) {
        let Pool { geometry, locations, .. } = self.of_location(location);
        (geometry.die_of(locations.block_of(location)), locations.page_of(location))
    }

    /// The die that holds `block`.
    #[inline]
    pub fn die_of_block(&self, block: BlockSetId) -> DieId {
        self.of_block(block).geometry.die_of(block)
    }

    /// The plane group that holds `location`.
    #[inline]
    pub fn group_of(&self, location: Location) -> PlaneGroupId {
        self.group_of_block(self.block_of(location))
    }

    /// The plane group that holds `block`.
    #[inline]
    pub fn group_of_block(&self, block: BlockSetId) -> PlaneGroupId {
        self.of_block(block).geometry.group_of(block)
    }

    /// The page of `location`, or the first of its pages.
    #[inline]
    pub fn page_of(&self, location: Location) -> PageId {
        self.of_location(location).locations.page_of(location)
    }

    /// The die that holds `page`, if there is such a page.
    pub fn find_die(&self, page: PageId) -> Option<DieId> {
        let has = |geometry: &&Geometry| (geometry.first.page..geometry.end(0).page).contains(&page.0);
        let geometry = self.iter().map(|pool| &pool.geometry).find(has)?;
        Some(geometry.die_of(geometry.block_of(page)))
    }

    /// The location at offset `place` in `block`.
    #[inline]
    pub fn at(&self, block: BlockSetId, place: u32) -> Location {
        self.of_block(block).locations.at(block, place)
    }

    /// Locations of `block`.
    #[inline]
    pub fn per_block(&self, block: BlockSetId) -> u32 {
        self.of_block(block).locations.per_block()
    }

    /// All plane groups.
    pub fn all_groups(
        &self,
    ) -> impl DoubleEndedIterator<Item = PlaneGroupId> + ExactSizeIterator + Clone + use<> {
        (0..self.rows()).map(PlaneGroupId)
    }

    /// Locations of a block set of a plane group.
    #[inline]
    pub fn per_block_of(&self, row: PlaneGroupId) -> u32 {
        self.of_group(row).locations.per_block()
    }

    /// Locations that one program command writes to a plane group.
    #[inline]
    pub fn per_program(&self, row: PlaneGroupId) -> u32 {
        self.of_group(row).locations.per_program
    }
}
