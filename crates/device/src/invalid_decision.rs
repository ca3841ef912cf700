//! Error for an invalid decision of a design or policy.

use std::error::Error;
use std::fmt;

/// An invalid decision of a design or policy. The device uses a valid decision instead until the current
/// event ends; then the run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidDecision {
    /// Design that made the decision; `None` for a policy.
    pub design: Option<&'static str>,
    /// Name of the extension point.
    pub seam: &'static str,
    /// Text of the decision.
    pub decision: String,
    /// Text of the allowed decisions.
    pub allowed: String,
}

impl fmt::Display for InvalidDecision {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.design {
            Some(design) => write!(out, "the design {design}")?,
            None => write!(out, "the policy of the device")?,
        }
        let Self { seam, decision, allowed, .. } = self;
        write!(out, " made an invalid decision for `{seam}`: found {decision}, wanted {allowed}")
    }
}

impl Error for InvalidDecision {}
