//! The victims under way, each with what it held when it was selected: what the collector takes for a free block.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wordline_nand::BlockSetId;

/// Valid pages of the victims that are not erased yet, as they were when each was selected.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Selected(BTreeMap<BlockSetId, u32>);

impl Selected {
    /// Notes a victim that holds so many valid pages.
    pub(crate) fn note(&mut self, victim: BlockSetId, valid: u32) {
        self.0.insert(victim, valid);
    }

    /// Valid pages that a victim held, which is erased or taken out of use now; none for a block that the collector did not select.
    pub(crate) fn take(&mut self, victim: BlockSetId) -> Option<u32> {
        self.0.remove(&victim)
    }

    /// Whether each entry is possible.
    pub(crate) fn all(&self, is_possible: impl Fn(BlockSetId, u32) -> bool) -> bool {
        self.0.iter().all(|(victim, valid)| is_possible(*victim, *valid))
    }
}
