//! The memory that ReSSD needs beside that of any FTL (section 4.3).

use serde::{Deserialize, Serialize};
use wordline_ssd::Config;

use super::LEVELS;

/// Bytes of the entry of a logical page in the map: its logical and its physical address (section 4.3).
const ENTRY: u64 = 7;

/// Bytes for the blocks and word lines of all planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overhead {
    /// A time stamp of four bytes for each block.
    pub stamps: u64,
    /// For each block two bits for its level, and one that says whether it is a candidate.
    pub tags: u64,
    /// For each plane and level the open block, and the word line in it.
    pub pointers: u64,
    /// For each word line two bits each for its rewrites, its distribution and the validity of its pages.
    pub word_lines: u64,
    /// Bytes that the map saves for each block with two pages on a word line.
    pub saved_per_block: u64,
}

impl Overhead {
    /// That of a device that programs a word line again so often. One that never does keeps nothing of word lines.
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

    /// All of it, without what is saved.
    pub fn total(&self) -> u64 {
        self.stamps + self.tags + self.pointers + self.word_lines
    }
}
