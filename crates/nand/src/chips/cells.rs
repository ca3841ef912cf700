//! Contents of the cells of all dies, with their modes, and the effects of finished commands on them. Nothing
//! here takes time.

use wordline_kernel::{Duration, Instant};

use super::cell_queries::{ArrayOperation, CellQueries};
use super::command::{Command, Operation};
use super::counts::Counts;
use super::die::Die;
use super::modes::{Modes, has, per_program};
use super::pages::Pages;
use super::partial::PartialPrograms;
use super::refusal::Refusal;
use crate::cell_mode::CellMode;
use crate::faults::Faults;
use crate::geometry::{BlockSetId, DieId, PageId};
use crate::{Part, Pool, Pools, Stage};

/// The cells of all dies.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    pub(super) pools: Pools,
    pub(super) pages: Pages,
    /// `None` until cell modes other than the native one are enabled.
    pub(super) modes: Option<Box<Modes>>,
    pub(super) faults: Option<Box<Faults>>,
    /// Operation counters of each pool.
    pub(super) counts: Vec<Counts>,
    /// Whether lower pages are backed up before their cells store another page.
    pub(super) backs_up: bool,
}

impl Cells {
    /// Erased cells with these pages.
    pub(super) fn new(pools: Pools, pages: Pages) -> Self {
        let counts = vec![Counts::default(); pools.count()];
        Self { pages, modes: None, faults: None, counts, backs_up: false, pools }
    }

    /// The pool of a die.
    #[inline]
    pub(super) fn pool_of(&self, work: &Die) -> &Pool {
        self.pools.get(usize::from(work.pool))
    }

    /// The state beyond the native mode and the data sheet, created on first use.
    pub(super) fn with_modes(&mut self) -> &mut Modes {
        let Self { modes, pools, .. } = self;
        modes.get_or_insert_with(|| Modes::of(pools))
    }

    /// Enables `mode` for blocks from now on. Returns false if no pool's part supports it.
    pub(super) fn enable_mode(&mut self, mode: CellMode) -> bool {
        let Self { modes, pools, .. } = self;
        let is_known = pools.iter().any(|pool| has(pool, mode));
        if is_known {
            modes.get_or_insert_with(|| Modes::of(pools)).enable(pools, mode);
        }
        is_known
    }

    /// The calls of the cell model, which are made for every array operation from their first use on.
    pub(super) fn asks(&mut self) -> &mut CellQueries {
        let Self { modes, pools, .. } = self;
        let modes = modes.get_or_insert_with(|| Modes::of(pools));
        modes.asks.get_or_insert_with(|| CellQueries::of(pools))
    }

    /// The calls of the cell model, if there are any.
    pub(super) fn asked(&self) -> Option<&CellQueries> {
        self.modes.as_ref().and_then(|modes| modes.asks.as_ref())
    }

    /// Sets the mode of an erased block for its programs, reads and next erase; the mode must be enabled.
    pub(super) fn set_mode(&mut self, block: BlockSetId, mode: CellMode) {
        let mode = mode.of_block();
        if let Some(modes) = &mut self.modes {
            let erased = self.pages.programmed[block] == 0;
            assert!(erased || modes.blocks[block] == mode, "a block changes its mode when it is erased");
            modes.blocks[block] = mode;
        }
    }

    /// The mode of a block.
    pub(super) fn mode(&self, block: BlockSetId) -> CellMode {
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

    /// Opens the erased block of a program with a mode in that mode.
    pub(super) fn open_in_mode(&mut self, command: &Command, mode: CellMode) {
        if let (Some(_), Operation::Program | Operation::ProgramCache) = (command.mode, command.operation) {
            let block = self.pools.block_of_page(command.page);
            if self.pages.has_data_tags() && self.pages.programmed[block] == 0 {
                self.set_mode(block, mode);
            }
        }
    }

    /// The mode of an array operation. If the command specifies none, a word line in MLC mode is sensed with
    /// its number of reprogram passes.
    pub(super) fn mode_at(&self, command: &Command, stage: Stage, page: PageId) -> CellMode {
        let mode = self.mode_of(command);
        let tells = command.mode.is_some() || mode != CellMode::Mlc || stage != Stage::Ton;
        let again = if tells { 0 } else { self.reprograms(page) };
        if again > 0 { CellMode::Reprogrammed(again) } else { mode }
    }

    /// The time of an array operation of a die from `begin` on by the cell model, if the model is called for
    /// it. `view`: number of the view of its part.
    #[inline(never)]
    pub(super) fn query(
        &mut self,
        (die, work): (DieId, &Die),
        (stage, page): (Stage, PageId),
        (data_sheet, begin): (Duration, Instant),
        (view, suspended): (Option<usize>, Option<PageId>),
    ) -> Option<Duration> {
        let Command { planes, parameters, .. } = work.command;
        self.asked().filter(|asks| !asks.is_of_data_sheet(stage, parameters))?;
        let mode = self.mode_at(&work.command, stage, page);
        let Self { modes, pools, .. } = self;
        let (pool, modes) = (pools.of_die(die), modes.as_mut()?);
        let part: &Part = view.and_then(|view| modes.views.get(view)).map_or(&pool.part, |view| &view.part);
        let array =
            ArrayOperation { die, stage, page, planes, parameters, mode, data_sheet, begin, suspended };
        Some(modes.asks.as_mut()?.query(array, (pool, part)))
    }

    /// Pages that a program writes in each plane.
    #[inline]
    pub(super) fn pages_per_program(&self, work: &Die, command: &Command) -> u32 {
        let part = &self.pool_of(work).part;
        if self.modes.is_none() { part.pages_per_program() } else { per_program(part, self.mode_of(command)) }
    }

    /// Resets the program and reprogram counters of an erased block.
    #[inline]
    pub(super) fn reset_block_counts(&mut self, block: BlockSetId) {
        if let Some(modes) = &mut self.modes {
            modes.reset_counts(&self.pools, block);
        }
    }

    pub(super) fn partly(&self) -> Option<&PartialPrograms> {
        self.modes.as_ref().and_then(|modes| modes.partly.as_ref())
    }

    /// Whether partial page programs are enabled.
    pub(super) fn has_partial_programs(&self) -> bool {
        self.partly().is_some()
    }

    /// The pages of a program, over its planes and the pages of a word line.
    fn pages_of(&self, work: &Die, command: &Command) -> impl Iterator<Item = PageId> + use<> {
        let (planes, word_line) = (command.planes, self.pages_per_program(work, command));
        (command.page.0..).take((planes * word_line) as usize).map(PageId)
    }

    /// Checks that each page of a program may be programmed once more, and that the program overwrites no
    /// location.
    pub(super) fn check_partial_program(
        &self,
        die: DieId,
        work: &Die,
        command: &Command,
    ) -> Result<(), Refusal> {
        let is_program = matches!(command.operation, Operation::Program | Operation::ProgramCache);
        let again = command.mode.is_some_and(|mode| mode.is_reprogram());
        let Some(partly) = self.partly().filter(|_| is_program && !again && self.pages.has_data_tags())
        else {
            return Ok(());
        };
        partly.check(self.pages_of(work, command), self.pool_of(work).part.programs_per_page())?;
        let count = command.planes * self.pages_per_program(work, command);
        match self.pages.find_overwritten(die, command.page, count) {
            Some(location) => Err(Refusal::Overwrites { page: self.pools.page_of(location) }),
            None => Ok(()),
        }
    }

    /// Applies a finished command of a die to the pages. Returns the planes in which it failed.
    #[inline(never)]
    pub(super) fn effect(&mut self, die: DieId, work: &Die, command: &Command) -> u16 {
        let Command { operation, planes, .. } = *command;
        let pool = usize::from(work.pool);
        let mut word_line = 0;
        match operation {
            Operation::Read | Operation::ReadCache { .. } => {
                self.counts[pool].read(planes);
            }
            Operation::Program | Operation::ProgramCache | Operation::Copyback { .. } => {
                word_line = self.pages_per_program(work, command);
                let counts = &mut self.counts[pool];
                counts.program_commands += 1;
                counts.pages_programmed += u64::from(planes * word_line);
            }
            Operation::Erase => self.counts[pool].block_sets_erased += 1,
        }
        if self.faults.is_some()
            && let Some(failed) = self.apply_fault(die, work, command)
        {
            return failed;
        }
        if self.modes.is_some() {
            return self.apply_in_mode(die, command, word_line);
        }
        self.pages.apply(die, command, word_line)
    }

    /// Applies a command if modes are enabled. A program writes `word_line` pages in each plane. Returns the
    /// planes in which a limit was exceeded.
    #[inline(never)]
    pub(super) fn apply_in_mode(&mut self, die: DieId, command: &Command, word_line: u32) -> u16 {
        match command.operation {
            Operation::Erase if self.pages.has_data_tags() => {
                self.reset_block_counts(self.pools.block_of_page(command.page));
            }
            Operation::Program if self.mode_of(command).is_reprogram() => {
                self.count_reprogram(command.page);
                if self.pages.has_data_tags() {
                    self.pages.replace(die, command.page, command.planes);
                }
                return 0;
            }
            Operation::Program | Operation::ProgramCache
                if self.has_partial_programs() && self.pages.has_data_tags() =>
            {
                self.program_partial(die, command, word_line);
                return 0;
            }
            _ => {}
        }
        self.pages.apply(die, command, word_line)
    }

    /// Applies a program when partial page programs are enabled.
    fn program_partial(&mut self, die: DieId, command: &Command, word_line: u32) {
        let count = command.planes * word_line;
        let Some(partly) = self.modes.as_mut().and_then(|modes| modes.partly.as_mut()) else { return };
        let is_first = partly.programs(command.page) == 0;
        partly.count((command.page.0..).take(count as usize).map(PageId));
        self.pages.put_partial(die, command.page, count, is_first);
    }
}
