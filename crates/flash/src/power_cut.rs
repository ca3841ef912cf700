//! Fate of programs and erases in progress at a power cut.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_nand::InFlightFate;

/// Fate of programs and erases in progress at a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramsAtCut {
    /// They are interrupted. Their pages, and pages programmed earlier into the same cells, become
    /// unreadable.
    #[default]
    Torn,
    /// They are finished: capacitors power the chips until then, so that data in flash are safe. Data in the
    /// buffer are lost nonetheless.
    Finished,
}

impl From<ProgramsAtCut> for InFlightFate {
    fn from(at_cut: ProgramsAtCut) -> Self {
        match at_cut {
            ProgramsAtCut::Torn => Self::Interrupted,
            ProgramsAtCut::Finished => Self::Completed,
        }
    }
}
