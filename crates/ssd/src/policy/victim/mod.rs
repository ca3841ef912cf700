//! Which block is cleaned.

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

pub use crate::space::candidates::{Candidates, Indexes};
pub use cost_benefit::CostBenefit;
pub use d_choices::DChoices;
pub use fifo::Fifo;
pub use greedy::Greedy;
pub use random::Random;
pub use windowed_greedy::WindowedGreedy;

/// Chooses a victim. It looks and answers; the collector checks the answer and acts.
pub trait VictimPolicy: State + Send {
    /// The orders of candidates that it needs besides the numbers of valid pages.
    fn needs(&self) -> Indexes {
        Indexes::default()
    }

    /// Which block it prefers, where theory knows what that leaves under uniform random overwrites: preconditioning lays that directly.
    fn preference(&self) -> Option<Preference> {
        None
    }

    /// A block, or super block, among the candidates, which are closed and hold at least one invalid page; `None` when there are none.
    fn choose(&mut self, from: Candidates<'_>, random: &mut Stream) -> Option<BlockSetId>;
}

/// Which of the blocks that were written one after the other is the victim, under uniform random overwrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// The oldest.
    Oldest,
    /// The one with the fewest valid pages.
    Fewest,
    /// One drawn at random.
    Drawn,
}

/// The victim policies that are built in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum VictimKind {
    /// The block with the fewest valid pages.
    Greedy {},
    /// The block with the fewest valid pages of some that are drawn at random. Also called RGA.
    DChoices {
        /// Blocks that are drawn; the same block may be drawn twice.
        choices: u32,
    },
    /// A block drawn at random. Also called RANDOM+.
    Random {},
    /// The block that was closed first.
    Fifo {},
    /// The block with the fewest valid pages of those that were closed first.
    WindowedGreedy {
        /// Blocks that are compared.
        window: u32,
    },
    /// The block with the most space to gain, weighed by how long it lost no page, for what the copying costs.
    CostBenefit {},
}

impl Default for VictimKind {
    fn default() -> Self {
        Self::Greedy {}
    }
}

/// Blocks that a policy may compare for one choice. Chosen: more than a plane of any part has.
const MOST_COMPARED: u32 = 65_535;

impl VictimKind {
    /// The key that is wrong, what it says, and what was wanted.
    pub fn complaint(&self) -> Option<(&'static str, u32, String)> {
        let (key, count) = match self {
            Self::DChoices { choices } => ("choices", *choices),
            Self::WindowedGreedy { window } => ("window", *window),
            Self::Greedy {} | Self::Random {} | Self::Fifo {} | Self::CostBenefit {} => return None,
        };
        (!(1..=MOST_COMPARED).contains(&count))
            .then(|| (key, count, format!("from 1 to {MOST_COMPARED} blocks")))
    }

    /// The policy.
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
