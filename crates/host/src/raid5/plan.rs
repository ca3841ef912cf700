//! Planning of the work on a row: which blocks it needs, and the next step. It only decides;
//! [`stripe`](super::stripe) acts.

use super::heads::{Head, Job};
use super::sync::Task;
use super::way::{Blocks, ReadModifyWrite, Set, Way};

/// A row that is being worked on.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its number.
    pub row: u64,
    /// The parity member.
    pub parity_member: u16,
    /// The parity member as a set.
    pub parity: Set,
    /// All members.
    pub all: Set,
    /// Members that do not hold their block.
    pub missing: Set,
    /// Whether parity may be wrong.
    pub untrusted: bool,
    /// Members whose blocks give the parity in a log replay, if one is pending.
    pub logged: Set,
}

/// The next step of the work on a row.
pub enum Next {
    /// Blocks have to be read.
    Fetch(Set),
    /// Unreadable blocks have to be computed; all others are in memory.
    Recover(Set),
    /// All that is needed is in memory.
    Act,
}

impl Row {
    /// The data members.
    pub fn data(&self) -> Set {
        self.all & !self.parity
    }

    /// Whether the parity member is present.
    pub fn has_parity(&self) -> bool {
        self.missing & self.parity == 0
    }

    /// The blocks of the row for the planned write of its head.
    pub fn blocks(&self, head: &Head) -> Blocks {
        let is_write = matches!(head.job, Job::Write | Job::WriteData);
        let of_writes = |set: Set| if is_write { set } else { 0 };
        Blocks {
            all: self.all,
            parity: self.parity,
            written: of_writes(head.written),
            whole: of_writes(head.whole),
            known: head.known,
            readable: !(self.missing | head.bad),
        }
    }

    /// The write method of a write with parity. It is decided anew at each step, as in md, since a block may
    /// have become unreadable.
    pub fn way(&self, head: &Head, level: ReadModifyWrite) -> Way {
        self.blocks(head).way(level, self.untrusted)
    }

    /// The blocks that the work needs in memory, `task` being the synchronisation in progress.
    fn needs(&self, head: &Head, level: ReadModifyWrite, task: Option<Task>) -> Set {
        let needs = |way: Way| self.blocks(head).needs(way);
        match (head.job, head.way) {
            (Job::None, _) => 0,
            (Job::Write, _) if !self.has_parity() => head.written & !head.whole,
            (Job::Write, _) => needs(self.way(head, level)),
            (Job::WriteData, Some(Way::Modify)) => head.written,
            (Job::WriteData, _) => 0,
            (Job::Settle, way) => needs(way.unwrap_or(Way::Reconstruct)),
            (Job::Read, _) => head.reads.iter().fold(0, |set, (_, member)| set | 1 << member),
            (Job::Sync, _) => match task {
                Some(Task::Rebuild { member }) => 1 << member,
                Some(Task::Resync | Task::Scrub) => self.all & !self.missing,
                Some(Task::Replay) => self.logged,
                None => 0,
            },
        }
    }

    /// The next step.
    pub fn next_step(&self, head: &Head, level: ReadModifyWrite, task: Option<Task>) -> Next {
        let wanted = self.needs(head, level, task) & !head.known;
        let unreadable = self.missing | head.bad;
        let cannot = wanted & unreadable;
        let others = if cannot == 0 { wanted } else { self.all & !head.known };
        match (others & !unreadable, cannot) {
            (0, 0) => Next::Act,
            (0, _) => Next::Recover(self.all & !head.known),
            (fetch, _) => Next::Fetch(fetch),
        }
    }
}
