//! States of the pools, as policies see them.

use wordline_flash::Flash;

use crate::blocks::BlockManager;
use crate::policy::pool_state::PoolState;

/// States of the pools, computed before a policy is queried.
#[derive(Default)]
pub struct PoolStates(Vec<PoolState>);

impl PoolStates {
    /// The current states.
    pub fn update(&mut self, flash: &Flash, blocks: &BlockManager) -> &[PoolState] {
        self.0.clear();
        self.0.extend(states_now(flash, blocks));
        &self.0
    }
}

/// The current states of the pools, in order.
pub(super) fn states_now<'a>(
    flash: &'a Flash,
    blocks: &'a BlockManager,
) -> impl Iterator<Item = PoolState> + 'a {
    let pools = blocks.pools().iter().zip(flash.chips().counts_of_pools()).enumerate();
    pools.map(|(number, (pool, counts))| PoolState::of(pool, counts, blocks.by_pool()[number].valid()))
}
