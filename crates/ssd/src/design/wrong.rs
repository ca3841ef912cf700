//! An answer that is not allowed.

use std::error::Error;
use std::fmt;

use super::Seam;

/// An answer of a design, or of a policy, that is not allowed. The device went on with another one to the
/// end of the event; the run ends there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongAnswer {
    /// The design that gave it; none for a policy of the device.
    pub design: Option<&'static str>,
    /// The question.
    pub seam: Seam,
    /// The answer.
    pub answer: String,
    /// The answers that were allowed.
    pub allowed: String,
}

impl fmt::Display for WrongAnswer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.design {
            Some(design) => write!(out, "the design {design}")?,
            None => write!(out, "the policy of the device")?,
        }
        let Self { seam, answer, allowed, .. } = self;
        write!(out, " answered `{seam}` wrongly: found {answer}, wanted {allowed}")
    }
}

impl Error for WrongAnswer {}
