//! Completion of the work on a row: host completions, deferred parity, and data loss.

use wordline_device::{BlockDevice, Command};
use wordline_kernel::{Instant, Schedule};

use super::plan::Row;
use super::stripe_cache::{HeadId, Job, Step, sectors};
use super::sync::{Sync, Task};
use super::write_method::{MemberSet, WriteMethod, each};
use super::{Cause, Event, Raid5};

impl<D: BlockDevice> Raid5<D> {
    /// Ends the work on a row, unless parity has to be written before the host's writes complete.
    pub(super) fn end_job(&mut self, id: HeadId, calendar: &mut impl Schedule<Event<D::Event>>) {
        let row = self.row_of(id);
        self.heads.full(id, false);
        let head = self.heads.get_mut(id);
        let (job, way) = (head.job, head.way);
        head.job = Job::None;
        let is_right = way == Some(WriteMethod::Reconstruct) && row.has_parity();
        match job {
            Job::WriteData => {
                for member in each(head.written) {
                    self.durability.written(row.row, member, head.covered[usize::from(member)]);
                }
                if row.missing & head.written != 0 || head.turns.fua {
                    // The writes complete once parity includes the data that the failed member should have.
                    self.drop_stale(id, &row);
                    let is_behind = self.heads.get(id).stale != 0;
                    self.heads.get_mut(id).turns.settle = is_behind;
                    if is_behind {
                        return self.heads.queue(id);
                    }
                }
                self.complete_writes(id, &row, calendar.now());
            }
            Job::Write => {
                for member in each(head.written) {
                    self.durability.written(row.row, member, head.covered[usize::from(member)]);
                }
                if is_right {
                    self.durability.rows.is_right(row.row);
                }
                self.complete_writes(id, &row, calendar.now());
            }
            Job::Settle => {
                self.clear_stale(id);
                if is_right {
                    self.durability.rows.is_right(row.row);
                }
                self.complete_writes(id, &row, calendar.now());
            }
            Job::Sync => self.note_row_synced(id, &row),
            Job::Read | Job::None => {}
        }
        self.release(id);
        self.schedule_parity_timer(calendar);
    }

    /// Completes the current writes of a row. They fail if two members are missing, or if they cover lost
    /// sectors of a missing member.
    pub(super) fn complete_writes(&mut self, id: HeadId, row: &Row, now: Instant) {
        let head = self.heads.get_mut(id);
        head.turns.fua = false;
        let is_lost = |member: u16| {
            row.missing >> member & 1 == 1
                && self.durability.lost.of(row.row, member) & head.covered[usize::from(member)] != 0
        };
        let failed = row.missing.count_ones() > 1 || each(head.written & row.missing).any(is_lost);
        let current = std::mem::take(&mut head.current);
        self.set_cause(Cause::Row(id));
        for request in current {
            self.complete_part(request, failed, now);
        }
        self.set_cause(Cause::Array);
    }

    /// Completes the reads of a row. Reads of lost sectors fail.
    pub(super) fn complete_reads(&mut self, id: HeadId, row: &Row, now: Instant) {
        let block = self.settings.striping.block;
        self.set_cause(Cause::Row(id));
        for (request, member) in std::mem::take(&mut self.heads.get_mut(id).reads) {
            let Command { sector, sectors: count, .. } = self.requests.get(request).command;
            let mut parts = self.settings.striping.parts(row.row, sector..sector + count);
            let Some((_, part, at)) = parts.find(|(of, ..)| *of == member) else { continue };
            debug_assert!(part.end <= block, "a part lies in its block");
            let failed = self.durability.lost.of(row.row, member) & sectors(&part) != 0;
            self.counts.degraded_reads += row.missing >> member & 1;
            if let (Some(followed), false) = (&mut self.followed, failed) {
                followed.read_block(request, at, id, member, part);
            }
            self.complete_part(request, failed, now);
        }
        self.set_cause(Cause::Array);
    }

    /// Fails the work on a row with two missing members, except reads of blocks on present members.
    pub(super) fn fail_row(&mut self, id: HeadId, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.heads.end_preread(id);
        self.heads.full(id, false);
        self.clear_stale(id);
        let row = self.row_of(id);
        let head = self.heads.get_mut(id);
        (head.job, head.rewrite, head.bad) = (Job::None, 0, 0);
        let mut writes = std::mem::take(&mut head.current);
        writes.append(&mut head.pending);
        let reads = std::mem::take(&mut head.reads);
        let (lost, there): (Vec<_>, Vec<_>) =
            reads.into_iter().partition(|(_, member)| row.missing >> member & 1 == 1);
        head.reads = there;
        for request in writes.into_iter().chain(lost.into_iter().map(|(request, _)| request)) {
            self.complete_part(request, true, calendar.now());
        }
        if self.heads.get(id).turns.sync {
            if let Some(sync) = &self.sync {
                self.heads.get_mut(id).sync = sync.number;
            }
            self.note_row_synced(id, &row);
        }
    }

    /// Marks the block of a failed member as lost if its parity update was deferred and its old contents are
    /// unknown.
    pub(super) fn drop_stale(&mut self, id: HeadId, row: &Row) {
        let head = self.heads.get(id);
        if head.stale == 0 || row.missing == 0 {
            return;
        }
        let follows = head.has_delta || head.known & row.parity != 0 && !head.turns.raw;
        if !row.has_parity() {
            return self.clear_stale(id);
        }
        if !follows && row.missing & head.known == 0 {
            let (member, stale) = (row.missing.trailing_zeros() as u16, head.stale);
            let lost = self.durability.lost.add(row.row, member, stale);
            self.counts.lost += lost;
            self.counts.lost_deferred_parity += lost;
            self.clear_stale(id);
        }
    }

    /// Clears the deferred parity of a row.
    pub(super) fn clear_stale(&mut self, id: HeadId) {
        let head = self.heads.get_mut(id);
        if head.stale == 0 {
            return;
        }
        (head.stale, head.has_delta, head.turns.settle) = (0, false, false);
        if std::mem::take(&mut head.turns.raw) {
            let parity = head.row.map_or(0, |row| 1 << self.settings.striping.parity(row));
            head.known &= !parity;
        }
        let epoch = head.since.1;
        let waiting = self.requests.flushes.iter_mut().filter(|flush| !flush.sent && epoch <= flush.epoch);
        waiting.for_each(|flush| flush.rows -= 1);
    }

    /// Schedules the deferred parity of a row to be written as soon as possible.
    pub(super) fn schedule_parity(&mut self, id: HeadId) {
        let head = self.heads.get_mut(id);
        head.turns.settle = true;
        if head.step == Step::Idle {
            self.heads.take(id);
            self.heads.queue(id);
        }
    }

    /// Continues a stripe head that has more work, or makes it idle.
    pub(super) fn release(&mut self, id: HeadId) {
        let missing = self.heads.get(id).row.map_or(0, |row| self.durability.held.missing(row));
        let head = self.heads.get_mut(id);
        head.bad = 0;
        let has_work = !head.pending.is_empty() || !head.reads.is_empty() || head.turns.sync;
        let settles = head.stale != 0 && (head.turns.settle || missing != 0);
        if has_work || settles { self.heads.queue(id) } else { self.heads.make_idle(id) }
    }

    /// The blocks of a row to write for the synchronisation in progress.
    pub(super) fn sync_row(&mut self, id: HeadId, row: &Row) -> MemberSet {
        let Some(Sync { task, number, .. }) = self.sync else { return 0 };
        self.heads.get_mut(id).sync = number;
        match task {
            Task::Rebuild { member } => {
                self.counts.rebuilt += 1;
                1 << member
            }
            // The log entry of the row was dropped, because a block was lost in the meantime. The parity is
            // computed from the blocks instead.
            Task::Replay if !row.has_parity() || self.durability.log.replays(row.row) == 0 => 0,
            Task::Replay => {
                self.counts.ppl_recovered += 1;
                if let Some(followed) = &mut self.followed {
                    followed.replay(id, row.row, row.parity_member, row.logged);
                }
                self.heads.get_mut(id).known &= !row.parity;
                row.parity
            }
            Task::Resync | Task::Scrub if row.missing != 0 => 0,
            Task::Resync | Task::Scrub if row.untrusted => {
                self.counts.resynced += 1;
                let head = self.heads.get_mut(id);
                head.way = Some(WriteMethod::Reconstruct);
                if let Some(followed) = &mut self.followed {
                    followed.compute(id, row.parity_member, row.all);
                }
                row.parity
            }
            Task::Resync => 0,
            Task::Scrub => {
                self.counts.scrubbed += 1;
                let is_right = self.followed.as_ref().is_none_or(|followed| followed.is_right(id, row.all));
                assert!(is_right, "the parity of row {} is not that of its data", row.row);
                0
            }
        }
    }

    fn note_row_synced(&mut self, id: HeadId, row: &Row) {
        let Some(sync) = &mut self.sync else {
            self.heads.get_mut(id).turns.sync = false;
            return;
        };
        if self.heads.get(id).sync != sync.number {
            // The work was for an earlier synchronisation. The current one still has to process the row.
            return;
        }
        self.heads.get_mut(id).turns.sync = false;
        sync.end_row(row.row);
        self.durability.note_row_synced(sync.task, row.row);
    }
}
