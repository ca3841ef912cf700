//! Failures of a device, and whether it still accepts writes.

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, PlaneGroupId};

use crate::blocks::BlockManager;
use crate::config::Config;
use crate::policy::placement::Placement;
use crate::pools::FALLBACK_POOL;

/// Failures of a device, and whether it still accepts writes.
#[derive(Clone, Debug)]
pub struct DeviceHealth {
    /// Failed programs, failed erases and lost reads of each block.
    pub failures: Column<BlockSetId, [u8; 4]>,
    /// Number of pages statically assigned to each plane group; `None` with several pools. In a single pool
    /// each group must have space for its own pages. With several pools, any plane group can take the pages
    /// of a plane group that is full.
    pub home_pages: Option<Column<PlaneGroupId, u32>>,
    /// Number of host pages for which each pool has space.
    pub room: Vec<u64>,
    /// Whether writes are rejected.
    pub read_only: bool,
}

state!(DeviceHealth { values { failures, room, read_only } fixed { home_pages } });

impl DeviceHealth {
    /// State without failures.
    pub(crate) fn new(config: &Config, placement: &dyn Placement) -> Self {
        Self {
            failures: Column::filled(config.pools.block_sets() as usize, [0; 4]),
            home_pages: (placement.has_homes() && config.pools.count() == 1)
                .then(|| home_pages(config, placement)),
            room: vec![0; config.pools.count()],
            read_only: false,
        }
    }

    /// Whether table pages must leave space for the pages statically assigned to each plane group.
    pub fn has_static_pages(&self) -> bool {
        self.home_pages.is_some()
    }

    /// Pages that a plane group can hold beyond those statically assigned to it, with one program unit in
    /// progress; `None` if it cannot hold even these.
    pub(crate) fn spare_beyond_static(&self, row: PlaneGroupId, blocks: &BlockManager) -> Option<u32> {
        let homes = self.home_pages.as_ref().map_or(0, |pages| pages[row]);
        blocks.space().limit(row).checked_sub(homes + blocks.pools().per_program(row))
    }

    /// Recomputes the number of host pages that each pool can hold, after blocks failed.
    pub(crate) fn update_room(&mut self, config: &Config, blocks: &BlockManager) {
        let shares = config.shares();
        for (n, pool) in config.pools.iter().enumerate() {
            self.room[n] = blocks.space().room_of(pool).saturating_sub(shares.tables_in(n));
        }
    }
}

/// Number of pages statically assigned to each plane group.
fn home_pages(config: &Config, placement: &dyn Placement) -> Column<PlaneGroupId, u32> {
    let mut pages = Column::filled(config.pools.rows() as usize, 0);
    for page in 0..config.logical_pages {
        pages[placement.home(page, FALLBACK_POOL).expect("all pages have homes or none")] += 1;
    }
    pages
}
