//! Invalid decisions.

use std::error::Error;
use std::fmt;

use super::ExtensionPoint;

/// An invalid decision of a design or a policy. The device replaced it by a valid one until the end of the
/// event; the run ends there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidDecision {
    /// Design that made it; `None` for a policy of the device.
    pub design: Option<&'static str>,
    /// Extension point.
    pub seam: ExtensionPoint,
    /// The decision.
    pub answer: String,
    /// Decisions that were allowed.
    pub allowed: String,
}

impl fmt::Display for InvalidDecision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.design {
            Some(design) => write!(out, "the design {design}")?,
            None => write!(out, "the policy of the device")?,
        }
        let Self { seam, answer, allowed, .. } = self;
        write!(out, " made an invalid decision for `{seam}`: found {answer}, wanted {allowed}")
    }
}

impl Error for InvalidDecision {}
