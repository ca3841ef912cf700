//! Balancers: work that an idle plane group steals from others under static allocation.

mod none;
mod stealing;
mod valid_share;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::Column;
use wordline_kernel::snapshot::State;
use wordline_nand::{Geometry, PlaneGroupId};

use crate::pools::PoolState;

pub use none::None;
pub use stealing::Stealing;
pub use valid_share::ValidShare;

/// Program units waiting for their plane groups, as a balancer sees them.
#[derive(Clone, Copy, Debug)]
pub struct WaitingUnits<'a> {
    /// Complete program units that wait for each plane group, besides the one in progress.
    pub units: &'a Column<PlaneGroupId, u32>,
    /// Geometry that locates the plane groups.
    pub geometry: &'a Geometry,
}

/// Decides what an idle plane group steals from others. The policy looks and decides; the mechanism checks
/// the decision and acts.
pub trait Balancer: State + Send {
    /// Whether it ever steals: otherwise pages stay in their assigned plane groups.
    fn is_on(&self) -> bool;
    /// Plane group from which `idle` steals a program unit: its die is idle, and no unit waits for it.
    fn take(&mut self, idle: PlaneGroupId, waiting: &WaitingUnits<'_>) -> Option<PlaneGroupId>;
    /// With several pools: whether the sub-request that waits longest for pool `from` goes to pool `to`,
    /// which has an idle die.
    fn steals(&mut self, _from: usize, _to: usize, _pools: &[PoolState]) -> bool {
        false
    }
}

/// Reach of a balancer.
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
        /// Plane groups that it may steal from.
        #[serde(default)]
        reach: Reach,
        /// Program units that must wait for a plane group before another one steals from it.
        #[serde(default = "one")]
        least: u32,
    },
    /// Pages waiting for the first of several pools go to another pool with a smaller share of valid data,
    /// while a die of it is idle. Needs `pools`.
    ValidShare {},
}

/// Chosen: any wait is longer than the idle plane group takes.
fn one() -> u32 {
    1
}

impl Default for BalancerKind {
    fn default() -> Self {
        Self::None {}
    }
}

impl BalancerKind {
    /// Invalid least number of units and value wanted, if any.
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
