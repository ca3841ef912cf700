//! Commands that fail because a rule says so, and what they leave in the pages.

use wordline_kernel::Seed;

use super::{Chips, Command, Operation, Stamp};
use crate::faults::{Fails, Fault, Faults, Sense, Site};
use crate::geometry::{BlockSetId, DieId, PageId};

impl Chips {
    /// Lets commands fail as `rules` say, from now on. Without rules nothing is asked.
    pub fn inject(&mut self, rules: &[Fault], seed: Seed) {
        self.faults = (!rules.is_empty()).then(|| Box::new(Faults::new(rules, &self.pools, seed)));
    }

    /// Block sets that are bad from the factory by the rules.
    pub fn factory_bad(&self) -> Vec<BlockSetId> {
        self.faults.as_ref().map_or_else(Vec::new, |faults| faults.factory_bad())
    }

    /// Whether `die` is lost.
    pub fn is_dead(&self, die: DieId) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.is_dead(die))
    }

    /// Dies that are lost.
    pub fn dead_dies(&self) -> u32 {
        self.faults.as_ref().map_or(0, |faults| faults.dead_dies())
    }

    /// Asks the rules about a command at its end. If it fails, its effect is made here, and the pages of a read that
    /// could not be read are named.
    #[cold]
    pub(super) fn fault(&mut self, die: DieId, command: &Command) -> Option<u16> {
        let now = self.dies[die].ends();
        let word_line = self.pages_per_program(die, command.page);
        let level = self.dies[die].level;
        let is_slc = self.is_slc(self.pools.of_die(die).geometry.block_of(command.page));
        let sense = |page| Sense { page, level, is_slc };
        let Self { pools, faults, pages, .. } = self;
        let geometry = &pools.of_die(die).geometry;
        let faults = faults.as_deref_mut()?;
        let Command { operation, page, planes, .. } = *command;
        let block = geometry.block_of(page);
        let erases = pages.erases_of(block);
        let dead = faults.die_fails(die, now);
        match operation {
            Operation::Program | Operation::ProgramCache | Operation::Copyback { .. } => {
                let to = if let Operation::Copyback { to } = operation { to } else { page };
                let erases_of_source = erases;
                let erases = pages.erases_of(geometry.block_of(to));
                let site = Site::new(geometry, to, planes, word_line, erases);
                let failed = faults.change_fails(Fails::Program, &site, now) || dead;
                if failed {
                    pages.tear(to, planes * word_line);
                } else if matches!(operation, Operation::Copyback { .. }) {
                    faults.copied(sense(page), to, planes * word_line, erases_of_source, now);
                }
                failed.then_some(0)
            }
            Operation::Erase => {
                let site = Site::new(geometry, page, planes, geometry.pages_per_block, erases);
                let failed = faults.change_fails(Fails::Erase, &site, now) || dead;
                if failed {
                    pages.wear(block);
                } else {
                    faults.erased(block);
                }
                failed.then_some(0)
            }
            Operation::Read | Operation::ReadCache { .. } => {
                let mut unreadable = 0;
                for n in 0..planes {
                    let page = PageId(page.0 + n);
                    let site = Site::new(geometry, page, 1, 1, erases);
                    let torn = pages.holds(page, Stamp::TORN);
                    let fails = faults.sense_fails(&sense(page), &site, now) || dead || torn;
                    unreadable |= u16::from(fails) << n;
                }
                (unreadable != 0).then_some(unreadable)
            }
        }
    }
}
