//! Blocks in cell modes other than the native one: their pages per word line, and their times.
//!
//! The pages of such a block are numbered by word line in its mode; the page numbers beyond are unused. A
//! command [with a mode](super::Command::spelled) has the prefix of the mode on the bus. A command without a
//! mode uses the mode of its block, which the controller has set in the die beforehand, in no time.

use wordline_kernel::{Column, state};

use super::cell_queries::CellQueries;
use super::partial::PartialPrograms;
use crate::cell_mode::CellMode;
use crate::geometry::{BlockSetId, PageId};
use crate::{Part, Pool, Pools};

/// The part of a pool in a mode, and whether its commands have the prefix of the mode.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub(super) pool: u8,
    pub(super) mode: CellMode,
    pub(super) spelled: bool,
    pub(super) part: Part,
}

/// The enabled modes of the parts, and the modes of the blocks.
#[derive(Clone, Debug)]
pub(super) struct Modes {
    /// The views in the order of their timing tables, which follow the tables of the pools.
    pub(super) views: Vec<View>,
    pub(super) blocks: Column<BlockSetId, CellMode>,
    /// Reprogram passes of each word line since its block was erased, with `word_lines` entries per block;
    /// empty without MLC mode.
    again: Vec<u8>,
    word_lines: u32,
    /// `None` until a cell model or a parameter set is used.
    pub(super) asks: Option<CellQueries>,
    /// `None` unless partial page programs are enabled.
    pub(super) partly: Option<PartialPrograms>,
}

state!(Modes { values { blocks } parts { again, asks, partly } fixed { views, word_lines } });

impl Modes {
    pub(super) fn of(pools: &Pools) -> Box<Self> {
        let blocks = Column::filled(pools.block_sets() as usize, CellMode::Native);
        Box::new(Self {
            views: Vec::new(),
            blocks,
            again: Vec::new(),
            word_lines: 0,
            asks: None,
            partly: None,
        })
    }

    /// Adds the parts of the pools that support `mode`, unless they were added before.
    pub(super) fn enable(&mut self, pools: &Pools, mode: CellMode) {
        if self.views.iter().any(|view| view.mode == mode) {
            return;
        }
        for (number, pool) in (0u8..).zip(pools.iter()).filter(|(_, pool)| has(pool, mode)) {
            let mut add = |mode, spelled| {
                let part = pool.part.in_mode(mode).expect("the part has the mode");
                self.views.push(View { pool: number, mode, spelled, part });
            };
            add(mode, false);
            add(mode, true);
            if mode == CellMode::Mlc {
                add(CellMode::Reprogrammed(0), true);
                self.word_lines = self.word_lines.max(pool.part.pages().word_lines());
            }
        }
        if mode == CellMode::Mlc {
            self.again = vec![0; self.blocks.len() * self.word_lines as usize];
        }
    }

    /// Number of the view of a pool in a mode.
    pub(super) fn find(&self, pool: u8, mode: CellMode, spelled: bool) -> Option<usize> {
        let is_it = |view: &View| {
            view.pool == pool
                && view.mode.of_block() == mode.of_block()
                && view.mode.is_reprogram() == mode.is_reprogram()
                && view.spelled == spelled
        };
        self.views.iter().position(is_it)
    }

    /// Number of reprogram passes of the word line of `page` since its block was erased.
    pub(super) fn reprograms(&self, pools: &Pools, page: PageId) -> u8 {
        self.again.get(self.reprogram_counter_of(pools, page)).copied().unwrap_or(0)
    }

    /// Index of the reprogram counter of a page's word line, in a block in MLC mode.
    fn reprogram_counter_of(&self, pools: &Pools, page: PageId) -> usize {
        let geometry = &pools.of_page(page).geometry;
        let (block, offset) = geometry.split(page);
        (block.0 * self.word_lines + geometry.page_in_block(offset) / 2) as usize
    }

    /// Counts a reprogram of the word line of `page`.
    pub(super) fn count_reprogram(&mut self, pools: &Pools, page: PageId) {
        let line = self.reprogram_counter_of(pools, page);
        if let Some(times) = self.again.get_mut(line) {
            *times = times.saturating_add(1);
        }
    }

    /// Resets the program and reprogram counters of an erased block.
    pub(super) fn reset_counts(&mut self, pools: &Pools, block: BlockSetId) {
        if let Some(partly) = &mut self.partly {
            partly.reset(&pools.of_block(block).geometry, block);
        }
        let first = (block.0 * self.word_lines) as usize;
        let lines = self.again.get_mut(first..first + self.word_lines as usize);
        lines.into_iter().flatten().for_each(|n| *n = 0);
    }
}

/// Whether the blocks of a pool can be in `mode`. A reprogram in MLC mode writes one page of each plane:
/// these pages must be whole locations.
pub(super) fn has(pool: &Pool, mode: CellMode) -> bool {
    let whole = pool.geometry.planes_per_row.is_multiple_of(pool.locations.pages());
    pool.part.has_mode(mode) && (mode != CellMode::Mlc || whole)
}

/// Pages that a program of a block in `mode` writes in each plane.
pub(super) fn per_program(part: &Part, mode: CellMode) -> u32 {
    match mode {
        CellMode::Native => part.pages_per_program(),
        CellMode::Reprogrammed(_) => 1,
        mode if part.geometry.one_shot => mode.bits(part.geometry.bits_per_cell),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use wordline_kernel::{Bytes, Calendar, Duration, Schedule};

    use super::*;
    use crate::chips::{Chips, Command, CommandCompletion, DataTag, Operation};
    use crate::geometry::{DieId, Layout};
    use crate::locations::Location;
    use crate::part::SlcTiming;
    use crate::part::tests::mqsim_file;

    /// A die of a one-shot TLC part with an SLC mode, its planes in one plane group.
    fn chips() -> Chips {
        let us = Duration::from_us;
        let mut file = mqsim_file();
        (file.geometry.bits_per_cell, file.geometry.one_shot, file.geometry.pages_per_block) = (3, true, 12);
        file.timing.slc = Some(SlcTiming { read: us(20), program: us(200), erase: us(2_000) });
        let part = file.check().expect("the part is sound");
        let geometry = Layout::on_one_channel(1, Some(2)).check(&part).expect("the layout is sound");
        let mut chips = Chips::new(Pools::of_pages(part, geometry));
        assert!(chips.enable_mode(CellMode::Slc));
        chips
    }

    fn carry_out(
        chips: &mut Chips,
        calendar: &mut Calendar<crate::chips::Event>,
        operation: Operation,
        block: u32,
        n: u32,
    ) -> (Duration, CommandCompletion) {
        let begin = calendar.now();
        let page = chips.geometry().page(BlockSetId(block), n);
        chips.registers(DieId(0)).fill(DataTag { logical: block, version: 1 });
        let command = Command::new(operation, page, 2, Bytes::kib(16));
        chips.begin(DieId(0), command, calendar);
        loop {
            let event = calendar.advance().expect("the command ends");
            if let Some(done) = chips.handle(event, calendar) {
                return (calendar.now() - begin, done);
            }
        }
    }

    #[test]
    fn a_block_in_slc_mode_holds_a_page_a_word_line_and_has_times_of_its_own() {
        let mut chips = chips();
        chips.set_mode(BlockSetId(1), CellMode::Slc);
        let us = Duration::from_us;
        let (mut arrays, mut calendar) = (Vec::new(), Calendar::new());
        for block in [0, 1] {
            for operation in [Operation::Program, Operation::Read, Operation::Erase] {
                let (time, done) = carry_out(&mut chips, &mut calendar, operation, block, 0);
                assert_eq!(time, done.bus + done.array);
                arrays.push((done.array, done.bus));
            }
        }
        let array: Vec<Duration> = arrays.iter().map(|(array, _)| *array).collect();
        assert_eq!(array, [us(750), us(75), us(3_800), us(200), us(20), us(2_000)]);
        assert!(arrays[0].1.ps() > 2 * arrays[3].1.ps(), "six pages cross the bus, or two");
        assert_eq!(arrays[1].1, arrays[4].1, "as many bytes are read");
        assert_eq!(chips.counts().pages_programmed, 6 + 2);
    }

    #[test]
    fn the_pages_of_a_block_in_slc_mode_are_numbered_by_word_lines() {
        let mut chips = chips();
        chips.set_mode(BlockSetId(0), CellMode::Slc);
        let mut calendar = Calendar::new();
        for n in 0..4 {
            carry_out(&mut chips, &mut calendar, Operation::Program, 0, 2 * n);
        }
        assert_eq!(chips.programmed(BlockSetId(0)), 8);
        assert_eq!(chips.stamp(Location(7)).logical, 0);
        assert_eq!(chips.stamp(Location(8)), DataTag::ERASED);
        carry_out(&mut chips, &mut calendar, Operation::Erase, 0, 0);
        chips.set_mode(BlockSetId(0), CellMode::Native);
        carry_out(&mut chips, &mut calendar, Operation::Program, 0, 0);
        assert_eq!(chips.programmed(BlockSetId(0)), 6);
    }
}
