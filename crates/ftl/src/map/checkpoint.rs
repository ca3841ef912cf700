//! Checkpoints of the L2P map.

use serde::{Deserialize, Serialize};
use wordline_kernel::state;
use wordline_nand::BlockSetId;

use crate::Config;

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
