//! Completion of the work on a row: host completions, deferred parity, and data loss.

use wordline_device::{BlockDevice, Command};
use wordline_kernel::{Instant, Schedule};

use super::array::Array;
use super::attribution::Cause;
use super::event::Event;
use super::host::Host;
use super::layout::Striping;
use super::plan::Row;
use super::requests::Requests;
use super::stripe::Stripes;
use super::stripe_cache::{HeadId, Job, SectorSet, Step, sectors};
use super::sync::{Sync, Task};
use super::write_method::{MemberSet, WriteMethod, each};

impl Stripes {
    /// Ends the work on a row, unless parity has to be written before the host's writes complete.
    pub(super) fn end_job<D: BlockDevice>(
        &mut self,
        id: HeadId,
        array: &mut Array<D>,
        host: &mut Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let row = self.row_of(id, array);
        self.heads.full(id, false);
        let head = self.heads.get_mut(id);
        let (job, way) = (head.job, head.way);
        head.job = Job::None;
        let is_right = way == Some(WriteMethod::Reconstruct) && row.has_parity();
        match job {
            Job::WriteData => {
                self.note_written(id, &row, array);
                let head = self.heads.get(id);
                if row.missing & head.written != 0 || head.turns.fua {
                    // The writes complete once parity includes the data that the failed member should have.
                    self.drop_stale(id, &row, array, host);
                    let is_behind = self.heads.get(id).stale != 0;
                    self.heads.get_mut(id).turns.settle = is_behind;
                    if is_behind {
                        return self.heads.queue(id);
                    }
                }
                self.complete_writes(id, &row, calendar.now(), array, host);
            }
            Job::Write => {
                self.note_written(id, &row, array);
                if is_right {
                    array.durability.rows.is_right(row.row);
                }
                self.complete_writes(id, &row, calendar.now(), array, host);
            }
            Job::Settle => {
                self.clear_stale(id, &array.settings.striping, &mut host.requests);
                if is_right {
                    array.durability.rows.is_right(row.row);
                }
                self.complete_writes(id, &row, calendar.now(), array, host);
            }
            Job::Sync => self.note_row_synced(id, &row, array),
            Job::Read | Job::None => {}
        }
        self.release(id, array);
        self.schedule_parity_timer(array, calendar);
    }

    /// Completes the current writes of a row. They fail if two members are missing, or if they cover lost
    /// sectors of a missing member.
    pub(super) fn complete_writes<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        now: Instant,
        array: &mut Array<D>,
        host: &mut Host,
    ) {
        let head = self.heads.get_mut(id);
        head.turns.fua = false;
        let is_lost = |member: u16| {
            row.missing >> member & 1 == 1
                && array.durability.lost.of(row.row, member) & head.covered[usize::from(member)] != 0
        };
        let failed = row.missing.count_ones() > 1 || each(head.written & row.missing).any(is_lost);
        let current = std::mem::take(&mut head.current);
        host.attribution.set_cause(Cause::Row(id));
        for request in current {
            host.complete_part(request, failed, now, array);
        }
        host.attribution.set_cause(Cause::Array);
    }

    /// Notes the sectors that a job has written in the blocks of its row.
    fn note_written<D: BlockDevice>(&self, id: HeadId, row: &Row, array: &mut Array<D>) {
        let head = self.heads.get(id);
        for member in each(head.written) {
            let which = head.covered[usize::from(member)];
            array.durability.written(row.row, member, which, head.turns.fua);
        }
    }

    /// Completes the reads of a row. Reads of lost sectors fail.
    pub(super) fn complete_reads<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        now: Instant,
        array: &mut Array<D>,
        host: &mut Host,
    ) {
        let block = array.settings.striping.block;
        host.attribution.set_cause(Cause::Row(id));
        let reads = std::mem::take(&mut self.heads.get_mut(id).reads);
        for (request, member) in reads {
            let head = self.heads.get(id);
            let Command { sector, sectors: count, .. } = host.requests.get(request).command;
            let mut parts = array.settings.striping.parts(row.row, sector..sector + count);
            let Some((_, part, at)) = parts.find(|(of, ..)| *of == member) else { continue };
            debug_assert!(part.end <= block, "a part lies in its block");
            let failed = array.durability.lost.of(row.row, member) & sectors(&part) != 0;
            let is_missing = row.missing >> member & 1 == 1;
            let was_unread = is_missing || head.unread[usize::from(member)] & sectors(&part) != 0;
            array.counts.degraded_reads += head.computed >> member & u64::from(was_unread && !failed);
            if let (Some(followed), false) = (&mut array.followed, failed) {
                followed.read_block(request, at, id, member, part);
            }
            host.complete_part(request, failed, now, array);
        }
        host.attribution.set_cause(Cause::Array);
    }

    /// Fails the work on a row with two missing members, except reads of blocks on present members.
    pub(super) fn fail_row<D: BlockDevice>(
        &mut self,
        id: HeadId,
        array: &mut Array<D>,
        host: &mut Host,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        self.heads.end_preread(id);
        self.heads.full(id, false);
        self.clear_stale(id, &array.settings.striping, &mut host.requests);
        let row = self.row_of(id, array);
        let head = self.heads.get_mut(id);
        (head.job, head.rewrite, head.bad, head.split, head.turns.fua) = (Job::None, 0, 0, 0, false);
        let mut writes = std::mem::take(&mut head.current);
        writes.append(&mut head.pending);
        let reads = std::mem::take(&mut head.reads);
        let (lost, there): (Vec<_>, Vec<_>) =
            reads.into_iter().partition(|(_, member)| row.missing >> member & 1 == 1);
        head.reads = there;
        for request in writes.into_iter().chain(lost.into_iter().map(|(request, _)| request)) {
            host.complete_part(request, true, calendar.now(), array);
        }
        if self.heads.get(id).turns.sync {
            if let Some(sync) = &array.sync {
                self.heads.get_mut(id).sync = sync.number;
            }
            self.note_row_synced(id, &row, array);
        }
    }

    /// Marks the block of a failed member as lost if its parity update was deferred and its old contents are
    /// unknown.
    pub(super) fn drop_stale<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        array: &mut Array<D>,
        host: &mut Host,
    ) {
        let head = self.heads.get(id);
        if head.stale == 0 || row.missing == 0 {
            return;
        }
        let follows = head.has_delta || head.known & row.parity != 0 && !head.turns.raw;
        if !row.has_parity() {
            return self.clear_stale(id, &array.settings.striping, &mut host.requests);
        }
        if !follows && row.missing & head.known == 0 {
            let (member, stale) = (row.missing.trailing_zeros() as u16, head.stale);
            let lost = array.durability.lost.add(row.row, member, stale);
            array.counts.lost += lost;
            array.counts.lost_deferred_parity += lost;
            self.clear_stale(id, &array.settings.striping, &mut host.requests);
        }
    }

    /// Clears the deferred parity of a row.
    pub(super) fn clear_stale(&mut self, id: HeadId, striping: &Striping, requests: &mut Requests) {
        let head = self.heads.get_mut(id);
        if head.stale == 0 {
            return;
        }
        (head.stale, head.has_delta, head.turns.settle) = (0, false, false);
        if std::mem::take(&mut head.turns.raw) {
            let parity = head.row.map_or(0, |row| 1 << striping.parity(row));
            head.known &= !parity;
        }
        let epoch = head.since.1;
        let waiting = requests.flushes.iter_mut().filter(|flush| !flush.sent && epoch <= flush.epoch);
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

    /// Schedules the deferred parity of all idle rows to be written as soon as possible.
    fn schedule_all_parity(&mut self) {
        for id in (0..self.heads.count()).map(HeadId) {
            let head = self.heads.get(id);
            if head.stale != 0 && head.step == Step::Idle {
                self.schedule_parity(id);
            }
        }
    }

    /// Fails a member, whose data are lost. Replaces it by a spare if there is one.
    pub(super) fn drop_member<D: BlockDevice>(&mut self, member: u16, now: Instant, array: &mut Array<D>) {
        if array.drop_member(member, now) {
            self.schedule_all_parity();
        }
    }

    /// Schedules the event that writes deferred parity.
    pub(super) fn schedule_parity_timer<D: BlockDevice>(
        &mut self,
        array: &mut Array<D>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        let Some(delay) = array.settings.file.parity_delay else { return };
        if array.timers.settle {
            return;
        }
        let waits = self.heads.all().filter(|(_, head)| head.stale != 0 && !head.turns.settle);
        if let Some(first) = waits.map(|(_, head)| head.since.0).min() {
            array.timers.settle = true;
            // Data writes may take longer than the limit of the deferral.
            calendar.at((first + delay).max(calendar.now()), Event::Settle);
        }
    }

    /// Continues a stripe head that has more work, or makes it idle.
    pub(super) fn release<D: BlockDevice>(&mut self, id: HeadId, array: &Array<D>) {
        let missing = self.heads.get(id).row.map_or(0, |row| array.durability.held.missing(row));
        let head = self.heads.get_mut(id);
        head.bad = 0;
        let has_work = !head.pending.is_empty() || !head.reads.is_empty() || head.turns.sync;
        let settles = head.stale != 0 && (head.turns.settle || missing != 0);
        if has_work || settles { self.heads.queue(id) } else { self.heads.make_idle(id) }
    }

    /// The blocks of a row to write for the synchronisation in progress.
    pub(super) fn sync_row<D: BlockDevice>(
        &mut self,
        id: HeadId,
        row: &Row,
        array: &mut Array<D>,
    ) -> MemberSet {
        let Some(Sync { task, number, .. }) = array.sync else { return 0 };
        self.heads.get_mut(id).sync = number;
        match task {
            Task::Rebuild { member } => {
                array.counts.rebuilt += 1;
                1 << member
            }
            // The log entry of the row was dropped, because a block was lost in the meantime. The parity is
            // computed from the blocks instead.
            Task::Replay if !row.has_parity() || array.durability.log.replays(row.row) == 0 => 0,
            Task::Replay => {
                array.counts.ppl_recovered += 1;
                if let Some(followed) = &mut array.followed {
                    followed.replay(id, row.row, row.parity_member, row.logged);
                }
                self.heads.get_mut(id).known &= !row.parity;
                row.parity
            }
            Task::Resync | Task::Scrub if row.missing != 0 => 0,
            Task::Resync | Task::Scrub if row.untrusted => {
                array.counts.resynced += 1;
                let head = self.heads.get_mut(id);
                head.way = Some(WriteMethod::Reconstruct);
                if let Some(followed) = &mut array.followed {
                    followed.compute(id, row.parity_member, row.all, SectorSet::MAX);
                }
                row.parity
            }
            Task::Resync => 0,
            Task::Scrub => {
                array.counts.scrubbed += 1;
                let is_right = array.followed.as_ref().is_none_or(|followed| followed.is_right(id, row.all));
                assert!(is_right, "the parity of row {} is not that of its data", row.row);
                0
            }
        }
    }

    fn note_row_synced<D: BlockDevice>(&mut self, id: HeadId, row: &Row, array: &mut Array<D>) {
        let Some(sync) = &mut array.sync else {
            self.heads.get_mut(id).turns.sync = false;
            return;
        };
        if self.heads.get(id).sync != sync.number {
            // The work was for an earlier synchronisation. The current one still has to process the row.
            return;
        }
        self.heads.get_mut(id).turns.sync = false;
        sync.end_row(row.row);
        array.durability.note_row_synced(sync.task, row.row);
    }
}
