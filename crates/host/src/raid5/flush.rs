//! Covering flushes ([`durability`](super::durability)) from the host and from the array itself. The array
//! flushes to free space in the partial parity log, and after a resync or a replay of that log.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use wordline_device::{BlockDevice, Command, Operation};
use wordline_kernel::Schedule;

use super::members::{CompletedCommand, Purpose};
use super::stripe_cache::{Step, StripeHead};
use super::write_method::each;
use super::{Event, Raid5};

/// The array's own covering flush, while one is in progress.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct OwnFlush {
    /// Members that have not completed the flush.
    pub left: u32,
    /// Whether the flush failed on a member.
    failed: bool,
}

impl<D: BlockDevice> Raid5<D> {
    /// Rows that a flush started now does not cover, because they are being written or their parity is
    /// deferred.
    pub(super) fn open_rows(&self) -> BTreeSet<u64> {
        let is_open = |head: &StripeHead| {
            head.stale != 0 || head.step == Step::Logging || head.step == Step::Storing && head.turns.changes
        };
        let open = self.heads.all().filter(|(_, head)| is_open(head));
        open.filter_map(|(_, head)| head.row).collect()
    }

    /// Rows that wait for space in the log, and the rows in a batch with them.
    pub(super) fn rows_waiting(&self) -> BTreeSet<u64> {
        let heads =
            self.wait_for_log.iter().flat_map(|id| std::iter::once(id).chain(&self.heads.get(*id).batch));
        heads.filter_map(|id| self.heads.get(*id).row).collect()
    }

    pub(super) fn start_covering_flush(&mut self) {
        let (open, waiting) = (self.open_rows(), self.rows_waiting());
        self.durability.start_flush(&open, &waiting);
    }

    pub(super) fn end_covering_flush(&mut self, failed: bool) {
        self.durability.end_flush(failed);
        let Self { durability, followed, .. } = self;
        if let Some(followed) = followed {
            followed.keep_partials(|row| durability.log.has(row));
        }
    }

    /// Starts the array's own flush of all members. Returns false while another covering flush is in
    /// progress.
    pub(super) fn flush_members(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        if self.durability.is_flushing() {
            return false;
        }
        self.start_covering_flush();
        let writable = self.durability.held.writable();
        self.own_flush = OwnFlush { left: writable.count_ones(), failed: false };
        let flush = Command { operation: Operation::Flush, ..Command::default() };
        for member in each(writable) {
            self.send(member, Purpose::Flush, flush, None, calendar);
        }
        if writable == 0 {
            // All members have failed: no data are left to make non-volatile.
            self.end_covering_flush(false);
        }
        true
    }

    /// Completes the array's own flush on a member.
    pub(super) fn complete_own_flush(&mut self, over: &CompletedCommand) {
        let OwnFlush { left, failed } = &mut self.own_flush;
        *left -= 1;
        *failed |= over.failed;
        let failed = *failed;
        if *left == 0 {
            self.end_covering_flush(failed);
        }
    }
}
