//! Blocks in cell modes other than the native one: their pages per word line, and their times.
//!
//! The pages of such a block are numbered by word line in its mode; the page numbers beyond are unused. A
//! command [with a mode](Command::spelled) has the prefix of the mode on the bus. A command without a mode
//! uses the mode of its block, which the controller has set in the die beforehand, in no time.

use wordline_kernel::{Column, state};

use super::cell_queries::CellQueries;
use super::changed::Changed;
use super::die::Die;
use super::partial::PartialPrograms;
use super::time_factors::TimeFactors;
use super::times::Times;
use super::{Chips, Command, Operation};
use crate::cell_mode::CellMode;
use crate::geometry::{BlockSetId, DieId};
use crate::{Part, Pool, Pools};

/// The part of a pool in a mode, and whether its commands have the prefix of the mode.
#[derive(Clone, Debug)]
pub(super) struct View {
    pool: u8,
    mode: CellMode,
    spelled: bool,
    pub(super) part: Part,
}

/// The enabled modes of the parts, and the modes of the blocks.
#[derive(Clone, Debug)]
pub(super) struct Modes {
    /// The views in the order of their timing tables, which follow the tables of the pools.
    pub(super) views: Vec<View>,
    blocks: Column<BlockSetId, CellMode>,
    /// Reprogram passes of each word line since its block was erased, with `word_lines` entries per block;
    /// empty without MLC mode.
    pub(super) again: Vec<u8>,
    pub(super) word_lines: u32,
    /// `None` until a cell model or a parameter set is used.
    pub(super) asks: Option<CellQueries>,
    /// `None` unless partial page programs are enabled.
    pub(super) partly: Option<PartialPrograms>,
}

state!(Modes { values { blocks } parts { again, asks, partly } fixed { views, word_lines } });

impl Modes {
    fn of(pools: &Pools) -> Box<Self> {
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

    /// Adds the parts of the pools that support `mode`.
    fn enable(&mut self, pools: &Pools, mode: CellMode) {
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

    fn find(&self, pool: u8, mode: CellMode, spelled: bool) -> Option<usize> {
        let is_it = |view: &View| {
            view.pool == pool
                && view.mode.of_block() == mode.of_block()
                && view.mode.is_reprogram() == mode.is_reprogram()
                && view.spelled == spelled
        };
        self.views.iter().position(is_it)
    }
}

/// Whether the blocks of a pool can be in `mode`. A reprogram in MLC mode writes one page of each plane:
/// these pages must be whole locations.
fn has(pool: &Pool, mode: CellMode) -> bool {
    let whole = pool.geometry.planes_per_row.is_multiple_of(pool.locations.pages());
    pool.part.has_mode(mode) && (mode != CellMode::Mlc || whole)
}

impl Chips {
    /// Enables `mode` for blocks from now on. Returns false if no pool's part supports it.
    pub fn enable_mode(&mut self, mode: CellMode) -> bool {
        let mode = mode.of_block();
        if mode == CellMode::Native {
            return true;
        }
        if !self.pools.iter().any(|pool| has(pool, mode)) {
            return false;
        }
        self.with_modes();
        let Self { modes, pools, .. } = self;
        if let Some(modes) = modes
            && modes.views.iter().all(|view| view.mode != mode)
        {
            modes.enable(pools, mode);
        }
        self.update_mode_times();
        true
    }

    /// The state beyond the native mode and the data sheet, created on first use.
    pub(super) fn with_modes(&mut self) -> &mut Modes {
        let Self { modes, pools, .. } = self;
        modes.get_or_insert_with(|| Modes::of(pools))
    }

    /// Computes the timing tables of the enabled modes.
    pub(super) fn update_mode_times(&mut self) {
        assert!(self.changed.is_none(), "times are changed when all of them are known");
        let Self { modes, pools, times, wiring, .. } = self;
        times.truncate(pools.count());
        for View { pool, mode, spelled, part } in modes.iter().flat_map(|modes| &modes.views) {
            let spelled = if *spelled { *mode } else { CellMode::Native };
            times.push(Times::of(part, &pools.get(usize::from(*pool)).geometry, wiring, spelled));
        }
        assert!(times.len() <= usize::from(u8::MAX), "a die names its times with a byte");
        if let Some(asks) = modes.as_ref().and_then(|modes| modes.asks.as_ref()) {
            times.iter_mut().for_each(|times| times.query(asks.queries_sensing()));
        }
    }

    /// Scales the times of all dies by these factors, from the next command of each die on.
    pub fn change_times(&mut self, factors: &TimeFactors) {
        self.times.truncate(self.unchanged_table_count());
        let changed = |marked| self.times.iter().map(move |times| times.changed(factors, marked));
        let both: Vec<Times> = changed(false).chain(changed(true)).collect();
        self.times.extend(both);
        assert!(self.times.len() <= usize::from(u8::MAX), "a die names its times with a byte");
        self.changed = Some(Box::new(Changed { marked: Column::filled(self.dies.len(), false) }));
    }

    /// Marks or unmarks a die, from its next command on.
    pub fn mark(&mut self, die: DieId, marked: bool) {
        if let Some(changed) = &mut self.changed {
            changed.marked[die] = marked;
        }
    }

    /// Sets the mode of an erased block for its programs, reads and next erase; the mode must be enabled.
    pub fn set_mode(&mut self, block: BlockSetId, mode: CellMode) {
        let mode = mode.of_block();
        if let Some(modes) = &mut self.modes {
            let erased = self.pages.programmed[block] == 0;
            assert!(erased || modes.blocks[block] == mode, "a block changes its mode when it is erased");
            modes.blocks[block] = mode;
        }
    }

    /// The mode of a block.
    pub fn mode(&self, block: BlockSetId) -> CellMode {
        self.modes.as_ref().map_or(CellMode::Native, |modes| modes.blocks[block])
    }

    /// Whether `mode` is enabled for the dies of a pool.
    pub(super) fn is_mode_enabled(&self, pool: u8, mode: CellMode) -> bool {
        mode == CellMode::Native
            || self.modes.as_ref().is_some_and(|modes| modes.find(pool, mode, true).is_some())
    }

    /// The mode in which a command is executed.
    pub(super) fn mode_of(&self, command: &Command) -> CellMode {
        let of_block = |modes: &Modes| modes.blocks[self.pools.block_of_page(command.page)];
        let modes = self.modes.as_deref().filter(|modes| !modes.views.is_empty());
        command.mode.unwrap_or_else(|| modes.map_or(CellMode::Native, of_block))
    }

    /// Selects the timing table for the command that `die` has begun, and opens an erased block in the mode
    /// of a program.
    #[inline(never)]
    pub(super) fn choose_times(&mut self, die: DieId) {
        let Die { pool, command, .. } = self.dies[die];
        if self.modes.as_ref().is_none_or(|modes| modes.views.is_empty()) {
            // Only the native mode is enabled.
            self.dies[die].times = self.times_index(die, usize::from(pool)) as u8;
            return;
        }
        let mode = self.mode_of(&command);
        if let (Some(_), Operation::Program | Operation::ProgramCache) = (command.mode, command.operation) {
            let block = self.pools.block_of_page(command.page);
            if self.pages.has_data_tags() && self.pages.programmed[block] == 0 {
                self.set_mode(block, mode);
            }
        }
        let view = self.modes.as_ref().and_then(|modes| modes.find(pool, mode, command.mode.is_some()));
        let kind = view.map_or(usize::from(pool), |view| self.pools.count() + view);
        self.dies[die].times = self.times_index(die, kind) as u8;
    }

    /// The part and the timing table of the current command of a die.
    pub(super) fn part_and_times(&self, die: DieId) -> (&Part, &Times) {
        let at = usize::from(self.dies[die].times);
        let kind = at % self.unchanged_table_count();
        let part = match &self.modes {
            Some(modes) if kind >= self.pools.count() => &modes.views[kind - self.pools.count()].part,
            _ => &self.pool_of(die).part,
        };
        (part, &self.times[at])
    }

    /// Pages that a program writes in each plane.
    #[inline]
    pub(super) fn pages_per_program(&self, die: DieId, command: &Command) -> u32 {
        let part = &self.pool_of(die).part;
        if self.modes.is_none() { part.pages_per_program() } else { per_program(part, self.mode_of(command)) }
    }

    /// Resets the program and reprogram counters of an erased block.
    #[inline]
    pub(super) fn reset_block_counts(&mut self, block: BlockSetId) {
        if self.has_partial_programs() {
            self.reset_program_counts(block);
        }
        if let Some(modes) = &mut self.modes {
            let first = (block.0 * modes.word_lines) as usize;
            modes
                .again
                .get_mut(first..first + modes.word_lines as usize)
                .into_iter()
                .flatten()
                .for_each(|n| *n = 0);
        }
    }
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
    use crate::chips::{Command, CommandCompletion, DataTag, Operation};
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
