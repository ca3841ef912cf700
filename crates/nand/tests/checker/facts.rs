//! Parts for test sequences, and the facts that a host knows from their data sheets.

use wordline_kernel::{Bytes, Duration, Power};
use wordline_nand::interface::{BusFile, Interface};
use wordline_nand::part::{ArrayTiming, DieGeometry, PartFile, PowerDraw, SlcTiming};
use wordline_nand::{Pairing, Part};

/// Numbers of a data sheet; times in picoseconds.
#[derive(Clone, Debug)]
pub struct Facts {
    pub file: PartFile,
    pub planes: usize,
    /// Blocks of a LUN, over all planes.
    pub blocks: u32,
    pub pages: u32,
    pub bits: u32,
    pub one_shot: bool,
    /// Whether a plane has a cache register beside its data register.
    pub cache: bool,
    pub page_bytes: u32,
    /// Programs of a page between erases.
    pub programs: u32,
    pub endurance: u32,
    /// tR and tPROG by page type.
    pub read: Vec<u64>,
    pub program: Vec<u64>,
    /// tBERS.
    pub erase: u64,
    pub slc: Option<[u64; 3]>,
    pub plane_busy: u64,
    pub cache_busy: u64,
    pub reset: [u64; 3],
    pub suspend: [u64; 2],
}

/// Number of parts.
pub const PARTS: u8 = 4;

fn file(name: &str, planes: u32, pages: u32, bits: u32) -> PartFile {
    let us = Duration::from_us;
    PartFile {
        name: name.into(),
        source: "chosen: small enough for many sequences, with every feature on one of the parts".into(),
        geometry: DieGeometry {
            planes,
            blocks_per_plane: 3,
            pages_per_block: pages,
            page_size: Bytes(512),
            spare_size: Bytes(16),
            bits_per_cell: bits,
            one_shot: false,
            pairing: Pairing::WordLine,
            layers: 1,
            registers: 2,
            independent_reads: false,
        },
        timing: ArrayTiming::new(us(25), us(200), us(1_500), Duration::from_ns(500)),
        bus: BusFile::new(Interface::Sdr, 4),
        power: PowerDraw::even(Power(1)),
        endurance: 3,
        programs_per_page: None,
        super_layers: Default::default(),
        nominal: None,
        cells: None,
    }
}

/// The file of a part:
///
/// * 0: SLC with two planes;
/// * 1: MLC with four planes;
/// * 2: one-shot TLC with two planes;
/// * 3: SLC without a cache register; its number of pages is not a power of two.
pub fn part_file(n: u8) -> PartFile {
    let us = Duration::from_us;
    let slc = Some(SlcTiming { read: us(20), program: us(150), erase: us(1_000) });
    match n % PARTS {
        0 => file("slc", 2, 8, 1),
        1 => {
            let mut mlc = file("mlc", 4, 8, 2);
            mlc.timing.read = [40, 60].map(|t| us(t).into()).to_vec();
            mlc.timing.program = [300, 900].map(|t| us(t).into()).to_vec();
            mlc.timing.slc = slc;
            mlc.bus = BusFile::new(Interface::NvDdr2, 5);
            mlc
        }
        2 => {
            let mut tlc = file("tlc", 2, 12, 3);
            tlc.geometry.one_shot = true;
            tlc.timing.read = [50, 70, 90].map(|t| us(t).into()).to_vec();
            tlc.timing.program = vec![us(1_700).into()];
            tlc.timing.slc = slc;
            tlc
        }
        _ => {
            let mut odd = file("odd", 2, 6, 1);
            odd.geometry.registers = 1;
            odd.bus = BusFile::new(Interface::Sdr, 1);
            odd
        }
    }
}

pub fn part(n: u8) -> Part {
    part_file(n).check().expect("the part is sound")
}

impl Facts {
    pub fn of(n: u8) -> Self {
        let file = part_file(n);
        let (g, t) = (&file.geometry, &file.timing);
        Self {
            planes: g.planes as usize,
            blocks: g.planes * g.blocks_per_plane,
            pages: g.pages_per_block,
            bits: g.bits_per_cell,
            one_shot: g.one_shot,
            cache: g.registers > 1 || g.one_shot,
            page_bytes: (g.page_size.0 + g.spare_size.0) as u32,
            programs: if g.bits_per_cell == 1 { 4 } else { 1 },
            endurance: file.endurance,
            read: t.read.iter().map(|range| range.most.ps()).collect(),
            program: t.program.iter().map(|range| range.most.ps()).collect(),
            erase: t.erase.ps(),
            slc: t.slc.map(|slc| [slc.read, slc.program, slc.erase].map(Duration::ps)),
            plane_busy: t.plane_busy.ps(),
            cache_busy: t.cache_busy.ps(),
            reset: t.reset.map(Duration::ps),
            suspend: t.suspend.map(Duration::ps),
            file,
        }
    }

    /// Pages of a block, in SLC mode or in the native mode.
    pub fn pages_in(&self, slc: bool) -> u32 {
        if slc { self.pages / self.bits } else { self.pages }
    }

    /// Pages that one program writes in a plane.
    pub fn together(&self, slc: bool) -> u32 {
        if self.one_shot && !slc { self.bits } else { 1 }
    }

    pub fn read_time(&self, page: u32, slc: bool) -> u64 {
        match self.slc.filter(|_| slc) {
            Some(times) => times[0],
            None => self.read[(page % self.bits) as usize % self.read.len()],
        }
    }

    pub fn program_time(&self, page: u32, slc: bool) -> u64 {
        match self.slc.filter(|_| slc) {
            Some(times) => times[1],
            None => self.program[(page % self.bits) as usize % self.program.len()],
        }
    }

    pub fn erase_time(&self, slc: bool) -> u64 {
        self.slc.filter(|_| slc).map_or(self.erase, |times| times[2])
    }

    /// Number of bits for numbers below `count`.
    fn bits_of(count: u32) -> u32 {
        (0..32).find(|bits| 1u64 << bits >= u64::from(count)).unwrap_or(32)
    }

    /// LUN, block and page of a row address.
    pub fn split(&self, row: u32) -> (u32, u32, u32) {
        let (block, lun) = (Self::bits_of(self.pages), Self::bits_of(self.blocks));
        (row >> (block + lun), (row >> block) % (1 << lun), row % (1 << block))
    }

    /// The three address bytes of a row: LUN, block and page.
    pub fn row(&self, (lun, block, page): (u32, u32, u32)) -> [u8; 3] {
        let (pages, blocks) = (Self::bits_of(self.pages), Self::bits_of(self.blocks));
        let [low, middle, high, _] = (lun << (pages + blocks) | block << pages | page).to_le_bytes();
        [low, middle, high]
    }
}
