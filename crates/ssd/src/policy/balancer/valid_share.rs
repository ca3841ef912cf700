//! Valid share: sub-requests waiting for the first pool go to another that holds less, while a die of it is
//! idle (Centaur, algorithm 2).

use wordline_kernel::state;
use wordline_nand::PlaneGroupId;

use super::{Balancer, WaitingUnits};
use crate::pools::PoolState;

/// Compares the valid shares of the pools.
pub struct ValidShare;

state!(ValidShare {});

impl Balancer for ValidShare {
    fn is_on(&self) -> bool {
        true
    }

    fn take(&mut self, _: PlaneGroupId, _: &WaitingUnits<'_>) -> Option<PlaneGroupId> {
        None
    }

    fn steals(&mut self, from: usize, to: usize, pools: &[PoolState]) -> bool {
        pools[from].valid_share() > pools[to].valid_share()
    }
}
