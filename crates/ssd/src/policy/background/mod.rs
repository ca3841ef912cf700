//! Background policies: how far blocks are cleaned while the host rests.

mod idle_fold;
mod idle_gc;
mod none;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;
use wordline_kernel::snapshot::State;
use wordline_nand::RowId;

pub use idle_fold::IdleFold;
pub use idle_gc::IdleGc;
pub use none::None;

/// A row of planes while the host rests, as a background policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resting {
    /// Its number.
    pub row: RowId,
    /// Blocks that are free.
    pub free_blocks: u32,
    /// Blocks that are in use: all but the bad ones.
    pub good_blocks: u32,
    /// Blocks that the valid pages would fill: the others are spare. They get more with what the host discards.
    pub full_blocks: u32,
    /// Blocks in SLC mode, where there is a cache.
    pub cached_blocks: u32,
}

/// Says what is done while the host rests. It looks and answers; the collector acts, and stops at the host's next
/// command.
pub trait Background: State + Send {
    /// How long no command of the host must have been outstanding; `None` if nothing is ever done.
    fn rests_after(&self) -> Option<Duration>;
    /// How many free blocks a row is to have. It is asked before each command of the collector.
    fn free_blocks(&mut self, row: &Resting) -> u32;
    /// How many blocks of a row stay in the SLC cache: the others are folded.
    fn cached_blocks(&mut self, row: &Resting) -> u32 {
        row.cached_blocks
    }
}

/// The background policies that are built in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum BackgroundKind {
    /// Nothing is done.
    None {},
    /// Blocks are cleaned ahead of need.
    IdleGc {
        /// How long no command of the host must have been outstanding.
        idle: Duration,
        /// Rows with fewer free blocks than this are cleaned.
        #[serde(default)]
        until_free: u32,
        /// Rows are cleaned until this fraction of their spare blocks is free: more, the more the host discarded.
        #[serde(default)]
        until_spare: f64,
    },
    /// The SLC cache is emptied.
    IdleFold {
        /// How long no command of the host must have been outstanding.
        idle: Duration,
        /// Blocks of a row that stay in the cache.
        #[serde(default)]
        until_cached: u32,
    },
}

impl Default for BackgroundKind {
    fn default() -> Self {
        Self::None {}
    }
}

/// The longest rest that is waited for. Chosen: an hour.
const LONGEST_REST: Duration = Duration::from_ms(3_600_000);

impl BackgroundKind {
    /// The key that is wrong, what it says, and what was wanted.
    pub fn complaint(&self) -> Option<(&'static str, String, String)> {
        let (Self::IdleGc { idle, .. } | Self::IdleFold { idle, .. }) = self else { return Option::None };
        if !(Duration::from_us(1)..=LONGEST_REST).contains(idle) {
            return Some(("idle", idle.to_string(), "from 1us to 1h".into()));
        }
        let Self::IdleGc { until_free, until_spare, .. } = self else { return Option::None };
        if !(0.0..=1.0).contains(until_spare) {
            return Some(("until_spare", until_spare.to_string(), "a fraction from 0 to 1".into()));
        }
        let nothing = *until_free == 0 && *until_spare == 0.0;
        nothing.then(|| ("until_free", "0".into(), "at least 1, or until_spare above 0".into()))
    }

    /// The policy.
    pub fn build(&self) -> Box<dyn Background> {
        match *self {
            Self::None {} => Box::new(None),
            Self::IdleGc { idle, until_free, until_spare } => {
                Box::new(IdleGc { idle, until_free, until_spare })
            }
            Self::IdleFold { idle, until_cached } => Box::new(IdleFold { idle, until_cached }),
        }
    }
}
