//! Queries about the word line that the block table programs next.

use wordline_flash::Flash;
use wordline_nand::BlockSetId;

use super::DesignContext;
use crate::blocks::{BlockManager, SuspendedBlocks, WordLineSelector};
use crate::policies::ActivePolicies;
use crate::policy::frontier::OpenBlock;

/// Policies and designs that select the next word line of a stream, and the flash that they see.
pub struct WordLineQueries<'a> {
    /// The flash.
    pub flash: &'a Flash,
    /// The policies and designs that are queried.
    pub policies: &'a mut ActivePolicies,
}

impl WordLineSelector for WordLineQueries<'_> {
    fn next(&mut self, open: &[OpenBlock<'_>], blocks: &BlockManager) -> (usize, u32) {
        self.policies.next_word_line(open, DesignContext { flash: self.flash, blocks })
    }

    fn select_to_suspend(
        &mut self,
        open: &[OpenBlock<'_>],
        suspended: &SuspendedBlocks<'_>,
        blocks: &BlockManager,
    ) -> Option<BlockSetId> {
        self.policies.select_to_suspend(open, suspended, DesignContext { flash: self.flash, blocks })
    }

    fn select_to_reclaim(
        &mut self,
        open: &[OpenBlock<'_>],
        suspended: &SuspendedBlocks<'_>,
        blocks: &BlockManager,
    ) -> Option<BlockSetId> {
        self.policies.select_to_reclaim(open, suspended, DesignContext { flash: self.flash, blocks })
    }

    fn select_to_resume(
        &mut self,
        suspended: &SuspendedBlocks<'_>,
        blocks: &BlockManager,
    ) -> Option<BlockSetId> {
        self.policies.select_to_resume(suspended, DesignContext { flash: self.flash, blocks })
    }
}
