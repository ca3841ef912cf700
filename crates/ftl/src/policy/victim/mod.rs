//! Victim policies: which block GC collects next.

mod cost_benefit;
mod d_choices;
mod fifo;
mod greedy;
mod random;
mod windowed_greedy;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Stream;
use wordline_kernel::snapshot::State;
use wordline_nand::BlockSetId;

pub use crate::blocks::candidates::{Candidates, Indexes};
pub use cost_benefit::CostBenefit;
pub use d_choices::DChoices;
pub use fifo::Fifo;
pub use greedy::Greedy;
pub use random::Random;
pub use windowed_greedy::WindowedGreedy;

/// Selects a victim for GC.
pub trait VictimPolicy: State + Send {
    /// Candidate indexes that the policy needs. Valid-page counts are always there.
    fn needs(&self) -> Indexes {
        Indexes::default()
    }

    /// Kind of block that the policy selects, if theory predicts the steady state under uniform random
    /// overwrites. Preconditioning then creates this state directly.
    fn preference(&self) -> Option<Preference> {
        None
    }

    /// Selects a block, or a superblock. Candidates are closed and have at least one invalid page. `None` if
    /// there are no candidates.
    fn choose(&mut self, from: Candidates<'_>, random: &mut Stream) -> Option<BlockSetId>;
}

/// Victim of a policy with a known steady state. Blocks are filled one after another, under uniform random
/// overwrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// The oldest block.
    Oldest,
    /// The block with the fewest valid pages.
    Fewest,
    /// A random block.
    Random,
}

/// Built-in victim policies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum VictimKind {
    /// The block with the fewest valid pages.
    Greedy {},
    /// The block with the fewest valid pages among several random ones. Also called RGA.
    DChoices {
        /// Number of draws. The same block may be drawn twice.
        choices: u32,
    },
    /// A random block. Also called RANDOM+.
    Random {},
    /// The block that closed first.
    Fifo {},
    /// The block with the fewest valid pages among those that closed first.
    WindowedGreedy {
        /// Number of blocks compared.
        window: u32,
    },
    /// The block with the best ratio of benefit to cost. The benefit is the space gained, weighted by the
    /// time since the block last lost a valid page. The cost is the copying.
    CostBenefit {},
}

impl Default for VictimKind {
    fn default() -> Self {
        Self::Greedy {}
    }
}

/// Maximum number of blocks that a policy may compare for one choice. Chosen: more than a plane of any part
/// has.
const MOST_COMPARED: u32 = 65_535;

impl VictimKind {
    /// Key with an invalid value, the value, and the allowed values, if any.
    pub fn complaint(&self) -> Option<(&'static str, u32, String)> {
        let (key, count) = match self {
            Self::DChoices { choices } => ("choices", *choices),
            Self::WindowedGreedy { window } => ("window", *window),
            Self::Greedy {} | Self::Random {} | Self::Fifo {} | Self::CostBenefit {} => return None,
        };
        (!(1..=MOST_COMPARED).contains(&count))
            .then(|| (key, count, format!("from 1 to {MOST_COMPARED} blocks")))
    }

    /// Builds the policy.
    pub fn build(&self) -> Box<dyn VictimPolicy> {
        match self {
            Self::Greedy {} => Box::new(Greedy),
            Self::DChoices { choices } => Box::new(DChoices { choices: *choices }),
            Self::Random {} => Box::new(Random),
            Self::Fifo {} => Box::new(Fifo),
            Self::WindowedGreedy { window } => Box::new(WindowedGreedy { window: *window }),
            Self::CostBenefit {} => Box::new(CostBenefit),
        }
    }
}
