//! Resets that wait for what their chunk is being used for in the background, and the failures that blocks survived.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wordline_nand::BlockSetId;

use super::chunks::ChunkId;

/// The reset of a chunk: its command, its place in the list of that, and the chunk.
pub(super) type Reset = (u32, usize, ChunkId);

/// Resets that wait, and failures.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Resets {
    waiting: Vec<Reset>,
    /// Failed programs and failed erases of blocks that were not retired for them.
    failures: BTreeMap<BlockSetId, [u32; 2]>,
}

impl Resets {
    pub(super) fn wait(&mut self, reset: Reset) {
        self.waiting.push(reset);
    }

    /// Takes the reset that waits for a chunk.
    pub(super) fn take(&mut self, chunk: ChunkId) -> Option<Reset> {
        let at = self.waiting.iter().position(|(_, _, of)| *of == chunk)?;
        Some(self.waiting.swap_remove(at))
    }

    /// Takes all that wait for chunks of which something holds.
    pub(super) fn take_all(&mut self, holds: impl Fn(ChunkId) -> bool) -> Vec<Reset> {
        self.waiting.extract_if(.., |(_, _, chunk)| holds(*chunk)).collect()
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Nothing waits any more.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
    }

    /// A program or an erase failed in a block: how often that happened, with this time.
    pub(super) fn failed(&mut self, block: BlockSetId, is_erase: bool) -> u32 {
        let times = &mut self.failures.entry(block).or_default()[usize::from(is_erase)];
        *times += 1;
        *times
    }
}
