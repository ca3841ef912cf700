//! Victim policies: the block that is collected.

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

/// Selects a victim. The policy looks and decides; the collector checks the decision and acts.
pub trait VictimPolicy: State + Send {
    /// Candidate indexes that it needs besides the valid pages.
    fn needs(&self) -> Indexes {
        Indexes::default()
    }

    /// Block that it prefers, where theory predicts the result under uniform random overwrites:
    /// preconditioning then creates that state directly.
    fn preference(&self) -> Option<Preference> {
        None
    }

    /// Selects a block, or superblock, among the candidates, which are closed and have at least one invalid
    /// page; `None` when there are none.
    fn choose(&mut self, from: Candidates<'_>, random: &mut Stream) -> Option<BlockSetId>;
}

/// Victim among blocks written one after the other, under uniform random overwrites.
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
        /// Number of draws; the same block may be drawn twice.
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
    /// The block with the most space to gain, weighted by how long it lost no page, over the cost of copying.
    CostBenefit {},
}

impl Default for VictimKind {
    fn default() -> Self {
        Self::Greedy {}
    }
}

/// Most blocks that a policy may compare for one choice. Chosen: more than a plane of any part has.
const MOST_COMPARED: u32 = 65_535;

impl VictimKind {
    /// Invalid key, value found and value wanted, if any.
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
