//! Engines that the writer uses, borrowed together as one argument.

use wordline_kernel::{Seed, state};

use crate::base::Base;
use crate::cache::Cache;
use crate::config::Config;
use crate::gc::Gc;
use crate::map::block_map::BlockMap;
use crate::map::{Map, MapCache, MapTables};
use crate::parts::Parts;

/// Engines below the writer, the recovery and the front end.
pub(crate) struct Core {
    pub(crate) base: Base,
    pub(crate) map: Map,
    pub(crate) map_cache: MapCache,
    pub(crate) tables: MapTables,
    /// `None` without block-level mapping.
    pub(crate) block_map: Option<Box<BlockMap>>,
    pub(crate) cache: Cache,
    pub(crate) gc: Gc,
}

state!(Core { parts { base, map, map_cache, tables, block_map, cache, gc } });

impl Core {
    /// Engines of an empty device.
    pub fn new(config: Config, parts: Parts, seed: Seed) -> Self {
        let (policies, parts) = parts.with_block_placement(&config).split(&config, seed);
        let base = Base::new(config, policies, parts.victim.needs(), seed);
        let Base { config, policies, blocks, .. } = &base;
        let mut core = Self {
            map: Map::new(config),
            map_cache: MapCache::new(config, parts.mapper),
            tables: MapTables::new(config),
            block_map: BlockMap::of(config, &*policies.placement),
            cache: Cache::new(config, [parts.eviction, parts.read_eviction], parts.destage),
            gc: Gc::new(config, blocks.streams(), parts.victim, parts.wear, seed),
            base,
        };
        core.check_end_of_life();
        core
    }

    /// Makes the device read-only if its good blocks can no longer hold the logical capacity.
    pub fn check_end_of_life(&mut self) {
        self.tables.check_end_of_life(&self.map_cache, self.block_map.as_deref(), &mut self.base);
    }

    /// Checks the map against the flash, and the cache against the map; panics if they differ.
    pub fn audit_map(&self) {
        let Self { base, map, map_cache, block_map, cache, .. } = self;
        map.audit(&base.blocks);
        map_cache.audit(map, base);
        if let Some(map) = block_map {
            map.audit(&base.blocks, base.flash.chips());
        }
        cache.audit(map);
    }
}
