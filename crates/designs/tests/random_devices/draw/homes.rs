//! Static allocation with several pools.

use super::Draw;

impl Draw {
    /// Static allocation of pages in each of several pools with page-level mapping.
    pub(super) fn homes_beside_pools(&mut self) {
        let is_set = |wanted: &str| self.settings.iter().any(|setting| setting.starts_with(wanted));
        if is_set("pools=") && !is_set("ftl.mapping.whole_units=") && self.percent(50) {
            let order = self.order();
            self.set("ftl.placement", format!("{{ policy = 'fixed', order = '{order}' }}"));
        }
    }
}
