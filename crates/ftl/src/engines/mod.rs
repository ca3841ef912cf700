//! The FTL: its engines, and the operations that need several of them.

mod gc_steps;
mod lookups;
mod measure;
mod new;

use wordline_flash::{Event, Flash, RequestId};
use wordline_kernel::{Digest, Duration, Instant, gcd, state};
use wordline_nand::Pool;
use wordline_nand::chips::Counts;

use crate::blocks::BlockManager;
use crate::config::Config;
use crate::contents::Contents;
use crate::gc::Gc;
use crate::health::DeviceHealth;
use crate::map::block_map::BlockMap;
use crate::map::{Map, MapCache, MapTables};
use crate::page_size::PageSize;
use crate::policies::PolicyEngine;
use crate::totals::Totals;

/// An FTL: its engines in order, each of which may use those before it, and what they share. An engine is
/// handed those parts that it uses. What needs more of them than an engine is handed is a method here.
pub struct Ftl {
    /// The configuration.
    pub config: Config,
    /// Size of logical pages.
    pub page_size: PageSize,
    /// Digest of all events so far.
    pub digest: Digest,
    /// Counters.
    pub totals: Totals,
    /// Contents of the sectors; `None` unless the host asked for data verification.
    pub contents: Option<Box<Contents>>,
    /// Failures, and whether writes are accepted.
    pub health: DeviceHealth,
    /// Policies that several engines query, and the designs.
    pub policies: PolicyEngine,
    /// Chips, the command queues of their dies, and the commands in progress.
    pub flash: Flash,
    /// Block table.
    pub blocks: BlockManager,
    /// The L2P map.
    pub map: Map,
    /// The map entries in memory, and the translation pages.
    pub map_cache: MapCache,
    /// The table of discards, and checkpoints.
    pub tables: MapTables,
    /// `None` without block-level mapping.
    pub block_map: Option<Box<BlockMap>>,
    /// Garbage collection.
    pub gc: Gc,
}

state!(Ftl {
    values { digest, totals }
    parts { flash, blocks, policies, health, map, map_cache, tables, block_map, gc }
    fixed { config, page_size, contents }
});

impl Ftl {
    /// Makes the device read-only if its good blocks can no longer hold the logical capacity.
    pub fn check_end_of_life(&mut self) {
        let Self { config, health, policies, blocks, map_cache, tables, block_map, .. } = self;
        health.update_room(config, blocks);
        let has_room = match block_map {
            Some(map) => map.holds_logical_blocks(blocks),
            None if health.has_static_pages() && !policies.balances() => {
                tables.holds_static_pages(config.table_pages(), map_cache, health, blocks)
            }
            None => config.shares().fit(config.pools.iter().map(|pool| blocks.space().room_of(pool))),
        };
        health.read_only |= !has_room;
        tables.make_room_for_tables(config, blocks);
    }

    /// Tracks the contents of sectors from now on, for data verification.
    pub fn keep_contents(&mut self, contents: Contents) {
        self.contents = Some(Box::new(contents.of_pages(self.page_size)));
    }

    /// Lengths of the lists that follow from the configuration, for a check of loaded states.
    pub fn shape(&self) -> Vec<usize> {
        let mut lengths = vec![self.health.failures.len()];
        lengths.extend(self.blocks.shape());
        lengths.extend(self.flash.shape());
        lengths.extend(self.gc.shape());
        lengths
    }

    /// Checks the state loaded at `now`, with these pending events of the flash. Requests that wait for a
    /// lookup must be `known`.
    ///
    /// # Errors
    /// Description of the inconsistency.
    pub fn check_loaded(
        &self,
        now: Instant,
        pending: impl Iterator<Item = Event>,
        known: impl Fn(RequestId) -> bool + Copy,
    ) -> Result<(), String> {
        let Self { flash, blocks, policies, map, map_cache, tables, block_map, gc, .. } = self;
        block_map.as_ref().map_or(Ok(()), |map| map.check_loaded())?;
        map.check_loaded(blocks, flash)?;
        map_cache.check_loaded(known)?;
        tables.check_loaded(self.config.logical_pages, map, map_cache, blocks, flash)?;
        blocks.check_loaded(|block| flash.chips().programmed(block))?;
        flash.check_loaded(now)?;
        blocks.table().check_programs(flash.programs())?;
        policies.placement.check_loaded()?;
        flash.check_pending(pending)?;
        gc.check_loaded(blocks)
    }

    /// Checks the programs of the chips against the counters; panics if they differ. A program is counted
    /// before the chips execute it. So the counters may be ahead by at most two program units of each plane
    /// group. The size of a unit depends on the pool and on the mode of the block.
    pub fn audit(&self, elapsed: Duration) {
        let Self { flash, blocks, .. } = self;
        let pools = &self.config.pools;
        let programmed = |(pool, counts): (&Pool, &Counts)| {
            let locations = &pool.locations;
            counts.pages_programmed * u64::from(locations.per_page()) / u64::from(locations.pages())
        };
        let timed: u64 = pools.iter().zip(flash.chips().counts_of_pools()).map(programmed).sum();
        let programmed = timed + flash.laid();
        let units =
            pools.iter().map(|pool| pool.locations.per_program).chain(blocks.by_pool().smaller_units());
        let unit = units.map(u64::from).fold(0, gcd);
        let most: u64 = pools.all_groups().map(|row| u64::from(2 * pools.per_program(row))).sum();
        let queued = self.totals.programmed() - programmed;
        assert!(
            queued.is_multiple_of(unit) && queued <= most,
            "pages programmed are the host's, the map's, the collector's and padding, but for units under way: {queued}"
        );
        blocks.audit();
        let again = |location| flash.chips().reprograms(pools.page_of(location));
        blocks.by_pool().audit_reprograms(blocks.table(), again);
        flash.audit(elapsed);
    }

    /// Checks the map against the flash; panics if they differ.
    pub fn audit_map(&self) {
        let Self { flash, blocks, map, map_cache, block_map, .. } = self;
        map.audit(blocks);
        map_cache.audit(map, blocks, flash);
        if let Some(map) = block_map {
            map.audit(blocks, flash.chips());
        }
    }
}
