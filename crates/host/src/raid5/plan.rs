//! Planning of the work on a row: the blocks that it needs, and the next step. This module only decides;
//! [`stripe`](super::stripe) acts.

use super::stripe_cache::{Job, StripeHead};
use super::sync::Task;
use super::write_method::{Blocks, MemberSet, ReadModifyWrite, WriteMethod};

/// A row that is being worked on.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Number of the row.
    pub row: u64,
    /// The parity member.
    pub parity_member: u16,
    /// The parity member as a set.
    pub parity: MemberSet,
    /// All members.
    pub all: MemberSet,
    /// Members that lack their block of the row.
    pub missing: MemberSet,
    /// Whether parity may be wrong.
    pub untrusted: bool,
    /// For a row with a pending log replay: the members whose blocks give the parity.
    pub logged: MemberSet,
}

/// The next step of the work on a row.
pub enum NextStep {
    /// Blocks have to be read.
    Fetch(MemberSet),
    /// Unreadable blocks have to be computed. All other blocks are in memory.
    Recover(MemberSet),
    /// All needed blocks are in memory.
    Act,
}

impl Row {
    /// The data members.
    pub fn data(&self) -> MemberSet {
        self.all & !self.parity
    }

    /// Whether the parity member is present.
    pub fn has_parity(&self) -> bool {
        self.missing & self.parity == 0
    }

    /// The blocks of the row for the planned write of its head.
    pub fn blocks(&self, head: &StripeHead) -> Blocks {
        let is_write = matches!(head.job, Job::Write | Job::WriteData);
        let of_writes = |set: MemberSet| if is_write { set } else { 0 };
        Blocks {
            all: self.all,
            parity: self.parity,
            written: of_writes(head.written),
            whole: of_writes(head.whole),
            known: head.known,
            readable: !(self.missing | head.bad),
        }
    }

    /// The write method of a write with parity. As in md, it is decided again at each step, because a block
    /// may have become unreadable.
    pub fn way(&self, head: &StripeHead, level: ReadModifyWrite) -> WriteMethod {
        self.blocks(head).way(level, self.untrusted)
    }

    /// The blocks that the work needs in memory. `task`: the synchronisation in progress.
    fn needs(&self, head: &StripeHead, level: ReadModifyWrite, task: Option<Task>) -> MemberSet {
        let needs = |way: WriteMethod| self.blocks(head).needs(way);
        match (head.job, head.way) {
            (Job::None, _) => 0,
            (Job::Write, _) if !self.has_parity() => head.written & !head.whole,
            (Job::Write, _) => needs(self.way(head, level)),
            (Job::WriteData, Some(WriteMethod::Modify)) => head.written,
            (Job::WriteData, _) => 0,
            (Job::Settle, way) => needs(way.unwrap_or(WriteMethod::Reconstruct)),
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
    pub fn next_step(&self, head: &StripeHead, level: ReadModifyWrite, task: Option<Task>) -> NextStep {
        let wanted = self.needs(head, level, task) & !head.known;
        let unreadable = self.missing | head.bad;
        let cannot = wanted & unreadable;
        let others = if cannot == 0 { wanted } else { self.all & !head.known };
        match (others & !unreadable, cannot) {
            (0, 0) => NextStep::Act,
            (0, _) => NextStep::Recover(self.all & !head.known),
            (fetch, _) => NextStep::Fetch(fetch),
        }
    }
}
