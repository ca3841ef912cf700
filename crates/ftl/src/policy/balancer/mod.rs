//! Balancers: work stealing by idle plane groups under static allocation.

mod none;
mod stealing;
mod valid_share;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Column;
use wordline_kernel::snapshot::State;
use wordline_nand::{Geometry, PlaneGroupId};

use crate::policy::pool_state::PoolState;

pub use none::None;
pub use stealing::Stealing;
pub use valid_share::ValidShare;

/// Program units that wait for their plane groups, as a balancer sees them.
#[derive(Clone, Copy, Debug)]
pub struct WaitingUnits<'a> {
    /// Complete program units that wait for each plane group. The unit being programmed is not counted.
    pub units: &'a Column<PlaneGroupId, u32>,
    /// Geometry of the device, from which the position of a plane group follows.
    pub geometry: &'a Geometry,
}

/// Decides which work an idle plane group steals from another.
pub trait Balancer: State + Send {
    /// Whether the policy ever steals. If not, pages stay in their assigned plane groups.
    fn is_on(&self) -> bool;
    /// Plane group from which `idle` steals a program unit. The die of `idle` is idle, and no unit waits for
    /// `idle`.
    fn take(&mut self, idle: PlaneGroupId, waiting: &WaitingUnits<'_>) -> Option<PlaneGroupId>;
    /// Whether pool `to`, which has an idle die, steals the oldest sub-request that waits for pool `from`.
    /// Called only with several pools.
    fn steals(&mut self, _from: usize, _to: usize, _pools: &[PoolState]) -> bool {
        false
    }
}

/// Plane groups from which an idle plane group may steal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// Plane groups of the same die.
    Die,
    /// Plane groups of the same channel.
    Channel,
    /// All plane groups.
    #[default]
    Device,
}

/// Built-in balancers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
pub enum BalancerKind {
    /// Pages wait for their assigned plane group.
    None {},
    /// An idle plane group steals from the one with the most waiting units.
    Stealing {
        /// Plane groups from which it may steal.
        #[serde(default)]
        reach: Reach,
        /// Minimum number of program units that wait for a plane group before another one steals from it.
        #[serde(default = "one")]
        least: u32,
    },
    /// Pages that wait for the first of several pools go to another pool with an idle die and a smaller share
    /// of valid pages. Needs `pools`.
    ValidShare {},
}

/// Chosen: a unit that waits for a busy plane group is programmed sooner by an idle one.
fn one() -> u32 {
    1
}

impl Default for BalancerKind {
    fn default() -> Self {
        Self::None {}
    }
}

impl BalancerKind {
    /// Invalid minimum number of units, and the allowed values, if any.
    pub fn complaint(&self) -> Option<(u32, &'static str)> {
        match self {
            Self::Stealing { least: 0, .. } => Some((0, "at least 1")),
            _ => Option::None,
        }
    }

    /// Builds the policy.
    pub fn build(&self) -> Box<dyn Balancer> {
        match *self {
            Self::None {} => Box::new(None),
            Self::Stealing { reach, least } => Box::new(Stealing { reach, least }),
            Self::ValidShare {} => Box::new(ValidShare),
        }
    }
}
