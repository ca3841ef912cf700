//! A NAND part: the values of its data sheet, read from TOML and checked.
//!
//! The file is a [`PartFile`]. [`PartFile::check`] converts it to a [`Part`] or returns all complaints.

mod geometry;
mod power;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, Duration, Power};

pub use crate::interface::{BusFile, BusTiming};
pub use geometry::{DieGeometry, MAX_PLANES};
pub use power::{Draw, PowerDraw};

use crate::cell::{AgedCells, AgedCellsFile};
use crate::page_type::{ByType, MAX_BITS_PER_CELL, by_type};
use crate::pairing::{PageTable, Pairing};
use crate::time_range::TimeRange;

/// A part file, unchecked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartFile {
    /// Name of the part.
    pub name: String,
    /// The source of its numbers: data sheet, paper and table, or `chosen` with a reason.
    pub source: String,
    /// The geometry of one die.
    pub geometry: DieGeometry,
    /// Times of the array.
    pub timing: ArrayTiming,
    /// The interface to the channel. Interface and mode determine all times; a key overrides one time.
    pub bus: BusFile,
    /// Power draw of a die.
    pub power: PowerDraw,
    /// Endurance: erases that a block withstands.
    pub endurance: u32,
    /// Programs of a page between two erases (NOP). Default: 4 for SLC, else 1, as in most data sheets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs_per_page: Option<u32>,
    /// The cell model of its arrays, and the age of the cells. Default: arrays take the times above, and no
    /// read needs a retry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<Box<AgedCellsFile>>,
    /// The order of reprogramming word lines (`timing.reprogram`).
    #[serde(default, skip_serializing_if = "SuperLayersFile::is_default")]
    pub super_layers: SuperLayersFile,
    /// Nominal data capacity of a die. The geometry may hold a little more, for spare blocks. Only the check
    /// of the embedded parts uses this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nominal: Option<Bytes>,
}

/// Super layers: groups of layers of a block within which word lines may be reprogrammed in any order (ReSSD,
/// section 3.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SuperLayersFile {
    /// Layers of a super layer.
    pub layers: u32,
    /// Whether a super layer may have more than two layers. With three layers ReSSD's table 2 has up to 234
    /// bit errors per page, more than the ECC of such parts corrects. Devices do not simulate these errors.
    pub allow_uncorrectable: bool,
}

impl Default for SuperLayersFile {
    /// Two layers: ReSSD, section 3.3.
    fn default() -> Self {
        Self { layers: 2, allow_uncorrectable: false }
    }
}

impl SuperLayersFile {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Times of the array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrayTiming {
    /// Time to sense a page into the register (tR): one value, or one value for each page of a word line,
    /// lowest bit first. A value is a time, or a range within which blocks differ.
    pub read: Vec<TimeRange>,
    /// Program time (tPROG): one value, or one value for each page of a word line if the part is not
    /// one-shot. A value is a time, or a range within which blocks differ.
    pub program: Vec<TimeRange>,
    /// The typical program time of the data sheet, for the latency model `typical`. Default: the mean over
    /// the pages of a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_typical: Option<Duration>,
    /// Block erase time (tBERS).
    pub erase: Duration,
    /// Short busy time between the planes of a multi-plane command (tDBSY, tPLPBSY).
    pub plane_busy: Duration,
    /// Time to move a page from one register to the other (the minimum of tPCBSY and tRCBSY).
    #[serde(default = "ArrayTiming::cache_busy")]
    pub cache_busy: Duration,
    /// Reset time (tRST): while idle or sensing, while programming, and while erasing.
    #[serde(default = "ArrayTiming::reset")]
    pub reset: [Duration; 3],
    /// Suspend latency: from a suspend command until the array is idle, while programming and while erasing.
    #[serde(default = "ArrayTiming::suspend")]
    pub suspend: [Duration; 2],
    /// Times of blocks in SLC mode. Default: the part has no SLC mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc: Option<SlcTiming>,
    /// Time of a reprogram of a word line (ReSSD, section 3). Default: the part does not support it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reprogram: Option<Duration>,
    /// Times of word lines in MLC mode. Default: the read times of the two lowest pages, and the time of the
    /// slowest program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub two_bit: Option<TwoBitTiming>,
}

/// Array times of a block in SLC mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlcTiming {
    /// Sensing (tR).
    pub read: Duration,
    /// Programming (tPROG).
    pub program: Duration,
    /// Erasing (tBERS).
    pub erase: Duration,
}

/// Array times of a word line in MLC mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TwoBitTiming {
    /// Sensing either page (tR).
    pub read: Duration,
    /// Programming both pages at once (tPROG).
    pub program: Duration,
}

impl ArrayTiming {
    /// Array timing with one time of each kind and the defaults of the optional keys.
    pub fn new(read: Duration, program: Duration, erase: Duration, plane_busy: Duration) -> Self {
        Self {
            read: vec![read.into()],
            program: vec![program.into()],
            program_typical: None,
            erase,
            plane_busy,
            cache_busy: Self::cache_busy(),
            reset: Self::reset(),
            suspend: Self::suspend(),
            slc: None,
            reprogram: None,
            two_bit: None,
        }
    }

    /// The shortest time of Micron parts. They have from 3 us to tR, as users of their cache reads report
    /// (linux-mtd).
    fn cache_busy() -> Duration {
        Duration::from_us(3)
    }

    /// 5, 10 and 500 us: the usual maxima of ONFI data sheets, from memory of the public specification.
    fn reset() -> [Duration; 3] {
        [5, 10, 500].map(Duration::from_us)
    }

    /// MQSim's defaults for suspending a program and an erase.
    fn suspend() -> [Duration; 2] {
        [100, 700].map(Duration::from_us)
    }
}

/// A checked part.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    file: PartFile,
    /// The interface to the channel, resolved. This field hides the table of the file.
    pub bus: BusTiming,
    /// Power draw, resolved; it shadows the table of the file.
    pub power: Draw,
    pages: PageTable,
    /// Cell model, checked.
    cells: Option<Arc<AgedCells>>,
    /// Sensing and program time by page type; for a range, its middle.
    read: ByType<Duration>,
    program: ByType<Duration>,
}

impl std::ops::Deref for Part {
    type Target = PartFile;
    fn deref(&self) -> &PartFile {
        &self.file
    }
}

/// Maximum spare area of a page. Chosen: four times the largest page, far beyond any part.
const MAX_SPARE_SIZE: Bytes = Bytes::kib(128);
/// Maximum power of a die. Chosen: far beyond any part, yet the energy of a long run still fits its integer.
const MAX_POWER: Power = Power(1_000_000_000);

impl PartFile {
    /// The part, or all complaints about the file.
    pub fn check(self) -> Result<Part, Complaints> {
        let mut wrong = Complaints::default();
        let pages = self.check_geometry(&mut wrong);
        self.check_times(&mut wrong);
        let PowerDraw { read, program, erase, interface, latch, idle, per_plane: _ } = &self.power;
        for power in [read, program, erase, idle].into_iter().chain(interface).chain(latch) {
            wrong.require(*power <= MAX_POWER, "power", power, format!("at most {MAX_POWER}"));
        }
        let bus = self.bus.check().map_err(|inner| wrong.nest("bus", inner)).ok();
        let cells = self.cells.as_ref().and_then(|cells| {
            cells.check(&self.geometry).map_err(|inner| wrong.nest("cells", inner)).ok().map(Arc::new)
        });
        let SuperLayersFile { layers, allow_uncorrectable } = self.super_layers;
        let most = if allow_uncorrectable { self.geometry.layers } else { self.geometry.layers.min(2) };
        let beyond = "; more than 2 need super_layers.allow_uncorrectable = true";
        let wanted = format!("from 1 to {most}{}", if allow_uncorrectable { "" } else { beyond });
        let may = (1..=most).contains(&layers) || self.super_layers.is_default();
        wrong.require(may, "super_layers.layers", layers, wanted);
        wrong.require(!self.source.trim().is_empty(), "source", "nothing", "where the numbers come from");
        let (pages, bus) = wrong
            .into_result(pages.zip(bus))?
            .expect("a file without complaints has a table of pages and a bus");
        let [read, program] = [&self.timing.read, &self.timing.program];
        let [read, program] = [read, program].map(|times| by_type(times).map(TimeRange::middle));
        let power = Draw::of(&self.power, &bus);
        Ok(Part { bus, power, pages, cells, read, program, file: self })
    }

    /// Checks the geometry and returns the page table unless there are complaints.
    fn check_geometry(&self, wrong: &mut Complaints) -> Option<PageTable> {
        let g = &self.geometry;
        for (key, value, most) in [
            ("geometry.planes", g.planes, MAX_PLANES),
            ("geometry.blocks_per_plane", g.blocks_per_plane, 1 << 20),
            ("geometry.pages_per_block", g.pages_per_block, 1 << 14),
            ("geometry.bits_per_cell", g.bits_per_cell, MAX_BITS_PER_CELL),
            ("geometry.layers", g.layers, 1 << 10),
            ("geometry.registers", g.registers, 8),
            ("endurance", self.endurance, 10_000_000),
            ("programs_per_page", self.programs_per_page.unwrap_or(1), 64),
        ] {
            wrong.require((1..=most).contains(&value), key, value, format!("from 1 to {most}"));
        }
        let page = g.page_size.0;
        wrong.require(
            page.is_power_of_two() && (512..=32_768).contains(&page),
            "geometry.page_size",
            g.page_size,
            "a power of two from 512B to 32KiB",
        );
        wrong.require(
            g.spare_size <= MAX_SPARE_SIZE,
            "geometry.spare_size",
            g.spare_size,
            format!("at most {MAX_SPARE_SIZE}"),
        );
        wrong.require(
            g.bits_per_cell > 0 && g.pages_per_block.is_multiple_of(g.bits_per_cell.max(1)),
            "geometry.pages_per_block",
            g.pages_per_block,
            format!("a multiple of geometry.bits_per_cell ({})", g.bits_per_cell),
        );
        if !wrong.0.is_empty() {
            return None;
        }
        wrong.require(
            !g.one_shot || g.pairing == Pairing::WordLine,
            "geometry.pairing",
            "a layout of a part that programs page by page",
            "word-line: the part is one-shot",
        );
        let found = format!("{} bits a cell and {} pages a block", g.bits_per_cell, g.pages_per_block);
        let table = g.pairing.table(g.bits_per_cell, g.pages_per_block);
        table.map_err(|wanted| wrong.add("geometry.pairing", found, wanted)).ok()
    }

    fn check_times(&self, wrong: &mut Complaints) {
        let (g, t) = (&self.geometry, &self.timing);
        let bits = g.bits_per_cell as usize;
        let programs =
            if g.one_shot { "one value: the part is one-shot" } else { "one value, or one for each bit" };
        let mut count = |key, found: usize, one_only: bool, wanted| {
            let holds = found == 1 || (!one_only && found == bits);
            wrong.require(holds, key, format!("{found} values"), wanted);
        };
        count("timing.read", t.read.len(), false, "one value, or one for each bit of a cell");
        count("timing.program", t.program.len(), g.one_shot, programs);
        let ends = |ranges: &[TimeRange]| ranges.iter().flat_map(|range| [range.least, range.most]).collect();
        let slc = t.slc.iter().flat_map(|slc| [slc.read, slc.program, slc.erase]);
        let two_bit = t.two_bit.iter().flat_map(|two_bit| [two_bit.read, two_bit.program]);
        let all: [(&str, Vec<Duration>); 7] = [
            ("timing.read", ends(&t.read)),
            ("timing.program", ends(&t.program)),
            ("timing.erase", vec![t.erase]),
            ("timing.slc", slc.collect()),
            ("timing.two_bit", two_bit.collect()),
            ("timing.reprogram", t.reprogram.into_iter().collect()),
            ("timing.program_typical", t.program_typical.into_iter().collect()),
        ];
        for (key, times) in all {
            let possible = Duration::from_ns(1)..=Duration::from_ms(10_000);
            if let Some(time) = times.iter().find(|time| !possible.contains(time)) {
                wrong.add(key, time, "array times from 1ns to 10s");
            }
        }
        for (key, times) in [
            ("timing.plane_busy", &[t.plane_busy][..]),
            ("timing.cache_busy", &[t.cache_busy]),
            ("timing.reset", &t.reset),
            ("timing.suspend", &t.suspend),
        ] {
            for time in times {
                wrong.require(*time <= Duration::from_ms(1_000), key, time, "at most 1s");
            }
        }
    }
}

impl Part {
    /// Pages that one program operation writes in one plane: all of a word line for a one-shot part, else
    /// one.
    pub fn pages_per_program(&self) -> u32 {
        if self.geometry.one_shot { self.geometry.bits_per_cell } else { 1 }
    }

    /// Word lines of each horizontal layer of a block: the last layer may have fewer, and there may be fewer
    /// layers than `geometry.layers` if the word lines cannot be divided among them.
    pub fn word_lines_per_layer(&self) -> u32 {
        self.pages().word_lines().div_ceil(self.geometry.layers.max(1)).max(1)
    }

    /// The cell model of its arrays with the age of the cells, if the file has one.
    pub fn aged_cells(&self) -> Option<&AgedCells> {
        self.cells.as_deref()
    }

    /// The file of the part.
    pub(crate) fn file(&self) -> &PartFile {
        &self.file
    }

    /// The pages of a block, by type and by word line.
    pub fn pages(&self) -> &PageTable {
        &self.pages
    }

    /// Which bit of its cells a page stores, 0 for the lowest.
    #[inline]
    pub fn page_type(&self, page: u32) -> u32 {
        self.pages.page_type(page)
    }

    /// Sensing time of `page` of a block; for a range, the mean over blocks.
    #[inline]
    pub fn read_time(&self, page: u32) -> Duration {
        self.read[self.page_type(page) as usize]
    }

    /// Program time of `page` of a block, or of its word line in a one-shot part. For a range: the mean over
    /// blocks.
    #[inline]
    pub fn program_time(&self, page: u32) -> Duration {
        self.program[self.page_type(page) as usize]
    }

    /// Sensing times by page type, lowest bit first, as [`Part::read_time`].
    pub fn read_times(&self) -> &[Duration] {
        &self.read[..self.geometry.bits_per_cell as usize]
    }

    /// Program times by page type, lowest bit first, as [`Part::program_time`]; a single time for a one-shot
    /// part.
    pub fn program_times(&self) -> &[Duration] {
        let types = self.geometry.bits_per_cell / self.pages_per_program();
        &self.program[..types as usize]
    }

    /// The typical program time of the data sheet; if there is none, the mean over the pages of a block.
    pub fn typical_program_time(&self) -> Duration {
        let pages = self.geometry.pages_per_block;
        let mean = || (0..pages).map(|page| self.program_time(page)).sum::<Duration>() / u64::from(pages);
        self.timing.program_typical.unwrap_or_else(mean)
    }

    /// The longest program time of any page.
    pub fn worst_program_time(&self) -> Duration {
        self.timing.program.iter().map(|range| range.most).max().unwrap_or_default()
    }

    /// Programs of a page allowed between two erases (NOP).
    pub fn programs_per_page(&self) -> u32 {
        self.programs_per_page.unwrap_or(if self.geometry.bits_per_cell == 1 { 4 } else { 1 })
    }
}

#[cfg(test)]
pub(crate) mod tests;
