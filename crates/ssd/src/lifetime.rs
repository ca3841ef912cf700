//! How much of its life a pool of flash has spent, and how full it is: the numbers that designs with several pools
//! compare, and that papers print.
//!
//! A pool is a set of planes of one NAND part. Where several planes are erased together by multi-plane commands, the blocks
//! that they erase at once count as one, as they do in Centaur (section 3).

/// The numbers from which the life of a pool is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worn {
    /// Erases of all its blocks together.
    pub erases: u64,
    /// Its blocks.
    pub blocks: u64,
    /// Erases that a block stands (P/E cycles).
    pub endurance: u32,
}

impl Worn {
    /// The spent lifetime (Centaur, equation 1): the part of all erases that the pool stands which has been used up, 0
    /// when new and 1 when every block has reached its endurance. 0 for a pool without blocks.
    ///
    /// ```
    /// # use wordline_ssd::lifetime::Worn;
    /// assert_eq!(Worn { erases: 500, blocks: 10, endurance: 5000 }.spent(), 0.01);
    /// ```
    pub fn spent(self) -> f64 {
        share(self.erases, self.blocks * u64::from(self.endurance))
    }

    /// The wear since `earlier`, of the same pool.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { erases: self.erases - earlier.erases, ..self }
    }

    /// Mean erases of a block.
    pub fn erases_per_block(self) -> f64 {
        share(self.erases, self.blocks)
    }
}

/// The spent lifetime of a device (Centaur, equation 3): that of the pool that has spent most, for the device ends with
/// it. With one pool it is the pool's own.
pub fn spent(pools: impl IntoIterator<Item = Worn>) -> f64 {
    pools.into_iter().map(Worn::spent).fold(0.0, f64::max)
}

/// How full a pool is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fullness {
    /// Valid pages, or other units of one size.
    pub valid: u64,
    /// Room for such, written or not.
    pub total: u64,
}

impl Fullness {
    /// The share of valid data (Centaur, equation 2), from 0 to 1. 0 for a pool without pages.
    ///
    /// ```
    /// # use wordline_ssd::lifetime::Fullness;
    /// assert_eq!(Fullness { valid: 3, total: 8 }.share(), 0.375);
    /// ```
    pub fn share(self) -> f64 {
        share(self.valid, self.total)
    }
}

/// Bytes programmed for each byte that the host wrote (Centaur, equation 4), whatever they were programmed for; none
/// where nothing was written.
pub fn write_amplification(programmed: u64, written: u64) -> Option<f64> {
    (written > 0).then(|| programmed as f64 / written as f64)
}

/// `part` of `whole`; 0 where there is no whole.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Centaur, table 2: eight 2D chips of two planes against seven 3D dies whose planes are erased together.
    const PLANAR: Worn = Worn { erases: 32_768, blocks: 8 * 2 * 2048, endurance: 60_000 };
    const STACKED: Worn = Worn { erases: 10_059, blocks: 7 * 1437, endurance: 5_000 };

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
        assert_eq!((Worn::default().spent(), Fullness::default().share()), (0.0, 0.0));
    }

    #[test]
    fn write_amplification_has_no_value_without_writes() {
        assert_eq!(write_amplification(98_304, 8_192), Some(12.0));
        assert_eq!(write_amplification(98_304, 0), None);
    }
}
