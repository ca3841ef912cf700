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

/// What becomes of discards, and of pages of zeroes, when the power is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiscardsAtCut {
    /// They are in memory alone: a discarded page may hold older data again.
    #[default]
    Forgotten,
    /// A flush writes a table of them to flash, of which the pages are taken from the over-provisioning.
    Kept,
}

/// What is done for pages whose cells are programmed again, with another page, and are torn together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LowerPages {
    /// Nothing: a torn program takes the pages with it that were programmed before into the same word line.
    #[default]
    Exposed,
    /// Before each such program, the page that was programmed last into the word line is copied to a block of its own,
    /// with one bit a cell. The program takes as much longer, and what was there before is safe.
    BackedUp,
}

/// What is done about power cuts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecoveryFile {
    /// What becomes of the programs and erases that the arrays are at when the power is cut.
    pub programs_at_cut: ProgramsAtCut,
    /// What is done for pages whose cells are programmed again: on parts of more than one bit a cell that are not
    /// programmed in one go.
    pub lower_pages: LowerPages,
    /// What becomes of discards, and of pages of zeroes, once they are flushed.
    pub discards: DiscardsAtCut,
}

impl From<ProgramsAtCut> for AtCut {
    fn from(at_cut: ProgramsAtCut) -> Self {
        match at_cut {
            ProgramsAtCut::Torn => Self::Torn,
            ProgramsAtCut::Finished => Self::Finished,
        }
    }
}
