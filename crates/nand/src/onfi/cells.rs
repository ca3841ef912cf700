//! The use of a part's cells by a LUN: modes, word lines, and array times.

use wordline_kernel::{Duration, Instant};

use super::lun_times::LunTimes;
use super::row::Row;
use crate::latency::Latency;
use crate::physics::{CellModel, Work};
use crate::{CellMode, DieId, Outcome, Parameters, Part, PlaneBlock, Stage};

/// The cells of a part in their modes: the pages of word lines, and array times.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    pub part: Part,
    pub times: LunTimes,
    pub latency: Latency,
    pub die: DieId,
    /// `None` until a cell model or a parameter set is used.
    pub asks: Option<Box<CellQueries>>,
}

/// The cell model with its parameters, and its last outcome.
#[derive(Clone, Debug, Default)]
pub(super) struct CellQueries {
    pub asked: CellModel,
    /// The parameter set of operations.
    pub set: u16,
    pub outcome: Option<Outcome>,
}

impl Cells {
    /// Pages of a word line in `mode`.
    pub fn pages_per_word_line(&self, mode: CellMode) -> u32 {
        mode.bits(self.part.geometry.bits_per_cell)
    }

    /// Pages of a block in `mode`.
    pub fn pages(&self, mode: CellMode) -> u32 {
        match mode {
            CellMode::Native => self.part.geometry.pages_per_block,
            mode => self.part.pages().word_lines() * self.pages_per_word_line(mode),
        }
    }

    /// Pages that one program writes in one plane.
    pub fn pages_per_program(&self, mode: CellMode) -> u32 {
        if self.part.geometry.one_shot { self.pages_per_word_line(mode) } else { 1 }
    }

    /// The write-back register for `page` of a one-shot part: the bit that the page stores.
    pub fn page_type(&self, page: u32, mode: CellMode) -> u32 {
        if mode == CellMode::Native {
            return self.part.page_type(page);
        }
        page % self.pages_per_word_line(mode)
    }

    /// The number of the program unit of `page`. Units are programmed in order, each at once. A unit is a
    /// word line of a one-shot part, otherwise a page.
    pub fn program_unit(&self, page: u32, mode: CellMode) -> u32 {
        page / self.pages_per_program(mode)
    }

    /// Pages that store lower bits in the cells of `page`, in a block of `mode`.
    pub fn pages_below(&self, page: u32, mode: Option<CellMode>) -> Vec<u32> {
        if mode != Some(CellMode::Native) {
            return Vec::new();
        }
        let pages = self.part.pages();
        pages.partners(page).filter(|other| pages.page_type(*other) < pages.page_type(page)).collect()
    }

    /// The super layer of a page of a block in MLC mode.
    pub fn super_layer(&self, page: u32) -> u32 {
        self.part.super_layer(page / 2, self.times.layers_per_super_layer)
    }

    /// Sense time of `row`.
    pub fn read_time(&self, row: Row, mode: CellMode) -> Duration {
        match (mode, self.part.timing.slc) {
            (CellMode::Slc, Some(slc)) => slc.read,
            (CellMode::Mlc, _) => self.part.read_time(self.page_type(row.page, mode)),
            _ => self.latency.read(row.page, [self.block(row)]),
        }
    }

    /// Program time of `row`, or of its word line in a one-shot part.
    pub fn program_time(&self, row: Row, mode: CellMode) -> Duration {
        match (mode, self.part.timing.slc) {
            (CellMode::Slc, Some(slc)) => slc.program,
            (CellMode::Mlc, _) => self.times.mlc_program,
            _ => {
                let first = row.page - row.page % self.pages_per_program(mode);
                self.latency.program(first, [self.block(row)])
            }
        }
    }

    fn block(&self, row: Row) -> PlaneBlock {
        PlaneBlock { die: self.die, block: row.block }
    }

    /// Reprogram time of a word line; the program time for a part without reprograms.
    pub fn reprogram_time(&self) -> Duration {
        self.part.timing.reprogram.unwrap_or(self.times.mlc_program)
    }

    /// Erase time of a block.
    pub fn erase_time(&self, mode: CellMode) -> Duration {
        match (mode, self.part.timing.slc) {
            (CellMode::Slc, Some(slc)) => slc.erase,
            _ => self.part.timing.erase,
        }
    }

    /// The array time for these rows from `begin` on by the cell model; `data_sheet` is the time by the part.
    pub fn query(
        &mut self,
        stage: Stage,
        mode: CellMode,
        rows: &[Row],
        data_sheet: Duration,
        begin: Instant,
    ) -> Duration {
        let Self { part, asks, die, .. } = self;
        let (Some(asks), Some(first)) = (asks, rows.first()) else { return data_sheet };
        let mut blocks: Vec<PlaneBlock> =
            rows.iter().map(|row| PlaneBlock { die: *die, block: row.block }).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let part = part.in_mode(mode).expect("a mode of the part is set");
        let parameters = &Parameters::DATA_SHEET;
        let work = Work {
            stage,
            part: &part,
            mode,
            page: first.page,
            blocks: &blocks,
            parameters,
            begin,
            data_sheet,
        };
        let (time, outcome) = asks.asked.query(asks.set, work);
        asks.outcome = outcome;
        time
    }

    /// Whether planes have a cache register in front of the registers of the array.
    pub fn has_cache_register(&self) -> bool {
        self.part.geometry.registers > 1 || self.part.geometry.one_shot
    }
}
