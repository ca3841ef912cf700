//! Devices with block-level mapping.

use super::{Draw, Shape};

impl Draw {
    pub(super) fn block_map(&mut self, shape: &Shape) {
        let in_a_program = shape.planes_per_row * if shape.one_shot { shape.bits } else { 1 };
        self.set("ftl.mapping.unit", format!("'{}B'", in_a_program * shape.page));
        let replacements = self.from(1, 6);
        self.set("ftl.mapping.block", format!("{{ replacements = {replacements} }}"));
        let order = self.order();
        self.set("ftl.placement", format!("{{ policy = 'fixed', order = '{order}' }}"));
        self.protection();
    }

    /// Wear levelling, merges while the host is idle, durable discards and copyback.
    pub(super) fn upkeep_of_blocks(&mut self) {
        if !self.settings.iter().any(|setting| setting.starts_with("ftl.mapping.block=")) {
            return;
        }
        if self.percent(50) {
            let (k, more) = (self.from(0, 1), self.from(0, 2));
            let threshold = (2 << k) + more;
            self.set("ftl.wear.levelling", format!("{{ policy = 'bet', k = {k}, threshold = {threshold} }}"));
        }
        let allocation = self.pick(&["least-worn", "by-stream"]);
        self.set("ftl.wear.allocation", allocation);
        if self.percent(50) {
            let free = self.from(1, 10);
            let policy = format!("{{ policy = 'idle-gc', idle = '100us', until_free = {free} }}");
            self.set("ftl.gc.background", policy);
        }
        let protected = !self.settings.iter().any(|setting| setting == "buffer.power_loss_protection=none");
        if self.percent(50) {
            self.set("ftl.recovery.discards", "'kept'");
            if !protected && self.percent(40) {
                let every = self.from(64, 512);
                self.set("ftl.recovery.checkpoint", format!("'{every}KiB'"));
            }
        }
        if self.settings.iter().any(|setting| setting == "part.geometry.one_shot=false") && self.percent(40) {
            self.set("ftl.gc.copyback", true);
        }
    }
}
