//! By size: large writes to a unit go to the first pool, small ones to the second. This is Centaur with a
//! fixed dispatch condition (section 6.2.6). If `sectors` is the size of a unit, it is Centaur's cache mode.

use wordline_device::SECTOR;
use wordline_kernel::{Bytes, state};

use super::{HostPage, Router};

/// Selects one of two pools by the number of sectors written in a unit.
pub struct BySize {
    /// Minimum number of sectors for the first pool.
    pub sectors: u32,
}

state!(BySize { fixed { sectors } });

impl Router for BySize {
    fn streams(&self) -> u8 {
        2
    }

    fn route(&mut self, written: &HostPage) -> u8 {
        u8::from(written.sectors < self.sectors)
    }

    fn pool(&self, stream: u8) -> u8 {
        stream
    }

    fn min_size_for_first_pool(&self) -> Option<Bytes> {
        Some(SECTOR * u64::from(self.sectors))
    }
}
