//! Streams and open blocks for which a device must have room, because policies and designs ask for them.

use serde::{Deserialize, Serialize};
use wordline_nand::CellMode;

/// Streams that designs and policies tell apart: each takes an open block of every row, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demands {
    /// Those of the host.
    pub host: u8,
    /// Those of the collector.
    pub gc: u8,
    /// Blocks that each has open at once, at most, in any pool.
    pub open_blocks: u8,
    /// Blocks of a row that all of them together have suspended at once, at most, in any pool.
    pub suspended: u32,
    /// The pools in which some of either go to blocks in each of [`CellMode::OF_BLOCKS`], one bit each.
    pub in_modes: [u16; CellMode::OF_BLOCKS.len()],
    /// Those in which some of the collector go to blocks in another mode than the native one.
    pub by_gc: u16,
    /// How often a word line may be programmed again at most, in blocks of some stream of the host.
    pub again: u8,
}

impl Demands {
    /// The pools in which some stream goes to blocks in a mode, one bit each.
    pub fn pools_in(&self, mode: CellMode) -> u16 {
        let modes = CellMode::OF_BLOCKS.iter().zip(self.in_modes);
        modes.filter(|(of_blocks, _)| **of_blocks == mode.of_block()).map(|(_, pools)| pools).sum()
    }
}
