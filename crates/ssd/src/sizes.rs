//! Sizes derived from a configuration, for hosts and for snapshots.

use wordline_device::block_device::Shape;
use wordline_kernel::Bytes;

use crate::config::Config;

impl Config {
    /// Shape of the device, as a host sees it.
    pub fn shape(&self) -> Shape {
        Shape {
            namespaces: self.namespaces.iter().map(|namespace| namespace.sectors).collect(),
            capacity: self.ftl.capacity(),
            sector_size: self.file.front.sector_size,
            logical_page: self.ftl.unit,
            discard_unit: self.ftl.unit,
            deallocates_zeroes: true,
            block_set: Bytes(u64::from(self.ftl.locations().per_block()) * self.ftl.unit.0),
            zones: None,
        }
    }

    /// Upper limit, in bytes, of a field of the saved state. It counts an entry for each page, block and slot
    /// of the buffer, and adds a constant for state that grows with outstanding work. Chosen: 256 B for each
    /// entry, which takes less than 100 B, and 16 MiB as the constant.
    pub(crate) fn max_field_bytes(&self) -> u64 {
        let entries =
            [self.ftl.mapped_pages(), self.ftl.pools.block_sets(), self.buffer_pages, self.cache_pages];
        (16 << 20) + 256 * entries.into_iter().map(u64::from).sum::<u64>()
    }
}
