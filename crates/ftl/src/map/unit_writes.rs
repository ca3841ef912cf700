//! Write numbers of program units in a pool with coarse-grained mapping. The spare areas of the pages store
//! these numbers. The numbers show which program unit has the last write of each mapping unit.

use wordline_kernel::state;
use wordline_nand::{BlockSetId, Chips, Location, Pool};

use super::mapping::LogicalPage;
use crate::Config;
use crate::blocks::{BlockManager, State};

/// Stands for no program unit.
const NOWHERE: u32 = u32::MAX;

/// Write numbers of a pool with coarse-grained mapping.
#[derive(Clone, Debug)]
pub struct UnitWrites {
    /// Pages of a mapping unit.
    per_unit: u32,
    /// The pool with coarse-grained mapping, and its first location.
    pool: usize,
    first: u32,
    /// Write number of each program unit of the pool.
    written: Vec<u64>,
    /// The last write number that was given.
    last: u64,
    /// Whether a write of each mapping unit is being programmed.
    is_programming: Vec<bool>,
}

state!(UnitWrites { values { last, is_programming } parts { written } fixed { per_unit, pool, first } });

/// The program unit with the last write of each mapping unit, as its first location.
pub struct NewestUnits(Vec<u32>);

impl UnitWrites {
    /// No writes; `None` unless a pool has coarse-grained mapping.
    pub fn of(config: &Config) -> Option<Box<Self>> {
        let pool = config.pool_of_whole_units()?;
        let (per_unit, locations) = (config.pages_per_sub_request(), &config.pools.get(pool).locations);
        Some(Box::new(Self {
            per_unit,
            pool,
            first: locations.first(),
            written: vec![0; (locations.count() / per_unit) as usize],
            last: 0,
            is_programming: vec![false; config.mapped_pages().div_ceil(per_unit) as usize],
        }))
    }

    /// Clears the programs in progress after a power cut.
    pub fn forget(&mut self) {
        self.is_programming.fill(false);
    }

    /// Pages of a mapping unit.
    pub fn per_unit(&self) -> u32 {
        self.per_unit
    }

    /// Number of the program unit that contains `location`.
    fn program_unit(&self, location: Location) -> usize {
        ((location.0 - self.first) / self.per_unit) as usize
    }

    fn unit(&self, page: LogicalPage) -> usize {
        (page.0 / self.per_unit) as usize
    }

    /// Gives the next write number to the program at `first`.
    pub fn write(&mut self, first: Location) {
        self.last += 1;
        let at = self.program_unit(first);
        self.written[at] = self.last;
    }

    /// Sets whether a write of the mapping unit of a page is being programmed.
    pub fn set_programming(&mut self, page: LogicalPage, is_programming: bool) {
        let unit = self.unit(page);
        self.is_programming[unit] = is_programming;
    }

    /// Records that the program unit at `from`, which contains `page`, was copied to `to`. The copy keeps the
    /// write number of the original while a later write of the mapping unit is being programmed. Otherwise it
    /// gets a new number.
    pub fn copy(&mut self, page: LogicalPage, from: Location, to: Location) {
        if !self.is_programming[self.unit(page)] {
            return self.write(to);
        }
        let (from, to) = (self.program_unit(from), self.program_unit(to));
        self.written[to] = self.written[from];
    }

    /// Finds the last write of each mapping unit after a power cut, from the spare areas.
    pub fn newest(&self, blocks: &BlockManager, chips: &Chips) -> NewestUnits {
        let mut newest = vec![NOWHERE; self.is_programming.len()];
        let Pool { geometry, locations, .. } = blocks.pools().get(self.pool);
        for block in geometry.all_blocks().filter(|block| blocks.table().state(*block) != State::Bad) {
            let end = match blocks.is_in_order(block) {
                true => chips.programmed(block),
                false => locations.per_block(),
            };
            for place in (0..end).step_by(self.per_unit as usize) {
                let first = locations.at(block, place);
                let mut held =
                    (first.0..first.0 + self.per_unit).map(|location| chips.stamp(Location(location)));
                let Some(stamp) = held.find(|stamp| stamp.is_data() && stamp.version > 0) else { continue };
                let known = &mut newest[self.unit(LogicalPage(stamp.logical))];
                let number = |location: u32| self.written[self.program_unit(Location(location))];
                if *known == NOWHERE || number(*known) <= number(first.0) {
                    *known = first.0;
                }
            }
        }
        NewestUnits(newest)
    }

    /// Block of the program unit with the last write of a page's mapping unit.
    pub fn newest_block(&self, newest: &NewestUnits, page: LogicalPage, blocks: &BlockManager) -> BlockSetId {
        blocks.pools().block_of(Location(newest.0[self.unit(page)]))
    }

    /// Whether a location of the pool belongs to the program unit with the last write of a page's mapping
    /// unit.
    pub fn is_newest(&self, newest: &NewestUnits, location: Location, page: LogicalPage) -> bool {
        newest.0[self.unit(page)] == location.0 - (location.0 - self.first) % self.per_unit
    }
}
