//! The books: what must hold at every instant between events.

use wordline_kernel::{Bytes, Duration};
use wordline_nand::Pool;
use wordline_nand::chips::Counts;

use super::Device;

impl Device {
    /// The size from which on what was written of a unit goes to the first of several pools, if sizes decide: as it is now.
    pub fn least_of_first_pool(&self) -> Option<Bytes> {
        self.core.base.policies.router.least_of_first()
    }

    /// Checks the conservation laws that follow from the whole state; a bug if one does not hold. It takes time in
    /// proportion to the number of blocks.
    pub fn audit(&self, elapsed: Duration) {
        let (valid, mapped) = (self.core.base.space.total_valid(), u64::from(self.core.map.mapped()));
        assert_eq!(valid, mapped, "valid pages are mapped pages");
        for page in self.core.cache.kept_pages() {
            let (logical, version) = (page.logical, Some(page.version));
            assert_eq!(version, self.core.map.last_written(logical), "the cache holds what was written last");
            assert!(self.core.cache.find(logical).is_none(), "a page is in the cache or waits to be written");
        }
        self.core.map.audit_tables(&self.core.base);
        self.core.base.space.audit_super_blocks();
        self.writer.audit_units(&self.core);
        if let Some(map) = self.core.map.by_block() {
            map.audit(&self.core.base.space, self.core.base.flash.chips());
        }
        let t = &self.core.base.totals;
        let programmed = |(pool, counts): (&Pool, &Counts)| {
            let locations = &pool.locations;
            counts.pages_programmed * u64::from(locations.per_page()) / u64::from(locations.pages())
        };
        let pools = &self.core.base.config.pools;
        let timed: u64 =
            pools.iter().zip(self.core.base.flash.chips().counts_of_pools()).map(programmed).sum();
        let programmed = timed + self.core.base.flash.laid();
        let unit =
            pools.iter().map(|pool| u64::from(pool.locations.per_program)).fold(0, wordline_kernel::gcd);
        let most: u64 = (0..pools.rows()).map(|row| u64::from(2 * pools.per_program(row))).sum();
        let queued = t.host_programs + t.unit_programs + t.gc_programs + t.translation_programs + t.padding
            - programmed;
        assert!(
            queued.is_multiple_of(self.writer.slc_unit().map_or(unit, u64::from)) && queued <= most,
            "pages programmed are the host's, the map's, the collector's and padding, but for units under way: {queued}"
        );
        self.core.base.flash.audit(elapsed);
    }
}
