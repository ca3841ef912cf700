//! End-of-life check: whether the good blocks can still hold the logical capacity.

use super::MapTables;
use crate::base::Base;
use crate::map::block_map::BlockMap;
use crate::map::discards::Discards;
use crate::map::map_cache::MapCache;
use crate::pools::FALLBACK_POOL;

impl MapTables {
    /// Makes the device read-only if the good blocks can no longer hold the logical capacity. With block-level
    /// mapping, each plane group must be able to hold its logical blocks. With static allocation, each plane
    /// group must be able to hold its own pages. Otherwise the plane groups together must be able to hold all
    /// pages, each with a program unit in progress.
    pub(crate) fn check_end_of_life(&self, cache: &MapCache, block_map: Option<&BlockMap>, base: &mut Base) {
        base.update_room();
        base.life.read_only |= if let Some(block_map) = block_map {
            !block_map.holds_logical_blocks(base)
        } else if base.is_bound_to_static() {
            !self.holds_static_pages(cache, base)
        } else {
            !base.config.shares().fit(base.config.pools.iter().map(|pool| base.room_of(pool)))
        };
        self.make_room_for_tables(base);
    }

    /// Limits the host pages in the pool of tables, so that one of its plane groups always has space for a
    /// page of the discard table. A flush may wait for that page, even after blocks failed or a power cut
    /// brought discarded pages back.
    ///
    /// A plane group has no space if it is less than a program unit below its limit. The limit of the pool is
    /// one page less than the pool has when none of its plane groups has space.
    fn make_room_for_tables(&self, base: &mut Base) {
        let number = base.config.shares().pool_of_tables();
        if number != FALLBACK_POOL && self.discards.as_ref().is_some_and(Discards::is_written) {
            let pool = base.config.pools.get(number);
            let rows = pool.geometry.all_groups().count() as u64;
            base.blocks.limit_valid_pages(number, base.room_of(pool) + rows - 1);
        }
    }

    /// Whether each plane group can hold its statically assigned pages and its table pages, and one of them
    /// can always take another unit of table pages.
    fn holds_static_pages(&self, cache: &MapCache, base: &Base) -> bool {
        let mut spare = 0;
        for row in base.config.pools.all_groups() {
            match base.spare_beyond_static(row) {
                Some(here) if here >= self.tables_in(row, cache) => spare += u64::from(here),
                _ => return false,
            }
        }
        let tables = u64::from(base.config.table_pages());
        let units =
            u64::from(base.config.pools.rows()) * u64::from(base.config.pools.first().locations.per_program);
        tables == 0 || spare >= tables + units
    }
}
