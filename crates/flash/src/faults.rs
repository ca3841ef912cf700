//! Failure counters of each pool of flash.

use serde::{Deserialize, Serialize};
use wordline_kernel::counters;

counters! {
    /// Failure counters of a pool.
    pub struct Faults {
        program_failures: "faults.program_failures", Count, "Program commands that failed in the pool.";
        erase_failures: "faults.erase_failures", Count, "Erase commands that failed in the pool.";
        read_retries: "faults.read_retries", Count, "Reads of the pool that were retried because pages could not be read.";
        unreadable_pages: "faults.unreadable_pages", Pages, "Flash pages of the pool that no retry read.";
        lost_pages: "faults.lost_pages", LogicalPages, "Logical pages in the pool with lost sectors.";
        grown_bad_blocks: "faults.grown_bad_block_sets", BlockSets, "Multi-plane blocks of the pool that left service during the run.";
    }
}

/// Failure counters of the pools, in order of their numbers. Pools after the last one with a failure are
/// omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolFaults(Vec<Faults>);

impl PoolFaults {
    /// Mutable counters of the pool with this number.
    pub fn count(&mut self, pool: usize) -> &mut Faults {
        if self.0.len() <= pool {
            self.0.resize(pool + 1, Faults::default());
        }
        &mut self.0[pool]
    }

    /// Counters of the pool with this number.
    pub fn get(&self, pool: usize) -> Faults {
        self.0.get(pool).cloned().unwrap_or_default()
    }

    /// Increase since `earlier`, which may have fewer pools.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let pools = self.0.iter().enumerate();
        Self(pools.map(|(pool, faults)| faults.since(&earlier.get(pool))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_those_since_a_look_at_which_some_pools_had_none() {
        let mut faults = PoolFaults::default();
        faults.count(0).erase_failures = 1;
        let earlier = faults.clone();
        faults.count(0).erase_failures += 2;
        faults.count(2).program_failures += 1;
        let since = faults.since(&earlier);
        assert_eq!(since.get(0), Faults { erase_failures: 2, ..Faults::default() });
        assert_eq!((since.get(1), since.get(3)), (Faults::default(), Faults::default()));
        assert_eq!(since.get(2), Faults { program_failures: 1, ..Faults::default() });
    }
}
