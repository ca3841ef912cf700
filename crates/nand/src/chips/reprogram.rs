//! Reprograms of word lines: their preconditions and effects (ReSSD, sections 3.2 and 3.3).
//!
//! A reprogram replaces one of the two pages of a word line in MLC mode. It is allowed up to
//! [`LunTimes::reprograms`] times, and only while no word line of a later super layer is programmed.

use super::cells::Cells;
use super::command::{Command, Operation};
use super::pages::DataTag;
use super::refusal::Refusal;
use crate::CellMode;
use crate::geometry::PageId;
use crate::locations::Location;
use crate::onfi::LunTimes;

impl Cells {
    /// Number of reprogram passes of the word line of `page` since its block was erased.
    pub(super) fn reprograms(&self, page: PageId) -> u8 {
        self.modes.as_ref().map_or(0, |modes| modes.reprograms(&self.pools, page))
    }

    /// Counts a reprogram of the word line of `page`.
    pub(super) fn count_reprogram(&mut self, page: PageId) {
        if let Some(modes) = &mut self.modes {
            modes.count_reprogram(&self.pools, page);
        }
    }

    /// The other page of the word line of `page`, in the same plane.
    fn sibling_page(&self, page: PageId) -> PageId {
        let geometry = &self.pools.of_page(page).geometry;
        let (block, offset) = geometry.split(page);
        let per_row = geometry.planes_per_row;
        geometry.page(block, (geometry.page_in_block(offset) ^ 1) * per_row + offset % per_row)
    }

    /// Checks that the block of a command with a mode is in that mode, and that a word line can be
    /// reprogrammed. An erased block can be read and erased in any mode. A program opens an erased block in
    /// the mode of the program.
    pub(super) fn check_mode(&self, command: &Command) -> Result<(), Refusal> {
        let Command { operation, page, .. } = *command;
        let Some(mode) = command.mode.filter(|_| self.pages.has_data_tags()) else { return Ok(()) };
        let block = self.pools.block_of_page(page);
        let (found, wanted) = (mode.of_block(), self.mode(block));
        if self.pages.programmed[block] > 0 && found != wanted && operation != Operation::Erase {
            return Err(Refusal::Mode { page, found, wanted });
        }
        match (mode, operation) {
            (CellMode::Reprogrammed(times), Operation::Program) => self.check_reprogram(command, times),
            _ => Ok(()),
        }
    }

    fn check_reprogram(&self, command: &Command, times: u8) -> Result<(), Refusal> {
        let Command { page, planes, .. } = *command;
        let limits = LunTimes::of(&self.pools.of_page(page).part);
        if !self.pages.are_programmed(page, planes)
            || !self.pages.are_programmed(self.sibling_page(page), planes)
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

    /// A programmed page in a super layer that follows the super layer of `page`, if any.
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

    /// Corrupts the pages of a reprogram that was interrupted, or failed, in these planes. Neither page is
    /// readable, unless lower pages are backed up: a reprogram begins with a read of the page that it keeps.
    pub(super) fn spoil_reprogram(&mut self, page: PageId, planes: u16) {
        let kept = self.sibling_page(page);
        self.pages.spoil_planes(page, 1, planes);
        if !self.backs_up {
            self.pages.spoil_planes(kept, 1, planes);
        }
    }

    /// Replaces a page of a word line in no time, before the run. `stamps` are the data tags of its locations
    /// from `first` on, in all planes.
    pub(super) fn put_reprogrammed(&mut self, first: Location, stamps: &[DataTag]) {
        self.count_reprogram(self.pools.page_of(first));
        for (at, stamp) in (first.0..).zip(stamps) {
            self.pages.replace_one(Location(at), *stamp);
        }
    }
}

#[cfg(test)]
mod tests;
