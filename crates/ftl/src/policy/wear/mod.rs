//! Static wear levelling: which blocks with cold data are collected to even out wear.

mod bet;
mod none;

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Column, Stream};
use wordline_nand::{BlockSetId, PlaneGroupId};

pub use bet::Bet;
pub use none::None;

/// Selects blocks with cold data. GC collects those that are full, at times when their plane group needs no
/// free blocks.
pub trait WearLeveller: State + Send {
    /// Whether the policy ever selects blocks.
    fn is_on(&self) -> bool;
    /// Records the erase of a block. Blocks are counted from 0 within their plane group.
    fn erased(&mut self, row: PlaneGroupId, block: u32);
    /// Checks that the loaded state is consistent.
    ///
    /// # Errors
    /// Description of the inconsistency.
    fn check_loaded(&self) -> Result<(), String> {
        Ok(())
    }
    /// Blocks of a plane group whose data must be relocated now. Queried again until it returns `None`.
    fn next(&mut self, blocks: &PlaneGroupBlocks<'_>, random: &mut Stream) -> Option<Range<u32>>;
}

/// Blocks of a plane group, counted from 0, as a wear leveller sees them.
#[derive(Clone, Copy)]
pub struct PlaneGroupBlocks<'a> {
    row: PlaneGroupId,
    first: BlockSetId,
    count: u32,
    free: u32,
    pages_per_block: u32,
    each: &'a dyn Fn(u32) -> PlaneGroupBlock,
}

/// A block of a plane group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneGroupBlock {
    /// Whether its data may be relocated: it is closed, or suspended without a program in progress.
    pub may_move: bool,
    /// Valid logical pages.
    pub valid: u32,
    /// Number of erases.
    pub erases: u32,
    /// Blocks that the device opened since it opened this one.
    pub age: u64,
}

impl<'a> PlaneGroupBlocks<'a> {
    /// Blocks of plane group `row`. `first` is the first of its `count` blocks; `each` returns the state of a
    /// block.
    pub fn new(
        (row, first): (PlaneGroupId, BlockSetId),
        [count, free, pages_per_block]: [u32; 3],
        each: &'a dyn Fn(u32) -> PlaneGroupBlock,
    ) -> Self {
        Self { row, first, count, free, pages_per_block, each }
    }

    /// Plane group of the blocks.
    pub fn row(&self) -> PlaneGroupId {
        self.row
    }

    /// Number of blocks.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Number of free blocks.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Logical pages in a block.
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Device-wide number of a block.
    pub fn block(&self, number: u32) -> BlockSetId {
        BlockSetId(self.first.0 + number)
    }

    /// Whether the data of a block may be relocated.
    pub fn may_move(&self, number: u32) -> bool {
        number < self.count && (self.each)(number).may_move
    }

    /// Valid logical pages of a block.
    pub fn valid(&self, number: u32) -> u32 {
        (self.each)(number).valid
    }

    /// Number of erases of a block.
    pub fn erases(&self, number: u32) -> u32 {
        (self.each)(number).erases
    }

    /// Blocks that the device opened since it opened this one.
    pub fn age(&self, number: u32) -> u64 {
        (self.each)(number).age
    }
}

/// Built-in wear levellers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WearKind {
    /// Cold data are not relocated.
    None {},
    /// Block erasing table: it has a bit for each set of blocks, which records an erase in the current
    /// interval. Sets without an erase are collected while erases are uneven.
    Bet {
        /// A set consists of 2^k blocks of a plane group.
        k: u32,
        /// Sets are collected when the erases of the interval reach this many for each set that had an erase.
        threshold: u32,
    },
}

impl Default for WearKind {
    fn default() -> Self {
        Self::None {}
    }
}

impl WearKind {
    /// Key with an invalid value, the value, and the allowed values, if any.
    pub fn complaint(&self) -> Option<(&'static str, u32, &'static str)> {
        match *self {
            Self::Bet { k, .. } if k > 15 => Some(("k", k, "from 0 to 15")),
            // With a lower threshold wear levelling would never end, because each set returned counts as a
            // set with an erase.
            Self::Bet { k, threshold } if threshold < 2 << k.min(15) => {
                Some(("threshold", threshold, "at least two erases for each block of a set"))
            }
            _ => Option::None,
        }
    }

    /// Builds the policy. `blocks` has the number of blocks of each plane group.
    pub fn build(&self, blocks: Column<PlaneGroupId, u32>) -> Box<dyn WearLeveller> {
        match *self {
            Self::None {} => Box::new(None),
            Self::Bet { k, threshold } => Box::new(Bet::new(blocks, k, threshold)),
        }
    }
}
