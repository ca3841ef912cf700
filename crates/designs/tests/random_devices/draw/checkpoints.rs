//! Checkpoints of an L2P map in flash.

use super::Draw;

impl Draw {
    /// A checkpoint of an L2P map in flash, with durable discards and without a protected buffer.
    pub(super) fn checkpoints(&mut self) {
        let is_set = |wanted: &str| self.settings.iter().any(|setting| setting.starts_with(wanted));
        let may = ["ftl.mapping.cache=", "ftl.recovery.discards='kept'", "buffer.power_loss_protection=none"];
        if may.into_iter().all(is_set) && !is_set("ftl.recovery.checkpoint=") && self.percent(70) {
            let every = self.from(64, 512);
            self.set("ftl.recovery.checkpoint", format!("'{every}KiB'"));
        }
    }
}
