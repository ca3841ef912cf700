//! Calls of the cell model by chips: the time and outcome of each array operation.
//!
//! [`CellQueries`] exists only if a cell model or a parameter set is used. Otherwise commands need no calls
//! and no lookups.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Column, Duration, Instant, state};

use super::command::{Command, CommandCompletion, Operation};
use super::pages::Pages;
use crate::cell_mode::CellMode;
use crate::geometry::{DieId, PageId, PlaneBlock};
use crate::part::MAX_PLANES;
use crate::physics::{CellModel, Outcome, Parameters, Physics, Sensed, Work};
use crate::{Part, Pool, Pools, Stage};

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
    pub(super) asked: CellModel,
    /// Whether the cell model determines which pages are uncorrectable.
    pub(super) determines_uncorrectable: bool,
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

    /// Uses `physics` as the cell model from now on.
    pub(super) fn set_physics(&mut self, physics: Box<dyn Physics>) {
        self.asked.set_physics(physics);
        self.determines_uncorrectable = self.asked.determines_uncorrectable();
    }

    /// Queries the cell model for each programmed page of a read, in a pool. Returns the results as a bit
    /// mask, the lowest bit for the first page.
    pub(super) fn query_sensed(
        &mut self,
        command: &Command,
        (mode, level, now): (CellMode, u8, Instant),
        (pool, pages): (&Pool, &Pages),
        query: impl Fn(&mut CellModel, &Sensed) -> bool,
    ) -> u16 {
        let Command { page, planes, .. } = *command;
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
        let bytes = Bytes(command.bytes.0.div_ceil(u64::from(planes)));
        let mut answers = 0;
        for (n, at) in (0..).zip(pool.geometry.plane_blocks(block, first..first + planes)) {
            if !pages.has_data_tags() || pages.are_programmed(PageId(page.0 + n), 1) {
                let sensed = Sensed { at, word_line, page_type, mode, level, bytes, now };
                answers |= u16::from(query(&mut self.asked, &sensed)) << n;
            }
        }
        answers
    }

    /// The outcome of a command that has just completed, if its parameters request it; for a copyback, the
    /// outcome of the program.
    pub(super) fn outcome(&self, done: &CommandCompletion) -> Option<&Outcome> {
        let Command { operation, page, .. } = done.command;
        let wanted = match operation {
            Operation::Read | Operation::ReadCache { .. } => (Stage::Ton, page),
            Operation::Program | Operation::ProgramCache => (Stage::Tin, page),
            Operation::Copyback { to } => (Stage::Tin, to),
            Operation::Erase => (Stage::Ber, page),
        };
        let is_it = |recent: &&Recent| (recent.stage, recent.page) == wanted;
        self.recent[done.die].iter().find(is_it).map(|recent| &recent.outcome)
    }

    /// Whether the data sheet has the time of an operation.
    pub(super) fn is_of_data_sheet(&self, stage: Stage, parameters: u16) -> bool {
        stage == Stage::Ton && parameters == 0 && !self.queries_sensing()
    }

    /// The time of an array operation, by the cell model. Its outcome is kept for its die.
    pub(super) fn query(&mut self, array: ArrayOperation, (pool, part): (&Pool, &Part)) -> Duration {
        let ArrayOperation { die, stage, page, planes, parameters, mode, data_sheet, begin, suspended } =
            array;
        let (block, offset) = pool.geometry.split(page);
        let number = pool.geometry.page_in_block(offset);
        let first = offset - number * pool.geometry.planes_per_row;
        let mut blocks = [PlaneBlock { die, block: 0 }; MAX_PLANES as usize];
        let taking_part = pool.geometry.plane_blocks(block, first..first + planes);
        blocks.iter_mut().zip(taking_part).for_each(|(at, block)| *at = block);
        let (blocks, nothing) = (&blocks[..planes as usize], &Parameters::DATA_SHEET);
        let work = Work { stage, part, mode, page: number, blocks, parameters: nothing, begin, data_sheet };
        let (time, outcome) = self.asked.query(parameters, work);
        if let Some(outcome) = outcome {
            self.keep(die, Recent { stage, page, outcome }, suspended);
        }
        time
    }
}

/// An array operation for which the cell model is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrayOperation {
    pub(super) die: DieId,
    pub(super) stage: Stage,
    pub(super) page: PageId,
    pub(super) planes: u32,
    /// Number of the parameter set.
    pub(super) parameters: u16,
    pub(super) mode: CellMode,
    /// The time of the data sheet.
    pub(super) data_sheet: Duration,
    pub(super) begin: Instant,
    /// Page of a suspended operation of the die.
    pub(super) suspended: Option<PageId>,
}

#[cfg(test)]
mod tests;
