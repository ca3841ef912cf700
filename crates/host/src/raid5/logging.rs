//! The use of the partial parity log: it is written before a row, emptied by flushes, and read after a power cut.

use std::collections::BTreeSet;

use wordline_kernel::{Instant, Schedule};
use wordline_ssd::{BlockDevice, Command, Operation};

use super::heads::{Head, HeadId, Step};
use super::log::HEADER;
use super::members::{Over, Why};
use super::plan::Row;
use super::sync::Task;
use super::way::Set;
use super::{Event, Raid5};

impl<D: BlockDevice> Raid5<D> {
    /// The current writes of a row come next: what undoes them goes to the log.
    pub(super) fn note_in_log(&mut self, id: HeadId, row: &Row, modifies: bool) {
        if !self.log.is_on() {
            return;
        }
        if !row.has_parity() {
            return self.log.write_bare(row.row);
        }
        let written = self.heads.get(id).written;
        let before = self.log.note(row.row, row.parity_member, written);
        if let Some(followed) = &mut self.followed {
            let base = modifies.then_some(row.parity_member);
            followed.note_partial(id, row.row, (written, before), base, row.data());
        }
    }

    /// Stores blocks of a row, and of those that are stored with it, once its entry is in the log.
    pub(super) fn log_and_store(
        &mut self,
        id: HeadId,
        row: &Row,
        blocks: Set,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        if !self.log.is_on() || !row.has_parity() {
            return self.store(id, row, blocks, calendar);
        }
        let head = self.heads.get_mut(id);
        (head.step, head.logged, head.left) = (Step::Logging, blocks, 0);
        if !self.write_log(id, row, calendar) {
            self.log.waiting.push(id);
        }
    }

    /// Writes the entry of a row; false if there is no room for it.
    fn write_log(&mut self, id: HeadId, row: &Row, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let head = self.heads.get(id);
        // Nothing is left alone by a write of all blocks: its entry is a header.
        let covered = match head.whole == row.data() {
            true => 0,
            false => head.covered.iter().fold(0, |all, covered| all | covered),
        };
        let partial = if covered == 0 { 0 } else { 64 - covered.leading_zeros() - covered.trailing_zeros() };
        let count = HEADER + u64::from(partial);
        let Some(at) = self.log.take(row.row, count) else { return false };
        let (sector, fua) = (self.settings.log_begin() + at, true);
        let write =
            Command { operation: Operation::Write, sector, sectors: count, fua, ..Command::default() };
        self.heads.get_mut(id).left = 1;
        self.counts.log_writes += 1;
        self.send(row.parity_member, Why::Log { head: id }, write, None, calendar);
        true
    }

    /// The entry of a row is in the log.
    pub(super) fn log_over(
        &mut self,
        id: HeadId,
        over: &Over,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        if over.failed {
            self.drop_member(over.sent.member, calendar.now());
        }
        self.step_over(id, over.sent.why);
        let row = self.row_of(id);
        let head = self.heads.get_mut(id);
        head.left = 0;
        let blocks = head.logged;
        self.store(id, &row, blocks, calendar);
    }

    /// Rows that a flush which begins now does not cover: they are being written, or wait for their parity.
    pub(super) fn open_rows(&self) -> BTreeSet<u64> {
        let is_open = |head: &Head| {
            head.stale != 0 || head.step == Step::Logging || head.step == Step::Storing && head.turns.changes
        };
        let open = self.heads.all().filter(|(_, head)| is_open(head));
        open.filter_map(|(_, head)| head.row).collect()
    }

    /// Rows that wait for room in the log, and those that are stored together with them.
    pub(super) fn rows_waiting(&self) -> BTreeSet<u64> {
        let heads =
            self.log.waiting.iter().flat_map(|id| std::iter::once(id).chain(&self.heads.get(*id).batch));
        heads.filter_map(|id| self.heads.get(*id).row).collect()
    }

    /// Goes on with rows that wait for room in the log, or makes room; whether there was something to do.
    pub(super) fn drive_log(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let Some(id) = self.log.waiting.first().copied() else { return false };
        let row = self.row_of(id);
        if !row.has_parity() {
            self.log.waiting.remove(0);
            let blocks = self.heads.get(id).logged;
            self.store(id, &row, blocks, calendar);
            return true;
        }
        if self.write_log(id, &row, calendar) {
            self.log.waiting.remove(0);
            return true;
        }
        let makes_room = || self.log.has_closed(&self.open_rows(), &self.rows_waiting());
        if self.covering.is_own() || !makes_room() || !self.flush_members(calendar) {
            return false;
        }
        self.counts.log_flushes += 1;
        true
    }

    /// The power is cut: what was discarded may come back, or not, on each member, so that an entry that was written after a discard does not tell what
    /// the blocks hold which it left alone. Such a row stays in doubt.
    pub(super) fn forget_discarded_in_log(&mut self) {
        let Self { log, intent, .. } = self;
        let rows: Vec<u64> = log.rows().filter(|row| intent.is_discarded(*row)).collect();
        rows.into_iter().for_each(|row| log.forget(row));
    }

    /// The power was cut: rows whose parity is to be had from the log, and those whose missing block the cut did not touch.
    pub(super) fn plan_replay(&mut self) {
        let Self { log, intent, .. } = self;
        log.cut(|row| intent.is_untrusted(row));
        let rows: Vec<u64> = self.log.rows().collect();
        for row in rows {
            let modified = self.log.modified(row).unwrap_or(0);
            let parity = 1 << self.settings.striping.parity(row);
            let missing = self.members.missing(row);
            if missing == modified && missing.count_ones() == 1 {
                // Parity alone was written, and says what the missing block was or what it is.
                self.intent.is_right(row);
            } else if missing & (parity | modified) == 0 && missing.count_ones() < 2 {
                self.log.replay(row);
            }
        }
    }

    /// The parity of a row was had from the log.
    pub(super) fn replayed(&mut self, row: u64) {
        self.intent.is_right(row);
        self.log.replayed(row);
    }

    /// Whether the array takes commands: after a power cut once the parity that follows from the log is durable.
    pub(super) fn takes_commands(&self) -> bool {
        let replays = self.sync.as_ref().is_some_and(|sync| sync.task == Task::Replay);
        self.power == super::Power::On && !replays && !self.log.has_replay()
    }

    /// The next synchronisation begins with the log.
    pub(super) fn begins_with_log(&mut self, now: Instant) -> bool {
        let replays = self.log.has_replay();
        if replays {
            self.begin_sync(Task::Replay, now, 0);
        }
        replays
    }
}
