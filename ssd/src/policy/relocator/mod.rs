//! Where the valid pages of a victim go.

mod generations;
mod single;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::snapshot::State;

pub use generations::Generations;
pub use single::Single;

/// A valid page of a victim, as a relocator sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// Its number.
    pub logical: u32,
    /// The collector's stream that wrote its block; none if the host did.
    pub moved_by: Option<u8>,
}

/// Says which of the collector's write streams a page goes to. It looks and answers; the mechanism checks the answer
/// and acts.
pub trait Relocator: State + Send {
    /// How many streams it tells apart, from 1 to 16.
    fn streams(&self) -> u8;
    /// The stream of a page, from 0 to one below [`streams`](Self::streams).
    fn route(&mut self, page: &Leaving) -> u8;
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
        streams: u8,
    },
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
            Self::Single {} => 1,
            Self::Generations { streams } => *streams,
        }
    }

    /// The policy.
    pub fn build(&self) -> Box<dyn Relocator> {
        match self {
            Self::Single {} => Box::new(Single),
            Self::Generations { streams } => Box::new(Generations { streams: *streams }),
        }
    }
}
