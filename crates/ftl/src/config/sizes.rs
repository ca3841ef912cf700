//! Sizes as data sheets state them: the capacity and the DRAM of a drive. The number of blocks and the cached map
//! follow from them.

use wordline_kernel::{Bytes, Complaints};
use wordline_nand::Geometry;

use super::file::BackEndFile;

impl BackEndFile {
    /// Sets the number of blocks by the capacity. `geometry` may have any number of blocks.
    pub(super) fn set_blocks(&mut self, geometry: &Geometry, wrong: &mut Complaints) {
        let Some(capacity) = self.capacity else { return };
        let has_one_pool = self.pools.is_empty();
        wrong.require(has_one_pool, "capacity", capacity, "none with `pools`, whose blocks it does not set");
        let of_each = block_of_each_plane(geometry);
        let share = 1.0 - self.ftl.over_provisioning.clamp(0.0, 0.999);
        let blocks = (capacity.0 as f64 / share / of_each.0 as f64).ceil();
        let fits = capacity.0 > 0 && blocks < f64::from(u32::MAX / 2);
        wrong.require(
            fits,
            "capacity",
            capacity,
            format!("more than 0 and at most 2^31 blocks of {of_each}"),
        );
        if fits {
            self.part.geometry.blocks_per_plane = blocks as u32 + self.ftl.reserved_blocks;
        }
    }

    /// Logical pages that the capacity and the over-provisioning leave of `all` pages.
    pub(super) fn pages_of(&self, all: f64, unit: Bytes) -> u32 {
        let of_flash = (all * (1.0 - self.ftl.over_provisioning.clamp(0.0, 1.0))) as u32;
        let asked = self.capacity.map_or(u64::MAX, |capacity| capacity.0 / unit.0.max(1));
        u64::from(of_flash).min(asked) as u32
    }

    /// Sets the size of the cached map by the memory for the map, if the whole map does not fit there.
    /// `geometry` may have any number of blocks.
    pub(super) fn set_map_cache(&mut self, geometry: &Geometry) {
        let Some(memory) = self.memory else { return };
        let unit = self.ftl.mapping.unit.unwrap_or(geometry.page_size);
        let blocks = self.part.geometry.blocks_per_plane.saturating_sub(self.ftl.reserved_blocks);
        let all = block_of_each_plane(geometry).0 as f64 * f64::from(blocks) / unit.0.max(1) as f64;
        let map = self.ftl.mapping.entry * u64::from(self.pages_of(all, unit));
        self.ftl.mapping.cache = if memory < map { Some(memory) } else { None };
    }
}

/// Bytes of a block of each plane.
fn block_of_each_plane(geometry: &Geometry) -> Bytes {
    let planes = geometry.rows() * geometry.planes_per_row;
    geometry.page_size * (u64::from(geometry.pages_per_block) * u64::from(planes))
}

#[cfg(test)]
mod tests {
    use wordline_kernel::Bytes;

    use crate::config::tests::small;

    #[test]
    fn blocks_follow_from_the_capacity() {
        let mut file = small();
        let whole = file.clone().check().expect("a device");
        file.ftl.reserved_blocks = 3;
        file.capacity = Some(Bytes(whole.capacity().0 * 2));
        let config = file.check().expect("twice the capacity");
        assert_eq!(config.capacity(), Bytes(whole.capacity().0 * 2));
        assert_eq!(config.geometry().blocks_per_plane, 2 * whole.geometry().blocks_per_plane + 3);
        // The checked file is checked again, with the same outcome.
        assert_eq!(config.file.clone().check(), Ok(config));
    }
}
