//! Valid share: pages of a victim are migrated to the first pool while it has a smaller share of valid pages
//! than the victim's pool (Centaur, algorithm 3).

use wordline_kernel::state;

use super::{RelocatedPage, Relocator};
use crate::policy::pool_state::PoolState;

/// Compares the shares of valid pages of two pools.
pub struct ValidShare;

state!(ValidShare {});

impl Relocator for ValidShare {
    fn streams(&self) -> u8 {
        1
    }

    fn route(&mut self, _: &RelocatedPage) -> u8 {
        0
    }

    fn leaves(&mut self, pool: usize, pools: &[PoolState]) -> bool {
        pools[pool].valid_share() > pools[0].valid_share()
    }
}
