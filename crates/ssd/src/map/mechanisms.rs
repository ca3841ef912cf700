//! The mechanisms of the map that only some devices have.

use super::Map;
use super::block_map::BlockMap;
use super::checkpoint::Checkpoints;
use super::discards::Discards;
use super::translation::Translation;
use super::unit_writes::UnitWrites;

impl Map {
    /// The block map, if pages have places.
    #[inline]
    pub(crate) fn by_block(&self) -> Option<&BlockMap> {
        self.by_block.as_deref()
    }

    /// The part of the map that is in memory, if that is not all of it.
    #[inline]
    pub(crate) fn translation(&self) -> Option<&Translation> {
        self.translation.as_ref()
    }

    /// The table of discards, if they outlive the power.
    #[inline]
    pub(crate) fn discards(&self) -> Option<&Discards> {
        self.discards.as_ref()
    }

    /// The checkpoints of the map, if any are made.
    #[inline]
    pub(crate) fn checkpoints(&self) -> Option<&Checkpoints> {
        self.checkpoints.as_deref()
    }

    /// The numbers of the writes of whole units, if there is a pool of these.
    #[inline]
    pub(crate) fn unit_writes(&self) -> Option<&UnitWrites> {
        self.unit_writes.as_deref()
    }
}
