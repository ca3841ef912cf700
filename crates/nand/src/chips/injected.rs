//! Injected faults: commands that fail by a rule, and the state of their pages.

use wordline_kernel::{Instant, Seed};

use super::pages::plane_mask;
use super::{Chips, Command, DataTag, Operation};
use crate::faults::{Fails, Fault, Faults, Sense, Site};
use crate::geometry::{BlockSetId, DieId, PageId};

impl Chips {
    /// Injects faults by `rules` from now on. Without rules no checks are made.
    pub fn inject(&mut self, rules: &[Fault], seed: Seed) {
        self.faults = (!rules.is_empty() || self.cells_determine_uncorrectable())
            .then(|| Box::new(Faults::new(rules, &self.pools, seed)));
    }

    /// The factory bad block sets of the rules.
    pub fn factory_bad(&self) -> Vec<BlockSetId> {
        self.faults.as_ref().map_or_else(Vec::new, |faults| faults.factory_bad())
    }

    /// Whether `die` has failed.
    pub fn has_failed(&self, die: DieId) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.has_failed(die))
    }

    /// Number of failed dies.
    pub fn failed_dies(&self) -> u32 {
        self.faults.as_ref().map_or(0, |faults| faults.failed_dies())
    }

    /// Checks the rules at the end of a command. If the command fails, applies the effect and returns the
    /// failed planes; for a read, the planes with unreadable pages.
    #[cold]
    pub(super) fn apply_fault(&mut self, die: DieId, command: &Command) -> Option<u16> {
        let now = self.dies[die].ends();
        let failed = match command.operation {
            Operation::Program | Operation::ProgramCache | Operation::Copyback { .. } => {
                self.program_fault(die, command, now)
            }
            Operation::Erase => self.erase_fault(die, command, now),
            Operation::Read | Operation::ReadCache { .. } => self.read_fault(die, command, now),
        };
        (failed != 0).then_some(failed)
    }

    /// The conditions under which the pages of a command are sensed.
    fn sensing_of(&self, die: DieId, command: &Command) -> impl Fn(PageId) -> Sense + use<> {
        let (level, mode) = (self.dies[die].level, self.mode_of(command).of_block());
        move |page| Sense { page, level, mode }
    }

    fn program_fault(&mut self, die: DieId, command: &Command, now: Instant) -> u16 {
        let word_line = self.pages_per_program(die, command);
        let sense = self.sensing_of(die, command);
        let Self { pools, faults, pages, .. } = self;
        let (geometry, Some(faults)) = (&pools.of_die(die).geometry, faults.as_deref_mut()) else { return 0 };
        let Command { operation, page, planes, .. } = *command;
        let dead = faults.die_fails(die, now);
        let is_copy = matches!(operation, Operation::Copyback { .. });
        let to = if let Operation::Copyback { to } = operation { to } else { page };
        let [of_source, erases] = [page, to].map(|page| pages.erases_of(geometry.block_of(page)));
        let site = Site::new(geometry, to, planes, word_line, erases);
        let failed =
            faults.failed_planes_of(Fails::Program, &site, now) | if dead { plane_mask(planes) } else { 0 };
        if is_copy && failed == 0 {
            faults.copied(sense(page), to, planes * word_line, of_source, now);
        }
        if failed != 0 {
            self.tear_program(die, command, to, word_line, failed);
        }
        failed
    }

    /// Corrupts the pages of a program in the failed planes. The data in the other planes are readable.
    fn tear_program(&mut self, die: DieId, command: &Command, to: PageId, word_line: u32, failed: u16) {
        let is_again = self.modes.is_some() && self.mode_of(command).is_reprogram();
        if failed == plane_mask(command.planes) && !is_again && !self.has_partial_programs() {
            self.pages.tear(to, command.planes * word_line);
            return;
        }
        self.apply_in_mode(die, command, word_line);
        if is_again {
            self.spoil_reprogram(to, failed);
        } else {
            self.pages.spoil_planes(to, word_line, failed);
        }
    }

    fn erase_fault(&mut self, die: DieId, command: &Command, now: Instant) -> u16 {
        let Self { pools, faults, pages, .. } = self;
        let (geometry, Some(faults)) = (&pools.of_die(die).geometry, faults.as_deref_mut()) else { return 0 };
        let Command { page, planes, .. } = *command;
        let block = geometry.block_of(page);
        let dead = faults.die_fails(die, now);
        let site = Site::new(geometry, page, planes, geometry.pages_per_block, pages.erases_of(block));
        let failed =
            faults.failed_planes_of(Fails::Erase, &site, now) | if dead { plane_mask(planes) } else { 0 };
        if failed != 0 {
            pages.wear(block);
        } else {
            faults.erased(block);
        }
        failed
    }

    fn read_fault(&mut self, die: DieId, command: &Command, now: Instant) -> u16 {
        let sense = self.sensing_of(die, command);
        let mut unreadable = self.uncorrectable_by_cells(die, command);
        let Self { pools, faults, pages, .. } = self;
        let (geometry, Some(faults)) = (&pools.of_die(die).geometry, faults.as_deref_mut()) else { return 0 };
        let Command { page, planes, .. } = *command;
        let dead = faults.die_fails(die, now);
        let erases = pages.erases_of(geometry.block_of(page));
        for n in 0..planes {
            let page = PageId(page.0 + n);
            let site = Site::new(geometry, page, 1, 1, erases);
            let torn = pages.holds(page, DataTag::UNREADABLE);
            let fails = faults.is_sense_unreadable(&sense(page), &site, now) || dead || torn;
            unreadable |= u16::from(fails) << n;
        }
        unreadable
    }
}
