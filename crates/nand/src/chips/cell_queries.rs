//! Calls of the cell model by chips: the time and outcome of each array operation.
//!
//! [`CellQueries`] exists only if a cell model or a parameter set is used. Otherwise commands need no calls
//! and no lookups.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Column, Duration, Instant, Seed, state};

use super::{Chips, Command, CommandCompletion, Operation};
use crate::cell_mode::CellMode;
use crate::faults::Faults;
use crate::geometry::{DieId, PageId, PlaneBlock};
use crate::part::MAX_PLANES;
use crate::physics::{CellModel, Outcome, Parameters, Physics, Sensed, Work};
use crate::{Pools, Stage};

/// Outcomes kept for each die. Chosen: one each for the current command, a cache program that still works in
/// the background, the sense ahead for the next cache read, and a suspended operation.
const KEPT_OUTCOMES: usize = 4;

/// The outcome of an array operation on a page.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Recent {
    stage: Stage,
    page: PageId,
    outcome: Outcome,
}

/// The cell model, and its recent outcomes, the latest last.
#[derive(Clone, Debug)]
pub(super) struct CellQueries {
    asked: CellModel,
    /// Whether the cell model determines which pages are uncorrectable.
    determines_uncorrectable: bool,
    recent: Column<DieId, Vec<Recent>>,
}

state!(CellQueries { values { recent } parts { asked } fixed { determines_uncorrectable } });

impl CellQueries {
    pub(super) fn of(pools: &Pools) -> Self {
        Self {
            asked: CellModel::default(),
            determines_uncorrectable: false,
            recent: Column::filled(pools.dies() as usize, Vec::new()),
        }
    }

    /// Whether the cell model is called for sensing, too.
    pub(super) fn queries_sensing(&self) -> bool {
        !self.asked.has_data_sheet_sensing()
    }

    /// Stores an outcome. It replaces the oldest outcome that does not belong to a suspended operation.
    fn keep(&mut self, die: DieId, recent: Recent, suspended: Option<PageId>) {
        let kept = &mut self.recent[die];
        kept.retain(|old| (old.stage, old.page) != (recent.stage, recent.page));
        if kept.len() == KEPT_OUTCOMES
            && let Some(at) = kept.iter().position(|old| Some(old.page) != suspended)
        {
            kept.remove(at);
        }
        kept.push(recent);
    }
}

impl Chips {
    /// Uses `physics` as the cell model for the times and outcomes of array operations from now on.
    pub fn set_physics(&mut self, physics: Box<dyn Physics>) {
        let asks = self.asks();
        asks.asked.set_physics(physics);
        asks.determines_uncorrectable = asks.asked.determines_uncorrectable();
        let determines_uncorrectable = asks.determines_uncorrectable;
        self.update_mode_times();
        if determines_uncorrectable && self.faults.is_none() {
            // The ends of reads are checked only if there is a set of fault rules.
            self.faults = Some(Box::new(Faults::new(&[], &self.pools, Seed(0))));
        }
    }

    /// Whether the cell model determines which pages are uncorrectable.
    pub(super) fn cells_determine_uncorrectable(&self) -> bool {
        self.modes
            .as_ref()
            .and_then(|modes| modes.asks.as_ref())
            .is_some_and(|asks| asks.determines_uncorrectable)
    }

    /// The uncorrectable pages of a read according to the cell model, as a bit mask with the lowest bit for
    /// the first page.
    pub(super) fn uncorrectable_by_cells(&mut self, die: DieId, command: &Command) -> u16 {
        if !self.cells_determine_uncorrectable() {
            return 0;
        }
        self.query_sensed(die, command, self.dies[die].level, |asked, sensed| asked.is_uncorrectable(sensed))
    }

    /// Whether a page of a completed read needs soft-decision decoding.
    pub fn needs_soft_decision(&mut self, done: &CommandCompletion) -> bool {
        if !self.cells_determine_uncorrectable() {
            return false;
        }
        let soft = |asked: &mut CellModel, sensed: &Sensed| asked.needs_soft_decision(sensed);
        self.query_sensed(done.die, &done.command, done.level, soft) != 0
    }

    /// Queries the cell model for each programmed page of a read. Returns the results as a bit mask, the
    /// lowest bit for the first page.
    fn query_sensed(
        &mut self,
        die: DieId,
        command: &Command,
        level: u8,
        query: impl Fn(&mut CellModel, &Sensed) -> bool,
    ) -> u16 {
        let Command { page, planes, .. } = *command;
        let (mode, now) = (self.mode_at(command, Stage::Ton, page), self.dies[die].ends());
        let Self { modes, pools, pages, .. } = self;
        let pool = pools.of_die(die);
        let (block, offset) = pool.geometry.split(page);
        let number = pool.geometry.page_in_block(offset);
        let first = offset - number * pool.geometry.planes_per_row;
        let (word_line, page_type) = match mode.of_block() {
            CellMode::Native => (pool.part.pages().word_line(number), pool.part.page_type(number)),
            other => {
                let bits = other.bits(pool.part.geometry.bits_per_cell);
                (number / bits, number % bits)
            }
        };
        let asks = modes.as_mut().and_then(|modes| modes.asks.as_mut()).expect("they were there just now");
        let mut answers = 0;
        for (n, at) in (0..).zip(pool.geometry.plane_blocks(block, first..first + planes)) {
            if !pages.has_data_tags() || pages.are_programmed(PageId(page.0 + n), 1) {
                let sensed = Sensed { at, word_line, page_type, mode, level, now };
                answers |= u16::from(query(&mut asks.asked, &sensed)) << n;
            }
        }
        answers
    }

    /// Stores `parameters` as set `number`, from 1 on, for commands that begin from now on.
    pub fn set_parameters(&mut self, number: u16, parameters: Parameters) {
        assert!(number > 0, "set 0 is that of the data sheet");
        self.asks().asked.set(number, parameters);
    }

    /// The parameters in set `number`; `None` if there is no such set.
    pub fn parameters(&self, number: u16) -> Option<&Parameters> {
        let asks = self.modes.as_ref().and_then(|modes| modes.asks.as_ref())?;
        asks.asked.parameters(number)
    }

    /// Whether commands may refer to set `number`.
    pub(super) fn has_parameters(&self, number: u16) -> bool {
        number == 0 || self.parameters(number).is_some()
    }

    /// The outcome of a command that has just completed, if its parameters request it; for a copyback, the
    /// outcome of the program.
    pub fn outcome(&self, done: &CommandCompletion) -> Option<&Outcome> {
        let asks = self.modes.as_ref().and_then(|modes| modes.asks.as_ref())?;
        let Command { operation, page, .. } = done.command;
        let wanted = match operation {
            Operation::Read | Operation::ReadCache { .. } => (Stage::Ton, page),
            Operation::Program | Operation::ProgramCache => (Stage::Tin, page),
            Operation::Copyback { to } => (Stage::Tin, to),
            Operation::Erase => (Stage::Ber, page),
        };
        let is_it = |recent: &&Recent| (recent.stage, recent.page) == wanted;
        asks.recent[done.die].iter().find(is_it).map(|recent| &recent.outcome)
    }

    /// Enables calls of the cell model for every array operation from now on.
    fn asks(&mut self) -> &mut CellQueries {
        if self.with_modes().asks.is_none() {
            let asks = CellQueries::of(&self.pools);
            self.with_modes().asks = Some(asks);
            self.update_mode_times();
        }
        self.with_modes().asks.as_mut().expect("they were made just now")
    }

    /// The array time of `die` for `page`, with `data_sheet` as the time of the part. The operation begins at
    /// `begin`, or when the array becomes idle.
    #[inline(never)]
    pub(super) fn query(
        &mut self,
        die: DieId,
        (stage, page): (Stage, PageId),
        data_sheet: Duration,
        begin: Instant,
    ) -> Duration {
        let work = &self.dies[die];
        let Command { planes, parameters, .. } = work.command;
        let asks = self.modes.as_ref().and_then(|modes| modes.asks.as_ref());
        let is_known = |asks: &CellQueries| stage == Stage::Ton && parameters == 0 && !asks.queries_sensing();
        if asks.is_none_or(is_known) {
            return data_sheet;
        }
        let mode = self.mode_at(&work.command, stage, page);
        let begin = begin.max(work.pipeline.array_ready_at);
        let kind = usize::from(work.times) % self.unchanged_table_count();
        let suspended = self.suspended[die].as_ref().map(|suspended| suspended.command.page);
        let Self { modes, pools, wiring, .. } = self;
        let pool = pools.of_die(die);
        let (block, offset) = pool.geometry.split(page);
        let number = pool.geometry.page_in_block(offset);
        let first = offset - number * pool.geometry.planes_per_row;
        let mut blocks = [PlaneBlock { die, block: 0 }; MAX_PLANES as usize];
        let taking_part = pool.geometry.plane_blocks(block, first..first + planes);
        blocks.iter_mut().zip(taking_part).for_each(|(at, block)| *at = block);
        let modes = modes.as_mut().expect("it is asked");
        let part = modes.views.get(kind.wrapping_sub(pools.count())).map_or(&pool.part, |view| &view.part);
        let asks = modes.asks.as_mut().expect("it is asked");
        let (blocks, nothing) = (&blocks[..planes as usize], &Parameters::DATA_SHEET);
        let work = Work { stage, part, mode, page: number, blocks, parameters: nothing, begin, data_sheet };
        let (time, outcome) = asks.asked.query(parameters, work);
        if let Some(outcome) = outcome {
            asks.keep(die, Recent { stage, page, outcome }, suspended);
        }
        wiring.clocks.nand.whole(time)
    }

    /// The mode of an array operation. If the command specifies none, a word line in MLC mode is sensed with
    /// its number of reprogram passes.
    fn mode_at(&self, command: &Command, stage: Stage, page: PageId) -> CellMode {
        let mode = self.mode_of(command);
        let tells = command.mode.is_some() || mode != CellMode::Mlc || stage != Stage::Ton;
        let again = if tells { 0 } else { self.reprograms(page) };
        if again > 0 { CellMode::Reprogrammed(again) } else { mode }
    }
}

#[cfg(test)]
mod tests;
