//! A NAND part: the values of its data sheet, read from TOML and checked.
//!
//! The file is a [`PartFile`]; [`PartFile::check`] makes a [`Part`] of it or collects every complaint.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, Duration, Power};

pub use crate::interface::{BusFile, BusTiming};

use crate::cell::{AgedCells, AgedCellsFile};
use crate::latency::{ByType, TimeRange, TwoBitTiming, by_type};
use crate::pairing::{PageTable, Pairing};

/// A part file as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartFile {
    /// Name of the part.
    pub name: String,
    /// Where its numbers come from: data sheet, paper and table, or `chosen` with a reason.
    pub source: String,
    /// The geometry of one die.
    pub geometry: DieGeometry,
    /// How long the array takes.
    pub timing: ArrayTiming,
    /// The interface to the channel: interface and mode give every time, and a key that is given replaces one.
    pub bus: BusFile,
    /// Its power draw.
    pub power: PowerDraw,
    /// Erases that a block stands.
    pub endurance: u32,
    /// Programs of a page between two erases (NOP). Left out: 4 for SLC, else 1, as data sheets usually say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs_per_page: Option<u32>,
    /// The cells behind its arrays, and their age. Left out: arrays take the times above, and every page is read at the first try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<Box<AgedCellsFile>>,
    /// Data capacity of a die as it is sold. The geometry may hold a little more, for spare blocks; nothing but the
    /// check of the embedded parts uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nominal: Option<Bytes>,
}

/// The geometry of one die.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DieGeometry {
    /// Planes of a die.
    pub planes: u32,
    /// Blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Data bytes of a page, a power of two.
    pub page_size: Bytes,
    /// Spare bytes of a page, for ECC and metadata.
    pub spare_size: Bytes,
    /// Bits that a cell stores: 1 SLC, 2 MLC, 3 TLC, 4 QLC. Also the pages of a word line.
    pub bits_per_cell: u32,
    /// Whether one program operation writes all pages of a word line (full-sequence, one-shot).
    pub one_shot: bool,
    /// How page numbers go over the word lines of a block, which decides which pages are fast and which share cells.
    #[serde(default)]
    pub pairing: Pairing,
    /// Horizontal layers of a block; 1 for a planar part.
    #[serde(default = "planar")]
    pub layers: u32,
    /// Page registers of a plane: 1 has no cache operations; 2 is a cache register before the data register; a
    /// one-shot part has as many data registers as bits in a cell behind its cache register in any case.
    #[serde(default = "cache_and_data")]
    pub registers: u32,
    /// Whether the planes of a die sense independently of each other (3Eh on the pins). Devices do not use it yet: `false`.
    #[serde(default)]
    pub independent_reads: bool,
}

fn planar() -> u32 {
    1
}

fn cache_and_data() -> u32 {
    2
}

/// How long the array takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrayTiming {
    /// Sensing a page into the register (tR): one value, or one for each page of a word line, lowest bit first. A
    /// value is a time, or a range within which blocks differ.
    pub read: Vec<TimeRange>,
    /// Programming (tPROG): one value, or one for each page of a word line unless the part is one-shot. A value is a
    /// time, or a range within which blocks differ.
    pub program: Vec<TimeRange>,
    /// The typical programming time of the data sheet, for the latency model `typical`. Left out: the mean over the
    /// pages of a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_typical: Option<Duration>,
    /// Erasing a block (tBERS).
    pub erase: Duration,
    /// Short busy time between the planes of a multi-plane command (tDBSY, tPLPBSY).
    pub plane_busy: Duration,
    /// Handing a page from one register to the other (the least tPCBSY and tRCBSY).
    #[serde(default = "ArrayTiming::cache_busy")]
    pub cache_busy: Duration,
    /// Reset while idle or sensing, while programming and while erasing (tRST).
    #[serde(default = "ArrayTiming::reset")]
    pub reset: [Duration; 3],
    /// From a suspend command until the array rests, while programming and while erasing.
    #[serde(default = "ArrayTiming::suspend")]
    pub suspend: [Duration; 2],
    /// Times of blocks that are used with one bit a cell; left out: the part has no SLC mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc: Option<SlcTiming>,
    /// Programming a word line again with more charge (ReSSD, section 3); left out: the part cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reprogram: Option<Duration>,
    /// Times of word lines with two bits a cell; left out: those of the two lowest pages, and of the slowest program.
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

impl ArrayTiming {
    /// One time of each kind, and the defaults of the optional keys.
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

    /// From 3 us to tR on Micron parts, as users of their cache reads report (linux-mtd).
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

/// The power that a die draws in each state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerDraw {
    /// While sensing.
    pub read: Power,
    /// While programming.
    pub program: Power,
    /// While erasing.
    pub erase: Power,
    /// While data cross the interface. Left out: what the bytes of the interface take at its rate, after figure 24 of
    /// NANDFlashSim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<Power>,
    /// While commands and addresses are latched: a few bytes into a latch, not the whole page register
    /// (NANDFlashSim, section 9.1). Left out: as `interface`, or, where that is left out, what a byte of the interface takes in each
    /// cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latch: Option<Power>,
    /// While idle.
    pub idle: Power,
    /// Whether each plane that takes part draws what is given for read, program and erase. Left out: the die draws it
    /// however many planes take part, as data sheets give one current.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_plane: bool,
}

impl PowerDraw {
    /// The same draw in every state, of the die however many planes take part: where power is not looked at.
    pub const fn even(power: Power) -> Self {
        Self {
            read: power,
            program: power,
            erase: power,
            interface: Some(power),
            latch: None,
            idle: power,
            per_plane: false,
        }
    }
}

/// The power that a die draws in each state, with the values that the table of a part leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draw {
    /// While sensing.
    pub read: Power,
    /// While programming.
    pub program: Power,
    /// While erasing.
    pub erase: Power,
    /// While data cross the interface.
    pub interface: Power,
    /// While commands and addresses are latched.
    pub latch: Power,
    /// While idle.
    pub idle: Power,
    /// Whether each plane that takes part draws what is given for read, program and erase.
    pub per_plane: bool,
}

impl Draw {
    fn of(table: &PowerDraw, bus: &BusTiming) -> Self {
        let PowerDraw { read, program, erase, interface, latch, idle, per_plane } = *table;
        let latch = latch.or(interface).unwrap_or_else(|| bus.latch_power());
        let interface = interface.unwrap_or_else(|| bus.data_power());
        Self { read, program, erase, interface, latch, idle, per_plane }
    }
}

/// A part whose numbers fit each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    file: PartFile,
    /// The interface to the channel, resolved; it stands before the table of the file.
    pub bus: BusTiming,
    /// Its power draw, resolved; it replaces the table of the file.
    pub power: Draw,
    pages: PageTable,
    /// Its cells, checked.
    cells: Option<Arc<AgedCells>>,
    /// Sensing and programming by page type; the middle of a range.
    read: ByType<Duration>,
    program: ByType<Duration>,
}

impl std::ops::Deref for Part {
    type Target = PartFile;
    fn deref(&self) -> &PartFile {
        &self.file
    }
}

/// The greatest number of planes of a die and of bits of a cell, bounds of fixed tables.
pub const MOST_PLANES: u32 = 16;
/// See [`MOST_PLANES`].
pub const MOST_BITS: u32 = 5;

/// The greatest spare area of a page. Chosen: four times the largest page, far beyond any part's.
const MOST_SPARE: Bytes = Bytes::kib(128);
/// The greatest power of a die. Chosen: far beyond any part's, and energies of long runs still fit their integers.
const MOST_POWER: Power = Power(1_000_000_000);

impl PartFile {
    /// The part, or everything that is wrong with the file.
    pub fn check(self) -> Result<Part, Complaints> {
        let mut wrong = Complaints::default();
        let pages = self.check_geometry(&mut wrong);
        self.check_times(&mut wrong);
        let PowerDraw { read, program, erase, interface, latch, idle, per_plane: _ } = &self.power;
        for power in [read, program, erase, idle].into_iter().chain(interface).chain(latch) {
            wrong.require(*power <= MOST_POWER, "power", power, format!("at most {MOST_POWER}"));
        }
        let bus = self.bus.check().map_err(|inner| wrong.nest("bus", inner)).ok();
        let cells = self.cells.as_ref().and_then(|cells| {
            cells.check(&self.geometry).map_err(|inner| wrong.nest("cells", inner)).ok().map(Arc::new)
        });
        wrong.require(!self.source.trim().is_empty(), "source", "nothing", "where the numbers come from");
        let (pages, bus) =
            wrong.or_ok(pages.zip(bus))?.expect("a file without complaints has a table of pages and a bus");
        let [read, program] = [&self.timing.read, &self.timing.program];
        let [read, program] = [read, program].map(|times| by_type(times).map(TimeRange::middle));
        let power = Draw::of(&self.power, &bus);
        Ok(Part { bus, power, pages, cells, read, program, file: self })
    }

    /// The table of pages, unless there was something to complain about.
    fn check_geometry(&self, wrong: &mut Complaints) -> Option<PageTable> {
        let g = &self.geometry;
        for (key, value, most) in [
            ("geometry.planes", g.planes, MOST_PLANES),
            ("geometry.blocks_per_plane", g.blocks_per_plane, 1 << 20),
            ("geometry.pages_per_block", g.pages_per_block, 1 << 14),
            ("geometry.bits_per_cell", g.bits_per_cell, MOST_BITS),
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
            g.spare_size <= MOST_SPARE,
            "geometry.spare_size",
            g.spare_size,
            format!("at most {MOST_SPARE}"),
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
        let ranges = t.read.iter().chain(&t.program).flat_map(|range| [range.least, range.most]);
        let slc = t.slc.iter().flat_map(|slc| [slc.read, slc.program, slc.erase]);
        let two_bit = t.two_bit.iter().flat_map(|two_bit| [two_bit.read, two_bit.program]);
        for time in
            ranges.chain([t.erase]).chain(slc).chain(two_bit).chain(t.reprogram).chain(t.program_typical)
        {
            wrong.require(
                (Duration::from_ns(1)..=Duration::from_ms(10_000)).contains(&time),
                "timing",
                time,
                "array times from 1ns to 10s",
            );
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
    /// Pages that one program operation writes in one plane: all of a word line for a one-shot part, else one.
    pub fn pages_per_program(&self) -> u32 {
        if self.geometry.one_shot { self.geometry.bits_per_cell } else { 1 }
    }

    /// The cells behind its arrays with their age, if it names any.
    pub fn aged_cells(&self) -> Option<&AgedCells> {
        self.cells.as_deref()
    }

    /// The file that it was made of.
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

    /// Sensing time of `page` of a block; where the part gives a range, the mean over blocks.
    #[inline]
    pub fn read_time(&self, page: u32) -> Duration {
        self.read[self.page_type(page) as usize]
    }

    /// Programming time of `page` of a block (of its word line, for a one-shot part); where the part gives a range,
    /// the mean over blocks.
    #[inline]
    pub fn program_time(&self, page: u32) -> Duration {
        self.program[self.page_type(page) as usize]
    }

    /// Sensing times by page type, lowest bit first, as [`Part::read_time`].
    pub fn read_times(&self) -> &[Duration] {
        &self.read[..self.geometry.bits_per_cell as usize]
    }

    /// Programming times by page type, lowest bit first, as [`Part::program_time`]; one for a one-shot part.
    pub fn program_times(&self) -> &[Duration] {
        let types = self.geometry.bits_per_cell / self.pages_per_program();
        &self.program[..types as usize]
    }

    /// The typical programming time of the data sheet; where the part has none, the mean over the pages of a block.
    pub fn typical_program_time(&self) -> Duration {
        let pages = self.geometry.pages_per_block;
        let mean = || (0..pages).map(|page| self.program_time(page)).sum::<Duration>() / u64::from(pages);
        self.timing.program_typical.unwrap_or_else(mean)
    }

    /// The longest programming time of any page.
    pub fn worst_program_time(&self) -> Duration {
        self.timing.program.iter().map(|range| range.most).max().unwrap_or_default()
    }

    /// Programs that a page stands between two erases (NOP).
    pub fn programs_per_page(&self) -> u32 {
        self.programs_per_page.unwrap_or(if self.geometry.bits_per_cell == 1 { 4 } else { 1 })
    }

    /// Data bytes of one die.
    pub fn die_capacity(&self) -> Bytes {
        let g = &self.geometry;
        g.page_size * u64::from(g.planes) * u64::from(g.blocks_per_plane) * u64::from(g.pages_per_block)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::interface::Interface;

    /// MQSim's default part (its `ssdconfig.xml` and `ONFI_Channel_NVDDR2`), two planes of MLC.
    pub(crate) fn mqsim_file() -> PartFile {
        let us = Duration::from_us;
        PartFile {
            name: "mqsim".into(),
            source: "MQSim defaults".into(),
            geometry: DieGeometry {
                planes: 2,
                blocks_per_plane: 16,
                pages_per_block: 8,
                page_size: Bytes::kib(8),
                spare_size: Bytes(448),
                bits_per_cell: 2,
                one_shot: false,
                pairing: Pairing::WordLine,
                layers: 1,
                registers: 2,
                independent_reads: false,
            },
            timing: ArrayTiming::new(us(75), us(750), us(3_800), Duration::from_ns(500)),
            bus: BusFile::new(Interface::NvDdr2, 6),
            power: PowerDraw {
                read: Power(82_500),
                program: Power(82_500),
                erase: Power(82_500),
                interface: Some(Power(16_500)),
                latch: None,
                per_plane: false,
                idle: Power(33),
            },
            endurance: 10_000,
            programs_per_page: None,
            nominal: None,
            cells: None,
        }
    }

    /// The same, checked.
    pub(crate) fn mqsim() -> Part {
        mqsim_file().check().expect("the part is sound")
    }

    #[test]
    fn a_part_file_reports_everything_that_is_wrong() {
        let mut file = mqsim_file();
        file.geometry.planes = 0;
        file.geometry.page_size = Bytes(5_000);
        file.timing.read = vec![Duration::from_us(1).into(); 3];
        let wrong = file.check().expect_err("three things are wrong");
        let keys: Vec<&str> = wrong.0.iter().map(|c| c.key.as_str()).collect();
        assert_eq!(keys, ["geometry.planes", "geometry.page_size", "timing.read"]);
    }

    #[test]
    fn sizes_and_powers_that_no_integer_holds_are_complaints() {
        let mut file = mqsim_file();
        file.geometry.spare_size = Bytes(u64::MAX);
        file.power.latch = Some(Power(u64::MAX));
        let wrong = file.check().expect_err("two things are wrong");
        let keys: Vec<&str> = wrong.0.iter().map(|c| c.key.as_str()).collect();
        assert_eq!(keys, ["geometry.spare_size", "power"]);
    }

    #[test]
    fn a_layout_that_does_not_fit_is_a_complaint() {
        let mut file = mqsim_file();
        file.geometry.pairing = Pairing::ShadowTlc;
        file.timing.read.clear();
        let wrong = file.check().expect_err("two things are wrong").to_string();
        let found = "geometry.pairing: found 2 bits a cell and 8 pages a block, wanted 3 bits a cell";
        assert!(wrong.starts_with(found) && wrong.contains("timing.read: found 0 values"), "{wrong}");
    }

    #[test]
    fn a_one_shot_part_has_the_pages_of_a_word_line_side_by_side() {
        let mut file = mqsim_file();
        file.geometry.one_shot = true;
        assert!(file.clone().check().is_ok());
        file.geometry.pairing = Pairing::TwoThenSingles;
        let wrong = file.check().expect_err("it programs page by page").to_string();
        assert!(wrong.contains("wanted word-line: the part is one-shot"), "{wrong}");
    }

    #[test]
    fn the_power_of_the_interface_follows_from_interface_and_rate_unless_it_is_given() {
        let draw = |bus: BusFile| {
            let mut file = PartFile { bus, ..mqsim_file() };
            file.power.interface = None;
            file.check().expect("the part is sound").power
        };
        // NANDFlashSim, table III: 16.5 mW at a byte each 25 ns.
        let sdr = draw(BusFile::new(Interface::Sdr, 4));
        assert_eq!((sdr.interface, sdr.latch), (Power(16_500), Power(16_500)));
        assert_eq!(draw(BusFile::new(Interface::Sdr, 5)).interface, Power(20_625), "20 ns");
        // Figure 24: DDR2-800, 270 mW at a byte each 2.5 ns.
        assert_eq!(draw(BusFile::new(Interface::NvDdr2, 7)).interface, Power(270_000), "400 MT/s");
        let half = draw(BusFile {
            rate: Some(wordline_kernel::MegaTransfers(200)),
            ..BusFile::new(Interface::NvDdr2, 7)
        });
        assert_eq!((half.interface, half.latch), (Power(135_000), Power(27_000)), "a byte a cycle of 25 ns");
        let wide = BusFile { width: Some(16), ..BusFile::new(Interface::Sdr, 4) };
        assert_eq!(draw(wide).interface, Power(33_000), "two bytes each 25 ns");
        let given = mqsim_file().check().expect("the part is sound").power;
        assert_eq!((given.interface, given.latch), (Power(16_500), Power(16_500)));
    }

    #[test]
    fn the_energy_of_a_byte_falls_with_each_interface_but_the_first_step() {
        // NANDFlashSim, figure 24 and section 9.3: DDR1 costs more than the baseline, DDR3 the least.
        let [sdr, ddr, ddr2, ddr3, lpddr4] = Interface::ALL.map(|interface| interface.byte_energy().0);
        assert!(ddr > ddr2 && ddr2 > sdr && sdr > ddr3 && ddr3 == lpddr4);
    }

    #[test]
    fn times_go_by_the_page_types_of_the_layout() {
        let mut file = mqsim_file();
        file.geometry.pairing = Pairing::FourThenPairs;
        file.timing.read = [50, 60].map(|us| Duration::from_us(us).into()).to_vec();
        file.timing.program = ["250us", "2000us..2200us"].map(|text| text.parse().expect(text)).to_vec();
        let part = file.check().expect("the part is sound");
        let programs: Vec<f64> = (0..8).map(|page| part.program_time(page).us()).collect();
        assert_eq!(programs, [250.0, 250.0, 250.0, 250.0, 2100.0, 2100.0, 2100.0, 2100.0]);
        assert_eq!(part.read_time(3), Duration::from_us(50));
        assert_eq!(part.read_times(), [50, 60].map(Duration::from_us));
        assert_eq!(part.program_times(), [250, 2100].map(Duration::from_us));
        assert_eq!(part.typical_program_time(), Duration::from_us(1175));
        assert_eq!(part.worst_program_time(), Duration::from_us(2200));
    }
}
