//! Setup of `Flash`: the part of a device's configuration that `Flash` uses.

use wordline_nand::{Fault, Pools};

use crate::read_retry::ReadRetryFile;
use crate::scheduling::SchedulingFile;

/// Setup of a [`Flash`](super::Flash).
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The chips, and how their pages divide into locations.
    pub pools: &'a Pools,
    /// Injected failures.
    pub faults: &'a [Fault],
    /// Read retry of pages that could not be read.
    pub read_retry: &'a ReadRetryFile,
    /// Scheduling of the dies.
    pub scheduling: &'a SchedulingFile,
    /// Whether lower pages are backed up before upper pages of their cells are programmed.
    pub backs_up_lower_pages: bool,
}

impl Setup<'_> {
    /// Number of sets of read levels in addition to the nominal set. If the cell model determines which pages
    /// need a retry, it is the size of the cells' retry table. If fault rules determine it too, the larger
    /// number counts.
    pub fn read_levels(&self) -> u8 {
        let of_cells = self.pools.iter().filter_map(|pool| pool.part.read_levels()).max();
        let of_rules = self.faults.iter().any(Fault::applies_to_reads).then_some(self.read_retry.levels);
        of_cells.max(of_rules).unwrap_or(self.read_retry.levels)
    }
}
