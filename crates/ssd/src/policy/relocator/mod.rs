//! Where the valid pages of a victim go.

mod generations;
mod single;
mod valid_share;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;

use crate::pools::PoolState;

pub use generations::Generations;
pub use single::Single;
pub use valid_share::ValidShare;

/// A valid page of a victim, as a relocator sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// Its number.
    pub logical: u32,
    /// The collector's stream that wrote its block; none if the host did.
    pub moved_by: Option<u8>,
}

/// Where a page goes that leaves its pool alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Another pool, which is mapped by pages.
    pub pool: u8,
    /// A stream of the host in that pool, counted from 0 there.
    pub stream: u8,
}

/// Says which of the collector's write streams a page goes to. It looks and answers; the mechanism checks the answer
/// and acts.
pub trait Relocator: State + Send {
    /// How many streams it tells apart, from 1 to 16.
    fn streams(&self) -> u8;
    /// The stream of a page, from 0 to one below [`streams`](Self::streams).
    fn route(&mut self, page: &Leaving) -> u8;
    /// Whether the valid pages of a victim of `pool`, which is not the first of several, go to the first.
    fn leaves(&mut self, _pool: usize, _pools: &[PoolState]) -> bool {
        false
    }
}

/// The relocators that are built in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RelocatorKind {
    /// One stream for everything.
    Single {},
    /// A stream for each time that a page was moved.
    Generations {
        /// Streams; what was moved more often stays in the last one.
        #[schemars(range(min = 1, max = 16))]
        streams: u8,
    },
    /// The pages of a victim go to the first of several pools while less of it is valid than of the victim's pool. Wants
    /// `pools`.
    ValidShare {},
}

impl Default for RelocatorKind {
    fn default() -> Self {
        Self::Single {}
    }
}

impl RelocatorKind {
    /// How many streams it tells apart.
    pub fn streams(&self) -> u8 {
        match self {
            Self::Single {} | Self::ValidShare {} => 1,
            Self::Generations { streams } => *streams,
        }
    }

    /// The policy.
    pub fn build(&self) -> Box<dyn Relocator> {
        match self {
            Self::Single {} => Box::new(Single),
            Self::Generations { streams } => Box::new(Generations { streams: *streams }),
            Self::ValidShare {} => Box::new(ValidShare),
        }
    }
}
