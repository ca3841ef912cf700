//! Contents of logical blocks, for data verification.

use std::collections::BTreeMap;

use wordline_device::content::{Content, FILLED, NOTHING, ZEROES};
use wordline_device::{Command, Operation};
use wordline_nand::DataTag;
use wordline_open_channel::zoned::{Completion, Operation as ZoneOperation};

/// Contents that commands wrote, by logical block and version, and those that reads found.
#[derive(Default)]
pub(super) struct TrackedContents {
    carried: BTreeMap<u32, Vec<Content>>,
    /// By logical block and version.
    written: BTreeMap<(u32, u32), Vec<Content>>,
    found: BTreeMap<u32, BTreeMap<u64, Vec<Content>>>,
}

impl TrackedContents {
    /// Sets the contents that the command with this tag writes.
    pub fn carry(&mut self, tag: u32, contents: &[Content]) {
        self.carried.insert(tag, contents.to_vec());
    }

    /// Takes the contents that the read with this tag found.
    pub fn take(&mut self, tag: u32) -> Option<Vec<Content>> {
        Some(self.found.remove(&tag)?.into_values().flatten().collect())
    }

    /// Records blocks that are sent with these data tags for a command, which has `per_block` sectors in each.
    /// `skipped` is the number of its blocks before them.
    pub fn send(&mut self, command: &Command, stamps: &[DataTag], skipped: usize, per_block: u64) {
        let per_block = per_block as usize;
        let carried = self.carried.get(&command.tag);
        for (n, stamp) in (skipped..).zip(stamps) {
            let contents = match carried {
                Some(carried) => carried[n * per_block..][..per_block].to_vec(),
                None => vec![Content::of(command.tag); per_block],
            };
            self.written.insert((stamp.logical, stamp.version), contents);
        }
    }

    /// Records what a read found.
    pub fn note(&mut self, completion: &Completion, command: &Command, per_block: u64) {
        if completion.operation != ZoneOperation::Read {
            return;
        }
        let of = |stamp: &DataTag| match *stamp {
            DataTag::UNREADABLE => vec![NOTHING; per_block as usize],
            stamp if stamp.is_data() => {
                let written = self.written.get(&(stamp.logical, stamp.version));
                written.cloned().unwrap_or_else(|| vec![FILLED; per_block as usize])
            }
            _ => vec![ZEROES; per_block as usize],
        };
        let contents = completion.found.iter().flat_map(of).collect();
        self.found.entry(command.tag).or_default().insert(completion.first, contents);
    }

    /// Ends a command: its contents are not needed any more.
    pub fn complete(&mut self, command: &Command) {
        if matches!(command.operation, Operation::Write | Operation::ZoneAppend) {
            self.carried.remove(&command.tag);
        }
    }

    /// Drops what commands in flight carry and found, after a power cut.
    pub fn cut(&mut self) {
        self.carried.clear();
        self.found.clear();
    }
}
