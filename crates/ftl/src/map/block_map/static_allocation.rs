//! Static allocation of whole logical blocks.

use wordline_kernel::state;
use wordline_nand::PlaneGroupId;

use crate::Config;
use crate::policy::placement::{Placement, PlaneGroupSet};

/// Placement for block-level mapping: all pages of a logical block go to the same plane group. Logical blocks
/// without a static allocation are assigned to the plane groups round-robin.
pub struct LogicalBlockPlacement {
    placement: Box<dyn Placement>,
    per_block: u32,
    rows: u32,
}

impl LogicalBlockPlacement {
    /// Wraps `placement`, which is queried for logical blocks instead of pages.
    pub fn new(placement: Box<dyn Placement>, config: &Config) -> Self {
        Self { placement, per_block: config.locations().per_block(), rows: config.pools.rows() }
    }
}

state!(LogicalBlockPlacement { parts { placement } fixed { per_block, rows } });

impl Placement for LogicalBlockPlacement {
    fn home(&self, page: u32, pool: usize) -> Option<PlaneGroupId> {
        let logical = page / self.per_block;
        Some(self.placement.home(logical, pool).unwrap_or(PlaneGroupId(logical % self.rows)))
    }

    fn check_loaded(&self) -> Result<(), String> {
        self.placement.check_loaded()
    }

    fn next(&mut self, _: &PlaneGroupSet) -> Option<PlaneGroupId> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::small;
    use crate::policy::placement::{Dynamic, Fixed};

    #[test]
    fn pages_of_a_block_have_one_home_and_blocks_go_round_the_rows() {
        let config = small().check().expect("the device is sound");
        let (pools, per_block) = (&config.pools, config.locations().per_block());
        let placements: [Box<dyn Placement>; 2] =
            [Box::new(Fixed::of(pools, &[1], "CWDP")), Box::new(Dynamic::new(pools))];
        for placement in placements {
            let mut by_block = LogicalBlockPlacement::new(placement, &config);
            let home = |page| by_block.home(page, 0).expect("every page has a home");
            assert!((0..5 * per_block).all(|page| home(page) == home(page / per_block * per_block)));
            let mut homes: Vec<PlaneGroupId> =
                (0..pools.rows()).map(|block| home(block * per_block)).collect();
            homes.sort_unstable();
            assert_eq!(homes, pools.all_groups().collect::<Vec<_>>());
            assert_eq!(by_block.next(&PlaneGroupSet::new(1)), None);
        }
    }
}
