//! None: pages wait for their assigned plane group.

use wordline_kernel::state;
use wordline_nand::PlaneGroupId;

use super::{Balancer, WaitingUnits};

/// Steals nothing.
pub struct None;

state!(None {});

impl Balancer for None {
    fn is_on(&self) -> bool {
        false
    }

    fn take(&mut self, _: PlaneGroupId, _: &WaitingUnits<'_>) -> Option<PlaneGroupId> {
        Option::None
    }
}
