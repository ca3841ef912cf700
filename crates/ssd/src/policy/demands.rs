//! Streams and open blocks that policies and designs require of a device.

use serde::{Deserialize, Serialize};
use wordline_nand::CellMode;

/// Streams that designs and policies distinguish: each takes one or more open blocks of every plane group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demands {
    /// Host streams.
    pub host: u8,
    /// GC streams.
    pub gc: u8,
    /// Most open blocks of a stream in any pool.
    pub open_blocks: u8,
    /// Most suspended blocks of a plane group in any pool, over all streams.
    pub suspended: u32,
    /// Pools in which some stream uses blocks in each of [`CellMode::OF_BLOCKS`], as bitmaps.
    pub in_modes: [u16; CellMode::OF_BLOCKS.len()],
    /// Pools in which some GC stream uses non-native blocks, as a bitmap.
    pub by_gc: u16,
    /// Most reprograms of a word line that any host stream allows.
    pub again: u8,
}

impl Demands {
    /// Pools in which some stream uses blocks in a mode, as a bitmap.
    pub fn pools_in(&self, mode: CellMode) -> u16 {
        let modes = CellMode::OF_BLOCKS.iter().zip(self.in_modes);
        modes.filter(|(of_blocks, _)| **of_blocks == mode.of_block()).map(|(_, pools)| pools).sum()
    }
}
