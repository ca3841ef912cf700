//! Background policies: GC and SLC-cache folding while the host is idle.

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

/// A plane group, as a background policy sees it while the host is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleGroup {
    /// Plane group.
    pub row: PlaneGroupId,
    /// Free blocks.
    pub free_blocks: u32,
    /// Blocks that are not bad.
    pub good_blocks: u32,
    /// Blocks that the valid pages would fill. The other good blocks are spare. Discards by the host increase
    /// the spare blocks.
    pub full_blocks: u32,
    /// Blocks in SLC mode, if the device has an SLC cache.
    pub cached_blocks: u32,
}

/// Sets the goals of background work. Background work stops at the next host command.
pub trait Background: State + Send {
    /// Idle time before background work starts: no host command is outstanding for this long. `None` if there
    /// is no background work.
    fn idle_delay(&self) -> Option<Duration>;
    /// Goal for the free blocks of a plane group. Queried before each background GC command.
    fn free_blocks(&mut self, row: &IdleGroup) -> u32;
    /// Number of blocks of a plane group that stay in the SLC cache. The others are folded.
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
    /// GC before free blocks are needed.
    IdleGc {
        /// Idle time before GC starts: no host command is outstanding for this long.
        idle: Duration,
        /// A plane group is collected until it has this many free blocks.
        #[serde(default)]
        until_free: u32,
        /// A plane group is collected until this fraction of its spare blocks is free. Discards by the host
        /// increase the spare blocks.
        #[serde(default)]
        until_spare: f64,
    },
    /// Folding of the SLC cache.
    IdleFold {
        /// Idle time before folding starts: no host command is outstanding for this long.
        idle: Duration,
        /// Blocks of each plane group that stay in the cache.
        #[serde(default)]
        until_cached: u32,
    },
}

impl Default for BackgroundKind {
    fn default() -> Self {
        Self::None {}
    }
}

/// Maximum idle time in a configuration. Chosen: an hour.
const LONGEST_REST: Duration = Duration::from_ms(3_600_000);

impl BackgroundKind {
    /// Key with an invalid value, the value, and the allowed values, if any.
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
