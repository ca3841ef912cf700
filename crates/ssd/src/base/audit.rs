//! Audit of the programmed pages.

use wordline_kernel::{Duration, gcd};
use wordline_nand::Pool;
use wordline_nand::chips::Counts;

use super::Base;

impl Base {
    /// Checks the programs of the chips against the counters; panics if they differ. A program is counted
    /// before the chips execute it. So the counters may be ahead by at most two program units of each plane
    /// group. The size of a unit depends on the pool and on the mode of the block.
    pub(crate) fn audit(&self, elapsed: Duration) {
        let (pools, t) = (&self.config.pools, &self.totals);
        let programmed = |(pool, counts): (&Pool, &Counts)| {
            let locations = &pool.locations;
            counts.pages_programmed * u64::from(locations.per_page()) / u64::from(locations.pages())
        };
        let timed: u64 = pools.iter().zip(self.flash.chips().counts_of_pools()).map(programmed).sum();
        let programmed = timed + self.flash.laid();
        let units =
            pools.iter().map(|pool| pool.locations.per_program).chain(self.blocks.by_pool().smaller_units());
        let unit = units.map(u64::from).fold(0, gcd);
        let most: u64 = pools.all_groups().map(|row| u64::from(2 * pools.per_program(row))).sum();
        let counted = t.host_programs + t.unit_programs + t.gc_programs + t.translation_programs + t.padding;
        let queued = counted - programmed;
        assert!(
            queued.is_multiple_of(unit) && queued <= most,
            "pages programmed are the host's, the map's, the collector's and padding, but for units under way: {queued}"
        );
        self.blocks.audit();
        let again = |location| self.flash.chips().reprograms(self.config.pools.page_of(location));
        self.blocks.by_pool().audit_reprograms(self.blocks.table(), again);
        self.flash.audit(elapsed);
    }
}
