//! Control of the whole array: order of activities, member failures, synchronisations, and power cuts.

use wordline_device::{BlockDevice, Command, Operation, PowerCut};
use wordline_kernel::{Instant, Schedule};

use super::array::Power;
use super::attribution::Cause;
use super::event::Event;
use super::flush::OwnFlush;
use super::host::Host;
use super::members::{CompletedCommand, DeviceTraffic, Purpose};
use super::requests::{Requester, RowRequest};
use super::stripe_cache::HeadId;
use super::sync::{PaceDecision, Task};
use super::{Raid5, durability};

impl<D: BlockDevice> Raid5<D> {
    /// Runs every activity that the last event made possible, until none makes progress.
    pub(super) fn make_progress(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        loop {
            if let Some(over) =
                self.array.members.next_untimed_completion(self.array.durability.held.failed())
            {
                self.complete_command(over, calendar);
            } else if let Some(id) = self.stripes.heads.next_to_handle() {
                self.stripes.handle_head(id, &mut self.array, &mut self.host, calendar);
            } else if self.stripes.has_batch() {
                self.stripes.store_batch(&mut self.array, &mut self.host, calendar);
            } else if !(self.serve_waiting(calendar)
                || self.send_flushes(calendar)
                || self.stripes.is_waiting_for_log()
                    && self.stripes.advance_log(&mut self.array, &mut self.host, calendar)
                || self.advance_sync(calendar))
            {
                break;
            }
        }
        if self.array.power == Power::Recovering && self.array.members.devices().iter().all(D::is_ready) {
            self.array.power = Power::On;
            self.array.sync_next(calendar.now());
            self.make_progress(calendar);
        }
        self.array.note_ready(calendar.now());
    }

    fn complete_command(&mut self, over: CompletedCommand, calendar: &mut impl Schedule<Event<D::Event>>) {
        let Host { attribution, requests, .. } = &mut self.host;
        let device = &mut self.array.members.devices_mut()[usize::from(over.sent.device)];
        attribution.note_member_completion(&over.sent, (device, requests), calendar.now());
        match over.sent.why {
            Purpose::Read { request, at } => self.complete_read(over, (request, at), calendar),
            Purpose::Pass { request } => {
                self.host.complete_part(request, over.failed, calendar.now(), &mut self.array);
            }
            Purpose::Fetch { head } => {
                self.stripes.complete_fetch(head, over, &mut self.array, &mut self.host, calendar);
            }
            Purpose::Store { head } => {
                self.stripes.complete_store(head, &over, &mut self.array, &mut self.host, calendar);
            }
            Purpose::Log { head } => {
                self.stripes.complete_log_write(head, &over, &mut self.array, &mut self.host, calendar);
            }
            Purpose::Flush => self.array.complete_own_flush(&over),
            Purpose::Rebuilt => self.array.rebuilt(&over, calendar.now()),
        }
        self.host.attribution.set_cause(Cause::Array);
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
                self.array.timers.settle = false;
                self.write_due_parity(calendar.now());
                self.stripes.schedule_parity_timer(&mut self.array, calendar);
            }
            Event::Sync(number) => {
                let sync = self.array.sync.as_mut().filter(|sync| sync.number == number);
                sync.into_iter().for_each(|sync| sync.pauses = false);
            }
            Event::Fails(number) => {
                self.array.timers.failures.retain(|(_, at)| *at != number);
                let member = self.array.settings.file.failures[usize::from(number)].member;
                self.stripes.drop_member(member, calendar.now(), &mut self.array);
            }
            Event::Scrub => {
                self.array.timers.scrub = None;
                self.array.timers.scrub_waits = !self.array.begin_scrub(calendar.now());
            }
        }
    }

    fn write_due_parity(&mut self, now: Instant) {
        let Some(delay) = self.array.settings.file.parity_delay else { return };
        for id in (0..self.stripes.heads.count()).map(HeadId) {
            let head = self.stripes.heads.get(id);
            if head.stale != 0 && head.since.0 + delay <= now && !head.turns.settle {
                self.stripes.schedule_parity(id);
            }
        }
    }

    /// Makes a member fail.
    pub fn fail(&mut self, member: u16, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.stripes.drop_member(member, calendar.now(), &mut self.array);
        self.make_progress(calendar);
    }

    /// Starts a scrub, unless another synchronisation is in progress. Returns whether it started.
    pub fn scrub(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let begins = self.array.begin_scrub(calendar.now());
        self.make_progress(calendar);
        begins
    }

    /// Continues the synchronisation in progress. Returns whether there was anything to do.
    fn advance_sync(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let Some(sync) = &mut self.array.sync else { return false };
        if sync.pauses || self.array.timers.untimed || self.array.power != Power::On {
            return false;
        }
        let Some(row) = self.array.durability.next_to_sync(sync.task, sync.next) else {
            return self.end_sync(calendar);
        };
        let (now, settings) = (calendar.now(), &self.array.settings);
        let other = self.array.members.work().iter().map(DeviceTraffic::other_sectors);
        match sync.check_pace(now, settings.block(), &settings.limits(), other) {
            PaceDecision::Start => {
                sync.rows.push(row);
                sync.next = row + 1;
                self.request_row(RowRequest { row, by: Requester::Sync }, calendar);
                true
            }
            PaceDecision::Wait => false,
            PaceDecision::Pause(pause) => {
                sync.pauses = true;
                calendar.at(now + pause, Event::Sync(sync.number));
                false
            }
        }
    }

    /// Ends a synchronisation when all its rows have been started, done and made non-volatile. After a resync
    /// or a replay a flush has to cover the parity that it wrote. Without the flush a later power cut would
    /// put the same rows in doubt again. If a member failed before that cut, a block that had been read as
    /// new could return to its old content.
    fn end_sync(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) -> bool {
        let Some(sync) = &mut self.array.sync else { return false };
        if !sync.rows.is_empty() {
            return false;
        }
        match sync.task {
            Task::Rebuild { .. } if sync.flushes => return false,
            Task::Rebuild { member } => {
                sync.flushes = true;
                let flush = Command { operation: Operation::Flush, ..Command::default() };
                self.array.send(member, Purpose::Rebuilt, flush, None, calendar);
                return true;
            }
            Task::Resync | Task::Replay if sync.done > 0 && !sync.flushes => {
                let begins = self.stripes.flush_members(&mut self.array, calendar);
                if let Some(sync) = &mut self.array.sync {
                    sync.flushes = begins;
                }
                return begins;
            }
            Task::Resync | Task::Replay if self.array.own_flush.left > 0 => return false,
            Task::Resync | Task::Replay | Task::Scrub => {}
        }
        self.array.sync = None;
        self.array.sync_next(calendar.now());
        self.array.sync.is_some()
    }

    /// Cuts the power: the stripe cache and the volatile data of the members are lost.
    pub(super) fn cut(&mut self, now: Instant) -> PowerCut {
        let mut cut = PowerCut::default();
        for device in self.array.members.devices_mut() {
            cut.torn.add(&device.power_cut(now).torn);
        }
        let behind =
            self.stripes.heads.all().filter(|(_, head)| head.stale != 0).filter_map(|(_, head)| head.row);
        let durability::CutOutcome { in_doubt, lost } = self.array.durability.cut(behind);
        self.array.counts.dirty_rows += in_doubt;
        self.array.counts.lost += lost;
        self.array.counts.lost_in_doubt += lost;
        self.array.members.drop_outstanding();
        cut.incomplete = self.host.requests.forget();
        self.stripes.forget(self.array.settings.striping.members);
        self.array.sync = None;
        self.array.timers.plugged.clear();
        self.array.timers.settle = false;
        if let Some(followed) = self.array.followed.take() {
            self.array.followed =
                Some(Box::new(self.array.new_followed(self.stripes.heads.count()).with_partials(*followed)));
        }
        self.array.own_flush = OwnFlush::default();
        cut
    }

    /// Powers the array on again.
    pub(super) fn power_on(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        self.array.power = Power::Recovering;
        (self.array.timers.powered_on, self.array.timers.recovery) = (Some(calendar.now()), None);
        self.array.members.recover(calendar);
        self.array.schedule_timers(calendar);
        self.make_progress(calendar);
    }
}
