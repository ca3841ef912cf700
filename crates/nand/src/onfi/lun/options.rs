//! Kinds of reads and programs of a LUN, and its options.

use wordline_kernel::{Instant, Seed};

use crate::latency::LatencyModel;
use crate::onfi::{LunTimes, Row};

/// The kind of a read, by its second byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadKind {
    /// 30: sense into the cache register.
    Plain,
    /// 32: queue another plane for the next read.
    Queue,
    /// 35: sense a page for a copyback program.
    Copyback,
    /// 31: move the page sensed before to the cache register, then sense this page while the bus is in use.
    CacheRandom,
    /// Sense in this plane independently of other planes (vendor command).
    Independent,
}

/// The kind of a program, by its second byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// 10: program.
    Start,
    /// 11: queue another plane (for a one-shot part: another page of the word line) for the next program.
    Queue,
    /// 15: cache program, while the bus is in use.
    Cache,
    /// In one-shot parts: move the page to a write-back register; the next page of the word line follows. A
    /// vendor command, 1Ah in parts that have it.
    Page,
    /// Reprogram the word line with this page instead of its old version; the other page keeps its bits
    /// (ReSSD, section 3.2). A research command without a data sheet.
    Reprogram,
    /// Queue another plane for the next reprogram.
    QueueReprogram,
}

impl ProgramKind {
    /// Whether the program is a reprogram.
    pub fn is_reprogram(self) -> bool {
        matches!(self, Self::Reprogram | Self::QueueReprogram)
    }
}

/// The times at which the LUN becomes ready after an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy {
    /// RDY rises.
    pub ready_at: Instant,
    /// ARDY rises.
    pub array_ready_at: Instant,
}

/// An injected program or erase failure, to test the handling of FAIL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedFailure {
    /// The page; for an erase, any page of the block.
    pub row: Row,
    /// Whether an erase fails; otherwise a program.
    pub erase: bool,
    /// Number of the program of this page, or of the erase of this block, that fails; counted from 1 over the
    /// run.
    pub nth: u32,
}

/// Options of a LUN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LunOptions {
    /// Whether an operation that exceeds a reliability limit is rejected. Otherwise it is executed and
    /// counted, with FAIL.
    pub fatal: bool,
    /// The seed of the noise of torn pages, and of the times of pages that a part gives as a range.
    pub seed: Seed,
    /// The model of program times.
    pub latency: LatencyModel,
    /// Times and limits that are not in the part's file; `None`: the values of [`LunTimes::of`].
    pub times: Option<LunTimes>,
    /// Injected failures.
    pub failures: Vec<InjectedFailure>,
    /// Factory bad blocks.
    pub bad_blocks: Vec<u32>,
}

impl Default for LunOptions {
    /// Operations that exceed limits are rejected; no injected failures and no bad blocks.
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
