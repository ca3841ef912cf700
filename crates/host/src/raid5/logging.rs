//! Use of the partial parity log: it is written before a row, freed by flushes, and replayed after a power
//! cut.

use wordline_device::{BlockDevice, Command, Operation};
use wordline_kernel::Schedule;

use super::durability::log::HEADER;
use super::members::{CompletedCommand, Purpose};
use super::plan::Row;
use super::stripe_cache::{HeadId, Step};
use super::sync::Task;
use super::write_method::MemberSet;
use super::{Event, Raid5};

impl<D: BlockDevice> Raid5<D> {
    /// Logs the current writes of a row before they are stored.
    pub(super) fn log_row(&mut self, id: HeadId, row: &Row, modifies: bool) {
        if !self.durability.log.is_enabled() {
            return;
        }
        if !row.has_parity() {
            return self.durability.note_unlogged_write(row.row);
        }
        let written = self.heads.get(id).written;
        let before = self.durability.write_in_log(row.row, written);
        if let Some(followed) = &mut self.followed {
            let base = modifies.then_some(row.parity_member);
            followed.note_partial(id, row.row, (written, before), base, row.data());
        }
    }

    /// Stores blocks of a row, and of the rows in its batch, once the log entry of the row is written.
    pub(super) fn log_and_store(
        &mut self,
        id: HeadId,
        row: &Row,
        blocks: MemberSet,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        if !self.durability.log.is_enabled() || !row.has_parity() {
            return self.store(id, row, blocks, calendar);
        }
        let head = self.heads.get_mut(id);
        (head.step, head.logged, head.left) = (Step::Logging, blocks, 0);
        if !self.write_log(id, row, calendar) {
            self.wait_for_log.push(id);
        }
    }

    /// Writes the log entry of a row. Returns false if the log has no space for it.
    fn write_log(&mut self, id: HeadId, row: &Row, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let head = self.heads.get(id);
        // A write of all data blocks leaves no block untouched, so its entry is only a header.
        let covered = match head.whole == row.data() {
            true => 0,
            false => head.covered.iter().fold(0, |all, covered| all | covered),
        };
        let partial = if covered == 0 { 0 } else { 64 - covered.leading_zeros() - covered.trailing_zeros() };
        let count = HEADER + u64::from(partial);
        let Some(at) = self.durability.allocate_log(row.row, count) else { return false };
        let (sector, fua) = (self.settings.log_begin() + at, true);
        let write =
            Command { operation: Operation::Write, sector, sectors: count, fua, ..Command::default() };
        self.heads.get_mut(id).left = 1;
        self.counts.ppl_writes += 1;
        self.send(row.parity_member, Purpose::Log { head: id }, write, None, calendar);
        true
    }

    pub(super) fn complete_log_write(
        &mut self,
        id: HeadId,
        over: &CompletedCommand,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        if over.failed {
            self.drop_member(over.sent.member, calendar.now());
        }
        self.end_step(id, over.sent.why);
        let row = self.row_of(id);
        let head = self.heads.get_mut(id);
        head.left = 0;
        let blocks = head.logged;
        self.store(id, &row, blocks, calendar);
    }

    /// Continues rows that wait for log space, or frees log space. Returns whether there was anything to do.
    pub(super) fn advance_log(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let Some(id) = self.wait_for_log.first().copied() else { return false };
        let row = self.row_of(id);
        if !row.has_parity() {
            self.wait_for_log.remove(0);
            let blocks = self.heads.get(id).logged;
            self.store(id, &row, blocks, calendar);
            return true;
        }
        if self.write_log(id, &row, calendar) {
            self.wait_for_log.remove(0);
            return true;
        }
        let makes_room = || self.durability.log.can_free_space(&self.open_rows(), &self.rows_waiting());
        if self.durability.is_flushing() || !makes_room() || !self.flush_members(calendar) {
            return false;
        }
        self.counts.ppl_flushes += 1;
        true
    }

    /// Whether the array accepts commands. After a power cut it accepts commands once the parity from the log
    /// replay is non-volatile.
    pub(super) fn is_accepting(&self) -> bool {
        let replays = self.sync.as_ref().is_some_and(|sync| sync.task == Task::Replay);
        self.power == super::Power::On && !replays && !self.durability.log.has_pending_replay()
    }
}
