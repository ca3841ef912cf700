//! What a device does beforehand about power cuts, as it is written in a configuration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_nand::AtCut;

/// What becomes of the programs and erases that the arrays are at when the power is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramsAtCut {
    /// They stop: their pages, and where pages share cells those before them, are unreadable.
    #[default]
    Torn,
    /// A capacitor feeds the chips until they are done, so that data at rest are safe. What is in the buffer is lost
    /// all the same.
    Finished,
}

/// What is done about power cuts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecoveryFile {
    /// What becomes of the programs and erases that the arrays are at when the power is cut.
    pub programs_at_cut: ProgramsAtCut,
}

impl From<ProgramsAtCut> for AtCut {
    fn from(at_cut: ProgramsAtCut) -> Self {
        match at_cut {
            ProgramsAtCut::Torn => Self::Torn,
            ProgramsAtCut::Finished => Self::Finished,
        }
    }
}
