//! Invariants of the L2P map between events, and the consistency check of a loaded map.

use wordline_flash::RequestId;
use wordline_kernel::ensure::ensure;

use super::{LogicalPage, Map};
use crate::base::Base;

impl Map {
    /// Checks the map against the block table; panics if they are inconsistent.
    pub(crate) fn audit(&self, base: &Base) {
        let (valid, mapped) = (base.blocks.by_pool().total_valid(), u64::from(self.mapped()));
        assert_eq!(valid, mapped, "valid pages are mapped pages");
        self.audit_tables(base);
        if let Some(map) = self.by_block() {
            map.audit(&base.blocks, base.flash.chips());
        }
    }

    /// Checks the loaded state. Each mapped page must be valid at its location and have the right data tag,
    /// and no other location may be valid. Requests that wait for a map entry must be `known`.
    pub(crate) fn check_loaded(
        &self,
        base: &Base,
        known: impl Fn(RequestId) -> bool + Copy,
    ) -> Result<(), String> {
        let pools = &base.config.pools;
        base.flash.chips().check_data_tags(self.len())?;
        if let Some(map) = self.by_block() {
            map.check_loaded()?;
        }
        let (mut mapped, all) = (0u64, pools.locations());
        for page in (0..self.len()).map(LogicalPage) {
            let Some(location) = self.get(page) else { continue };
            mapped += 1;
            let is_there = location.0 < all && base.blocks.table().is_valid(location);
            ensure(is_there, || format!("page {} is nowhere", page.0))?;
            let stamp = base.flash.stamp(location);
            ensure(stamp.logical == page.0 && stamp.version <= self.versions(page), || {
                format!("page {} is in location {}, which holds {stamp:?}", page.0, location.0)
            })?;
        }
        let valid: u64 = pools.all_blocks().map(|block| base.blocks.table().count_valid(block)).sum();
        ensure(valid == mapped && mapped == u64::from(self.mapped()), || {
            format!("{mapped} pages are mapped and {valid} valid, not {}", self.mapped())
        })?;
        let is_read = |block| base.blocks.table().readers(block) > 0;
        let reads = base.flash.outstanding() > 0 || self.discards().is_some_and(|discards| discards.holds());
        ensure(reads || !pools.all_blocks().any(is_read), || {
            "blocks have readers, but no read is outstanding".into()
        })?;
        self.check_tables(base, known)
    }

    /// State of the discard table and its waiters, as text.
    pub(crate) fn describe(&self) -> String {
        let Some(discards) = self.discards() else { return String::new() };
        let (due, waited) = (discards.is_due(), discards.has_waiters());
        format!("discards: due {due}, waiters {waited}, idle {}\n", discards.is_at_rest())
    }
}
