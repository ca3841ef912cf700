//! Optional mechanisms of the map.

use super::Map;
use super::block_map::BlockMap;
use super::checkpoint::Checkpoints;
use super::discards::Discards;
use super::translation::Translation;
use super::unit_writes::UnitWrites;

impl Map {
    /// Block-level map, if the device uses one.
    #[inline]
    pub(crate) fn by_block(&self) -> Option<&BlockMap> {
        self.by_block.as_deref()
    }

    /// Translation pages, if part of the map is in flash.
    #[inline]
    pub(crate) fn translation(&self) -> Option<&Translation> {
        self.translation.as_ref()
    }

    /// Discard table, if discards survive a power cut.
    #[inline]
    pub(crate) fn discards(&self) -> Option<&Discards> {
        self.discards.as_ref()
    }

    /// Checkpoints of the map, if any are made.
    #[inline]
    pub(crate) fn checkpoints(&self) -> Option<&Checkpoints> {
        self.checkpoints.as_deref()
    }

    /// Write numbers of coarsely mapped units, if a pool has any.
    #[inline]
    pub(crate) fn unit_writes(&self) -> Option<&UnitWrites> {
        self.unit_writes.as_deref()
    }
}
