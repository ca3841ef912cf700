//! State of a pool, as policies see it.

use wordline_device::lifetime::{PoolWear, Utilization};
use wordline_flash::Flash;
use wordline_nand::Pool;
use wordline_nand::chips::Counts;

use crate::blocks::BlockManager;

/// State of a pool as policies see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolState {
    /// Erases and endurance.
    pub worn: PoolWear,
    /// Valid and total logical pages.
    pub fullness: Utilization,
}

impl PoolState {
    /// State of a pool with these counts of its chips and `valid` logical pages.
    pub(crate) fn of(pool: &Pool, counts: &Counts, valid: u64) -> Self {
        let worn = PoolWear {
            erases: counts.block_sets_erased,
            blocks: u64::from(pool.geometry.block_sets()),
            endurance: pool.part.endurance,
        };
        Self { worn, fullness: Utilization { valid, total: u64::from(pool.locations.count()) } }
    }

    /// Endurance used, as a fraction (Centaur, equation 1).
    pub fn spent(&self) -> f64 {
        self.worn.spent()
    }

    /// Valid fraction of the pool's pages (Centaur, equation 2).
    pub fn valid_share(&self) -> f64 {
        self.fullness.share()
    }
}

/// States of the pools, computed before a policy is queried about them. An engine that queries keeps one, so that
/// a query allocates nothing.
#[derive(Debug, Default)]
pub struct PoolStates(Vec<PoolState>);

impl PoolStates {
    /// The current states, in the order of the pools.
    pub fn update(&mut self, flash: &Flash, blocks: &BlockManager) -> &[PoolState] {
        self.0.clear();
        self.0.extend(states_now(flash, blocks));
        &self.0
    }
}

/// The current states of the pools, in order.
pub(crate) fn states_now<'a>(
    flash: &'a Flash,
    blocks: &'a BlockManager,
) -> impl Iterator<Item = PoolState> + 'a {
    let pools = blocks.pools().iter().zip(flash.chips().counts_of_pools()).enumerate();
    pools.map(|(number, (pool, counts))| PoolState::of(pool, counts, blocks.by_pool()[number].valid()))
}
