//! Flushes that cover rows: what was written before one began is durable on all members when it is over. Those of the host are one kind; the array
//! flushes by itself to make room in the partial parity log, and after a resync or a replay of that log.

use serde::{Deserialize, Serialize};
use wordline_kernel::Schedule;
use wordline_ssd::{BlockDevice, Command, Operation};

use super::members::{Member, Over, Why};
use super::way::each;
use super::{Event, Raid5};

/// The flush that covers rows, while one is under way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Covering {
    /// The members when it began.
    members: Vec<Member>,
    /// Members that have not completed a flush of the array's own.
    left: u32,
    /// Whether one of them failed to.
    failed: bool,
}

impl Covering {
    /// Whether a flush of the array's own is under way.
    pub fn is_own(&self) -> bool {
        self.left > 0
    }

    /// The power was cut.
    pub fn cut(&mut self) {
        *self = Self::default();
    }
}

impl<D: BlockDevice> Raid5<D> {
    /// A flush of all members begins, unless it is beside another: what was written before is durable when it is over.
    pub(super) fn covering_begins(&mut self) -> bool {
        if !self.intent.flush_begins() {
            return false;
        }
        self.lost.flush_begins();
        self.covering.members = self.members.all().to_vec();
        let open = self.open_rows();
        open.iter().for_each(|row| self.intent.keep(*row));
        let waiting = self.rows_waiting();
        self.log.flush_begins(&open, &waiting);
        true
    }

    /// It is over.
    pub(super) fn covering_over(&mut self, failed: bool) {
        let members = std::mem::take(&mut self.covering.members);
        if failed {
            self.log.flush_failed();
            return self.intent.flush_failed();
        }
        self.intent.flush_over();
        self.lost.flush_over();
        self.members.made_durable(&members);
        self.log.flush_over();
        let Self { log, followed, .. } = self;
        if let Some(followed) = followed {
            followed.keep_partials(|row| log.has(row));
        }
    }

    /// Flushes all members on the array's own account; false while another flush that covers rows is under way.
    pub(super) fn flush_members(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        if !self.covering_begins() {
            return false;
        }
        let writable = self.members.writable();
        (self.covering.left, self.covering.failed) = (writable.count_ones(), false);
        let flush = Command { operation: Operation::Flush, ..Command::default() };
        for member in each(writable) {
            self.send(member, Why::Flush, flush, None, calendar);
        }
        true
    }

    /// A member has completed a flush of the array's own.
    pub(super) fn own_flush_over(&mut self, over: &Over) {
        let Covering { left, failed, .. } = &mut self.covering;
        *left -= 1;
        *failed |= over.failed;
        let failed = *failed;
        if *left == 0 {
            self.covering_over(failed);
        }
    }
}
