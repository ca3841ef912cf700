//! How the cells of a part are used: modes, word lines, and how long the array takes.

use wordline_kernel::Duration;

use super::Row;
use crate::Part;

/// How many bits the cells of a block store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CellMode {
    /// As many as the part's data sheet says.
    #[default]
    Normal,
    /// One: faster, and a block has one page for each word line.
    Slc,
    /// Two, in a one-shot part of three or more: a word line that can be programmed again without an erase (ReSSD,
    /// section 3).
    TwoBit,
}

impl CellMode {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        ["the normal mode", "SLC mode", "the two-bit mode"][self as usize]
    }
}

/// Times and limits of a LUN that part files say nothing of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LunTimes {
    /// Programs that a page stands between erases (NOP).
    pub programs_per_page: u32,
    /// Whether planes have a cache register beside the data register: without it there are no cache operations.
    pub cache_register: bool,
    /// Handing a page from one register to the other (tPCBSY, tRCBSY).
    pub cache_busy: Duration,
    /// Handing a page from the cache register to a write-back register of a one-shot part.
    pub page_busy: Duration,
    /// Reset of an idle or reading LUN (tRST).
    pub reset_read: Duration,
    /// Reset of a programming LUN.
    pub reset_program: Duration,
    /// Reset of an erasing LUN.
    pub reset_erase: Duration,
    /// From the suspend of a program until the LUN is ready.
    pub suspend_program: Duration,
    /// From the suspend of an erase until the LUN is ready.
    pub suspend_erase: Duration,
    /// What a resumed operation takes on top of the time that was left.
    pub resume: Duration,
    /// Sensing in SLC mode.
    pub slc_read: Duration,
    /// Programming in SLC mode.
    pub slc_program: Duration,
    /// Erasing a block in SLC mode.
    pub slc_erase: Duration,
    /// Programming a word line in the two-bit mode.
    pub two_bit_program: Duration,
    /// Programming it again.
    pub reprogram: Duration,
    /// How often a word line can be programmed again.
    pub reprograms: u32,
    /// Layers of a block in which word lines may be reprogrammed in any order.
    pub layers_per_super_layer: u32,
    /// Whether planes can sense independently of each other.
    pub independent_reads: bool,
}

impl LunTimes {
    /// The times of `part`, with these defaults for what its file does not say:
    ///
    /// | value | default | from |
    /// |---|---|---|
    /// | programs a page | 4 for SLC, else 1 | usual in data sheets (ONFI parameter page, byte 110) |
    /// | `cache_busy` | 3 us | the least that Micron parts take, of "3 us to tR" (discussion on linux-mtd) |
    /// | `page_busy` | `timing.plane_busy` | chosen: it is the same hand-over |
    /// | resets | 5, 10, 500 us | ONFI's usual tRST for read, program, erase |
    /// | suspends | 100 us program, 700 us erase | MQSim's default part |
    /// | `resume` | 0 | chosen: MQSim counts none |
    /// | SLC mode | 40/90 of the slowest read, 500/1300 of the slowest program | Hynix H27UBG8T2B's data sheet gives both modes |
    /// | SLC erase | `timing.erase` | chosen: an erase moves the same charge |
    /// | two-bit program, reprogram | the slowest program, and 2705/2675 of it | ReSSD, table 4 |
    /// | reprograms, super layers | 2, 2 | ReSSD, sections 3.2 and 3.3 |
    /// | independent reads | no | chosen: few parts have them |
    pub fn of(part: &Part) -> Self {
        let slowest = |times: &[Duration]| times.iter().copied().max().unwrap_or_default();
        let (read, program) = (slowest(&part.timing.read), slowest(&part.timing.program));
        Self {
            programs_per_page: if part.geometry.bits_per_cell == 1 { 4 } else { 1 },
            cache_register: true,
            cache_busy: Duration::from_us(3),
            page_busy: part.timing.plane_busy,
            reset_read: Duration::from_us(5),
            reset_program: Duration::from_us(10),
            reset_erase: Duration::from_us(500),
            suspend_program: Duration::from_us(100),
            suspend_erase: Duration::from_us(700),
            resume: Duration::ZERO,
            slc_read: read * 40 / 90,
            slc_program: program * 500 / 1_300,
            slc_erase: part.timing.erase,
            two_bit_program: program,
            reprogram: program * 2_705 / 2_675,
            reprograms: 2,
            layers_per_super_layer: 2,
            independent_reads: false,
        }
    }
}

/// The cells of a part in their modes: which pages share a word line, and what the array takes.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    pub part: Part,
    pub times: LunTimes,
}

impl Cells {
    /// Pages of a word line.
    pub fn pages_per_word_line(&self, mode: CellMode) -> u32 {
        match mode {
            CellMode::Normal => self.part.geometry.bits_per_cell,
            CellMode::Slc => 1,
            CellMode::TwoBit => 2,
        }
    }

    /// Word lines of a block.
    pub fn word_lines(&self) -> u32 {
        self.part.geometry.pages_per_block / self.part.geometry.bits_per_cell
    }

    /// Pages of a block.
    pub fn pages(&self, mode: CellMode) -> u32 {
        self.word_lines() * self.pages_per_word_line(mode)
    }

    /// Pages that one program writes in one plane.
    pub fn pages_per_program(&self, mode: CellMode) -> u32 {
        if self.part.geometry.one_shot { self.pages_per_word_line(mode) } else { 1 }
    }

    /// The write-back register that takes `page` of a one-shot part: the bit that it stores.
    pub fn page_type(&self, page: u32, mode: CellMode) -> u32 {
        if mode == CellMode::Normal {
            return self.part.page_type(page);
        }
        page % self.pages_per_word_line(mode)
    }

    /// What is programmed at once and in order: the word line of a one-shot part, else the page.
    pub fn program_unit(&self, page: u32, mode: CellMode) -> u32 {
        page / self.pages_per_program(mode)
    }

    /// Pages of the word line of `page` that store lower bits of the same cells, in a block of `mode`.
    pub fn pages_below(&self, page: u32, mode: Option<CellMode>) -> std::ops::Range<u32> {
        if mode != Some(CellMode::Normal) {
            return page..page;
        }
        page - self.page_type(page, CellMode::Normal)..page
    }

    /// The super layer of a page of a block in the two-bit mode: the layers that hold its word line.
    pub fn super_layer(&self, page: u32) -> u32 {
        let layers = self.part.geometry.layers.max(1);
        let word_lines_per_layer = self.word_lines().div_ceil(layers).max(1);
        page / 2 / word_lines_per_layer / self.times.layers_per_super_layer.max(1)
    }

    /// How long the array takes to sense `row`.
    pub fn read_time(&self, row: Row, mode: CellMode) -> Duration {
        match mode {
            CellMode::Normal => self.part.read_time(row.page),
            CellMode::Slc => self.times.slc_read,
            CellMode::TwoBit => self.part.read_time(self.page_type(row.page, mode)),
        }
    }

    /// How long the array takes to program `row`, or its word line in a one-shot part.
    pub fn program_time(&self, row: Row, mode: CellMode) -> Duration {
        match mode {
            CellMode::Normal => self.part.program_time(row.page),
            CellMode::Slc => self.times.slc_program,
            CellMode::TwoBit => self.times.two_bit_program,
        }
    }

    /// How long the array takes to erase a block.
    pub fn erase_time(&self, mode: CellMode) -> Duration {
        if mode == CellMode::Slc { self.times.slc_erase } else { self.part.timing.erase }
    }

    /// Whether the part has `mode`.
    pub fn has(&self, mode: CellMode) -> bool {
        let g = &self.part.geometry;
        mode != CellMode::TwoBit || (g.one_shot && g.bits_per_cell >= 3)
    }
}
