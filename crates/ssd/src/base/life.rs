//! Failures of a device, and whether it still takes writes.

use wordline_kernel::{Column, state};
use wordline_nand::{BlockSetId, RowId};

use crate::config::Config;
use crate::policy::placement::Placement;
use crate::pools::EVERYTHING_IN;

/// Failures of a device, and whether it still takes writes.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    /// Failed programs, failed erases and lost reads of each block.
    pub(crate) failures: Column<BlockSetId, [u8; 4]>,
    /// How many pages have their home in each row, where these are the rows of a single pool: each must hold its own. Of several pools any
    /// row takes what a full one does not.
    pub(crate) home_pages: Option<Column<RowId, u32>>,
    /// Pages of the host that each pool has room for.
    pub(crate) room: Vec<u64>,
    /// Whether writes are refused.
    pub(crate) read_only: bool,
}

state!(Life { values { failures, room, read_only } fixed { home_pages } });

impl Life {
    /// Nothing has failed.
    pub(crate) fn new(config: &Config, placement: &dyn Placement) -> Self {
        Self {
            failures: Column::filled(config.pools.block_sets() as usize, [0; 4]),
            home_pages: (placement.has_homes() && config.pools.count() == 1)
                .then(|| home_pages(config, placement)),
            room: vec![0; config.pools.count()],
            read_only: false,
        }
    }
}

/// How many pages have their home in each row.
fn home_pages(config: &Config, placement: &dyn Placement) -> Column<RowId, u32> {
    let mut pages = Column::filled(config.pools.rows() as usize, 0);
    for page in 0..config.logical_pages {
        pages[placement.home(page, EVERYTHING_IN).expect("all pages have homes or none")] += 1;
    }
    pages
}
