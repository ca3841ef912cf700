//! The twin as a configuration, with the origin of each value.

use std::fmt::Write;

use crate::measurement::MIB;
use crate::twin::{Link, Origin, RESERVED_BLOCKS, Twin};

/// Block erase time of a drive, in microseconds (py_ssd_sim, part `tlc-512g`).
const ERASE: f64 = 10_000.0;

/// Write buffer if nothing identifies it. Chosen: some programs of every die.
const BUFFER: f64 = 16.0 * MIB;

/// Idle time before background work. Chosen: reviews see the full speed of an SLC cache again after a second of idle
/// time (as the presets of client drives).
const IDLE: &str = "100ms";

impl Twin {
    /// The device as a configuration, without zones. `note` gives the origin of a parameter, for the comment at its
    /// key.
    pub fn document(&self, source: &str, note: impl Fn(Origin) -> Option<String>) -> String {
        let scaled = match self.scale {
            1 => String::new(),
            scale => format!(", blocks of 1/{scale} of their pages"),
        };
        let description = format!(
            "Twin of {}, {:.0} GB: {} dies of {} planes{scaled}",
            self.model,
            self.capacity / 1e9,
            self.units,
            self.planes(),
        );
        let mut text = head(&description, source);
        let sections = [
            ("[part]", self.part()),
            ("[part.geometry]", self.geometry()),
            ("[part.timing]", self.timing()),
            ("[part.bus]", self.bus_lines()),
            ("[layout]", self.layout()),
            ("[front]", self.front()),
            ("[buffer]", self.buffer()),
            ("[ftl]", self.ftl()),
            ("[ftl.mapping]", vec![chosen("unit = \"4KiB\"", "as all drives of this kind map")]),
            ("[ftl.scheduling]", self.scheduling()),
            ("[ftl.gc]", self.collection()),
            ("[ftl.slc_cache]", self.slc_cache()),
        ];
        write_sections(&mut text, sections, &note);
        text
    }

    pub(crate) fn part(&self) -> Vec<Line> {
        vec![
            chosen("base = \"tlc-512g\"", "a current TLC part; power and endurance are its own"),
            chosen(&format!("name = {}", quoted(&format!("{}-flash", self.name))), "a name"),
            chosen("source = \"see the lines below\"", "a text"),
        ]
    }

    fn geometry(&self) -> Vec<Line> {
        let pages_per_block = self.pages_per_block();
        let pages = pages_per_block / self.scale;
        let blocks = self.blocks() + RESERVED_BLOCKS;
        let mut lines = Vec::new();
        if self.bits != 3 {
            lines.push(of(Origin::Bits, &format!("bits_per_cell = {}", self.bits), "three"));
        }
        lines.extend([
            of(
                Origin::Split,
                &format!("planes = {}", self.planes()),
                "four, or one if as many units read as a drive has planes",
            ),
            chosen(
                &format!("blocks_per_plane = {blocks}"),
                &format!("the space below in blocks of {pages_per_block} pages, and the reserved blocks"),
            ),
            chosen(
                &format!("pages_per_block = {pages}"),
                &format!("{pages_per_block}, as the part, by the scale of 1/{}", self.scale),
            ),
            chosen(&format!("layers = {}", pages / self.pages_per_layer()), "four word lines a layer"),
        ]);
        lines
    }

    /// The times of the pages of a word line: those between the first and the last are equal.
    fn reads(&self) -> Vec<f64> {
        let [fast, middle, slow] = self.read;
        match self.bits {
            1 => vec![middle],
            bits => {
                let between = std::iter::repeat_n(middle, bits as usize - 2);
                [fast].into_iter().chain(between).chain([slow]).collect()
            }
        }
    }

    pub(crate) fn timing(&self) -> Vec<Line> {
        let fast = time(self.read[0]);
        let reads: Vec<String> = self.reads().into_iter().map(|read| format!("\"{}\"", time(read))).collect();
        let (suspend, erase) = (time(self.suspend), time(ERASE / f64::from(self.scale)));
        let mut lines = vec![
            of(Origin::Read, &format!("read = [{}]", reads.join(", ")), "as the part"),
            of(Origin::Program, &format!("program = [\"{}\"]", time(self.program)), "as the part"),
            chosen(
                &format!("erase = \"{erase}\""),
                "10 ms by the scale, so that erases take as much of the time",
            ),
        ];
        if self.suspends {
            lines.push(of(
                Origin::Suspend,
                &format!("suspend = [\"{suspend}\", \"{suspend}\"]"),
                "a thirtieth of a program",
            ));
        }
        if let Some(cache) = self.cache {
            let slc = format!(
                "slc = {{ read = \"{fast}\", program = \"{}\", erase = \"{erase}\" }}",
                time(cache.program)
            );
            lines.push(of(Origin::SlcProgram, &slc, "as the part"));
        }
        lines
    }

    pub(crate) fn layout(&self) -> Vec<Line> {
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

    pub(crate) fn bus_lines(&self) -> Vec<Line> {
        vec![of(Origin::Bus, &format!("mode = {}", self.bus), "the middle of those tried")]
    }

    pub(crate) fn command_line(&self) -> Line {
        let text = format!("command_time = \"{}\"", time(self.command));
        of(Origin::Command, &text, "that of a fast drive")
    }

    fn front(&self) -> Vec<Line> {
        let command = self.command_line();
        let interval = self.interval.map(|interval| {
            of(Origin::Interval, &format!("command_interval = \"{}\"", time(interval)), "no limit was found")
        });
        let mut lines = match self.link {
            Link::Express { .. } => vec![
                chosen("queue_depth = 1024", "more than any load has outstanding"),
                command,
                chosen("interface = \"nvme\"", "no other is fitted"),
                of(
                    Origin::Link,
                    &format!("nvme = {{ link = {} }}", self.link.keys()),
                    "that of current drives",
                ),
            ],
            Link::Sata { .. } => vec![
                chosen("queue_depth = 32", "native command queueing of SATA"),
                command,
                of(Origin::Link, "interface = \"sata\"", "as the drive is described"),
                of(Origin::Link, &format!("sata = {}", self.link.keys()), "as the drive is described"),
            ],
        };
        lines.extend(interval);
        lines
    }

    /// The link as keys of its own.
    pub(crate) fn link_lines(&self) -> Vec<Line> {
        match self.link {
            Link::Express { generation, lanes, payload } => [
                format!("generation = {generation}"),
                format!("lanes = {lanes}"),
                format!("max_payload = \"{payload}B\""),
            ]
            .map(|key| of(Origin::Link, &key, "that of current drives"))
            .into(),
            Link::Sata { .. } => Vec::new(),
        }
    }

    fn buffer(&self) -> Vec<Line> {
        vec![
            of(
                Origin::Buffer,
                &format!("size = \"{}\"", mebibytes(self.buffer.unwrap_or(BUFFER))),
                "some programs of every die",
            ),
            chosen("access_time = \"1us\"", "as preset nvme-tlc"),
            chosen("power_loss_protection = \"full\"", "writes complete in the buffer"),
        ]
    }

    pub(crate) fn scheduling(&self) -> Vec<Line> {
        ["programs", "erases"]
            .map(|what| {
                let key = format!("suspend_{what} = {}", self.suspends);
                of(Origin::Suspends, &key, "as drives of this kind do")
            })
            .into()
    }

    /// Garbage collection, with what the drive does while it is idle.
    fn collection(&self) -> Vec<Line> {
        let mut lines = vec![
            chosen("start_below_free_blocks = 4", "a block more than the least"),
            chosen("stop_at_free_blocks = 4", "as many"),
            chosen(
                "paced = true",
                "controllers spread garbage collection over the writes that make it necessary",
            ),
        ];
        let spare = (self.space - self.capacity).max(0.0);
        match (self.idle_gain, self.cache) {
            (Some(_), Some(_)) => {
                let key = format!("background = {{ policy = \"idle-fold\", idle = \"{IDLE}\" }}");
                lines.push(of(Origin::Idle, &key, "none"));
            }
            (Some(gain), None) if spare > 0.0 => {
                let share = (gain / spare).min(1.0);
                let key = format!(
                    "background = {{ policy = \"idle-gc\", idle = \"{IDLE}\", until_spare = {share:.3} }}"
                );
                lines.push(of(Origin::Idle, &key, "none"));
            }
            _ => (),
        }
        lines
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
        // A block in SLC mode holds one page for each cell, and all blocks of an erased drive are spare.
        let share = (cache.size * f64::from(self.bits) / self.space).min(1.0);
        vec![chosen("blocks = 1", "the least"), of(Origin::SlcCache, &format!("spare = {share:.4}"), "none")]
    }
}

impl Link {
    /// The settings of the link.
    pub(crate) fn keys(self) -> String {
        match self {
            Self::Express { generation, lanes, payload } => {
                format!("{{ generation = {generation}, lanes = {lanes}, max_payload = \"{payload}B\" }}")
            }
            Self::Sata { generation } => format!("{{ generation = {generation} }}"),
        }
    }
}

/// A line of the configuration: a key with its value, and the origin of the value.
pub(crate) struct Line {
    text: String,
    /// The parameter whose origin is the comment, if it was identified.
    origin: Option<Origin>,
    /// The choice, and its reason, if it was not.
    otherwise: String,
}

impl Line {
    /// The line, with what its value is from.
    fn with_comment(self, note: &impl Fn(Origin) -> Option<String>) -> String {
        let comment = self.origin.and_then(note).unwrap_or_else(|| format!("chosen: {}", self.otherwise));
        format!("{} # {comment}", self.text)
    }
}

/// Writes tables of a configuration that have lines, each below its head.
pub(crate) fn write_sections<const N: usize>(
    text: &mut String,
    sections: [(&str, Vec<Line>); N],
    note: &impl Fn(Origin) -> Option<String>,
) {
    for (head, lines) in sections.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        let _ = writeln!(text, "\n{head}");
        for line in lines {
            let _ = writeln!(text, "{}", line.with_comment(note));
        }
    }
}

/// The first lines of a configuration.
pub(crate) fn head(description: &str, source: &str) -> String {
    format!("description = {}\nsource = {}\n", quoted(description), quoted(source))
}

/// A text as TOML. Names of models and files have quotes, and may have line ends.
fn quoted(text: &str) -> String {
    toml::Value::from(text.replace(char::is_control, " ")).to_string()
}

/// A line whose value is always chosen.
pub(crate) fn chosen(text: &str, reason: &str) -> Line {
    Line { text: text.into(), origin: None, otherwise: reason.into() }
}

/// A line whose value is chosen unless the parameter was identified.
pub(crate) fn of(origin: Origin, text: &str, reason: &str) -> Line {
    Line { origin: Some(origin), ..chosen(text, reason) }
}

/// A size in bytes as the text of a key, in whole MiB.
fn mebibytes(bytes: f64) -> String {
    format!("{:.0}MiB", (bytes / MIB).max(1.0))
}

/// A time in microseconds as the text of a key, to the nanosecond.
pub(crate) fn time(microseconds: f64) -> String {
    format!("{:.0}ns", microseconds * 1000.0)
}
