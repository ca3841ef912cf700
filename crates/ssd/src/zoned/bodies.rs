//! Zones in flash: what of each is handed to the device below, what waits until it fills a program, and what is to be done.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use wordline_nand::Stamp;

use super::layout::{Layout, Runs};

/// Something to be done to a zone, after what is before it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Job {
    /// Resets its chunks, for a place in the list of a command.
    Reset(Option<(u32, u32)>),
    /// Closes its chunks, for a command.
    Close(Option<u32>),
    /// Writes a piece.
    Write(u32, Vec<Stamp>),
}

/// A zone in flash.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Body {
    /// The last logical blocks, which fill no program yet.
    pub(super) gathered: Vec<Stamp>,
    /// Those that were gathered and are being written, or could not be: their writes may have been answered.
    pub(super) on_way: BTreeMap<u32, Stamp>,
    pub(super) runs: Runs,
    /// Logical blocks that were taken, those gathered among them.
    pub(super) taken: u32,
    /// Logical blocks whose writes are over, and were answered.
    pub(super) answered: u32,
    /// Pieces that are not over, in their order.
    pub(super) pieces: VecDeque<u32>,
    /// Writes and reads at the device below.
    pub(super) writes: u32,
    pub(super) reads: u32,
    pub(super) jobs: VecDeque<Job>,
    /// Whether the first job is at the device below.
    pub(super) is_at_work: bool,
}

impl Body {
    /// Logical blocks that were taken, without those gathered.
    pub(super) fn handed(&self) -> u32 {
        self.taken - self.gathered.len() as u32
    }

    /// Those gathered are being written.
    fn send_gathered(&mut self) {
        self.on_way.extend((self.handed()..).zip(self.gathered.iter().copied()));
    }

    /// Takes logical blocks. Those that fill programs now: the first position of them, and their stamps.
    pub(super) fn take(&mut self, stamps: &[Stamp], unit: u32) -> (u32, Vec<Stamp>) {
        let position = self.runs.position(self.handed());
        if self.gathered.len() + stamps.len() >= unit as usize {
            self.send_gathered();
        }
        self.gathered.extend_from_slice(stamps);
        self.taken += stamps.len() as u32;
        let whole = self.gathered.len() - self.gathered.len() % unit as usize;
        let rest = self.gathered.split_off(whole);
        (position, std::mem::replace(&mut self.gathered, rest))
    }

    /// Fills the program that waits for more with padding: its position and its stamps. What is written next lies behind it.
    pub(super) fn pad(&mut self, unit: u32) -> (u32, Vec<Stamp>) {
        let position = self.runs.position(self.handed());
        self.send_gathered();
        let mut stamps = std::mem::take(&mut self.gathered);
        stamps.resize(unit as usize, Stamp::PADDING);
        self.runs.go_on(self.taken, position + unit);
        (position, stamps)
    }

    /// Whether all of a zone of `capacity` finds room behind the padding that it has.
    pub(super) fn fits(&self, layout: &Layout) -> bool {
        self.runs.position(self.taken) + (layout.capacity - self.taken) <= layout.positions()
    }

    /// Whether it is to be reset: nothing can be read of it.
    pub(super) fn is_void(&self) -> bool {
        self.jobs.iter().any(|job| matches!(job, Job::Reset(_)))
    }

    /// It is reset.
    pub(super) fn clear(&mut self) {
        self.gathered.clear();
        self.on_way.clear();
        self.runs = Runs::default();
        (self.taken, self.answered) = (0, 0);
    }

    /// The stamp of a logical block that is in memory.
    pub(super) fn in_memory(&self, block: u32) -> Option<Stamp> {
        match block.checked_sub(self.handed()) {
            Some(at) => self.gathered.get(at as usize).copied(),
            None => self.on_way.get(&block).copied(),
        }
    }

    /// The power is cut: nothing is in flight. What was gathered is lost, unless it `is_kept`; how much that is.
    pub(super) fn forget(&mut self, is_kept: bool) -> usize {
        self.pieces.clear();
        (self.writes, self.reads, self.is_at_work) = (0, 0, false);
        let is_void = self.is_void();
        self.jobs.clear();
        if is_void {
            // A reset that had begun is to be brought to its end.
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

    /// After a power cut all before this logical block is there. What was on its way behind that and is kept is gathered again; how much that was
    /// gathered is lost.
    pub(super) fn go_back(&mut self, block: u32) -> usize {
        let lost = self.gathered.len();
        self.gathered = (block..).map_while(|block| self.on_way.get(&block).copied()).collect();
        self.taken = block + self.gathered.len() as u32;
        lost
    }

    /// Whether, in a state that was read, it can be that of a zone.
    pub(super) fn is_sound(&self, layout: &Layout) -> bool {
        let gathered = self.gathered.len() as u32;
        self.taken <= layout.capacity
            && gathered <= self.taken
            && gathered < layout.unit
            && self.on_way.keys().all(|block| *block < self.taken)
            && self.answered <= layout.capacity
            && self.runs.is_sound(layout.capacity, layout.positions())
            && self.runs.position(self.taken) <= layout.positions()
            && (!self.is_at_work || !self.jobs.is_empty())
    }
}
