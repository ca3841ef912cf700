//! What the block table keeps beside where a device has several pools: the pages that are valid in each, and, in a pool
//! that is mapped by program units, that a unit takes room as a whole while anything of it is valid.

use wordline_kernel::state;
use wordline_nand::Location;

use super::Space;
use crate::policy::placement::Row;

/// The pools of a device that has several.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    /// Whether the first pool is mapped by program units.
    whole_units: bool,
    /// Valid pages of each pool.
    valid: Vec<u64>,
}

state!(Shared { values { valid } fixed { whole_units } });

impl Shared {
    /// Nothing is valid any more.
    pub fn forget(&mut self) {
        self.valid.fill(0);
    }

    pub fn total_valid(&self) -> u64 {
        self.valid.iter().sum()
    }
}

impl Space {
    /// Counts valid pages pool by pool from now on, and the first pool's in whole program units if it is mapped by them;
    /// before the first block is written.
    pub fn share(&mut self, whole_units: bool) {
        let valid = vec![0; self.pools.count()];
        self.shared = Some(Box::new(Shared { whole_units, valid }));
    }

    /// Whether a row is of a pool that is mapped by program units. Its valid pages count as whole units.
    #[inline]
    pub fn has_whole_units(&self, row: Row) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.whole_units) && self.pools.number_of_row(row) == 0
    }

    /// Whether the map of pages tells of a location, of which a part may be in flash. A pool of whole units has a map of its
    /// own, with an entry for each unit, which is in memory.
    #[inline]
    pub fn is_mapped_by_page(&self, location: Location) -> bool {
        self.shared.is_none() || !self.has_whole_units(self.pools.row_of(location))
    }

    /// Valid pages of a pool.
    pub fn valid_of(&self, pool: usize) -> u64 {
        match &self.shared {
            Some(shared) => shared.valid[pool],
            None => self.total_valid(),
        }
    }

    /// Pages that a location that has become valid takes room for.
    #[inline(never)]
    pub(super) fn pages_gained(&mut self, location: Location) -> u32 {
        let gained = self.pages_alone(location);
        let pool = self.pools.number_of_row(self.pools.row_of(location));
        if let Some(shared) = &mut self.shared {
            shared.valid[pool] += 1;
        }
        gained
    }

    /// Pages that a location gives up room of that is valid no more.
    #[inline(never)]
    pub(super) fn pages_lost(&mut self, location: Location) -> u32 {
        let lost = self.pages_alone(location);
        let pool = self.pools.number_of_row(self.pools.row_of(location));
        if let Some(shared) = &mut self.shared {
            shared.valid[pool] -= 1;
        }
        lost
    }

    /// Pages that take room because of this location alone, whether it is valid or not.
    fn pages_alone(&self, location: Location) -> u32 {
        if !self.has_whole_units(self.pools.row_of(location)) {
            return 1;
        }
        let locations = &self.pools.first().locations;
        let unit = locations.per_program;
        let first = location.0 - locations.split(location).1 % unit;
        let alone = (first..first + unit).all(|other| other == location.0 || !self.is_valid(Location(other)));
        if alone { unit } else { 0 }
    }
}
