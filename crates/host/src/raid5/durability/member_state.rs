//! State of the members: which members have failed, and how far the replacement of a failed member is
//! rebuilt.

use serde::{Deserialize, Serialize};
use wordline_kernel::state;

use super::super::write_method::MemberSet;

/// A member whose device is a replacement. The device has the data of the rows below `row`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Rebuild {
    member: u16,
    /// The rebuild position: the first row that is not rebuilt.
    row: u64,
    /// Rebuilt rows beyond the rebuild position. Rows are rebuilt concurrently.
    ahead: Vec<u64>,
    /// The rebuild position at the start of the last covering flush.
    covered: u64,
    /// The rebuild position that survives a power cut.
    durable: u64,
}

impl Rebuild {
    fn of(member: u16) -> Self {
        Self { member, row: 0, ahead: Vec::new(), covered: 0, durable: 0 }
    }
}

/// State of the members. Members that are not listed here are complete.
#[derive(Clone, Debug)]
pub struct MemberState {
    all: MemberSet,
    /// Failed members without a replacement.
    failed: MemberSet,
    /// The member being rebuilt. Rebuilds run one at a time, and only while no other member has failed.
    rebuild: Option<Rebuild>,
}

state!(MemberState { values { failed, rebuild } fixed { all } });

impl MemberState {
    /// The state with all members complete.
    pub(super) fn new(members: u64) -> Self {
        Self { all: MemberSet::MAX >> (64 - members), failed: 0, rebuild: None }
    }

    /// Members whose block of a row cannot be read.
    pub fn missing(&self, row: u64) -> MemberSet {
        match &self.rebuild {
            Some(rebuild) if row >= rebuild.row && !rebuild.ahead.contains(&row) => {
                self.failed | 1 << rebuild.member
            }
            _ => self.failed,
        }
    }

    /// Members without a device.
    pub fn failed(&self) -> MemberSet {
        self.failed
    }

    /// Members that are failed or being rebuilt.
    pub fn incomplete(&self) -> MemberSet {
        self.rebuild.as_ref().map_or(self.failed, |rebuild| self.failed | 1 << rebuild.member)
    }

    /// Members that take writes.
    pub fn writable(&self) -> MemberSet {
        self.all & !self.failed
    }

    /// The member being rebuilt, and its first row that is not rebuilt.
    pub fn rebuild(&self) -> Option<(u16, u64)> {
        self.rebuild.as_ref().map(|rebuild| (rebuild.member, rebuild.row))
    }

    /// Fails a member, whose data are lost. Returns false if it had failed before.
    pub fn fail(&mut self, member: u16) -> bool {
        let holds = self.failed >> member & 1 == 0;
        self.failed |= 1 << member;
        self.rebuild.take_if(|rebuild| rebuild.member == member);
        holds
    }

    /// Replaces the only failed member by an empty device.
    pub fn replace(&mut self, member: u16) {
        self.failed &= !(1 << member);
        self.rebuild = Some(Rebuild::of(member));
    }

    /// Notes a rebuilt row. `forced`: its block is non-volatile.
    pub(super) fn note_row_rebuilt(&mut self, member: u16, done: u64, forced: bool) {
        let Some(rebuild) = self.rebuild.as_mut().filter(|rebuild| rebuild.member == member) else { return };
        let Rebuild { row, ahead, durable, .. } = rebuild;
        if done >= *row && !ahead.contains(&done) {
            ahead.push(done);
        }
        while let Some(at) = ahead.iter().position(|ahead| ahead == row) {
            ahead.swap_remove(at);
            *row += 1;
        }
        if forced {
            *durable = *row;
        }
    }

    /// Ends the rebuild of a member after the flush of its device. If the flush failed, the rebuild starts
    /// again.
    pub fn rebuilt(&mut self, member: u16, failed: bool) {
        let ended = self.rebuild.take_if(|rebuild| rebuild.member == member);
        if ended.is_some() && failed {
            self.rebuild = Some(Rebuild::of(member));
        }
    }

    /// Notes the start of a covering flush.
    pub(super) fn start_flush(&mut self) {
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.covered = rebuild.row;
        }
    }

    /// Notes the end of a covering flush. A device that replaced another after the start of the flush has no
    /// data that the flush covers.
    pub(super) fn end_flush(&mut self) {
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.durable = rebuild.durable.max(rebuild.covered);
        }
    }

    /// Applies a power cut: only flushed rows of a rebuild count as rebuilt.
    pub(super) fn cut(&mut self) {
        if let Some(rebuild) = &mut self.rebuild {
            (rebuild.row, rebuild.covered) = (rebuild.durable, rebuild.durable);
            rebuild.ahead.clear();
        }
    }

    /// Checks a restored state against an array of `rows` rows.
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
