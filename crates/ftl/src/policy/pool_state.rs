//! State of a pool, as policies see it.

use wordline_device::lifetime::{PoolWear, Utilization};
use wordline_nand::Pool;
use wordline_nand::chips::Counts;

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
