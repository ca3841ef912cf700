//! Stealing: an idle plane group takes a program unit that waits for a busy one. Also called dynamic page
//! allocation; Centaur (section 7) calls it an intra-NAND work stealer.

use wordline_kernel::state;
use wordline_nand::PlaneGroupId;

use super::{Balancer, Reach, WaitingUnits};

/// Steals from the plane group within reach that has the most waiting program units. The lowest number wins a
/// tie.
pub struct Stealing {
    /// Plane groups from which it may steal.
    pub reach: Reach,
    /// Minimum number of program units that wait for the other plane group.
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
