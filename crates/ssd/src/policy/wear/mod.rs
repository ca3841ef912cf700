//! Static wear levelling: which blocks are cleaned because they were not for long, though little is to be gained.

mod bet;
mod none;

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;
use wordline_kernel::{Column, Stream};
use wordline_nand::{BlockSetId, RowId};

pub use bet::Bet;
pub use none::None;

/// Finds blocks whose data lie still. It looks and answers; the collector cleans those of them that are full, when the
/// row has no need of free blocks.
pub trait WearLeveller: State + Send {
    /// Whether it ever finds any.
    fn is_on(&self) -> bool;
    /// A block was erased; the blocks of a row are counted from 0.
    fn erased(&mut self, row: RowId, block: u32);
    /// Whether a state that was just taken over can be one of this policy.
    ///
    /// # Errors
    /// The contradiction.
    fn check_loaded(&self) -> Result<(), String> {
        Ok(())
    }
    /// Those of the blocks of a row whose data are to move now. It is asked again until there are none.
    fn next(&mut self, blocks: &RowBlocks<'_>, random: &mut Stream) -> Option<Range<u32>>;
}

/// The blocks of a row, counted from 0, as a wear leveller sees them.
#[derive(Clone, Copy)]
pub struct RowBlocks<'a> {
    row: RowId,
    first: BlockSetId,
    count: u32,
    free: u32,
    pages_per_block: u32,
    each: &'a dyn Fn(u32) -> RowBlock,
}

/// A block of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowBlock {
    /// Whether its data may move: it is closed, or suspended and not being programmed.
    pub may_move: bool,
    /// Its valid logical pages.
    pub valid: u32,
    /// How often it was erased.
    pub erases: u32,
    /// How many blocks of the device were opened since it was.
    pub age: u64,
}

impl<'a> RowBlocks<'a> {
    /// Those of `row`, `first` and the others, of which `each` says how they are: how many, how many of them are free, and how many
    /// logical pages one has.
    pub fn new(
        (row, first): (RowId, BlockSetId),
        [count, free, pages_per_block]: [u32; 3],
        each: &'a dyn Fn(u32) -> RowBlock,
    ) -> Self {
        Self { row, first, count, free, pages_per_block, each }
    }

    /// The row.
    pub fn row(&self) -> RowId {
        self.row
    }

    /// How many blocks it has.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Blocks of it that are free.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Logical pages of a block.
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// The block of that number in the device.
    pub fn block(&self, number: u32) -> BlockSetId {
        BlockSetId(self.first.0 + number)
    }

    /// Whether the data of a block may move.
    pub fn may_move(&self, number: u32) -> bool {
        number < self.count && (self.each)(number).may_move
    }

    /// Valid logical pages of a block.
    pub fn valid(&self, number: u32) -> u32 {
        (self.each)(number).valid
    }

    /// How often a block was erased.
    pub fn erases(&self, number: u32) -> u32 {
        (self.each)(number).erases
    }

    /// How many blocks of the device were opened since a block was.
    pub fn age(&self, number: u32) -> u64 {
        (self.each)(number).age
    }
}

/// The wear levellers that are built in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum WearKind {
    /// Data that lie still are left where they are.
    None {},
    /// A table with a bit for each set of blocks says which were erased lately.
    Bet {
        /// A set has two to the power of this many blocks of a row.
        k: u32,
        /// Sets are cleaned while there were this many erases for each set that saw one.
        threshold: u32,
    },
}

impl Default for WearKind {
    fn default() -> Self {
        Self::None {}
    }
}

impl WearKind {
    /// The key that is wrong, what it says, and what was wanted.
    pub fn complaint(&self) -> Option<(&'static str, u32, &'static str)> {
        match *self {
            Self::Bet { k, .. } if k > 15 => Some(("k", k, "from 0 to 15")),
            // Each set that is handed out counts as one that saw an erase, so that less never comes to an end.
            Self::Bet { k, threshold } if threshold < 2 << k.min(15) => {
                Some(("threshold", threshold, "at least two erases for each block of a set"))
            }
            _ => Option::None,
        }
    }

    /// The policy for a device of rows with this many `blocks` each.
    pub fn build(&self, blocks: Column<RowId, u32>) -> Box<dyn WearLeveller> {
        match *self {
            Self::None {} => Box::new(None),
            Self::Bet { k, threshold } => Box::new(Bet::new(blocks, k, threshold)),
        }
    }
}
