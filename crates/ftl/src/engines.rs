//! Engines of the FTL, borrowed together as one argument.

use wordline_flash::{Event, RequestId};
use wordline_kernel::{Instant, Seed, state};

use crate::base::Base;
use crate::config::Config;
use crate::gc::Gc;
use crate::map::block_map::BlockMap;
use crate::map::{Map, MapCache, MapTables};
use crate::parts::Parts;

/// The engines of an FTL, in order: each may use those before it.
pub struct Ftl {
    /// Flash, block table, and other state shared by all engines.
    pub base: Base,
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

state!(Ftl { parts { base, map, map_cache, tables, block_map, gc } });

impl Ftl {
    /// Engines of empty flash.
    pub fn new(config: Config, parts: Parts, seed: Seed) -> Self {
        let (policies, parts) = parts.with_block_placement(&config).split(&config, seed);
        let base = Base::new(config, policies, parts.victim.needs(), seed);
        let Base { config, policies, blocks, .. } = &base;
        let mut ftl = Self {
            map: Map::new(config),
            map_cache: MapCache::new(config, parts.mapper),
            tables: MapTables::new(config),
            block_map: BlockMap::of(config, &*policies.placement),
            gc: Gc::new(config, blocks.streams(), parts.victim, parts.wear, seed),
            base,
        };
        ftl.check_end_of_life();
        ftl
    }

    /// Makes the device read-only if its good blocks can no longer hold the logical capacity.
    pub fn check_end_of_life(&mut self) {
        self.tables.check_end_of_life(&self.map_cache, self.block_map.as_deref(), &mut self.base);
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
        let Self { base, map, map_cache, tables, block_map, gc } = self;
        block_map.as_ref().map_or(Ok(()), |map| map.check_loaded())?;
        map.check_loaded(&base.blocks, &base.flash)?;
        map_cache.check_loaded(known)?;
        tables.check_loaded(map, map_cache, base)?;
        base.check_loaded(now, pending)?;
        gc.check_loaded(base)
    }

    /// Checks the map against the flash; panics if they differ.
    pub fn audit_map(&self) {
        let Self { base, map, map_cache, block_map, .. } = self;
        map.audit(&base.blocks);
        map_cache.audit(map, base);
        if let Some(map) = block_map {
            map.audit(&base.blocks, base.flash.chips());
        }
    }
}
