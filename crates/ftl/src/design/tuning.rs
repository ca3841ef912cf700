//! Queries for the parameters of reads, programs and erases, and the check of read parameters.

use wordline_flash::policy::tuner::{
    ErasedBlock, ProgrammedPage, ReadOutcome, ReadParameters, SensedPage, Tuner,
};
use wordline_nand::{BlockSetId, Outcome, Parameters};

use super::ExtensionPoint;
use crate::policies::ActivePolicies;

/// Tuner of the device: queries the design of the pool, or the policy.
impl Tuner for ActivePolicies {
    fn read(&self, page: &SensedPage) -> ReadParameters {
        let decision = match self.designs.owner(ExtensionPoint::Tune, usize::from(page.pool)) {
            Some(design) => self.designs.all[design].design.read_parameters(page),
            None => self.tuner.read(page),
        };
        self.tuned(page, decision)
    }

    fn read_again(&self, page: &SensedPage, so_far: &ReadOutcome) -> ReadParameters {
        let decision = match self.designs.owner(ExtensionPoint::Tune, usize::from(page.pool)) {
            Some(design) => self.designs.all[design].design.read_again(page, so_far),
            None => self.tuner.read_again(page, so_far),
        };
        self.tuned(page, decision)
    }

    fn read_finished(&mut self, page: &SensedPage, outcome: &ReadOutcome) {
        match self.designs.owner(ExtensionPoint::Tune, usize::from(page.pool)) {
            Some(design) => self.designs.all[design].design.read_finished(page, outcome),
            None => self.tuner.read_finished(page, outcome),
        }
    }

    fn program(&self, page: &ProgrammedPage) -> Parameters {
        match self.designs.owner(ExtensionPoint::Tune, usize::from(page.pool)) {
            Some(design) => self.designs.all[design].design.program_parameters(page),
            None => self.tuner.program(page),
        }
    }

    fn accepts(&self, page: &ProgrammedPage, outcome: &Outcome) -> bool {
        let owner = self.designs.owner(ExtensionPoint::Tune, usize::from(page.pool));
        owner.is_none_or(|design| self.designs.all[design].design.accepts(page, outcome))
    }

    fn erase(&self, block: &ErasedBlock) -> Parameters {
        match self.designs.owner(ExtensionPoint::Tune, usize::from(block.pool)) {
            Some(design) => self.designs.all[design].design.erase_parameters(block),
            None => self.tuner.erase(block),
        }
    }

    fn refused(&self, pool: u8, found: String, allowed: String) {
        self.designs.record_invalid(ExtensionPoint::Tune, usize::from(pool), found, || allowed);
    }

    fn erased(&mut self, block: BlockSetId) {
        self.tuner.erased(block);
    }

    fn forget(&mut self) {
        self.tuner.forget();
    }
}

impl ActivePolicies {
    /// Whether a design decides the parameters of programs and erases.
    pub(crate) fn tunes(&self) -> bool {
        self.designs.decides(ExtensionPoint::Tune)
    }

    /// Checks read parameters. Parameters that do not exist are replaced by the nominal ones.
    #[inline]
    fn tuned(&self, page: &SensedPage, decision: ReadParameters) -> ReadParameters {
        if decision.level <= page.highest {
            return decision;
        }
        let allowed = || format!("a set from 0 to {}", page.highest);
        let found = format!("set {} of read levels", decision.level);
        self.designs.record_invalid(ExtensionPoint::Tune, usize::from(page.pool), found, allowed);
        ReadParameters { level: 0 }
    }
}
