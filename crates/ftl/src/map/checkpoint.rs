//! Configuration of power-loss recovery and checkpoints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_flash::ProgramsAtCut;
use wordline_kernel::{Bytes, state};
use wordline_nand::BlockSetId;

use crate::Config;

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

/// State of a block at a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Programmed locations.
    pub programmed: u32,
    /// Erase count.
    pub erases: u32,
}

/// Checkpoints of the L2P map: their schedule, and the state of all blocks at the last one.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    /// Host pages between two checkpoints. `last` is the host page count at the last checkpoint.
    every: u64,
    last: u64,
    under_way: Option<Vec<Known>>,
    done: Option<Vec<Known>>,
}

state!(Checkpoints { values { last, under_way, done } fixed { every } });

impl Checkpoints {
    /// Checkpoints of a configuration; `None` if it has none.
    pub fn of(config: &Config) -> Option<Box<Self>> {
        let every = config.file.ftl.recovery.checkpoint?.0.div_ceil(config.unit.0);
        Some(Box::new(Self { every, last: 0, under_way: None, done: None }))
    }

    /// Whether a checkpoint is due at this host page count.
    #[inline]
    pub fn is_due(&self, pages: u64) -> bool {
        self.under_way.is_none() && pages - self.last.min(pages) >= self.every
    }

    /// Begins a checkpoint at this host page count, with the current state of the blocks.
    pub fn begin(&mut self, pages: u64, blocks: impl Iterator<Item = Known>) {
        self.last = pages;
        self.under_way = Some(blocks.collect());
    }

    /// Completes the checkpoint in progress, which is in flash now.
    pub fn over(&mut self) {
        if let Some(known) = self.under_way.take() {
            self.done = Some(known);
        }
    }

    /// Abandons the checkpoint in progress.
    pub fn forget(&mut self) {
        self.under_way = None;
    }

    /// Invalidates all checkpoints, because a page of a checkpoint is lost.
    pub fn lost(&mut self) {
        (self.done, self.under_way) = (None, None);
    }

    /// Whether recovery can use a checkpoint.
    pub fn is_valid(&self) -> bool {
        self.done.is_some()
    }

    /// State of a block at the last checkpoint; `None` without a checkpoint.
    pub fn known(&self, block: BlockSetId) -> Option<Known> {
        self.done.as_ref().map(|known| known[block.0 as usize])
    }
}
