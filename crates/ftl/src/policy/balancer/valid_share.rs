//! Valid share: sub-requests that wait for the first pool go to another pool with an idle die and a smaller
//! share of valid pages (Centaur, algorithm 2).

use wordline_kernel::state;
use wordline_nand::PlaneGroupId;

use super::{Balancer, WaitingUnits};
use crate::policy::pool_state::PoolState;

/// Compares the shares of valid pages of two pools.
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
