//! The effect of a power cut on chips: registers and state machines are lost, and programs and erases in
//! progress are interrupted.

use serde::{Deserialize, Serialize};

use super::cells::Cells;
use super::command::{Command, Operation};
use super::die::Die;
use super::pages::{DataTag, plane_mask};
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

impl Cells {
    /// Ends a command at the power cut: it is complete, or interrupted.
    pub(super) fn stop(
        &mut self,
        (die, work): (DieId, &Die),
        command: Command,
        is_complete: bool,
        torn: &mut CutLosses,
    ) {
        if is_complete {
            self.effect(die, work, &command);
            return;
        }
        if command.operation == Operation::Erase {
            torn.erases += 1;
            self.counts[usize::from(work.pool)].block_sets_erased += 1;
            self.pages.tear_block(self.pool_of(work).geometry.block_of(command.page));
            return;
        }
        let first = match command.operation {
            Operation::Copyback { to } => to,
            _ => command.page,
        };
        torn.programs += 1;
        torn.pages += u64::from(command.planes * self.pages_per_program(work, &command));
        if self.modes.is_some() && self.mode_of(&command).is_reprogram() {
            torn.partners += if self.backs_up { 0 } else { u64::from(command.planes) };
            self.effect(die, work, &command);
            self.spoil_reprogram(first, plane_mask(command.planes));
            return;
        }
        torn.partners += self.tear_partners(work, &command, first);
        self.pages.registers(die).fill(DataTag::UNREADABLE);
        self.effect(die, work, &Command { operation: Operation::Program, page: first, ..command });
    }

    /// Corrupts the programmed pages that share cells with the program unit of `first`. Returns their number.
    fn tear_partners(&mut self, work: &Die, command: &Command, first: PageId) -> u64 {
        let geometry = &self.pool_of(work).part.geometry;
        let native = self.mode_of(command) == CellMode::Native;
        if !native || geometry.one_shot || geometry.bits_per_cell == 1 || self.backs_up {
            return 0;
        }
        let Pool { part, geometry, locations } = self.pools.get(usize::from(work.pool));
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
    pub(super) fn skip(&mut self, block: BlockSetId, locations: u32) {
        let first = self.pools.at(block, self.pages.programmed[block]);
        for n in 0..locations {
            self.pages.put(Location(first.0 + n), DataTag::PADDING);
        }
    }
}
