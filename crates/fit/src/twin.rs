//! The twin: a device whose parameters are fitted to a drive.

use std::fmt::Write;

use libm::round;
use wordline_lab::{Device, Error, Registry};

/// Page size of every twin, and pages of a block of a drive. Chosen, as in the part `tlc-512g`: 1,536 pages.
const PAGE: f64 = 16384.0;
const PAGES_PER_BLOCK: u32 = 1536;

/// Pages of a layer: four word lines of three pages (chosen, as in the part `tlc-512g`).
const PAGES_PER_LAYER: u32 = 12;

/// Bits a cell.
const BITS: f64 = 3.0;

/// Blocks of each plane that garbage collection keeps free and open, beside the space that was measured.
const RESERVED_BLOCKS: u32 = 5;

/// Block erase time of a drive, in microseconds (py_ssd_sim, part `tlc-512g`).
const ERASE: f64 = 10_000.0;

/// Most units whose planes read together. Chosen: drives of 1 to 4 TB have 16 to 32 dies; what reads beside
/// one another in greater number are planes.
const MOST_DIES: u32 = 40;

/// The parameters of a twin. Times are in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Twin {
    /// Name of the device.
    pub name: String,
    /// Model of the drive.
    pub model: String,
    /// Capacity that the host sees, in bytes.
    pub capacity: f64,
    /// Flash that can be written before garbage collection begins, in bytes.
    pub space: f64,
    /// Units that read independently: dies, or planes if there are more than drives have dies.
    pub units: u32,
    /// Read times of the three pages of a word line, the fastest first.
    pub read: [f64; 3],
    /// Program time of a word line.
    pub program: f64,
    /// Time to suspend a program or an erase.
    pub suspend: f64,
    /// Firmware time of each command.
    pub command: f64,
    /// The PCI Express link.
    pub link: Link,
    /// Mode of the flash bus (NV-DDR3).
    pub bus: u8,
    /// The SLC cache, if there is one.
    pub cache: Option<SlcCache>,
    /// Factor by which blocks are shorter than those of the drive.
    pub scale: u32,
}

/// A PCI Express link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Generation.
    pub generation: u32,
    /// Lanes.
    pub lanes: u32,
    /// Largest payload of a packet, in bytes.
    pub payload: u32,
}

/// The SLC cache of a twin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlcCache {
    /// Data that it holds on an erased drive, in bytes.
    pub size: f64,
    /// Program time of a page in SLC mode, in microseconds.
    pub program: f64,
}

/// A property of a twin that measurements can identify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Read times of the pages of a word line.
    Read,
    /// Program time.
    Program,
    /// Program time in SLC mode.
    SlcProgram,
    /// Suspend time.
    Suspend,
    /// Units that read independently.
    Units,
    /// Mode of the flash bus.
    Bus,
    /// Firmware time of a command.
    Command,
    /// The link.
    Link,
    /// Flash behind the capacity.
    Space,
    /// Size of the SLC cache.
    SlcCache,
}

/// A parameter that the search varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The read times of all pages, by one factor.
    Read,
    /// Read time of the fastest page of a word line.
    FastRead,
    /// Read time of the page between.
    MiddleRead,
    /// Read time of the slowest page.
    SlowRead,
    /// Program time of a word line.
    Program,
    /// Program time of a page in SLC mode.
    SlcProgram,
    /// Suspend time.
    Suspend,
}

impl Parameter {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "tR",
            Self::FastRead => "tR of the fastest page",
            Self::MiddleRead => "tR of the middle page",
            Self::SlowRead => "tR of the slowest page",
            Self::Program => "tPROG",
            Self::SlcProgram => "tPROG in SLC mode",
            Self::Suspend => "suspend",
        }
    }

    /// The least and the greatest value, in microseconds. Chosen, well beyond those of any part.
    pub const fn bounds(self) -> (f64, f64) {
        match self {
            Self::Read | Self::FastRead | Self::MiddleRead | Self::SlowRead => (2.0, 500.0),
            Self::Program => (50.0, 30_000.0),
            Self::SlcProgram => (20.0, 5_000.0),
            Self::Suspend => (1.0, 1_000.0),
        }
    }

    /// The value in a twin.
    pub fn get(self, twin: &Twin) -> f64 {
        match self {
            Self::FastRead => twin.read[0],
            Self::Read | Self::MiddleRead => twin.read[1],
            Self::SlowRead => twin.read[2],
            Self::Program => twin.program,
            Self::SlcProgram => twin.cache.map_or(0.0, |cache| cache.program),
            Self::Suspend => twin.suspend,
        }
    }

    /// Sets the value in a twin, within its bounds. A read time never falls below that of a faster page.
    pub fn set(self, twin: &mut Twin, value: f64) {
        let (least, most) = self.bounds();
        let value = value.clamp(least, most);
        match self {
            Self::Read => {
                let factor = value / twin.read[1];
                twin.read = twin.read.map(|time| time * factor);
            }
            Self::FastRead => twin.read[0] = value,
            Self::MiddleRead => twin.read[1] = value,
            Self::SlowRead => twin.read[2] = value,
            Self::Program => twin.program = value,
            Self::SlcProgram => twin.cache = twin.cache.map(|cache| SlcCache { program: value, ..cache }),
            Self::Suspend => twin.suspend = value,
        }
        twin.read.sort_by(f64::total_cmp);
    }
}

impl Twin {
    /// Planes of a die.
    pub const fn planes(&self) -> u32 {
        if self.units > MOST_DIES { 1 } else { 4 }
    }

    /// Channels: eight, or the most below that divide the units. Chosen, as client and data-centre controllers
    /// have them.
    pub fn channels(&self) -> u32 {
        (1..=8).rev().find(|channels| self.units.is_multiple_of(*channels)).unwrap_or(1)
    }

    /// All planes of the drive.
    fn all_planes(&self) -> f64 {
        f64::from(self.units * self.planes())
    }

    /// Blocks of each plane, without those that garbage collection keeps.
    pub fn blocks(&self) -> u32 {
        let block = PAGE * f64::from(PAGES_PER_BLOCK);
        (round(self.space / self.all_planes() / block) as u32).max(2 * RESERVED_BLOCKS)
    }

    /// Fraction of the blocks beyond the reserved ones that is hidden from the host.
    pub fn over_provisioning(&self) -> f64 {
        let flash = f64::from(self.blocks()) * self.all_planes() * PAGE * f64::from(PAGES_PER_BLOCK);
        1.0 - self.capacity / flash
    }

    /// Host bytes a second at which one-shot programs of all units write, without transfers and GC.
    pub fn program_rate(&self) -> f64 {
        self.all_planes() * BITS * PAGE / (self.program * 1e-6)
    }

    /// The program time at which all units write `rate` bytes a second.
    pub fn program_of_rate(&self, rate: f64) -> f64 {
        self.all_planes() * BITS * PAGE / rate * 1e6
    }

    /// The program time in SLC mode at which all units write `rate` bytes a second.
    pub fn slc_program_of_rate(&self, rate: f64) -> f64 {
        self.all_planes() * PAGE / rate * 1e6
    }

    /// The same twin with another number of units, at equal rates of programs.
    pub fn with_units(&self, units: u32) -> Self {
        let mut other = Self { units, ..self.clone() };
        other.program = other.program_of_rate(self.program_rate());
        let per_unit = self.all_planes() / other.all_planes();
        other.cache = self.cache.map(|cache| SlcCache { program: cache.program / per_unit, ..cache });
        other
    }

    /// The scales that there are: divisors of the layers of a block.
    pub fn scales() -> impl Iterator<Item = u32> {
        let layers = PAGES_PER_BLOCK / PAGES_PER_LAYER;
        (1..=layers).filter(move |scale| layers.is_multiple_of(*scale))
    }

    /// The device as a configuration. `note` gives the origin of a parameter, for the comment at its key.
    pub fn document(&self, source: &str, note: impl Fn(Origin) -> Option<String>) -> String {
        let scaled = match self.scale {
            1 => String::new(),
            scale => format!(", blocks of 1/{scale} of their pages"),
        };
        let mut text = format!(
            "description = \"Twin of {}, {:.0} GB: {} dies of {} planes{scaled}\"\nsource = \"{source}\"\n",
            self.model,
            self.capacity / 1e9,
            self.units,
            self.planes(),
        );
        let sections = [
            ("[part]", self.part()),
            ("[part.geometry]", self.geometry()),
            ("[part.timing]", self.timing()),
            (
                "[part.bus]",
                vec![of(Origin::Bus, &format!("mode = {}", self.bus), "the middle of those tried")],
            ),
            ("[layout]", self.layout()),
            ("[front]", self.front()),
            ("[buffer]", buffer()),
            ("[ftl]", self.ftl()),
            ("[ftl.mapping]", vec![chosen("unit = \"4KiB\"", "as all drives of this kind map")]),
            ("[ftl.scheduling]", scheduling()),
            ("[ftl.gc]", collection()),
            ("[ftl.slc_cache]", self.slc_cache()),
        ];
        for (head, lines) in sections.into_iter().filter(|(_, lines)| !lines.is_empty()) {
            let _ = writeln!(text, "\n{head}");
            for Line { text: key, origin, otherwise } in lines {
                let known = origin.and_then(&note);
                let comment = known.unwrap_or_else(|| format!("chosen: {otherwise}"));
                let _ = writeln!(text, "{key} # {comment}");
            }
        }
        text
    }

    fn part(&self) -> Vec<Line> {
        vec![
            chosen("base = \"tlc-512g\"", "a current TLC part; power and endurance are its own"),
            chosen(&format!("name = \"{}-flash\"", self.name), "a name"),
            chosen("source = \"see the lines below\"", "a text"),
        ]
    }

    fn geometry(&self) -> Vec<Line> {
        let pages = PAGES_PER_BLOCK / self.scale;
        let blocks = self.blocks() + RESERVED_BLOCKS;
        vec![
            chosen(
                &format!("planes = {}", self.planes()),
                "four, or one if as many units read as a drive has planes",
            ),
            chosen(
                &format!("blocks_per_plane = {blocks}"),
                &format!("the space below in blocks of {PAGES_PER_BLOCK} pages, and the reserved blocks"),
            ),
            chosen(
                &format!("pages_per_block = {pages}"),
                &format!("{PAGES_PER_BLOCK}, as the part, by the scale of 1/{}", self.scale),
            ),
            chosen(&format!("layers = {}", pages / PAGES_PER_LAYER), "four word lines a layer"),
        ]
    }

    fn timing(&self) -> Vec<Line> {
        let [fast, middle, slow] = self.read.map(time);
        let (suspend, erase) = (time(self.suspend), time(ERASE / f64::from(self.scale)));
        let mut lines = vec![
            of(Origin::Read, &format!("read = [\"{fast}\", \"{middle}\", \"{slow}\"]"), "as the part"),
            of(Origin::Program, &format!("program = [\"{}\"]", time(self.program)), "as the part"),
            chosen(
                &format!("erase = \"{erase}\""),
                "10 ms by the scale, so that erases take as much of the time",
            ),
            of(
                Origin::Suspend,
                &format!("suspend = [\"{suspend}\", \"{suspend}\"]"),
                "a thirtieth of a program",
            ),
        ];
        if let Some(cache) = self.cache {
            let slc = format!(
                "slc = {{ read = \"{fast}\", program = \"{}\", erase = \"{erase}\" }}",
                time(cache.program)
            );
            lines.push(of(Origin::SlcProgram, &slc, "as the part"));
        }
        lines
    }

    fn layout(&self) -> Vec<Line> {
        let channels = self.channels();
        vec![
            chosen(&format!("channels = {channels}"), "eight, or the most below that divide the dies"),
            of(
                Origin::Units,
                &format!("packages_per_channel = {}", self.units / channels),
                "a die of 512 Gb for each 64 GiB of flash",
            ),
            chosen("dies_per_package = 1", "packages do not matter here"),
        ]
    }

    fn front(&self) -> Vec<Line> {
        let Link { generation, lanes, payload } = self.link;
        vec![
            chosen("queue_depth = 1024", "more than any load has outstanding"),
            of(
                Origin::Command,
                &format!("command_time = \"{}\"", time(self.command)),
                "that of a fast drive",
            ),
            chosen("interface = \"nvme\"", "no other is fitted"),
            of(
                Origin::Link,
                &format!(
                    "nvme = {{ link = {{ generation = {generation}, lanes = {lanes}, max_payload = \"{payload}B\" }} }}"
                ),
                "that of current drives",
            ),
        ]
    }

    fn ftl(&self) -> Vec<Line> {
        let mut lines = vec![
            of(
                Origin::Space,
                &format!("over_provisioning = {:.5}", self.over_provisioning()),
                "as much flash as the capacity in GiB in place of GB",
            ),
            chosen(
                &format!("reserved_blocks = {RESERVED_BLOCKS}"),
                "those that garbage collection keeps free and open",
            ),
        ];
        if self.cache.is_some() {
            lines.push(chosen("router = { policy = \"slc-cache\" }", "all host writes go to the cache"));
        }
        lines
    }

    fn slc_cache(&self) -> Vec<Line> {
        let Some(cache) = self.cache else { return Vec::new() };
        // A block in SLC mode holds a third of its pages, and all blocks of an erased drive are spare.
        let share = (cache.size * BITS / self.space).min(1.0);
        vec![chosen("blocks = 1", "the least"), of(Origin::SlcCache, &format!("spare = {share:.4}"), "none")]
    }

    /// The device.
    ///
    /// # Errors
    /// [`Error::Config`] if the parameters make no device.
    pub fn device(&self) -> Result<Device, Error> {
        let text = self.document("a step of a search", |_| None);
        let table =
            text.parse().map_err(|fault| Error::Invariant(format!("a twin is no TOML: {fault}\n{text}")))?;
        Device::of_keys(&Registry::default(), &self.name, table)
    }
}

/// A line of the configuration: a key with its value, and the origin of the value.
struct Line {
    text: String,
    /// The parameter whose origin is the comment, if it was identified.
    origin: Option<Origin>,
    /// The choice, and its reason, if it was not.
    otherwise: String,
}

/// A line whose value is always chosen.
fn chosen(text: &str, reason: &str) -> Line {
    Line { text: text.into(), origin: None, otherwise: reason.into() }
}

/// A line whose value is chosen unless the parameter was identified.
fn of(origin: Origin, text: &str, reason: &str) -> Line {
    Line { origin: Some(origin), ..chosen(text, reason) }
}

fn buffer() -> Vec<Line> {
    vec![
        chosen("size = \"16MiB\"", "some programs of every die"),
        chosen("access_time = \"1us\"", "as preset nvme-tlc"),
        chosen("power_loss_protection = \"full\"", "writes complete in the buffer"),
    ]
}

fn scheduling() -> Vec<Line> {
    vec![
        chosen("suspend_programs = true", "as drives of this kind do"),
        chosen("suspend_erases = true", "as drives of this kind do"),
    ]
}

fn collection() -> Vec<Line> {
    vec![
        chosen("start_below_free_blocks = 4", "a block more than the least"),
        chosen("stop_at_free_blocks = 4", "as many"),
        chosen(
            "paced = true",
            "controllers spread garbage collection over the writes that make it necessary",
        ),
    ]
}

/// A time in microseconds as the text of a key, to the nanosecond.
fn time(microseconds: f64) -> String {
    format!("{:.0}ns", microseconds * 1000.0)
}
