//! Victims that are being collected, each with its number of valid pages when it was selected.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wordline_nand::BlockSetId;

/// Valid pages at selection, for each victim that is not erased yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SelectedVictims(BTreeMap<BlockSetId, u32>);

impl SelectedVictims {
    /// Records a victim with `valid` valid pages.
    pub(crate) fn note(&mut self, victim: BlockSetId, valid: u32) {
        self.0.insert(victim, valid);
    }

    /// Removes a victim that is erased or retired. Returns its valid pages at selection; `None` for a block
    /// that GC did not select.
    pub(crate) fn take(&mut self, victim: BlockSetId) -> Option<u32> {
        self.0.remove(&victim)
    }

    /// Whether all entries are possible.
    pub(crate) fn all(&self, is_possible: impl Fn(BlockSetId, u32) -> bool) -> bool {
        self.0.iter().all(|(victim, valid)| is_possible(*victim, *valid))
    }
}
