//! Kinds of reads and programs of a LUN, and the options of its setup.

use wordline_kernel::{Instant, Seed};

use crate::latency::LatencyModel;
use crate::onfi::{LunTimes, Row};

/// How a read goes on after its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadKind {
    /// 30: sense into the cache register.
    Plain,
    /// 32: one more plane for the read that follows.
    Queue,
    /// 35: sense a page that a copyback program will write.
    Copyback,
    /// 31: hand over the page sensed before, then sense this one behind the bus.
    CacheRandom,
    /// Sense in this plane alone, while other planes do so too. A vendor's command.
    Independent,
}

/// How a program goes on after its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// 10: program.
    Start,
    /// 11: one more plane (of a one-shot part: one more page for its word line) for the program that follows.
    Queue,
    /// 15: program behind the bus.
    Cache,
    /// One-shot parts: the page goes to a write-back register, and the next page of the word line follows. A vendor's
    /// command, 1Ah in parts that have it.
    Page,
    /// Programs the word line again with this page in place of its old version; the other page keeps its bits
    /// (ReSSD, section 3.2). A research command that no data sheet has.
    Reprogram,
    /// The same in one more plane for the reprogram that follows.
    QueueReprogram,
}

impl ProgramKind {
    /// Whether it programs a word line again.
    pub fn is_again(self) -> bool {
        matches!(self, Self::Reprogram | Self::QueueReprogram)
    }
}

/// When an operation leaves the LUN ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// RDY rises.
    pub ready_at: Instant,
    /// ARDY rises.
    pub array_ready_at: Instant,
}

/// A program or erase that fails, so that the handling of FAIL can be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedFailure {
    /// The page; of an erase, any page of the block.
    pub row: Row,
    /// Whether an erase fails, or a program.
    pub erase: bool,
    /// Which of the programs of this page (erases of this block) fails, counted from 1 over the run.
    pub nth: u32,
}

/// How a LUN is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LunOptions {
    /// Whether a broken limit of reliability refuses the operation. Else it is carried out and counted, with FAIL.
    pub fatal: bool,
    /// Where the noise of torn pages comes from, and the times of pages that a part gives as a range.
    pub seed: Seed,
    /// The source of program times.
    pub latency: LatencyModel,
    /// Times and limits that the part's file does not give; `None`: [`LunTimes::of`] the part.
    pub times: Option<LunTimes>,
    /// Programs and erases that fail.
    pub failures: Vec<InjectedFailure>,
    /// Blocks that the factory marked bad.
    pub bad_blocks: Vec<u32>,
}

impl Default for LunOptions {
    /// Broken limits refuse operations; nothing fails and no block is bad.
    fn default() -> Self {
        Self {
            fatal: true,
            seed: Seed(0),
            latency: LatencyModel::default(),
            times: None,
            failures: Vec::new(),
            bad_blocks: Vec::new(),
        }
    }
}
