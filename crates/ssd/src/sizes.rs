//! Sizes derived from a configuration, for hosts and for snapshots.

use wordline_kernel::Bytes;

use crate::block_device::Shape;
use crate::config::Config;

impl Config {
    /// Shape of the device, as a host sees it.
    pub fn shape(&self) -> Shape {
        Shape {
            namespaces: self.namespaces.iter().map(|namespace| namespace.sectors).collect(),
            capacity: self.capacity(),
            sector_size: self.file.front.sector_size,
            logical_page: self.unit,
            block_set: Bytes(u64::from(self.locations().per_block()) * self.unit.0),
        }
    }

    /// Most bytes of a state field that has an entry for each page, block and place of the buffer, besides
    /// what grows with the work. Chosen: 256 B for an entry, which takes less than 100, and 16 MiB.
    pub(crate) fn max_field_bytes(&self) -> u64 {
        let entries = [self.mapped_pages(), self.pools.block_sets(), self.buffer_pages, self.cache_pages];
        (16 << 20) + 256 * entries.into_iter().map(u64::from).sum::<u64>()
    }
}
