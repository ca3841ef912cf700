//! Measurements of the flash.

use wordline_device::Gauges;
use wordline_device::lifetime::{PoolWear, Utilization};
use wordline_kernel::{Duration, Instant};

use super::Ftl;
use crate::policy::pool_state::{PoolState, states_now};

impl Ftl {
    /// Effective over-provisioning: the fraction of good capacity without valid data. It includes pages that
    /// the host never wrote or has discarded. The time grows with the number of blocks.
    pub fn effective_spare(&self) -> f64 {
        let pools = &self.config.pools;
        let good = |row| u64::from(self.blocks.space().good(row)) * u64::from(pools.per_block_of(row));
        let all: u64 = pools.all_groups().map(good).sum();
        1.0 - self.blocks.by_pool().total_valid() as f64 / all.max(1) as f64
    }

    /// Utilization of the flash. Blocks out of service count as capacity. A call takes longer with more
    /// blocks.
    pub fn fullness(&self) -> Utilization {
        Utilization {
            valid: self.blocks.by_pool().total_valid(),
            total: u64::from(self.config.pools.locations()),
        }
    }

    /// Gauges of the flash at `now`. The caller adds the pages in the write buffer.
    pub fn gauges(&self, buffered: u32, now: Instant) -> Gauges {
        let (chips, pools) = (self.flash.chips(), &self.config.pools);
        Gauges {
            arrays: chips.array_busy(now).map(Duration::from_ps).collect(),
            free_blocks: pools.all_groups().map(|row| self.blocks.space().free(row) as u64).sum(),
            good_blocks: pools.all_groups().map(|row| u64::from(self.blocks.space().good(row))).sum(),
            buffered_pages: buffered.into(),
            victim_pages: self.totals.gc_victim_pages,
            victim_valid_pages: self.totals.gc_victim_valid_pages,
        }
    }

    /// Wear of each pool, in order. The time grows with the number of blocks.
    pub fn worn(&self) -> Vec<PoolWear> {
        let pools = self.config.pools.iter().map(|pool| {
            let all = pool.geometry.all_blocks();
            let erases = all.map(|block| u64::from(self.flash.chips().erases()[block])).sum();
            PoolWear { erases, blocks: u64::from(pool.geometry.block_sets()), endurance: pool.part.endurance }
        });
        pools.collect()
    }

    /// States of the pools, as policies see them.
    pub fn pool_states(&self) -> Vec<PoolState> {
        states_now(&self.flash, &self.blocks).collect()
    }
}
