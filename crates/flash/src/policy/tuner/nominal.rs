//! Nominal: a read begins with the nominal read reference voltages.

use wordline_kernel::state;
use wordline_nand::BlockSetId;

use super::{ReadOutcome, ReadParameters, SensedPage, Tuner};

/// Senses every page first with the nominal read reference voltages, then with the other sets in numerical
/// order.
pub struct Nominal;

state!(Nominal {});

impl Tuner for Nominal {
    fn read(&self, _page: &SensedPage) -> ReadParameters {
        ReadParameters { level: 0 }
    }

    fn read_finished(&mut self, _page: &SensedPage, _outcome: &ReadOutcome) {}

    fn erased(&mut self, _block: BlockSetId) {}

    fn forget(&mut self) {}
}
