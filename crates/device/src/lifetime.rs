//! Endurance used and utilization of a pool of flash. Designs with several pools compare these numbers, and
//! papers report them.
//!
//! A pool is a set of planes with the same NAND part. Blocks that a multi-plane command erases together count
//! as one block, as in Centaur (section 3).

/// Numbers from which the endurance used of a pool is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolWear {
    /// Erases of all blocks.
    pub erases: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Endurance of a block in P/E cycles.
    pub endurance: u32,
}

impl PoolWear {
    /// Endurance used (Centaur, equation 1): erases so far over all erases that the pool endures. It is 0 for
    /// a new pool, and 1 when the blocks have reached their endurance on average. It is 0 for a pool without
    /// blocks.
    ///
    /// ```
    /// # use wordline_device::lifetime::PoolWear;
    /// assert_eq!(PoolWear { erases: 500, blocks: 10, endurance: 5000 }.spent(), 0.01);
    /// ```
    pub fn spent(self) -> f64 {
        share(self.erases, self.blocks * u64::from(self.endurance))
    }

    /// Wear since `earlier`, of the same pool.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { erases: self.erases - earlier.erases, ..self }
    }

    /// Mean erases of a block.
    pub fn erases_per_block(self) -> f64 {
        share(self.erases, self.blocks)
    }
}

/// Endurance used of a device (Centaur, equation 3): the maximum over its pools, because the device fails
/// with the first pool.
pub fn spent(pools: impl IntoIterator<Item = PoolWear>) -> f64 {
    pools.into_iter().map(PoolWear::spent).fold(0.0, f64::max)
}

/// Utilization of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Utilization {
    /// Valid pages, or other units of equal size.
    pub valid: u64,
    /// Capacity in the same units.
    pub total: u64,
}

impl Utilization {
    /// Fraction of valid data (Centaur, equation 2), from 0 to 1. It is 0 for a pool without pages.
    ///
    /// ```
    /// # use wordline_device::lifetime::Utilization;
    /// assert_eq!(Utilization { valid: 3, total: 8 }.share(), 0.375);
    /// ```
    pub fn share(self) -> f64 {
        share(self.valid, self.total)
    }
}

/// Write amplification (Centaur, equation 4): bytes programmed for any purpose over bytes that the host
/// wrote. `None` if the host wrote nothing.
pub fn write_amplification(programmed: u64, written: u64) -> Option<f64> {
    (written > 0).then(|| programmed as f64 / written as f64)
}

/// Quotient of `part` and `whole`; 0 if `whole` is 0.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Centaur, table 2. The 2D pool has eight chips of two planes; the 3D pool has seven dies, whose planes
    /// are erased together.
    const PLANAR: PoolWear = PoolWear { erases: 32_768, blocks: 8 * 2 * 2048, endurance: 60_000 };
    const STACKED: PoolWear = PoolWear { erases: 10_059, blocks: 7 * 1437, endurance: 5_000 };

    #[test]
    fn a_pool_whose_blocks_were_each_erased_once_has_spent_one_cycle() {
        assert_eq!((PLANAR.spent(), PLANAR.erases_per_block()), (1.0 / 60_000.0, 1.0));
        assert_eq!((STACKED.spent(), STACKED.erases_per_block()), (1.0 / 5_000.0, 1.0));
    }

    #[test]
    fn a_device_has_spent_what_its_most_worn_pool_has() {
        assert_eq!(spent([PLANAR, STACKED]), STACKED.spent());
        assert_eq!(spent([PLANAR]), PLANAR.spent());
        assert_eq!(spent([]), 0.0);
    }

    #[test]
    fn a_pool_without_anything_has_spent_nothing_and_holds_nothing() {
        assert_eq!((PoolWear::default().spent(), Utilization::default().share()), (0.0, 0.0));
    }

    #[test]
    fn write_amplification_has_no_value_without_writes() {
        assert_eq!(write_amplification(98_304, 8_192), Some(12.0));
        assert_eq!(write_amplification(98_304, 0), None);
    }
}
