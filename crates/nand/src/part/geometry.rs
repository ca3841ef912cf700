//! The geometry of a die.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Bytes;

use crate::pairing::Pairing;

/// The geometry of one die.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DieGeometry {
    /// Planes of a die, from 1 to 16; not necessarily a power of two.
    pub planes: u32,
    /// Blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Data bytes of a page, a power of two.
    pub page_size: Bytes,
    /// Spare bytes of a page, for ECC and metadata.
    pub spare_size: Bytes,
    /// Bits that a cell stores: 1 SLC, 2 MLC, 3 TLC, 4 QLC. This is also the number of pages of a word line.
    pub bits_per_cell: u32,
    /// Whether one program operation writes all pages of a word line (full-sequence, one-shot).
    pub one_shot: bool,
    /// The order of page numbers over the word lines of a block, which determines the fast pages and the
    /// pages that share cells.
    #[serde(default)]
    pub pairing: Pairing,
    /// Horizontal layers of a block; 1 for a planar part.
    #[serde(default = "planar")]
    pub layers: u32,
    /// Page registers of a plane. 1: no cache operations. 2: a cache register in front of the data register.
    /// A one-shot part always has as many data registers as bits per cell behind its cache register.
    #[serde(default = "cache_and_data")]
    pub registers: u32,
    /// Whether the planes of a die sense independently of each other (3Eh on the pins). Devices do not use it
    /// yet: `false`.
    #[serde(default)]
    pub independent_reads: bool,
}

fn planar() -> u32 {
    1
}

fn cache_and_data() -> u32 {
    2
}

/// Maximum planes of a die: bound of fixed-size tables.
pub const MAX_PLANES: u32 = 16;
