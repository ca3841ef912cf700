//! Balancers: which pages an idle row of planes takes over from others, where pages have a home and wait for it.

mod none;
mod stealing;
mod valid_share;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Column;
use wordline_kernel::snapshot::State;
use wordline_nand::{Geometry, RowId};

use crate::pools::PoolState;

pub use none::None;
pub use stealing::Stealing;
pub use valid_share::ValidShare;

/// The program units that wait at home, as a balancer sees them.
#[derive(Clone, Copy, Debug)]
pub struct Waiting<'a> {
    /// Complete program units that wait for each row, beside the one that it is at.
    pub units: &'a Column<RowId, u32>,
    /// Where the rows are.
    pub geometry: &'a Geometry,
}

/// Says what an idle row may take from others. It looks and answers; the mechanism checks the answer and acts.
pub trait Balancer: State + Send {
    /// Whether it ever takes anything: without it pages stay at home.
    fn is_on(&self) -> bool;
    /// A row with something waiting of which `idle` takes a program unit: its die is idle, and nothing waits for it.
    fn take(&mut self, idle: RowId, waiting: &Waiting<'_>) -> Option<RowId>;
    /// In a device with several pools: whether what waits longest for pool `from` goes to pool `to`, of which a die does
    /// nothing.
    fn steals(&mut self, _from: usize, _to: usize, _pools: &[PoolState]) -> bool {
        false
    }
}

/// How far a balancer looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// The rows of its die.
    Die,
    /// The rows of its channel.
    Channel,
    /// All rows.
    #[default]
    Device,
}

/// The balancers that are built in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum BalancerKind {
    /// Pages wait for their home.
    None {},
    /// An idle row takes from the row that most waits for.
    Stealing {
        /// Whom it takes from.
        #[serde(default)]
        reach: Reach,
        /// Program units that have to wait for a row before another one takes of them.
        #[serde(default = "one")]
        least: u32,
    },
    /// Pages that wait for the first of several pools go to another pool with a smaller share of valid data, while a die
    /// of it is idle. Wants `pools`.
    ValidShare {},
}

/// Chosen: any wait is longer than the idle row takes.
fn one() -> u32 {
    1
}

impl Default for BalancerKind {
    fn default() -> Self {
        Self::None {}
    }
}

impl BalancerKind {
    /// The error in the least number of units: what was found and what was wanted.
    pub fn complaint(&self) -> Option<(u32, &'static str)> {
        match self {
            Self::Stealing { least: 0, .. } => Some((0, "at least 1")),
            _ => Option::None,
        }
    }

    /// The policy.
    pub fn build(&self) -> Box<dyn Balancer> {
        match *self {
            Self::None {} => Box::new(None),
            Self::Stealing { reach, least } => Box::new(Stealing { reach, least }),
            Self::ValidShare {} => Box::new(ValidShare),
        }
    }
}
