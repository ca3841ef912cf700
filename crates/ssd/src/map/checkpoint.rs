//! The configuration of the protection against power cuts, and checkpoints.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, state};
use wordline_nand::{AtCut, BlockSetId};

use crate::Config;

/// The fate of programs and erases in progress when the power is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramsAtCut {
    /// They stop: their pages, and where pages share cells those before them, are unreadable.
    #[default]
    Torn,
    /// A capacitor feeds the chips until they are done, so that data at rest are safe. Data in the buffer are lost
    /// all the same.
    Finished,
}

/// The fate of discards, and of pages of zeroes, when the power is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiscardsAtCut {
    /// They are in memory alone: a discarded page may hold older data again.
    #[default]
    Forgotten,
    /// A flush writes a table of them to flash, of which the pages are taken from the over-provisioning.
    Kept,
}

impl Config {
    /// Whether a page that was discarded may hold older data again after a power cut.
    pub(crate) fn brings_back(&self) -> bool {
        self.file.ftl.recovery.discards == DiscardsAtCut::Forgotten
    }
}

/// Protection of pages whose cells are programmed again, with another page, and are torn together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LowerPages {
    /// Nothing: a torn program takes the pages with it that were programmed before into the same word line.
    #[default]
    Exposed,
    /// Before each such program, the page that was programmed last into the word line is copied to a block of its own,
    /// with one bit a cell. The program takes as much longer, and what was there before is safe. A word line that is programmed again is
    /// read before in any case, and takes no longer.
    BackedUp,
}

/// Protection against power cuts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecoveryFile {
    /// The fate of programs and erases in progress when the power is cut.
    pub programs_at_cut: ProgramsAtCut,
    /// Protection of pages whose cells are programmed again: on parts of more than one bit a cell that are not
    /// programmed in one go, and in blocks in the two-bit mode of which a stream programs word lines again.
    pub lower_pages: LowerPages,
    /// The fate of discards, and of pages of zeroes, once they are flushed.
    pub discards: DiscardsAtCut,
    /// How much the host writes from one checkpoint of the map to the next; checkpoints shorten recovery. Left out: none
    /// are made. They need `discards = "kept"`. With a map in flash a checkpoint writes what changed of it, and where its pages are.
    pub checkpoint: Option<Bytes>,
}

/// A block as a checkpoint knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// Its locations that were programmed.
    pub programmed: u32,
    /// How often it had been erased.
    pub erases: u32,
}

/// The checkpoints of the map: when they are made, and which blocks the last one knows how far.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    /// Pages of the host from one to the next, and when the last one began.
    every: u64,
    last: u64,
    under_way: Option<Vec<Known>>,
    done: Option<Vec<Known>>,
}

state!(Checkpoints { values { last, under_way, done } fixed { every } });

impl Checkpoints {
    /// Those that a configuration asks for.
    pub fn of(config: &Config) -> Option<Box<Self>> {
        let every = config.file.ftl.recovery.checkpoint?.0.div_ceil(config.unit.0);
        Some(Box::new(Self { every, last: 0, under_way: None, done: None }))
    }

    /// Whether one is to begin, after this many pages of the host.
    #[inline]
    pub fn is_due(&self, pages: u64) -> bool {
        self.under_way.is_none() && pages - self.last.min(pages) >= self.every
    }

    /// One begins, after this many pages of the host, when the blocks are so.
    pub fn begin(&mut self, pages: u64, blocks: impl Iterator<Item = Known>) {
        self.last = pages;
        self.under_way = Some(blocks.collect());
    }

    /// The one that is under way is in flash.
    pub fn over(&mut self) {
        if let Some(known) = self.under_way.take() {
            self.done = Some(known);
        }
    }

    /// The one that is under way never will be in flash.
    pub fn forget(&mut self) {
        self.under_way = None;
    }

    /// A page of it is lost: it says nothing until the next one.
    pub fn lost(&mut self) {
        (self.done, self.under_way) = (None, None);
    }

    /// Whether there is one that recovery can go by.
    pub fn is_valid(&self) -> bool {
        self.done.is_some()
    }

    /// The state of a block in the last one.
    pub fn known(&self, block: BlockSetId) -> Option<Known> {
        self.done.as_ref().map(|known| known[block.0 as usize])
    }
}

impl From<ProgramsAtCut> for AtCut {
    fn from(at_cut: ProgramsAtCut) -> Self {
        match at_cut {
            ProgramsAtCut::Torn => Self::Torn,
            ProgramsAtCut::Finished => Self::Finished,
        }
    }
}
