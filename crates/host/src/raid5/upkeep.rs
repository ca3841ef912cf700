//! Control of the whole array: order of activities, member failures, synchronisations, and power cuts.

use wordline_device::content::Content;
use wordline_device::{BlockDevice, Command, Operation, PowerCut};
use wordline_kernel::{Instant, Schedule};

use super::contents::TrackedContents;
use super::flush::OwnFlush;
use super::members::{CompletedCommand, Purpose};
use super::requests::{Requester, RowRequest};
use super::stripe_cache::{HeadId, Step, StripeCache};
use super::sync::{PaceDecision, Sync, Task};
use super::{Cause, Event, Power, Raid5, durability};

impl<D: BlockDevice> Raid5<D> {
    /// Runs every activity that the last event made possible, until none makes progress.
    pub(super) fn make_progress(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        loop {
            if let Some(over) = self.members.next_untimed_completion(self.durability.held.failed()) {
                self.complete_command(over, calendar);
            } else if let Some(id) = self.heads.next_to_handle() {
                self.handle_head(id, calendar);
            } else if !(self.store_batch(calendar)
                || self.serve_waiting(calendar)
                || self.send_flushes(calendar)
                || self.advance_log(calendar)
                || self.advance_sync(calendar))
            {
                break;
            }
        }
        if self.power == Power::Recovering && self.members.devices().iter().all(D::is_ready) {
            self.power = Power::On;
            self.sync_next(calendar.now());
            self.make_progress(calendar);
        }
    }

    fn complete_command(
        &mut self,
        mut over: CompletedCommand,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        if let Some(explainer) = &mut self.explainer {
            explainer.note_member_completion(&mut over);
        }
        match over.sent.why {
            Purpose::Read { request, at } => self.complete_read(over, (request, at), calendar),
            Purpose::Pass { request } => self.complete_part(request, over.failed, calendar.now()),
            Purpose::Fetch { head } => self.complete_fetch(head, over),
            Purpose::Store { head } => self.complete_store(head, &over, calendar),
            Purpose::Log { head } => self.complete_log_write(head, &over, calendar),
            Purpose::Flush => self.complete_own_flush(&over),
            Purpose::Rebuilt => self.rebuilt(&over, calendar.now()),
        }
        self.set_cause(Cause::Array);
    }

    /// Sends a command to a member.
    pub(super) fn send(
        &mut self,
        member: u16,
        why: Purpose,
        command: Command,
        contents: Option<&[Content]>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        self.counts.member_commands += 1;
        self.members.send(member, why, command, contents, calendar);
    }

    /// Schedules the configured events at the first command of a run.
    pub(super) fn start_timers(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        if self.timers.started || self.timers.untimed {
            return;
        }
        self.timers.started = true;
        let now = calendar.now();
        let file = &self.settings.file;
        let failures = (0..).zip(&file.failures).map(|(at, failure)| (now + failure.after, at));
        self.timers.failures = failures.collect();
        self.timers.scrub = file.scrub_after.map(|after| now + after);
        self.schedule_timers(calendar);
    }

    fn schedule_timers(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        let now = calendar.now();
        for (time, at) in &self.timers.failures {
            calendar.at((*time).max(now), Event::Fails(*at));
        }
        if let Some(time) = self.timers.scrub {
            calendar.at(time.max(now), Event::Scrub);
        }
    }

    pub(super) fn handle_timer(
        &mut self,
        event: Event<D::Event>,
        calendar: &mut impl Schedule<Event<D::Event>>,
    ) {
        match event {
            Event::Device { .. } => {}
            Event::Unplug => self.unplug(),
            Event::Settle => {
                self.timers.settle = false;
                self.write_due_parity(calendar.now());
                self.schedule_parity_timer(calendar);
            }
            Event::Sync => {
                if let Some(sync) = &mut self.sync {
                    sync.pauses = false;
                }
            }
            Event::Fails(number) => {
                self.timers.failures.retain(|(_, at)| *at != number);
                let member = self.settings.file.failures[usize::from(number)].member;
                self.drop_member(member, calendar.now());
            }
            Event::Scrub => {
                self.timers.scrub = None;
                self.begin_scrub(calendar.now());
            }
        }
    }

    fn write_due_parity(&mut self, now: Instant) {
        let Some(delay) = self.settings.file.parity_delay else { return };
        for id in (0..self.heads.count()).map(HeadId) {
            let head = self.heads.get(id);
            if head.stale != 0 && head.since.0 + delay <= now && !head.turns.settle {
                self.schedule_parity(id);
            }
        }
    }

    /// Schedules the event that writes deferred parity.
    pub(super) fn schedule_parity_timer(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        let Some(delay) = self.settings.file.parity_delay else { return };
        if self.timers.settle {
            return;
        }
        let waits = self.heads.all().filter(|(_, head)| head.stale != 0 && !head.turns.settle);
        if let Some(first) = waits.map(|(_, head)| head.since.0).min() {
            self.timers.settle = true;
            // Data writes may take longer than the limit of the deferral.
            calendar.at((first + delay).max(calendar.now()), Event::Settle);
        }
    }

    /// Makes a member fail.
    pub fn fail(&mut self, member: u16, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.drop_member(member, calendar.now());
        self.make_progress(calendar);
    }

    /// Fails a member, whose data are lost. Replaces it by a spare if there is one.
    pub(super) fn drop_member(&mut self, member: u16, now: Instant) {
        if !self.durability.held.fail(member) {
            return;
        }
        self.counts.failures += 1;
        self.timers.note_degraded(true, now);
        self.sync = None;
        for id in (0..self.heads.count()).map(HeadId) {
            let head = self.heads.get(id);
            if head.stale != 0 && head.step == Step::Idle {
                self.schedule_parity(id);
            }
        }
        if self.degraded() == 1 && self.members.replace(member) {
            self.durability.held.replace(member);
        }
        self.sync_next(now);
    }

    /// Starts a scrub, unless another synchronisation is in progress. Returns whether it started.
    pub fn scrub(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let begins = self.begin_scrub(calendar.now());
        self.make_progress(calendar);
        begins
    }

    fn begin_scrub(&mut self, now: Instant) -> bool {
        let may = self.sync.is_none() && self.degraded() == 0;
        if may {
            self.begin_sync(Task::Scrub, now, 0);
        }
        may
    }

    /// Starts the next synchronisation that is needed.
    fn sync_next(&mut self, now: Instant) {
        if self.sync.is_some() || self.power != Power::On {
            return;
        }
        if let Some((task, row)) = self.durability.next_sync() {
            self.begin_sync(task, now, row);
        }
    }

    pub(super) fn begin_sync(&mut self, task: Task, now: Instant, first: u64) {
        self.timers.syncs = self.timers.syncs.wrapping_add(1);
        self.sync = Some(Sync::new(task, self.timers.syncs, now, first));
    }

    /// Continues the synchronisation in progress. Returns whether there was anything to do.
    fn advance_sync(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let Some(sync) = &mut self.sync else { return false };
        if sync.pauses || self.timers.untimed || self.power != Power::On {
            return false;
        }
        let Some(row) = self.durability.next_to_sync(sync.task, sync.next) else {
            return self.end_sync(calendar);
        };
        let now = calendar.now();
        let is_busy = self.requests.count() > 0;
        match sync.check_pace(now, is_busy, self.settings.block(), &self.settings.limits()) {
            PaceDecision::Start => {
                sync.rows.push(row);
                sync.next = row + 1;
                self.request_row(RowRequest { row, by: Requester::Sync }, calendar);
                true
            }
            PaceDecision::Wait => false,
            PaceDecision::Pause(pause) => {
                sync.pauses = true;
                calendar.at(now + pause, Event::Sync);
                false
            }
        }
    }

    /// Ends a synchronisation when all its rows have been started, done and made non-volatile. After a resync
    /// or a replay a flush has to cover the parity that it wrote. Without the flush a later power cut would
    /// put the same rows in doubt again. If a member failed before that cut, a block that had been read as
    /// new could return to its old content.
    fn end_sync(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let Some(sync) = &mut self.sync else { return false };
        if !sync.rows.is_empty() {
            return false;
        }
        match sync.task {
            Task::Rebuild { member } => {
                sync.pauses = true;
                let flush = Command { operation: Operation::Flush, ..Command::default() };
                self.send(member, Purpose::Rebuilt, flush, None, calendar);
                return true;
            }
            Task::Resync | Task::Replay if sync.done > 0 && !sync.flushes => {
                let begins = self.flush_members(calendar);
                if let Some(sync) = &mut self.sync {
                    sync.flushes = begins;
                }
                return begins;
            }
            Task::Resync | Task::Replay if self.own_flush.left > 0 => return false,
            Task::Resync | Task::Replay | Task::Scrub => {}
        }
        self.sync = None;
        self.sync_next(calendar.now());
        self.sync.is_some()
    }

    /// Completes the rebuild of a member.
    fn rebuilt(&mut self, over: &CompletedCommand, now: Instant) {
        if over.gone {
            return;
        }
        self.sync = None;
        self.durability.held.rebuilt(over.failed);
        self.timers.note_degraded(self.degraded() > 0, now);
        self.sync_next(now);
    }

    /// Cuts the power: the stripe cache and the volatile data of the members are lost.
    pub(super) fn cut(&mut self, now: Instant) -> PowerCut {
        let mut cut = PowerCut::default();
        for device in self.members.devices_mut() {
            cut.torn.add(&device.power_cut(now).torn);
        }
        let behind = self.heads.all().filter(|(_, head)| head.stale != 0).filter_map(|(_, head)| head.row);
        let durability::CutOutcome { in_doubt, lost } = self.durability.cut(behind);
        self.counts.dirty_rows += in_doubt;
        self.counts.lost += lost;
        self.counts.lost_in_doubt += lost;
        self.members.drop_outstanding();
        cut.incomplete = self.requests.forget();
        self.heads = StripeCache::new(self.heads.count(), self.settings.striping.members);
        self.batch.clear();
        self.sync = None;
        self.timers.plugged.clear();
        self.timers.settle = false;
        if let Some(followed) = self.followed.take() {
            self.followed = Some(Box::new(self.new_followed().with_partials(*followed)));
        }
        self.own_flush = OwnFlush::default();
        self.wait_for_log.clear();
        cut
    }

    pub(super) fn new_followed(&self) -> TrackedContents {
        let striping = self.settings.striping;
        TrackedContents::new(self.heads.count(), striping.members as usize, striping.block)
    }

    /// Powers the array on again.
    pub(super) fn power_on(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.power = Power::Recovering;
        self.members.recover(calendar);
        self.schedule_timers(calendar);
        self.make_progress(calendar);
    }
}
