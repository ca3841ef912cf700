//! Whether the good blocks hold the logical capacity still.

use crate::base::Base;
use crate::map::Map;
use crate::map::discards::Discards;
use crate::pools::EVERYTHING_IN;

impl Map {
    /// Whether each row has the good blocks that its logical blocks need.
    fn holds_logical_blocks(&self, base: &Base) -> bool {
        let mut rows = base.config.pools.all_rows();
        self.by_block.as_ref().is_none_or(|map| rows.all(|row| base.space.good(row) >= map.needs(row)))
    }

    /// Goes read-only when the good blocks cannot hold the logical capacity any more. Where pages have homes, each
    /// row has its own share to hold; else the rows hold it together, with a program unit under way in each.
    pub(crate) fn check_life(&self, base: &mut Base) {
        base.note_room();
        base.life.read_only |= if self.by_block.is_some() {
            !self.holds_logical_blocks(base)
        } else if base.stay_at_home() {
            !self.holds_homes(base)
        } else {
            !base.config.shares().fit(base.config.pools.iter().map(|pool| base.room_of(pool)))
        };
        self.make_room_for_tables(base);
    }

    /// Lets pages of the host leave the pool of tables while none of its rows has room for a page that tells of discards, which a flush
    /// waits for: blocks of it failed, or pages that were discarded are there again after a power cut. A row has no room when fewer places
    /// than a program unit are left to its limit; with one page less in the pool, one row has.
    fn make_room_for_tables(&self, base: &mut Base) {
        let number = base.config.shares().pool_of_tables();
        if number != EVERYTHING_IN && self.discards.as_ref().is_some_and(Discards::is_written) {
            let pool = base.config.pools.get(number);
            let rows = pool.geometry.all_rows().count() as u64;
            base.space.hold_at_most(number, base.room_of(pool) + rows - 1);
        }
    }

    /// Whether each row can hold the pages that have their home there and the tables that it was given, and one of them
    /// always takes another unit of those.
    fn holds_homes(&self, base: &Base) -> bool {
        let mut spare = 0;
        for row in base.config.pools.all_rows() {
            match base.spare_beside_homes(row) {
                Some(here) if here >= self.tables_in(row) => spare += u64::from(here),
                _ => return false,
            }
        }
        let tables = u64::from(base.config.table_pages());
        let units =
            u64::from(base.config.pools.rows()) * u64::from(base.config.pools.first().locations.per_program);
        tables == 0 || spare >= tables + units
    }
}
