//! Zone data: blocks of a zone sent to the device below, gathered blocks that do not fill a program yet, and
//! queued jobs.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use wordline_nand::DataTag;

use super::layout::{Layout, Runs};

/// Job of a zone, done after earlier jobs of the zone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Job {
    /// Reset of the chunks, for a zone of a command (its number and the index in it), or after a power loss.
    Reset(Option<(u32, u32)>),
    /// Close of the chunks, for a command or because the zone is full.
    Close(Option<u32>),
    /// Write of a piece.
    Write(u32, Vec<DataTag>),
}

/// Flash data and outstanding work of a zone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ZoneData {
    /// Last logical blocks, which do not fill a program yet.
    pub(super) gathered: Vec<DataTag>,
    /// Gathered blocks that are being written or could not be written. Their write commands may have
    /// completed.
    pub(super) on_way: BTreeMap<u32, DataTag>,
    pub(super) runs: Runs,
    /// Logical blocks accepted, including gathered ones.
    pub(super) taken: u32,
    /// Logical blocks whose writes have completed.
    pub(super) completed: u32,
    /// Pieces that have not ended, in order of arrival.
    pub(super) pieces: VecDeque<u32>,
    /// Writes and reads in flight in the device below.
    pub(super) writes: u32,
    pub(super) reads: u32,
    pub(super) jobs: VecDeque<Job>,
    /// Whether the device below is working on the first job.
    pub(super) is_at_work: bool,
}

impl ZoneData {
    /// Logical blocks accepted, without gathered ones.
    pub(super) fn blocks_sent(&self) -> u32 {
        self.taken - self.gathered.len() as u32
    }

    /// Records that the gathered blocks are being written.
    fn send_gathered(&mut self) {
        self.on_way.extend((self.blocks_sent()..).zip(self.gathered.iter().copied()));
    }

    /// Accepts logical blocks. Returns the blocks that fill programs now, as their first position and their
    /// data tags.
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

    /// Fills up the gathered blocks to a program with padding. Returns its position and data tags. Later
    /// writes go after the padding.
    pub(super) fn pad(&mut self, unit: u32) -> (u32, Vec<DataTag>) {
        let position = self.runs.position(self.blocks_sent());
        self.send_gathered();
        let mut stamps = std::mem::take(&mut self.gathered);
        stamps.resize(unit as usize, DataTag::PADDING);
        self.runs.add_run(self.taken, position + unit);
        (position, stamps)
    }

    /// Whether the remaining capacity of the zone fits after the padding so far.
    pub(super) fn fits(&self, layout: &Layout) -> bool {
        self.runs.position(self.taken) + (layout.capacity - self.taken) <= layout.positions()
    }

    /// Whether a reset is queued. If so, the zone has no readable data.
    pub(super) fn has_pending_reset(&self) -> bool {
        self.jobs.iter().any(|job| matches!(job, Job::Reset(_)))
    }

    /// Empties the zone.
    pub(super) fn clear(&mut self) {
        self.gathered.clear();
        self.on_way.clear();
        self.runs = Runs::default();
        (self.taken, self.completed) = (0, 0);
    }

    /// Data tag of a logical block, if the block is in memory.
    pub(super) fn buffered_tag(&self, block: u32) -> Option<DataTag> {
        match block.checked_sub(self.blocks_sent()) {
            Some(at) => self.gathered.get(at as usize).copied(),
            None => self.on_way.get(&block).copied(),
        }
    }

    /// Drops outstanding work, at a power loss. Gathered blocks are lost unless `is_kept`. Returns how many
    /// are.
    pub(super) fn forget(&mut self, is_kept: bool) -> usize {
        self.pieces.clear();
        (self.writes, self.reads, self.is_at_work) = (0, 0, false);
        let is_void = self.has_pending_reset();
        self.jobs.clear();
        if is_void {
            // A reset that had begun must be finished.
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

    /// Sets the end of the zone after a power loss: all blocks before `block` are in flash. Blocks that were
    /// being written from there on and survived are gathered again. Returns the number of gathered blocks
    /// lost.
    pub(super) fn roll_back(&mut self, block: u32) -> usize {
        let lost = self.gathered.len();
        self.gathered = (block..).map_while(|block| self.on_way.get(&block).copied()).collect();
        self.taken = block + self.gathered.len() as u32;
        lost
    }

    /// Whether a loaded state is consistent.
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
