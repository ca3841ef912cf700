//! The books: what must hold at every instant between events.

use wordline_kernel::{Bytes, Duration};
use wordline_nand::chips::Counts;
use wordline_nand::{Pool, Stamp};

use super::Device;
use crate::ftl::mapping::LogicalPage;
use crate::lifetime::{Fullness, Worn};

impl Device {
    /// The version of a logical page that a read would find now, counted from 1 with each write of the host; `None`
    /// if there is nothing to be found.
    pub fn version(&self, page: LogicalPage) -> Option<u32> {
        match self.buffer.find(page) {
            Some(id) => Some(self.buffer.get(id)).filter(|entry| !entry.discarded).map(|entry| entry.version),
            None => self.mapping.get(page).map(|at| self.flash.stamp(at).version),
        }
    }

    /// How many versions of a logical page there were: the next write makes one more.
    pub fn versions(&self, page: LogicalPage) -> u32 {
        self.mapping.versions(page)
    }

    /// Part of the capacity in good blocks that holds nothing valid: what is spare in effect. It is more than the
    /// over-provisioning by what the host never wrote or discarded. It takes time in proportion to the number of blocks.
    pub fn effective_spare(&self) -> f64 {
        let pools = &self.config.pools;
        let good = |row| u64::from(self.blocks.good(row)) * u64::from(pools.per_block_of(row));
        let all: u64 = (0..pools.rows()).map(good).sum();
        1.0 - self.blocks.total_valid() as f64 / all.max(1) as f64
    }

    /// How full the flash is, blocks out of use included. It takes time in proportion to the number of blocks.
    pub fn fullness(&self) -> Fullness {
        Fullness { valid: self.blocks.total_valid(), total: u64::from(self.config.pools.slots()) }
    }

    /// How worn each pool is, in their order. It takes time in proportion to the number of blocks.
    pub fn worn(&self) -> Vec<Worn> {
        let pools = self.config.pools.iter().map(|pool| {
            let all = pool.geometry.all_blocks();
            let erases = all.map(|block| u64::from(self.flash.chips().erases()[block])).sum();
            Worn { erases, blocks: u64::from(pool.geometry.block_sets()), endurance: pool.part.endurance }
        });
        pools.collect()
    }

    /// The size from which on what was written of a unit goes to the first of several pools, if sizes decide: as it is now.
    pub fn least_of_first_pool(&self) -> Option<Bytes> {
        self.policies.router.least_of_first()
    }

    /// The version of a logical page that is in flash.
    pub fn version_in_flash(&self, page: LogicalPage) -> Option<u32> {
        self.mapping.get(page).map(|at| self.flash.stamp(at).version)
    }

    /// Each translation page that was written has one home, which holds its last version and nothing else.
    fn audit_tables(&self) {
        let Some(translation) = &self.translation else { return };
        for table in translation.tables() {
            let (logical, version) = (translation.logical(table), translation.version(table));
            let home = self.mapping.get(logical);
            assert_eq!(home.is_some(), version > 0, "translation page {table:?} is where its version says");
            if let Some(slot) = home {
                let found = self.flash.stamp(slot);
                assert_eq!(found, Stamp { logical: logical.0, version }, "translation page {table:?}");
                assert!(self.blocks.is_valid(slot), "translation page {table:?} is valid");
            }
        }
    }

    /// Checks the conservation laws that follow from the whole state; a bug if one does not hold. It takes time in
    /// proportion to the number of blocks.
    pub fn audit(&self, elapsed: Duration) {
        let (valid, mapped) = (self.blocks.total_valid(), u64::from(self.mapping.mapped()));
        assert_eq!(valid, mapped, "valid pages are mapped pages");
        for page in self.cache.pages() {
            let (logical, version) = (page.logical, Some(page.version));
            assert_eq!(version, self.mapping.last_written(logical), "the cache holds what was written last");
            assert!(self.buffer.find(logical).is_none(), "a page is in the cache or waits to be written");
        }
        self.audit_tables();
        self.blocks.audit_super_blocks();
        self.audit_units();
        if let Some(map) = &self.block_map {
            map.audit(&self.blocks, self.flash.chips());
        }
        let t = &self.totals;
        let programmed = |(pool, counts): (&Pool, &Counts)| {
            let slots = &pool.slots;
            counts.pages_programmed * u64::from(slots.per_page()) / u64::from(slots.pages())
        };
        let pools = &self.config.pools;
        let timed: u64 = pools.iter().zip(self.flash.chips().counts_of_pools()).map(programmed).sum();
        let programmed = timed + self.flash.laid();
        let unit = pools.iter().map(|pool| u64::from(pool.slots.per_program)).fold(0, wordline_kernel::gcd);
        let most: u64 = (0..pools.rows()).map(|row| u64::from(2 * pools.per_program(row))).sum();
        let queued = t.host_programs + t.unit_programs + t.gc_programs + t.translation_programs + t.padding
            - programmed;
        assert!(
            queued.is_multiple_of(self.slc.as_ref().map_or(unit, |slc| u64::from(slc.unit)))
                && queued <= most,
            "pages programmed are the host's, the map's, the collector's and padding, but for units under way: {queued}"
        );
        self.flash.audit(elapsed);
    }
}
