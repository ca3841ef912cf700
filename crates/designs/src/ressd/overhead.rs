//! Memory that ReSSD needs in addition to any FTL (section 4.3).

use serde::{Deserialize, Serialize};
use wordline_ftl::Config;

use super::config::LEVELS;

/// Bytes of an L2P map entry: logical and physical address (section 4.3).
const ENTRY: u64 = 7;

/// Bytes for the blocks and word lines of all planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overhead {
    /// Time stamps: four bytes for each block.
    pub stamps: u64,
    /// Tags: two bits for the level of each block, and one bit that marks a candidate.
    pub tags: u64,
    /// Pointers to the open block and its word line, for each plane and level.
    pub pointers: u64,
    /// Six bits for each word line: two for its reprogram passes, two for the distribution, and two for the
    /// valid pages.
    pub word_lines: u64,
    /// Bytes of the L2P map that a block saves if it has two pages on each word line.
    pub saved_per_block: u64,
}

impl Overhead {
    /// The overhead on a device with this number of reprogram passes. With none, word lines take no memory.
    pub fn of(config: &Config, rewrites: u8) -> Self {
        let pool = config.pools.first();
        let (geometry, part) = (&pool.geometry, &pool.part);
        let planes = u64::from(geometry.rows() * geometry.planes_per_row);
        let blocks = planes * u64::from(geometry.blocks_per_plane);
        let word_lines = u64::from(part.pages().word_lines());
        let bits_of = |count: u64| u64::from(count.next_power_of_two().trailing_zeros());
        let pointer = bits_of(geometry.blocks_per_plane.into()) + bits_of(word_lines);
        let bytes = |bits: u64| bits.div_ceil(8);
        let is_again = u64::from(rewrites > 0);
        Self {
            stamps: 4 * blocks,
            tags: bytes(3 * blocks),
            pointers: bytes(planes * LEVELS as u64 * pointer),
            word_lines: is_again * bytes(6 * word_lines * blocks),
            saved_per_block: is_again * ENTRY * word_lines * u64::from(geometry.bits_per_cell() - 2),
        }
    }

    /// Sum of all, without the saved bytes.
    pub fn total(&self) -> u64 {
        self.stamps + self.tags + self.pointers + self.word_lines
    }
}
