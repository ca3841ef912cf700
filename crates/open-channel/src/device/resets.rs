//! Resets that wait for background work on their chunk, and counts of failures that blocks survived.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wordline_nand::BlockSetId;

use super::chunks::ChunkId;

/// Reset of a chunk: number of its command, index in the command, and chunk.
pub(super) type Reset = (u32, usize, ChunkId);

/// Waiting resets, and failures of blocks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Resets {
    waiting: Vec<Reset>,
    /// Number of program and of erase failures of blocks that were not retired.
    failures: BTreeMap<BlockSetId, [u32; 2]>,
}

impl Resets {
    pub(super) fn wait(&mut self, reset: Reset) {
        self.waiting.push(reset);
    }

    /// Takes the waiting reset of a chunk.
    pub(super) fn take(&mut self, chunk: ChunkId) -> Option<Reset> {
        let at = self.waiting.iter().position(|(_, _, of)| *of == chunk)?;
        Some(self.waiting.swap_remove(at))
    }

    /// Takes the waiting resets of all chunks for which `holds` returns true.
    pub(super) fn take_all(&mut self, holds: impl Fn(ChunkId) -> bool) -> Vec<Reset> {
        self.waiting.extract_if(.., |(_, _, chunk)| holds(*chunk)).collect()
    }

    /// Number of waiting resets.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Drops all waiting resets.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
    }

    /// Counts a failed program or erase of a block. Returns the block's number of failures of that kind.
    pub(super) fn failed(&mut self, block: BlockSetId, is_erase: bool) -> u32 {
        let times = &mut self.failures.entry(block).or_default()[usize::from(is_erase)];
        *times += 1;
        *times
    }
}
