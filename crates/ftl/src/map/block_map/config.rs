//! Configuration of block-level mapping.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Bytes;

/// Block-level mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BlockMapFile {
    /// Most replacement blocks of a plane group, each for one logical block. If one more is needed, the least
    /// recently written replacement block is merged with its data block. There are fewer replacement blocks
    /// if few blocks are free.
    pub replacements: u32,
}

impl Default for BlockMapFile {
    /// Chosen: the spare blocks of a plane group with the smallest over-provisioning, minus the reserved
    /// block.
    fn default() -> Self {
        Self { replacements: 4 }
    }
}

/// Bytes of an entry for a replacement block: numbers of its logical block and of the multi-plane block.
/// Chosen: 32 bits for each number.
const REPLACEMENT_ENTRY: Bytes = Bytes(8);

impl BlockMapFile {
    /// DRAM for the map of `logical_blocks` logical blocks on `rows` plane groups. `entry` is the size of a
    /// block number.
    pub fn memory(&self, entry: Bytes, logical_blocks: u32, rows: u32) -> Bytes {
        let replacements = u64::from(self.replacements) * u64::from(rows);
        entry * u64::from(logical_blocks) + REPLACEMENT_ENTRY * replacements
    }
}
