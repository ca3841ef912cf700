//! Word lines that are programmed again: what that asks for, and what it leaves (ReSSD, sections 3.2 and 3.3).
//!
//! A word line with two bits a cell takes a new page in the place of one of its two, so often as
//! [`LunTimes::reprograms`] says, while no word line of a later super layer is programmed.

use super::{Chips, Command, Operation, Refusal, Stamp};
use crate::CellMode;
use crate::geometry::{DieId, PageId};
use crate::locations::Location;
use crate::onfi::LunTimes;

impl Chips {
    /// How often the word line of `page` was programmed again since its block was erased.
    pub fn reprograms(&self, page: PageId) -> u8 {
        let counts = self.modes.as_ref().map_or(&[][..], |modes| &modes.again);
        counts.get(self.line_of(page)).copied().unwrap_or(0)
    }

    /// Where the word line of a page of a block with two bits a cell is counted.
    fn line_of(&self, page: PageId) -> usize {
        let geometry = &self.pools.of_page(page).geometry;
        let (block, offset) = geometry.split(page);
        let per_block = self.modes.as_ref().map_or(0, |modes| modes.word_lines);
        (block.0 * per_block + geometry.page_in_block(offset) / 2) as usize
    }

    /// The other page of the word line of `page`, in the same plane.
    fn kept_beside(&self, page: PageId) -> PageId {
        let geometry = &self.pools.of_page(page).geometry;
        let (block, offset) = geometry.split(page);
        let per_row = geometry.planes_per_row;
        geometry.page(block, (geometry.page_in_block(offset) ^ 1) * per_row + offset % per_row)
    }

    /// That the block of a command that is spelled in a mode is in that mode, and that a word line can be programmed again.
    /// An erased block is read and erased in any mode, and opened in that of a program.
    pub(super) fn check_mode(&self, command: &Command) -> Result<(), Refusal> {
        let Command { operation, page, .. } = *command;
        let Some(mode) = command.mode.filter(|_| self.pages.has_stamps()) else { return Ok(()) };
        let block = self.pools.block_of_page(page);
        let (found, wanted) = (mode.of_block(), self.mode(block));
        if self.pages.programmed[block] > 0 && found != wanted && operation != Operation::Erase {
            return Err(Refusal::Mode { page, found, wanted });
        }
        match (mode, operation) {
            (CellMode::Reprogrammed(times), Operation::Program) => self.check_again(command, times),
            _ => Ok(()),
        }
    }

    fn check_again(&self, command: &Command, times: u8) -> Result<(), Refusal> {
        let Command { page, planes, .. } = *command;
        let limits = LunTimes::of(&self.pools.of_page(page).part);
        if !self.pages.are_programmed(page, planes)
            || !self.pages.are_programmed(self.kept_beside(page), planes)
        {
            return Err(Refusal::NothingToReprogram { page });
        }
        let (wanted, most) = (u32::from(self.reprograms(page)) + 1, limits.reprograms);
        if u32::from(times) != wanted || wanted > most {
            return Err(Refusal::Reprograms { page, found: times, wanted, most });
        }
        match self.later_super_layer(page, limits.layers_per_super_layer) {
            Some(later) => Err(Refusal::SuperLayerClosed { page, later }),
            None => Ok(()),
        }
    }

    /// A page that is programmed in a later super layer than that of `page`.
    fn later_super_layer(&self, page: PageId, layers: u32) -> Option<PageId> {
        let pool = self.pools.of_page(page);
        let (block, offset) = pool.geometry.split(page);
        let line = pool.geometry.page_in_block(offset) / 2;
        let own = pool.part.super_layer(line, layers);
        let is_later = |line: &u32| pool.part.super_layer(*line, layers) > own;
        let first = |line| pool.geometry.page(block, line * 2 * pool.geometry.planes_per_row);
        let lines = (line + 1..pool.part.pages().word_lines()).filter(is_later);
        lines.map(first).find(|first| self.pages.are_programmed(*first, 1))
    }

    /// The effect of a command where modes are offered, of which a program writes `word_line` pages in each plane; the planes
    /// in which a limit was broken.
    #[inline(never)]
    pub(super) fn apply_in_mode(&mut self, die: DieId, command: &Command, word_line: u32) -> u16 {
        match command.operation {
            Operation::Erase if self.pages.has_stamps() => {
                self.forget_block(self.pools.block_of_page(command.page));
            }
            Operation::Program if self.mode_of(command).is_again() => {
                self.note_again(command.page);
                if self.pages.has_stamps() {
                    self.pages.replace(die, command.page, command.planes);
                }
                return 0;
            }
            Operation::Program | Operation::ProgramCache
                if self.programs_partly() && self.pages.has_stamps() =>
            {
                self.program_partly(die, command, word_line);
                return 0;
            }
            _ => {}
        }
        self.pages.apply(die, command, word_line)
    }

    fn note_again(&mut self, page: PageId) {
        let line = self.line_of(page);
        if let Some(times) = self.modes.as_mut().and_then(|modes| modes.again.get_mut(line)) {
            *times = times.saturating_add(1);
        }
    }

    /// A program of a word line again stopped half-way, or failed, in these planes: neither of its pages can be read, but for a
    /// copy of the one that was to be kept, which such a program begins with reading.
    pub(super) fn spoil_again(&mut self, page: PageId, planes: u16) {
        let kept = self.kept_beside(page);
        self.pages.spoil_planes(page, 1, planes);
        if !self.backs_up {
            self.pages.spoil_planes(kept, 1, planes);
        }
    }

    /// A page of a word line is replaced in no time, before the run: `stamps` of its locations from `first` on, in all planes.
    pub fn put_again(&mut self, first: Location, stamps: &[Stamp]) {
        self.note_again(self.pools.page_of(first));
        for (at, stamp) in (first.0..).zip(stamps) {
            self.pages.replace_one(Location(at), *stamp);
        }
    }
}

#[cfg(test)]
mod tests;
