//! The contents of the members: those that failed, and how far one is rebuilt that takes the place of such a one.

use serde::{Deserialize, Serialize};
use wordline_kernel::state;

use super::super::way::Set;

/// A member whose device took the place of one that failed. It holds the rows below its position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Rebuild {
    member: u16,
    /// The position.
    row: u64,
    /// Rows beyond that, which it holds: rows are rebuilt side by side.
    ahead: Vec<u64>,
    /// The position when the last covering flush began.
    covered: u64,
    /// The position that outlives a power cut.
    durable: u64,
}

impl Rebuild {
    fn of(member: u16) -> Self {
        Self { member, row: 0, ahead: Vec::new(), covered: 0, durable: 0 }
    }
}

/// The contents of the members. All of them hold all that they should but for these.
#[derive(Clone, Debug)]
pub struct Held {
    all: Set,
    /// Members that hold nothing: they failed, and no spare took their place.
    failed: Set,
    /// The member that is rebuilt: one after the other, while no other has failed, gets a spare.
    rebuild: Option<Rebuild>,
}

state!(Held { values { failed, rebuild } fixed { all } });

impl Held {
    /// So many members that hold all.
    pub(super) fn new(members: u64) -> Self {
        Self { all: Set::MAX >> (64 - members), failed: 0, rebuild: None }
    }

    /// Members of which the block of a row cannot be read.
    pub fn missing(&self, row: u64) -> Set {
        match &self.rebuild {
            Some(rebuild) if row >= rebuild.row && !rebuild.ahead.contains(&row) => {
                self.failed | 1 << rebuild.member
            }
            _ => self.failed,
        }
    }

    /// Members that hold nothing.
    pub fn failed(&self) -> Set {
        self.failed
    }

    /// Members that hold less than all.
    pub fn lacking(&self) -> Set {
        self.rebuild.as_ref().map_or(self.failed, |rebuild| self.failed | 1 << rebuild.member)
    }

    /// Members to which a row can be written.
    pub fn writable(&self) -> Set {
        self.all & !self.failed
    }

    /// The member that is rebuilt, and the row from which it lacks some.
    pub fn rebuild(&self) -> Option<(u16, u64)> {
        self.rebuild.as_ref().map(|rebuild| (rebuild.member, rebuild.row))
    }

    /// A member fails: nothing that it holds counts any more. Whether it held something.
    pub fn fail(&mut self, member: u16) -> bool {
        let holds = self.failed >> member & 1 == 0;
        self.failed |= 1 << member;
        self.rebuild.take_if(|rebuild| rebuild.member == member);
        holds
    }

    /// A device that holds nothing takes the place of the one member that lacks something.
    pub fn replace(&mut self, member: u16) {
        self.failed &= !(1 << member);
        self.rebuild = Some(Rebuild::of(member));
    }

    /// A row of the member that is rebuilt is written.
    pub(super) fn row_rebuilt(&mut self, member: u16, done: u64) {
        let Some(rebuild) = self.rebuild.as_mut().filter(|rebuild| rebuild.member == member) else { return };
        let Rebuild { row, ahead, .. } = rebuild;
        if done >= *row && !ahead.contains(&done) {
            ahead.push(done);
        }
        while let Some(at) = ahead.iter().position(|ahead| ahead == row) {
            ahead.swap_remove(at);
            *row += 1;
        }
    }

    /// All rows of the member that is rebuilt are written, and were flushed. Where that failed, its rebuild begins anew.
    pub fn rebuilt(&mut self, failed: bool) {
        self.rebuild = self.rebuild.take().filter(|_| failed).map(|rebuild| Rebuild::of(rebuild.member));
    }

    /// A covering flush begins.
    pub(super) fn flush_begins(&mut self) {
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.covered = rebuild.row;
        }
    }

    /// It is over. A device that took the place of another meanwhile has nothing that it covers.
    pub(super) fn flush_over(&mut self) {
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.durable = rebuild.durable.max(rebuild.covered);
        }
    }

    /// The power is cut: of a device that is rebuilt only what was flushed counts.
    pub(super) fn cut(&mut self) {
        if let Some(rebuild) = &mut self.rebuild {
            (rebuild.row, rebuild.covered) = (rebuild.durable, rebuild.durable);
            rebuild.ahead.clear();
        }
    }

    /// Whether what was loaded can be members of an array of so many rows.
    pub(super) fn is_sound(&self, rows: u64) -> bool {
        let is_sound = |rebuild: &Rebuild| {
            rebuild.member < 64
                && self.writable() >> rebuild.member & 1 == 1
                && rebuild.durable <= rebuild.row
                && rebuild.covered <= rebuild.row
                && rebuild.row <= rows
                && rebuild.ahead.iter().all(|row| (rebuild.row..rows).contains(row))
        };
        self.failed & !self.all == 0 && self.rebuild.as_ref().is_none_or(is_sound)
    }
}
