//! A design that sends pages to blocks with two bits a cell, in devices with one pool. The word lines of
//! these blocks may be reprogrammed.

use super::Draw;

impl Draw {
    /// Adds the design if the chips support the mode and no other design decides.
    pub(super) fn two_bits(&mut self) {
        let has = |draw: &Self, setting: &str| draw.settings.iter().any(|one| one == setting);
        let begins = |draw: &Self, key: &str| draw.settings.iter().any(|one| one.starts_with(key));
        let bits = ["part.geometry.bits_per_cell=3", "part.geometry.bits_per_cell=4"];
        let fits = has(self, "part.geometry.one_shot=true") && bits.iter().any(|bits| has(self, bits));
        let taken = ["design=", "designs=", "pools=", "ftl.mapping.block", "ftl.slc_cache="];
        if !fits || taken.iter().any(|key| begins(self, key)) || !self.unit_fits() {
            return;
        }
        // The design replaces these policies, and needs more blocks.
        let replaced = ["ftl.router", "ftl.gc.relocator", "ftl.gc.start_below", "ftl.gc.stop_at"];
        self.settings.retain(|setting| !replaced.iter().any(|key| setting.starts_with(key)));
        let start = 5 + self.from(0, 2);
        let stop = (start + self.from(0, 2)).max(6);
        self.set("ftl.gc.start_below_free_blocks", start);
        self.set("ftl.gc.stop_at_free_blocks", stop);
        let (blocks, spare) = (self.from(1, 3), 2.0 * self.random.unit());
        // There is no limit if most blocks could be in the mode.
        let limit = if spare < 1.5 { format!(", spare = {spare:.2}") } else { String::new() };
        self.set("ftl.two_bit", format!("{{ blocks = {blocks}{limit} }}"));
        self.set("part.timing.reprogram", "'200us'");
        let (every, again) = (self.from(1, 3), self.from(0, 2));
        self.set("design", format!("{{ name = 'sorts', every = {every}, again = {again} }}"));
    }

    /// Whether a page of each plane of a plane group is a whole number of mapping units.
    pub(super) fn unit_fits(&self) -> bool {
        let value = |key: &str| {
            let of = self.settings.iter().find_map(|setting| setting.strip_prefix(key));
            of.map(|text| text.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().expect("a number"))
        };
        let page = value("part.geometry.page_size=").expect("a part has pages");
        let planes = value("layout.planes_per_row=").or(value("part.geometry.planes=")).expect("and planes");
        let unit = value("ftl.mapping.unit=").unwrap_or(page);
        (planes * page).is_multiple_of(unit)
    }
}
