//! A twin with zones: the flash of the twin under a zoned namespace, without an FTL.

use libm::{ceil, floor};

use crate::document::{Line, chosen, head, of, time, write_sections};
use crate::measurement::MIB;
use crate::twin::{Origin, PAGE, Twin, bus_rate};

/// The zones of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zones {
    /// Number of zones.
    pub count: f64,
    /// Distance of zones, in bytes.
    pub size: f64,
    /// Writable part of a zone, in bytes.
    pub capacity: f64,
    /// Most open zones; `None` if they are not limited.
    pub open: Option<u32>,
    /// Times of the reset of an empty and of a full zone, in microseconds.
    pub reset: Option<[f64; 2]>,
    /// Whether a finish writes the rest of a zone.
    pub finish_pads: bool,
}

/// Blocks of a parallel unit beside those of zones: for failures and the journal. Chosen: as `zns-tlc-raw`.
const RESERVE: f64 = 0.1;
const LEAST_RESERVE: f64 = 4.0;

/// Most layers of a block (`part.geometry.layers`).
const MOST_LAYERS: f64 = 1024.0;

/// Programs of a die that its buffer holds. Chosen: it never waits for data.
const BUFFERED: f64 = 4.0;

impl Twin {
    /// Bytes that a die programs at once.
    fn program_unit(&self) -> f64 {
        f64::from(self.planes() * self.bits) * PAGE
    }

    /// The twin whose zones are written, and padded, at the rate at which this twin programs. Without an FTL a die
    /// takes the bytes of a program and then programs them.
    fn in_turns(&self) -> Self {
        let transfer = self.program_unit() / bus_rate(self.bus);
        Self { program: (self.program - transfer).max(self.program / 2.0), ..self.clone() }
    }

    /// Layers of a block that is the part of a zone on one die.
    fn zone_layers(&self, zones: &Zones) -> f64 {
        let layer = f64::from(self.pages_per_layer() * self.planes()) * PAGE;
        ceil(zones.capacity / f64::from(self.units) / layer).max(1.0)
    }

    /// Whether a block of each plane holds a zone.
    pub(crate) fn holds_zones(&self) -> bool {
        self.zones.is_none_or(|zones| self.zone_layers(&zones) <= MOST_LAYERS)
    }

    /// Whether zones begin and end with whole programs of every die in turn.
    pub(crate) fn fits_zones(&self) -> bool {
        self.zones.is_none_or(|zones| {
            let programs = zones.capacity / self.program_unit();
            (programs - floor(programs)).abs() < 1e-9
        })
    }

    /// The device with zones, as a configuration; `None` if the drive is not zoned. The scale divides the number of
    /// zones, not their sizes. `note` is as in [`Twin::document`].
    pub fn zoned_document(&self, source: &str, note: impl Fn(Origin) -> Option<String>) -> Option<String> {
        let zones = &self.zones?;
        let description = format!(
            "Twin of {}, {:.0} GB: {} dies of {} planes, 1/{} of the zones",
            self.model,
            self.capacity / 1e9,
            self.units,
            self.planes(),
            self.scale,
        );
        // A fraction that is rounded down to the blocks.
        let kept = self.zone_reserve(zones);
        let reserve = (kept + 0.5) / (self.scaled_zones(zones) + kept);
        let mut text = head(&description, source);
        let sections = [
            (
                "",
                vec![
                    chosen("device = \"zoned-namespace\"", "zones without an FTL, as the drive has them"),
                    self.command_line(),
                ],
            ),
            ("[zones]", zones.lines()),
            ("[open_channel]", vec![chosen("logical_block = \"4KiB\"", "that of hosts")]),
            ("[open_channel.part]", self.part()),
            ("[open_channel.part.geometry]", self.zoned_geometry(zones)),
            ("[open_channel.part.timing]", self.in_turns().timing()),
            ("[open_channel.part.bus]", self.bus_lines()),
            ("[open_channel.layout]", self.layout()),
            ("[open_channel.link]", self.link_lines()),
            ("[open_channel.buffer]", self.zoned_buffer()),
            (
                "[open_channel.failures]",
                vec![
                    chosen("block_map = true", "a chunk survives a bad block"),
                    chosen("shift = true", "as zns-tlc-raw"),
                    chosen(&format!("reserve = {reserve:.5}"), "blocks for failures, and the journal"),
                ],
            ),
            ("[open_channel.scheduling]", self.scheduling()),
        ];
        write_sections(&mut text, sections, &note);
        Some(text)
    }

    /// Zones of the twin.
    fn scaled_zones(&self, zones: &Zones) -> f64 {
        ceil(zones.count / f64::from(self.scale)).max(f64::from(zones.open.unwrap_or(1)))
    }

    /// Blocks of a plane beside those of zones.
    fn zone_reserve(&self, zones: &Zones) -> f64 {
        ceil(self.scaled_zones(zones) * RESERVE).max(LEAST_RESERVE)
    }

    /// Blocks long enough for a zone over all dies, and as many as zones and the reserve need.
    fn zoned_geometry(&self, zones: &Zones) -> Vec<Line> {
        let (layer, layers) = (self.pages_per_layer(), self.zone_layers(zones));
        let count = self.scaled_zones(zones);
        let blocks = count + self.zone_reserve(zones);
        vec![
            of(Origin::Bits, &format!("bits_per_cell = {}", self.bits), "three"),
            of(
                Origin::Split,
                &format!("planes = {}", self.planes()),
                "four, or fewer if zones end in a program of four",
            ),
            of(
                Origin::Zones,
                &format!("blocks_per_plane = {blocks:.0}"),
                "a block for each zone, and the reserve",
            ),
            of(
                Origin::Zones,
                &format!("pages_per_block = {:.0}", layers * f64::from(layer)),
                "a zone has a block of each plane",
            ),
            chosen(&format!("layers = {layers:.0}"), "four word lines a layer"),
        ]
    }

    fn zoned_buffer(&self) -> Vec<Line> {
        let size = format!("size = \"{:.0}KiB\"", BUFFERED * self.program_unit() / 1024.0);
        vec![
            chosen(&size, "four programs of a die, so that it never waits for data"),
            chosen("completion = \"write-back\"", "writes complete in the buffer"),
            chosen("protected = true", "drives for servers keep what they have completed"),
        ]
    }
}

impl Zones {
    fn lines(&self) -> Vec<Line> {
        let mib = |bytes: f64| format!("{:.0}MiB", bytes / MIB);
        let mut lines = vec![
            of(Origin::Zones, &format!("capacity = \"{}\"", mib(self.capacity)), "all of a zone"),
            of(Origin::Zones, &format!("size = \"{}\"", mib(self.size)), "the next power of two"),
        ];
        if let Some(open) = self.open {
            lines.push(of(Origin::Zones, &format!("max_active = {open}"), "no limit"));
            lines.push(of(Origin::Zones, &format!("max_open = {open}"), "no limit"));
        }
        if let Some([empty, full]) = self.reset {
            lines.push(of(Origin::ZoneReset, &format!("reset_time = \"{}\"", time(empty)), "the erase time"));
            lines.push(of(
                Origin::ZoneReset,
                &format!("reset_time_full = \"{}\"", time(full)),
                "the erase time",
            ));
        }
        lines.push(of(
            Origin::ZoneFinish,
            &format!("finish_pads = {}", self.finish_pads),
            "the one drive whose finish was measured writes the rest of the zone",
        ));
        lines
    }
}
