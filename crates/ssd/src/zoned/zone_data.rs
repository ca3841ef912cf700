//! The flash side of zones: blocks handed to the device below, blocks that do not fill a program yet, and
//! queued jobs.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use wordline_nand::DataTag;

use super::layout::{Layout, Runs};

/// A job of a zone, done after the jobs before it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Job {
    /// Resets its chunks, for an index in the list of a command.
    Reset(Option<(u32, u32)>),
    /// Closes its chunks, for a command.
    Close(Option<u32>),
    /// Writes a piece.
    Write(u32, Vec<DataTag>),
}

/// The flash side of a zone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ZoneData {
    /// The last logical blocks, which do not fill a program yet.
    pub(super) gathered: Vec<DataTag>,
    /// Blocks that were gathered and are being written, or could not be written: their writes may have
    /// completed.
    pub(super) on_way: BTreeMap<u32, DataTag>,
    pub(super) runs: Runs,
    /// Logical blocks accepted, including the gathered ones.
    pub(super) taken: u32,
    /// Logical blocks whose writes have completed.
    pub(super) completed: u32,
    /// Pieces that have not ended, in order.
    pub(super) pieces: VecDeque<u32>,
    /// Writes and reads in flight at the device below.
    pub(super) writes: u32,
    pub(super) reads: u32,
    pub(super) jobs: VecDeque<Job>,
    /// Whether the first job is in progress at the device below.
    pub(super) is_at_work: bool,
}

impl ZoneData {
    /// Logical blocks accepted, without the gathered ones.
    pub(super) fn blocks_sent(&self) -> u32 {
        self.taken - self.gathered.len() as u32
    }

    /// Marks the gathered blocks as being written.
    fn send_gathered(&mut self) {
        self.on_way.extend((self.blocks_sent()..).zip(self.gathered.iter().copied()));
    }

    /// Accepts logical blocks. Returns those that fill programs now: their first position and their data
    /// tags.
    pub(super) fn take(&mut self, stamps: &[DataTag], unit: u32) -> (u32, Vec<DataTag>) {
        let position = self.runs.position(self.blocks_sent());
        if self.gathered.len() + stamps.len() >= unit as usize {
            self.send_gathered();
        }
        self.gathered.extend_from_slice(stamps);
        self.taken += stamps.len() as u32;
        let whole = self.gathered.len() - self.gathered.len() % unit as usize;
        let rest = self.gathered.split_off(whole);
        (position, std::mem::replace(&mut self.gathered, rest))
    }

    /// Completes the program that waits for more blocks with padding; returns its position and data tags.
    /// Later writes go behind it.
    pub(super) fn pad(&mut self, unit: u32) -> (u32, Vec<DataTag>) {
        let position = self.runs.position(self.blocks_sent());
        self.send_gathered();
        let mut stamps = std::mem::take(&mut self.gathered);
        stamps.resize(unit as usize, DataTag::PADDING);
        self.runs.add_run(self.taken, position + unit);
        (position, stamps)
    }

    /// Whether the rest of the zone fits behind the padding so far.
    pub(super) fn fits(&self, layout: &Layout) -> bool {
        self.runs.position(self.taken) + (layout.capacity - self.taken) <= layout.positions()
    }

    /// Whether a reset is queued: nothing of the zone can be read.
    pub(super) fn has_pending_reset(&self) -> bool {
        self.jobs.iter().any(|job| matches!(job, Job::Reset(_)))
    }

    /// Resets the zone.
    pub(super) fn clear(&mut self) {
        self.gathered.clear();
        self.on_way.clear();
        self.runs = Runs::default();
        (self.taken, self.completed) = (0, 0);
    }

    /// Data tag of a logical block that is in memory.
    pub(super) fn buffered_tag(&self, block: u32) -> Option<DataTag> {
        match block.checked_sub(self.blocks_sent()) {
            Some(at) => self.gathered.get(at as usize).copied(),
            None => self.on_way.get(&block).copied(),
        }
    }

    /// The power is cut: nothing is in flight. Gathered blocks are lost unless `is_kept`; returns how many.
    pub(super) fn forget(&mut self, is_kept: bool) -> usize {
        self.pieces.clear();
        (self.writes, self.reads, self.is_at_work) = (0, 0, false);
        let is_void = self.has_pending_reset();
        self.jobs.clear();
        if is_void {
            // A reset that had begun has to be finished.
            self.jobs.push_back(Job::Reset(None));
            return 0;
        }
        if is_kept {
            return 0;
        }
        self.on_way.clear();
        let lost = std::mem::take(&mut self.gathered).len();
        self.taken -= lost as u32;
        lost
    }

    /// After a power cut: all blocks before `block` are in flash. Kept blocks behind it that were being
    /// written are gathered again. Returns the number of gathered blocks that are lost.
    pub(super) fn roll_back(&mut self, block: u32) -> usize {
        let lost = self.gathered.len();
        self.gathered = (block..).map_while(|block| self.on_way.get(&block).copied()).collect();
        self.taken = block + self.gathered.len() as u32;
        lost
    }

    /// Whether a loaded state can be the state of a zone.
    pub(super) fn is_sound(&self, layout: &Layout) -> bool {
        let gathered = self.gathered.len() as u32;
        self.taken <= layout.capacity
            && gathered <= self.taken
            && gathered < layout.unit
            && self.on_way.keys().all(|block| *block < self.taken)
            && self.completed <= layout.capacity
            && self.runs.is_sound(layout.capacity, layout.positions())
            && self.runs.position(self.taken) <= layout.positions()
            && (!self.is_at_work || !self.jobs.is_empty())
    }
}
