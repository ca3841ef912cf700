//! Space of the tables as blocks fail: whether plane groups can hold them, and space that is kept for them.

use super::MapTables;
use crate::blocks::BlockManager;
use crate::config::Config;
use crate::health::DeviceHealth;
use crate::map::discards::Discards;
use crate::map::map_cache::MapCache;
use crate::pools::FALLBACK_POOL;

impl MapTables {
    /// Limits the host pages in the pool of tables, so that one of its plane groups always has space for a
    /// page of the discard table. A flush may wait for that page, even after blocks failed or a power cut
    /// brought discarded pages back.
    ///
    /// A plane group has no space if it is less than a program unit below its limit. The limit of the pool is
    /// one page less than the pool has when none of its plane groups has space.
    pub(crate) fn make_room_for_tables(&self, config: &Config, blocks: &mut BlockManager) {
        let number = config.shares().pool_of_tables();
        if number != FALLBACK_POOL && self.discards.as_ref().is_some_and(Discards::is_written) {
            let pool = config.pools.get(number);
            let rows = pool.geometry.all_groups().count() as u64;
            blocks.limit_valid_pages(number, blocks.space().room_of(pool) + rows - 1);
        }
    }

    /// Whether each plane group can hold its statically assigned pages and its table pages, and one of them
    /// can always take another unit of table pages. The device has this many `tables`.
    pub(crate) fn holds_static_pages(
        &self,
        tables: u32,
        cache: &MapCache,
        health: &DeviceHealth,
        blocks: &BlockManager,
    ) -> bool {
        let (mut spare, pools) = (0, blocks.pools());
        for row in pools.all_groups() {
            match health.spare_beyond_static(row, blocks) {
                Some(here) if here >= self.tables_in(row, cache) => spare += u64::from(here),
                _ => return false,
            }
        }
        let units = u64::from(pools.rows()) * u64::from(pools.first().locations.per_program);
        tables == 0 || spare >= u64::from(tables) + units
    }
}
