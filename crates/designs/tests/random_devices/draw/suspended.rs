//! A design that suspends blocks, in devices with one pool.

use super::Draw;

impl Draw {
    /// Adds the design that suspends blocks, if word lines are programmed in one shot and no other design
    /// decides.
    pub(super) fn suspended(&mut self) {
        let has = |draw: &Self, setting: &str| draw.settings.iter().any(|one| one == setting);
        let begins = |draw: &Self, key: &str| draw.settings.iter().any(|one| one.starts_with(key));
        let fits = has(self, "part.geometry.bits_per_cell=1") || has(self, "part.geometry.one_shot=true");
        let taken = ["design=", "designs=", "pools=", "ftl.mapping.block=", "ftl.slc_cache="];
        if !fits || taken.iter().any(|key| begins(self, key)) {
            return;
        }
        // The design replaces these policies, and needs more blocks.
        let replaced = [
            "ftl.frontier",
            "ftl.router",
            "ftl.gc.victim",
            "ftl.gc.relocator",
            "ftl.gc.scope",
            "ftl.gc.start_below",
            "ftl.gc.stop_at",
            "part.geometry.blocks_per_plane",
        ];
        self.settings.retain(|setting| !replaced.iter().any(|key| setting.starts_with(key)));
        let (limit, open, streams) = (self.from(1, 4), self.from(1, 3), self.from(1, 2));
        let blocks = 36 + 2 * streams * (limit + open) + self.from(0, 8);
        // The second stream is in MLC mode if the chips support it.
        let bits = ["part.geometry.bits_per_cell=3", "part.geometry.bits_per_cell=4"];
        let again = match streams == 2 && bits.iter().any(|bits| has(self, bits)) && self.unit_fits() {
            true => self.from(0, 2),
            false => 0,
        };
        if again > 0 {
            let blocks = self.from(1, 4);
            self.set("ftl.two_bit", format!("{{ blocks = {blocks} }}"));
            self.set("part.timing.reprogram", "'200us'");
        }
        let start = 4 + streams + self.from(0, 2);
        let chances = [(); 3].map(|()| self.pick(&[0, 10, 50, 90, 100]));
        self.set("part.geometry.blocks_per_plane", blocks);
        self.set("ftl.gc.start_below_free_blocks", start);
        self.set("ftl.gc.stop_at_free_blocks", start + chances[0] % 3);
        self.set("designs", "['sets-aside']");
        self.set(
            "design.sets-aside",
            format!(
                "{{ limit = {limit}, open_blocks = {open}, streams = {streams}, again = {again}, chances = {chances:?} }}"
            ),
        );
    }
}
