//! The optional commands of a part: its parameter page lists them, and its pins reject the commands that it
//! does not list.
//!
//! Commands that every part here supports are not in this list. The interfaces with termination and
//! calibration are from memory of the public ONFI specification: ODT was introduced with NV-DDR2, ZQ
//! calibration with data lines of 1.2 V.

use super::command::Operation;
use super::modes::Modes;
use crate::Part;
use crate::interface::Interface;

/// The optional commands of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandSupport {
    /// ODT Configure (E2h).
    pub termination: bool,
    /// ZQ Calibration (F9h, D9h).
    pub calibration: bool,
    /// Reset LUN (FAh). Chosen: only targets of several LUNs have it. With one LUN, FFh and FCh have the same
    /// effect.
    pub reset_lun: bool,
}

impl CommandSupport {
    /// The optional commands of a target with `luns` LUNs of `part`.
    pub fn of(part: &Part, luns: u32) -> Self {
        let modes = Modes::of(part);
        let low = [Interface::NvDdr3, Interface::NvLpddr4].iter().any(|i| modes.fastest(*i).is_some());
        Self { termination: modes.has_strobe(), calibration: low, reset_lun: luns > 1 }
    }

    /// Whether a target has `operation`; true for mandatory commands.
    pub fn has(&self, operation: Operation) -> bool {
        match operation {
            Operation::OdtConfigure => self.termination,
            Operation::ZqLong | Operation::ZqShort => self.calibration,
            Operation::ResetLun => self.reset_lun,
            _ => true,
        }
    }
}
