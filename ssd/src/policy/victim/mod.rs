//! Which block is cleaned.

mod greedy;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Stream;
use wordline_nand::RowBlockId;

use crate::ftl::blocks::Candidates;

pub use greedy::Greedy;

/// Chooses a victim. It looks and answers; the collector checks the answer and acts.
pub trait VictimPolicy: Send {
    /// A block among the candidates, which are closed and hold at least one invalid page; `None` when there are none.
    fn choose(&mut self, from: Candidates<'_>, random: &mut Stream) -> Option<RowBlockId>;
}

/// The victim policies that are built in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum VictimKind {
    /// The block with the fewest valid pages.
    Greedy {},
}

impl Default for VictimKind {
    fn default() -> Self {
        Self::Greedy {}
    }
}

impl VictimKind {
    /// The policy.
    pub fn build(&self) -> Box<dyn VictimPolicy> {
        match self {
            Self::Greedy {} => Box::new(Greedy),
        }
    }
}
