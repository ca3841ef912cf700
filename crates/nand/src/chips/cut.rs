//! The effect of a power cut on chips: registers and state machines are lost, and programs and erases in
//! progress are interrupted.

use serde::{Deserialize, Serialize};
use wordline_kernel::Instant;

use super::pages::plane_mask;
use super::suspend::Suspended;
use super::{BackgroundProgram, Chips, Command, DataTag, Operation, Step};
use crate::geometry::{BlockSetId, DieId, PageId};
use crate::locations::Location;
use crate::{CellMode, Pool};

/// The outcome of programs and erases that are in progress when the power is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlightFate {
    /// Programs and erases are interrupted; their pages and blocks are unreadable.
    Interrupted,
    /// Programs and erases complete, powered by capacitors.
    Completed,
}

/// Counters of programs and erases interrupted by a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutLosses {
    /// Interrupted program commands.
    pub programs: u64,
    /// Pages of these programs.
    pub pages: u64,
    /// Programmed pages that were lost because they share their cells with these pages.
    pub partners: u64,
    /// Interrupted erases of block sets.
    pub erases: u64,
}

impl CutLosses {
    /// Adds the counts of another cut.
    pub fn add(&mut self, other: &Self) {
        self.programs += other.programs;
        self.pages += other.pages;
        self.partners += other.partners;
        self.erases += other.erases;
    }
}

impl Chips {
    /// Cuts the power at `now`: every die becomes idle. The caller must drop the events that the chips have
    /// scheduled.
    ///
    /// * A command whose data or addresses are still on the bus has no effect.
    /// * An interrupted program makes its program unit and the earlier pages of the same word line
    ///   [unreadable](DataTag::UNREADABLE).
    /// * An interrupted erase makes all pages of the block unreadable, and counts as an erase for wear.
    pub fn cut_power(&mut self, now: Instant, at_cut: InFlightFate) -> CutLosses {
        let mut torn = CutLosses::default();
        for die in self.pools.all_dies() {
            let stages = self.over(die, now);
            let over = self.dies[die].is_array_done(now);
            if let Some(BackgroundProgram { command, over: behind_over, .. }) = self.behind[die] {
                self.stop(die, command, behind_over || over, at_cut, &mut torn);
            }
            let (command, step) = (self.dies[die].command, self.dies[die].step);
            let suspended = self.suspended[die].take();
            // While the suspended operation is parked, the die may execute another command.
            let has_own = suspended.as_ref().is_none_or(Suspended::is_parked);
            if let Some(suspended) = suspended {
                self.stop(die, suspended.command, false, at_cut, &mut torn);
            }
            if has_own && step != Step::Idle && self.changes_array(die, now) {
                self.stop(die, command, over || step == Step::Status, at_cut, &mut torn);
            }
            self.dies[die] = self.dies[die].cut(stages, &self.behind[die], now);
            self.behind[die] = None;
        }
        let dies = self.pools.iter().map(|pool| pool.geometry.dies_per_channel as usize).sum();
        for channel in self.buses.ids() {
            self.buses[channel] = self.buses[channel].cut(dies, now);
        }
        torn
    }

    /// Whether the array of a die is changing cells for the current command, or has changed them.
    fn changes_array(&self, die: DieId, now: Instant) -> bool {
        let work = &self.dies[die];
        let latched = work.hold_until > work.asked && work.hold_until <= now;
        match (work.command.operation, work.step) {
            (Operation::Read | Operation::ReadCache { .. }, _) => false,
            (_, Step::Status | Step::Suspend | Step::Resume) => true,
            (Operation::Copyback { .. }, step) => step == Step::Copy && latched,
            (Operation::Program | Operation::ProgramCache | Operation::Erase, _) => latched,
        }
    }

    /// Ends a command at the power cut: it is complete, or interrupted.
    fn stop(&mut self, die: DieId, command: Command, over: bool, at_cut: InFlightFate, torn: &mut CutLosses) {
        if over || at_cut == InFlightFate::Completed {
            self.effect(die, &command);
            return;
        }
        if command.operation == Operation::Erase {
            torn.erases += 1;
            self.counts[usize::from(self.dies[die].pool)].block_sets_erased += 1;
            self.pages.tear_block(self.pool_of(die).geometry.block_of(command.page));
            return;
        }
        let first = match command.operation {
            Operation::Copyback { to } => to,
            _ => command.page,
        };
        torn.programs += 1;
        torn.pages += u64::from(command.planes * self.pages_per_program(die, &command));
        if self.modes.is_some() && self.mode_of(&command).is_reprogram() {
            torn.partners += if self.backs_up { 0 } else { u64::from(command.planes) };
            self.effect(die, &command);
            self.spoil_reprogram(first, plane_mask(command.planes));
            return;
        }
        torn.partners += self.tear_partners(die, &command, first);
        self.pages.registers(die).fill(DataTag::UNREADABLE);
        self.effect(die, &Command { operation: Operation::Program, page: first, ..command });
    }

    /// Enables backups of lower pages. Before a page is programmed into cells that already store another
    /// page, that other page is copied to an SLC backup block. The copy takes its time; a power cut then
    /// destroys only the interrupted page. The backup blocks and their wear are not part of the geometry. A
    /// reprogram reads the word line in any case, so its backup takes no time.
    pub fn back_up_lower_pages(&mut self) {
        for (pool, times) in self.pools.iter().zip(&mut self.times) {
            // Parts that program pages one after another into the same cells.
            if !pool.part.geometry.one_shot && pool.part.geometry.bits_per_cell > 1 {
                self.backs_up = true;
                times.back_up_lower_pages(&pool.part);
            }
            self.backs_up |= pool.part.has_mode(CellMode::Mlc);
        }
    }

    /// Corrupts the programmed pages that share cells with the program unit of `first`. Returns their number.
    fn tear_partners(&mut self, die: DieId, command: &Command, first: PageId) -> u64 {
        let geometry = &self.pool_of(die).part.geometry;
        let native = self.mode_of(command) == CellMode::Native;
        if !native || geometry.one_shot || geometry.bits_per_cell == 1 || self.backs_up {
            return 0;
        }
        let Pool { part, geometry, locations } = self.pools.of_die(die);
        let (block, offset) = geometry.split(first);
        let page = geometry.page_in_block(offset);
        let planes = geometry.planes_per_row;
        let before: Vec<u32> = part.pages().partners(page).filter(|other| *other < page).collect();
        for other in &before {
            for plane in 0..planes {
                let location = locations.location_of(geometry.page(block, other * planes + plane));
                for part in 0..locations.per_page() {
                    self.pages.corrupt(Location(location.0 + part));
                }
            }
        }
        before.len() as u64 * u64::from(planes)
    }

    /// Fills the next `locations` locations of a block with padding, in no time: the rest of an interrupted
    /// word line.
    pub fn skip(&mut self, block: BlockSetId, locations: u32) {
        let first = self.pools.at(block, self.programmed(block));
        for n in 0..locations {
            self.pages.put(Location(first.0 + n), DataTag::PADDING);
        }
    }
}
