//! Use of the partial parity log: it is written before a row, freed by covering flushes
//! ([`durability`](super::durability)), and replayed after a power cut.

use std::collections::BTreeSet;

use wordline_device::{BlockDevice, Command, Operation};
use wordline_kernel::Schedule;

use super::array::Array;
use super::durability::log::HEADER;
use super::event::Event;
use super::flush::OwnFlush;
use super::host::Host;
use super::members::{CompletedCommand, Purpose};
use super::plan::Row;
use super::stripe::Stripes;
use super::stripe_cache::{HeadId, Step, StripeHead};
use super::write_method::{MemberSet, each};

impl Stripes {
    /// Logs the current writes of a row before they are stored.
    pub(super) fn log_row<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        modifies: bool,
        array: &mut Array<D>,
    ) {
        if !array.durability.log.is_enabled() {
            return;
        }
        if !row.has_parity() {
            return array.durability.note_unlogged_write(row.row);
        }
        let written = self.heads.get(id).written;
        let before = array.durability.write_in_log(row.row, written);
        if let Some(followed) = &mut array.followed {
            let base = modifies.then_some(row.parity_member);
            followed.note_partial(id, row.row, (written, before), base, row.data());
        }
    }

    /// Stores blocks of a row, and of the rows in its batch, once the log entry of the row is written.
    pub(super) fn log_and_store<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        blocks: MemberSet,
        array: &mut Array<D>,
        host: &mut Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        if !array.durability.log.is_enabled() || !row.has_parity() {
            return self.store(id, row, blocks, array, host, calendar);
        }
        let head = self.heads.get_mut(id);
        (head.step, head.logged, head.left) = (Step::Logging, blocks, 0);
        if !self.write_log(id, row, array, calendar) {
            self.wait_for_log.push(id);
        }
    }

    /// Writes the log entry of a row. Returns false if the log has no space for it.
    fn write_log<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        array: &mut Array<D>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        let head = self.heads.get(id);
        // A write of all data blocks leaves no block untouched, so its entry is only a header.
        let covered = match head.whole == row.data() {
            true => 0,
            false => head.covered.iter().fold(0, |all, covered| all | covered),
        };
        let partial = if covered == 0 { 0 } else { 64 - covered.leading_zeros() - covered.trailing_zeros() };
        let count = HEADER + u64::from(partial);
        let Some(at) = array.durability.allocate_log(row.row, count) else { return false };
        let (sector, fua) = (array.settings.log_begin() + at, true);
        let write =
            Command { operation: Operation::Write, sector, sectors: count, fua, ..Command::default() };
        self.heads.get_mut(id).left = 1;
        array.counts.ppl_writes += 1;
        array.send(row.parity_member, Purpose::Log { head: id }, write, None, calendar);
        true
    }

    pub(super) fn complete_log_write<D: BlockDevice>(
        &mut self,
        id: HeadId,
        over: &CompletedCommand,
        array: &mut Array<D>,
        host: &mut Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        if over.failed {
            self.drop_member(over.sent.member, calendar.now(), array);
        }
        host.attribution.end_step(id, over.sent.why);
        let row = self.row_of(id, array);
        let head = self.heads.get_mut(id);
        head.left = 0;
        let blocks = head.logged;
        self.store(id, &row, blocks, array, host, calendar);
    }

    /// Whether rows wait for log space.
    #[inline]
    pub(super) fn is_waiting_for_log(&self) -> bool {
        !self.wait_for_log.is_empty()
    }

    /// Continues rows that wait for log space, or frees log space. Returns whether there was anything to do.
    pub(super) fn advance_log<D: BlockDevice>(
        &mut self,
        array: &mut Array<D>,
        host: &mut Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        let Some(id) = self.wait_for_log.first().copied() else { return false };
        let row = self.row_of(id, array);
        if !row.has_parity() {
            self.wait_for_log.remove(0);
            let blocks = self.heads.get(id).logged;
            self.store(id, &row, blocks, array, host, calendar);
            return true;
        }
        if self.write_log(id, &row, array, calendar) {
            self.wait_for_log.remove(0);
            return true;
        }
        let makes_room = || array.durability.log.can_free_space(&self.open_rows(), &self.rows_waiting());
        if array.durability.is_flushing() || !makes_room() || !self.flush_members(array, calendar) {
            return false;
        }
        array.counts.ppl_flushes += 1;
        true
    }

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

    pub(super) fn start_covering_flush<D: BlockDevice>(&mut self, array: &mut Array<D>) {
        let (open, waiting) = (self.open_rows(), self.rows_waiting());
        array.durability.start_flush(&open, &waiting);
    }

    /// Starts the array's own flush of all members. Returns false while another covering flush is in
    /// progress.
    pub(super) fn flush_members<D: BlockDevice>(
        &mut self,
        array: &mut Array<D>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) -> bool {
        if array.durability.is_flushing() {
            return false;
        }
        self.start_covering_flush(array);
        let writable = array.durability.held.writable();
        array.own_flush = OwnFlush { left: writable.count_ones(), failed: false };
        let flush = Command { operation: Operation::Flush, ..Command::default() };
        for member in each(writable) {
            array.send(member, Purpose::Flush, flush, None, calendar);
        }
        if writable == 0 {
            // All members have failed: no data are left to make non-volatile.
            array.end_covering_flush(false);
        }
        true
    }
}
