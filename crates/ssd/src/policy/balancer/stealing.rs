//! Stealing: an idle plane group takes a unit that waits for a busy one (dynamic page allocation; the
//! intra-NAND work stealers that Centaur names in section 7).

use wordline_kernel::state;
use wordline_nand::PlaneGroupId;

use super::{Balancer, Reach, WaitingUnits};

/// Steals from the plane group with the most waiting program units, within its reach; the lowest number wins
/// a tie.
pub struct Stealing {
    /// Plane groups that it may steal from.
    pub reach: Reach,
    /// Units that must wait there.
    pub least: u32,
}

state!(Stealing { fixed { reach, least } });

impl Balancer for Stealing {
    fn is_on(&self) -> bool {
        true
    }

    fn take(&mut self, idle: PlaneGroupId, waiting: &WaitingUnits<'_>) -> Option<PlaneGroupId> {
        let geometry = waiting.geometry;
        let span = match self.reach {
            Reach::Die => geometry.groups_per_die,
            Reach::Channel => geometry.groups_per_die * geometry.dies_per_channel,
            Reach::Device => geometry.rows(),
        };
        let first = idle.0 - idle.0 % span;
        let units = |row: &PlaneGroupId| waiting.units[*row];
        (first..first + span).rev().map(PlaneGroupId).filter(|row| units(row) >= self.least).max_by_key(units)
    }
}
