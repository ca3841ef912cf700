//! Interface through which a frontier or design selects the next word line, and blocks to suspend, reclaim
//! and resume.

use wordline_nand::BlockSetId;

use super::BlockManager;
use super::suspended::SuspendedBlocks;
use crate::policy::frontier::OpenBlock;

/// Selects the block and the word line of a stream's next program.
pub trait WordLineSelector {
    /// Index in `open` of the block that is programmed next, and its word line. `open` has the open blocks of
    /// a stream in the order of opening.
    fn next(&mut self, open: &[OpenBlock<'_>], blocks: &BlockManager) -> (usize, u32);

    /// Open block to suspend before the next program; `None` to suspend none.
    fn select_to_suspend(
        &mut self,
        _open: &[OpenBlock<'_>],
        _suspended: &SuspendedBlocks<'_>,
        _space: &BlockManager,
    ) -> Option<BlockSetId> {
        None
    }

    /// Suspended block to reclaim; `None` to reclaim none.
    fn select_to_reclaim(
        &mut self,
        _open: &[OpenBlock<'_>],
        _suspended: &SuspendedBlocks<'_>,
        _space: &BlockManager,
    ) -> Option<BlockSetId> {
        None
    }

    /// Suspended block to resume; `None` to open a free block instead.
    fn select_to_resume(
        &mut self,
        _suspended: &SuspendedBlocks<'_>,
        _space: &BlockManager,
    ) -> Option<BlockSetId> {
        None
    }
}

impl<F: FnMut(&[OpenBlock<'_>], &BlockManager) -> (usize, u32)> WordLineSelector for F {
    fn next(&mut self, open: &[OpenBlock<'_>], blocks: &BlockManager) -> (usize, u32) {
        self(open, blocks)
    }
}

/// Reference to the selector of the next word line.
pub type NextWordLine<'a> = &'a mut dyn WordLineSelector;
