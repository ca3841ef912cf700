//! Background policies: goals of GC while the host is idle.

mod idle_fold;
mod idle_gc;
mod none;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;
use wordline_kernel::snapshot::State;
use wordline_nand::PlaneGroupId;

pub use idle_fold::IdleFold;
pub use idle_gc::IdleGc;
pub use none::None;

/// A plane group while the host is idle, as a background policy sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleGroup {
    /// Plane group.
    pub row: PlaneGroupId,
    /// Free blocks.
    pub free_blocks: u32,
    /// Good blocks.
    pub good_blocks: u32,
    /// Blocks that the valid pages would fill: the others are spare. Discards add spare blocks.
    pub full_blocks: u32,
    /// Blocks in SLC mode, where there is a cache.
    pub cached_blocks: u32,
}

/// Decides the goals of background work. The policy looks and decides; the collector acts, and stops at the
/// host's next command.
pub trait Background: State + Send {
    /// Idle time before background work starts: no host command outstanding for this long; `None` if there is
    /// no background work.
    fn idle_delay(&self) -> Option<Duration>;
    /// Goal for the free blocks of a plane group. Queried before each GC command.
    fn free_blocks(&mut self, row: &IdleGroup) -> u32;
    /// Number of blocks of a plane group that may stay in the SLC cache: the others are folded.
    fn cached_blocks(&mut self, row: &IdleGroup) -> u32 {
        row.cached_blocks
    }
}

/// Built-in background policies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum BackgroundKind {
    /// No background work.
    None {},
    /// GC ahead of need.
    IdleGc {
        /// Idle time: no host command outstanding for this long.
        idle: Duration,
        /// Plane groups with fewer free blocks than this are collected.
        #[serde(default)]
        until_free: u32,
        /// Plane groups are collected until this fraction of their spare blocks is free; the host's discards
        /// add spare blocks.
        #[serde(default)]
        until_spare: f64,
    },
    /// Folding of the SLC cache.
    IdleFold {
        /// Idle time: no host command outstanding for this long.
        idle: Duration,
        /// Blocks of a plane group that stay in the cache.
        #[serde(default)]
        until_cached: u32,
    },
}

impl Default for BackgroundKind {
    fn default() -> Self {
        Self::None {}
    }
}

/// Longest idle time that may be configured. Chosen: an hour.
const LONGEST_REST: Duration = Duration::from_ms(3_600_000);

impl BackgroundKind {
    /// Invalid key, value found and value wanted, if any.
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

    /// Builds the policy.
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
