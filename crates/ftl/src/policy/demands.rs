//! Streams and open blocks that policies and designs require of a device.

use serde::{Deserialize, Serialize};
use wordline_nand::CellMode;

/// Streams that designs and policies use. Each stream has one or more open blocks in every plane group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demands {
    /// Host streams.
    pub host: u8,
    /// GC streams.
    pub gc: u8,
    /// Greatest number of open blocks of any stream in any pool.
    pub open_blocks: u8,
    /// Greatest number of suspended blocks of a plane group in any pool, over all its streams.
    pub suspended: u32,
    /// For each of [`CellMode::OF_BLOCKS`], a bitmap of the pools in which a stream uses blocks in that mode.
    pub in_modes: [u16; CellMode::OF_BLOCKS.len()],
    /// Bitmap of the pools in which a GC stream uses blocks in a non-native mode.
    pub by_gc: u16,
    /// Maximum number of reprograms of a word line in any host stream.
    pub again: u8,
}

impl Demands {
    /// Bitmap of the pools in which a stream uses blocks in `mode`.
    pub fn pools_in(&self, mode: CellMode) -> u16 {
        let modes = CellMode::OF_BLOCKS.iter().zip(self.in_modes);
        modes.filter(|(of_blocks, _)| **of_blocks == mode.of_block()).map(|(_, pools)| pools).sum()
    }
}
