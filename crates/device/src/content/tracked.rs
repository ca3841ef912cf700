//! Contents of the logical blocks of a layer above devices, for data verification.

use std::collections::BTreeMap;

use super::{Content, FILLED, NOTHING, ZEROES};
use crate::{Command, Operation};

/// The state of a logical block that a read finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBlock {
    /// Nothing was written, or it was discarded.
    Unwritten,
    /// The data were lost.
    Lost,
    /// A version of this logical block.
    Version {
        /// The logical block.
        block: u32,
        /// Number of its writes until this one.
        version: u32,
    },
}

/// Contents that commands carry, contents that were written, and contents that reads found.
#[derive(Debug)]
pub struct TrackedContents {
    sectors_of_a_block: usize,
    /// By tag of a write.
    carried: BTreeMap<u32, Vec<Content>>,
    /// By logical block and version.
    written: BTreeMap<(u32, u32), Vec<Content>>,
    /// By tag of a read, and place of the part in it.
    found: BTreeMap<u32, BTreeMap<u64, Vec<Content>>>,
}

impl TrackedContents {
    /// Tracks the contents of commands from now on. A logical block has this number of sectors.
    pub fn new(sectors_of_a_block: u64) -> Self {
        Self {
            sectors_of_a_block: sectors_of_a_block as usize,
            carried: BTreeMap::new(),
            written: BTreeMap::new(),
            found: BTreeMap::new(),
        }
    }

    /// Sets the contents that the command with this tag writes, one for each sector.
    pub fn carry(&mut self, tag: u32, contents: &[Content]) {
        self.carried.insert(tag, contents.to_vec());
    }

    /// Notes that a command writes this version of a logical block. The block is number `at` of the
    /// command's blocks.
    pub fn note_write(&mut self, command: &Command, at: usize, block: u32, version: u32) {
        let sectors = self.sectors_of_a_block;
        let contents = match self.carried.get(&command.tag) {
            _ if command.operation == Operation::WriteZeroes => vec![ZEROES; sectors],
            Some(carried) => carried[at * sectors..][..sectors].to_vec(),
            None => vec![Content::of(command.tag); sectors],
        };
        self.written.insert((block, version), contents);
    }

    /// Drops what the write with this tag carries: all of its blocks are written.
    pub fn forget_carried(&mut self, tag: u32) {
        self.carried.remove(&tag);
    }

    /// Notes what a part of the read with this tag found. Parts are in order of `place`.
    pub fn note_read(&mut self, tag: u32, place: u64, blocks: impl IntoIterator<Item = FoundBlock>) {
        let of = |found| match found {
            FoundBlock::Unwritten => vec![ZEROES; self.sectors_of_a_block],
            FoundBlock::Lost => vec![NOTHING; self.sectors_of_a_block],
            FoundBlock::Version { block, version } => {
                let written = self.written.get(&(block, version));
                written.cloned().unwrap_or_else(|| vec![FILLED; self.sectors_of_a_block])
            }
        };
        let contents = blocks.into_iter().flat_map(of).collect();
        self.found.entry(tag).or_default().insert(place, contents);
    }

    /// Takes the contents that the read with this tag found.
    pub fn take(&mut self, tag: u32) -> Option<Vec<Content>> {
        Some(self.found.remove(&tag)?.into_values().flatten().collect())
    }

    /// Drops the contents of outstanding commands, after a power cut. Written contents are kept, because they
    /// may be in flash.
    pub fn forget_outstanding(&mut self) {
        self.carried.clear();
        self.found.clear();
    }

    /// Makes all that was written data from before tracking began ([`FILLED`]).
    pub fn forget_written(&mut self) {
        self.written.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_find_what_was_carried_written_lost_or_there_before() {
        let mut tracked = TrackedContents::new(2);
        let command = |operation, tag| Command { operation, tag, sectors: 4, ..Command::default() };
        let carried = [1, 2, 3, 4].map(Content::of);
        tracked.carry(7, &carried);
        tracked.note_write(&command(Operation::Write, 7), 1, 5, 1);
        tracked.forget_carried(7);
        tracked.note_write(&command(Operation::Write, 7), 0, 4, 1);
        tracked.note_write(&command(Operation::WriteZeroes, 8), 0, 6, 3);
        let version = |block, version| FoundBlock::Version { block, version };
        tracked.note_read(9, 4, [version(6, 3), version(6, 2)]);
        tracked.note_read(9, 2, [version(5, 1), version(4, 1)]);
        tracked.note_read(9, 3, [FoundBlock::Unwritten, FoundBlock::Lost]);
        let [own, found] = [Content::of(7), FILLED];
        let wanted = [
            [carried[2], carried[3], own, own],
            [ZEROES, ZEROES, NOTHING, NOTHING],
            [ZEROES, ZEROES, found, found],
        ];
        assert_eq!(tracked.take(9), Some(wanted.concat()));
        assert_eq!(tracked.take(9), None);
        tracked.note_read(10, 0, [version(5, 1)]);
        tracked.forget_outstanding();
        assert_eq!(tracked.take(10), None);
        tracked.forget_written();
        tracked.note_read(11, 0, [version(5, 1)]);
        assert_eq!(tracked.take(11), Some(vec![FILLED; 2]));
    }
}
