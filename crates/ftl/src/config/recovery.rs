//! Keys of `[ftl.recovery]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_flash::ProgramsAtCut;
use wordline_kernel::Bytes;

/// Fate of discards, and of pages of zeroes, at a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiscardsAtCut {
    /// They are forgotten, because they are only in memory. A discarded page may return older data after a
    /// power cut.
    #[default]
    Forgotten,
    /// A flush writes a table of them to flash. The table takes its pages from the over-provisioning.
    Kept,
}

/// Protection of a programmed page against a later, interrupted program in the same cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LowerPages {
    /// No protection: an interrupted program also destroys pages that were programmed earlier into the same
    /// word line.
    #[default]
    Exposed,
    /// Before a program of a word line that already has data, the last page programmed into the word line is
    /// copied to an SLC block. Earlier data are safe, and the program takes longer by the time of the copy. A
    /// reprogram takes no longer, because it reads the word line first in any case.
    BackedUp,
}

/// Power-loss recovery.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecoveryFile {
    /// Fate of programs and erases in progress at a power cut.
    pub programs_at_cut: ProgramsAtCut,
    /// Protection of pages whose cells are programmed again. These are pages of parts with several bits a
    /// cell and without one-shot programming, and of MLC-mode blocks whose stream reprograms word lines.
    pub lower_pages: LowerPages,
    /// Fate of flushed discards, and of pages of zeroes, at a power cut.
    pub discards: DiscardsAtCut,
    /// Amount of host writes between two checkpoints of the L2P map. Checkpoints make recovery faster. If
    /// absent, no checkpoints are made. Checkpoints need `discards = "kept"`. With a map in flash, a
    /// checkpoint writes the changed translation pages and their directory.
    pub checkpoint: Option<Bytes>,
}

impl RecoveryFile {
    /// Whether a discarded page may return older data after a power cut.
    pub fn discards_can_return(&self) -> bool {
        self.discards == DiscardsAtCut::Forgotten
    }
}
