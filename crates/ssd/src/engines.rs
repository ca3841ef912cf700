//! Engines that the writer uses, borrowed together as one argument.

use wordline_kernel::state;

use crate::base::Base;
use crate::cache::Cache;
use crate::gc::Gc;
use crate::map::block_map::BlockMap;
use crate::map::{Map, MapCache, MapTables};

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
    /// Makes the device read-only if its good blocks can no longer hold the logical capacity.
    pub fn check_end_of_life(&mut self) {
        self.tables.check_end_of_life(&self.map_cache, self.block_map.as_deref(), &mut self.base);
    }
}
