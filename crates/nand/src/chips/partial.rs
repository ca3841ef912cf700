//! Partial page programs (NOP). Locations that are erased in the registers are not programmed, and the
//! programs of each page are counted.

use wordline_kernel::{Column, state};

use super::{Chips, Command, Operation, Refusal};
use crate::Pools;
use crate::geometry::{BlockSetId, DieId, PageId};

/// Programs of each page since its block was erased.
#[derive(Clone, Debug)]
pub(super) struct PartialPrograms {
    programs: Column<PageId, u8>,
}

state!(PartialPrograms { parts { programs } });

impl PartialPrograms {
    fn of(pools: &Pools) -> Self {
        let pages = pools.iter().map(|pool| pool.geometry.end(0).page).max().unwrap_or(0);
        Self { programs: Column::filled(pages as usize, 0) }
    }
}

impl Chips {
    /// Enables partial page programs from now on, each page as often as its part allows. A program skips
    /// locations that are [erased](super::DataTag::ERASED) in the registers. Returns false if no part allows
    /// more than one program of a page.
    pub fn enable_partial_programs(&mut self) -> bool {
        let stands = self.pools.iter().any(|pool| pool.part.programs_per_page() > 1);
        if stands && self.with_modes().partly.is_none() {
            let partly = PartialPrograms::of(&self.pools);
            self.with_modes().partly = Some(partly);
        }
        stands
    }

    /// Programs of `page` since its block was erased, if partial programs are enabled.
    pub fn programs(&self, page: PageId) -> u8 {
        self.partly().map_or(0, |partly| partly.programs[page])
    }

    fn partly(&self) -> Option<&PartialPrograms> {
        self.modes.as_ref().and_then(|modes| modes.partly.as_ref())
    }

    /// Whether partial page programs are enabled.
    pub(super) fn has_partial_programs(&self) -> bool {
        self.partly().is_some()
    }

    /// The pages of a program, over its planes and the pages of a word line.
    fn pages_of(&self, die: DieId, command: &Command) -> impl Iterator<Item = PageId> + use<> {
        let (planes, word_line) = (command.planes, self.pages_per_program(die, command));
        (command.page.0..).take((planes * word_line) as usize).map(PageId)
    }

    /// Checks that each page of a program may be programmed once more, and that the program overwrites no
    /// location.
    pub(super) fn check_partial_program(&self, die: DieId, command: &Command) -> Result<(), Refusal> {
        let is_program = matches!(command.operation, Operation::Program | Operation::ProgramCache);
        let again = command.mode.is_some_and(|mode| mode.is_reprogram());
        let Some(partly) = self.partly().filter(|_| is_program && !again && self.pages.has_data_tags())
        else {
            return Ok(());
        };
        let most = self.pool_of(die).part.programs_per_page();
        for page in self.pages_of(die, command) {
            if u32::from(partly.programs[page]) >= most {
                return Err(Refusal::Programs { page, most });
            }
        }
        match self.pages.find_overwritten(
            die,
            command.page,
            command.planes * self.pages_per_program(die, command),
        ) {
            Some(location) => Err(Refusal::Overwrites { page: self.pools.page_of(location) }),
            None => Ok(()),
        }
    }

    /// Applies a program when partial page programs are enabled.
    pub(super) fn program_partial(&mut self, die: DieId, command: &Command, word_line: u32) {
        let (pages, is_first) = (self.pages_of(die, command), self.programs(command.page) == 0);
        if let Some(partly) = self.modes.as_mut().and_then(|modes| modes.partly.as_mut()) {
            pages.for_each(|page| partly.programs[page] = partly.programs[page].saturating_add(1));
        }
        self.pages.put_partial(die, command.page, command.planes * word_line, is_first);
    }

    /// Resets the program counters of an erased block.
    pub(super) fn reset_program_counts(&mut self, block: BlockSetId) {
        let geometry = &self.pools.of_block(block).geometry;
        let (first, pages) = (geometry.page(block, 0), geometry.pages_per_block_set());
        if let Some(partly) = self.modes.as_mut().and_then(|modes| modes.partly.as_mut()) {
            (first.0..).take(pages as usize).for_each(|page| partly.programs[PageId(page)] = 0);
        }
    }
}
