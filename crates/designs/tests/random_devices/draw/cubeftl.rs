//! cubeFTL in devices of one pool.

use super::Draw;

impl Draw {
    /// cubeFTL over cells in a device with one pool, with the streams or the SLC cache of the device.
    pub(super) fn cubeftl(&mut self) {
        let has = |draw: &Self, setting: &str| draw.settings.iter().any(|one| one == setting);
        let begins = |draw: &Self, key: &str| draw.settings.iter().any(|one| one.starts_with(key));
        let layered = begins(self, "part.geometry.layers=") && !has(self, "part.geometry.layers=1");
        let fits = has(self, "part.geometry.bits_per_cell=3") && has(self, "part.geometry.one_shot=true");
        let taken = ["design=", "pools=", "ftl.mapping.block="];
        if !layered || !fits || taken.iter().any(|key| begins(self, key)) {
            return;
        }
        // The design replaces these policies. Its cells determine the read levels.
        let replaced =
            ["ftl.frontier", "ftl.tuner", "ftl.read_retry", "ftl.gc.start_below", "ftl.gc.stop_at"];
        self.settings.retain(|setting| !replaced.iter().any(|key| setting.starts_with(key)));
        let (order, blocks) =
            (self.pick(&["adaptive", "adaptive", "horizontal", "vertical"]), self.from(1, 3));
        let (victims, full) = (self.pick(&["adaptive", "leaders"]), self.random.unit());
        // Each host stream and GC stream may have this many open blocks.
        let start = 4 + 4 * if order == "adaptive" { blocks } else { 1 };
        self.set("ftl.gc.start_below_free_blocks", start);
        self.set("ftl.gc.stop_at_free_blocks", start);
        self.set(
            "design",
            format!(
                "{{ name = 'cubeftl', order = '{order}', active_blocks = {blocks}, of_collector = '{victims}', \
                 full_above = {full:.2} }}"
            ),
        );
        let decoder = self.pick(&["channel", "die", "none"]);
        self.set("ftl.read_retry.decoder", decoder);
        let (cycles, hours) = self.pick(&[(0, 0), (0, 0), (2_000, 0), (500, 100)]);
        self.set("part.cells", format!("{{ set = 'cubeftl-tlc', cycles = {cycles}, hours = {hours} }}"));
    }
}
