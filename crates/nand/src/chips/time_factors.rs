//! Factors on the times of chip commands, for what-if experiments.

use wordline_kernel::Factor;

use crate::Stage;

/// Factors on the times of chip commands. The times of a suspend and of a copyback scale with the operation
/// that is suspended or copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeFactors {
    /// Factor on sensing (tR).
    pub read: Factor,
    /// Factor on programming (tPROG).
    pub program: Factor,
    /// Factor on erasing (tBERS).
    pub erase: Factor,
    /// Factor on all bus time of a command: latches, waits and data.
    pub bus: Factor,
    /// Additional factor on all times of commands of marked dies.
    pub marked: Factor,
}

impl TimeFactors {
    /// The factor on an array stage.
    pub(super) fn of_array(&self, stage: Stage) -> Factor {
        match stage {
            Stage::Ton => self.read,
            Stage::Ber => self.erase,
            _ => self.program,
        }
    }
}
