//! The optional commands that a part offers: its parameter page names them, and its pins refuse the others.
//!
//! Commands that every part here has are not listed. Which interfaces have termination and calibration is from memory of the
//! public ONFI specification: ODT came with NV-DDR2, ZQ calibration with the data lines of 1.2 V.

use super::command::Operation;
use super::modes::Modes;
use crate::Part;
use crate::interface::Interface;

/// Which optional commands a target has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offers {
    /// ODT Configure (E2h).
    pub termination: bool,
    /// ZQ Calibration (F9h, D9h).
    pub calibration: bool,
    /// Reset LUN (FAh). Chosen: targets of several LUNs; with one, FFh and FCh do the same.
    pub reset_lun: bool,
}

impl Offers {
    /// The optional commands of a target with `luns` LUNs of `part`.
    pub fn of(part: &Part, luns: u32) -> Self {
        let modes = Modes::of(part);
        let low = [Interface::NvDdr3, Interface::NvLpddr4].iter().any(|i| modes.fastest(*i).is_some());
        Self { termination: modes.strobed(), calibration: low, reset_lun: luns > 1 }
    }

    /// Whether a target has `operation`, as far as that is its choice.
    pub fn has(&self, operation: Operation) -> bool {
        match operation {
            Operation::OdtConfigure => self.termination,
            Operation::ZqLong | Operation::ZqShort => self.calibration,
            Operation::ResetLun => self.reset_lun,
            _ => true,
        }
    }
}
