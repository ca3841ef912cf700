//! Relocators: which GC stream takes a valid page of a victim.

mod generations;
mod single;
mod valid_share;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;

use crate::policy::pool_state::PoolState;

pub use generations::Generations;
pub use single::Single;
pub use valid_share::ValidShare;

/// A valid page of a victim, as a relocator sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelocatedPage {
    /// Logical page number.
    pub logical: u32,
    /// GC stream that wrote the page's block; `None` if a host stream did.
    pub relocated_by: Option<u8>,
}

/// Destination of a page that is migrated to another pool by itself, not with its victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MigrationTarget {
    /// Another pool, which is mapped by page.
    pub pool: u8,
    /// Host stream of that pool, counted from 0 within the pool.
    pub stream: u8,
}

/// Selects the GC stream of a relocated page.
pub trait Relocator: State + Send {
    /// Number of streams that the relocator uses, from 1 to 16.
    fn streams(&self) -> u8;
    /// Stream of a page, from 0 to [`streams`](Self::streams) - 1.
    fn route(&mut self, page: &RelocatedPage) -> u8;
    /// Whether the valid pages of a victim in `pool` are migrated to the first pool. Called with several
    /// pools, for every pool but the first.
    fn leaves(&mut self, _pool: usize, _pools: &[PoolState]) -> bool {
        false
    }
}

/// Built-in relocators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RelocatorKind {
    /// One stream for all pages.
    Single {},
    /// One stream for each number of relocations.
    Generations {
        /// Number of streams. The last one keeps pages that were relocated more often.
        #[schemars(range(min = 1, max = 16))]
        streams: u8,
    },
    /// Pages of a victim are migrated to the first of several pools as long as that pool has a smaller share
    /// of valid pages than the victim's pool. Needs `pools`.
    ValidShare {},
}

impl Default for RelocatorKind {
    fn default() -> Self {
        Self::Single {}
    }
}

impl RelocatorKind {
    /// Number of streams that the relocator uses.
    pub fn streams(&self) -> u8 {
        match self {
            Self::Single {} | Self::ValidShare {} => 1,
            Self::Generations { streams } => *streams,
        }
    }

    /// Builds the policy.
    pub fn build(&self) -> Box<dyn Relocator> {
        match self {
            Self::Single {} => Box::new(Single),
            Self::Generations { streams } => Box::new(Generations { streams: *streams }),
            Self::ValidShare {} => Box::new(ValidShare),
        }
    }
}
