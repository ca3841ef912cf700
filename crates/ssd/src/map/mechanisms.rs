//! Optional mechanisms of the map.

use super::Map;
use super::block_map::BlockMap;
use super::checkpoint::Checkpoints;
use super::discards::Discards;
use super::translation::Translation;
use super::unit_writes::UnitWrites;

impl Map {
    /// Block-level map; `None` if the device uses none.
    #[inline]
    pub(crate) fn by_block(&self) -> Option<&BlockMap> {
        self.by_block.as_deref()
    }

    /// Translation pages; `None` if the whole map is in memory.
    #[inline]
    pub(crate) fn translation(&self) -> Option<&Translation> {
        self.translation.as_ref()
    }

    /// Discard table; `None` if a power cut loses discards.
    #[inline]
    pub(crate) fn discards(&self) -> Option<&Discards> {
        self.discards.as_ref()
    }

    /// Checkpoints of the map; `None` if none are made.
    #[inline]
    pub(crate) fn checkpoints(&self) -> Option<&Checkpoints> {
        self.checkpoints.as_deref()
    }

    /// Write numbers of a pool with coarse-grained mapping; `None` without such a pool.
    #[inline]
    pub(crate) fn unit_writes(&self) -> Option<&UnitWrites> {
        self.unit_writes.as_deref()
    }
}
