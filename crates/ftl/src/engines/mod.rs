//! The FTL: its engines, and the operations that need several of them.

mod block_map_steps;
mod gc_steps;
mod lookups;
mod new;

use wordline_device::Gauges;
use wordline_device::lifetime::{PoolWear, Utilization};
use wordline_flash::{Event, Flash, RequestId};
use wordline_kernel::{Digest, Duration, Instant, Seed, gcd, state};
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
use crate::policies::{ActivePolicies, Policies};
use crate::policy::pool_state::{PoolState, states_now};
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
    pub policies: ActivePolicies,
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
    /// Engines of empty flash.
    pub fn new(config: Config, policies: Policies, seed: Seed) -> Self {
        let (policies, own) = policies.with_block_placement(&config).split(&config, seed);
        let (flash, blocks) = new::new_flash(&config, &policies, own.victim.needs(), seed);
        let mut ftl = Self {
            health: DeviceHealth::new(&config, &*policies.placement),
            page_size: PageSize::new(&config),
            digest: Digest::default(),
            totals: Totals::default(),
            contents: None,
            map: Map::new(&config),
            map_cache: MapCache::new(&config, own.mapper),
            tables: MapTables::new(&config),
            block_map: BlockMap::of(&config, &*policies.placement),
            gc: Gc::new(&config, blocks.streams(), own.victim, own.wear, seed),
            policies,
            flash,
            blocks,
            config,
        };
        ftl.check_end_of_life();
        ftl
    }

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

    /// Records the contents of tables in flash from now on, if recovery depends on them. With block-level
    /// mapping it does not.
    pub fn record_tables(&mut self) {
        if self.block_map.is_none() {
            self.tables.begin_record();
        }
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
        policies.tuner.check_loaded(flash.read_levels())?;
        flash.check_pending(pending)?;
        gc.check_loaded(blocks, |location| flash.stamp(location))
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

/// Measurements of the flash.
impl Ftl {
    /// Effective over-provisioning: the fraction of good capacity without valid data. It includes pages that
    /// the host never wrote or has discarded. The time grows with the number of blocks.
    pub fn effective_spare(&self) -> f64 {
        let pools = &self.config.pools;
        let good = |row| u64::from(self.blocks.space().good(row)) * u64::from(pools.per_block_of(row));
        let all: u64 = pools.all_groups().map(good).sum();
        1.0 - self.blocks.by_pool().total_valid() as f64 / all.max(1) as f64
    }

    /// Utilization of the flash. Blocks out of service count as capacity. A call takes longer with more
    /// blocks.
    pub fn fullness(&self) -> Utilization {
        Utilization {
            valid: self.blocks.by_pool().total_valid(),
            total: u64::from(self.config.pools.locations()),
        }
    }

    /// Gauges of the flash at `now`. The caller adds the pages in the write buffer.
    pub fn gauges(&self, buffered: u32, now: Instant) -> Gauges {
        let (chips, pools) = (self.flash.chips(), &self.config.pools);
        Gauges {
            arrays: chips.array_busy(now).map(Duration::from_ps).collect(),
            free_blocks: pools.all_groups().map(|row| self.blocks.space().free(row) as u64).sum(),
            good_blocks: pools.all_groups().map(|row| u64::from(self.blocks.space().good(row))).sum(),
            buffered_pages: buffered.into(),
            victim_pages: self.totals.gc_victim_pages,
            victim_valid_pages: self.totals.gc_victim_valid_pages,
        }
    }

    /// Wear of each pool, in order. The time grows with the number of blocks.
    pub fn worn(&self) -> Vec<PoolWear> {
        let pools = self.config.pools.iter().map(|pool| {
            let all = pool.geometry.all_blocks();
            let erases = all.map(|block| u64::from(self.flash.chips().erases()[block])).sum();
            PoolWear { erases, blocks: u64::from(pool.geometry.block_sets()), endurance: pool.part.endurance }
        });
        pools.collect()
    }

    /// States of the pools, as policies see them.
    pub fn pool_states(&self) -> Vec<PoolState> {
        states_now(&self.flash, &self.blocks).collect()
    }
}
