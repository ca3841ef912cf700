//! The array below the stripe cache: its members, what they hold, and the synchronisation and the timers that
//! follow from it.

use serde::{Deserialize, Serialize};
use wordline_device::block_device::Rebuild;
use wordline_device::content::Content;
use wordline_device::{BlockDevice, Command};
use wordline_kernel::{Instant, Schedule};

use super::contents::TrackedContents;
use super::durability::Durability;
use super::event::Event;
use super::flush::OwnFlush;
use super::members::{CompletedCommand, DeviceTraffic, Members, Purpose};
use super::metrics::Counts;
use super::plan::Row;
use super::settings::Settings;
use super::stripe_cache::SectorSet;
use super::sync::{Sync, Task};
use super::timers::Timers;
use super::write_method::MemberSet;

/// Power state of the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Power {
    #[default]
    On,
    /// The devices recover from a power cut.
    Recovering,
}

/// The members, and what they hold.
pub(super) struct Array<D> {
    pub(super) settings: Settings,
    pub(super) members: Members<D>,
    pub(super) durability: Durability,
    pub(super) sync: Option<Sync>,
    pub(super) timers: Timers,
    pub(super) power: Power,
    pub(super) counts: Counts,
    pub(super) own_flush: OwnFlush,
    /// `None` unless data verification is on.
    pub(super) followed: Option<Box<TrackedContents>>,
}

impl<D: BlockDevice> Array<D> {
    pub(super) fn new(devices: Vec<D>, settings: Settings) -> Self {
        let striping = settings.striping;
        let is_volatile = devices.iter().any(D::has_volatile_writes);
        Self {
            durability: Durability::new(striping, settings.log_sectors(), is_volatile),
            members: Members::new(devices, striping.members as usize),
            settings,
            sync: None,
            timers: Timers::default(),
            power: Power::On,
            counts: Counts::default(),
            own_flush: OwnFlush::default(),
            followed: None,
        }
    }

    /// Number of members that are missing or being rebuilt.
    pub(super) fn degraded(&self) -> u32 {
        self.durability.held.incomplete().count_ones()
    }

    /// A row, as it is now.
    pub(super) fn row(&self, row: u64) -> Row {
        let parity_member = self.settings.striping.parity(row);
        Row {
            row,
            parity_member,
            parity: 1 << parity_member,
            all: MemberSet::MAX >> (64 - self.settings.striping.members),
            missing: self.durability.held.missing(row),
            untrusted: self.durability.rows.is_dirty(row),
            logged: self.durability.log.replays(row),
        }
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

    pub(super) fn end_covering_flush(&mut self, failed: bool) {
        self.durability.end_flush(failed);
        let Self { durability, followed, .. } = self;
        if let Some(followed) = followed {
            followed.keep_partials(|row| durability.log.has(row));
        }
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

    pub(super) fn schedule_timers(&mut self, calendar: &mut impl Schedule<Event<D::Event>>) {
        let now = calendar.now();
        for (time, at) in &self.timers.failures {
            calendar.at((*time).max(now), Event::Fails(*at));
        }
        if let Some(time) = self.timers.scrub {
            calendar.at(time.max(now), Event::Scrub);
        }
    }

    /// Fails a member, whose data are lost. Replaces it by a spare if there is one. Returns false if it had
    /// failed before.
    pub(super) fn drop_member(&mut self, member: u16, now: Instant) -> bool {
        if !self.durability.held.fail(member) {
            return false;
        }
        self.counts.failures += 1;
        self.timers.note_degraded(true, now);
        // A scrub that the failure ends begins again once the member is rebuilt.
        self.timers.scrub_waits |= self.sync.take().is_some_and(|sync| sync.task == Task::Scrub);
        if self.degraded() == 1 && self.members.replace(member) {
            self.durability.held.replace(member);
        }
        self.sync_next(now);
        true
    }

    /// State of the rebuild of failed members.
    pub(super) fn rebuild(&self) -> Rebuild {
        let (held, timers, rows) = (&self.durability.held, &self.timers, self.settings.striping.rows());
        let fails = !timers.failures.is_empty() || !timers.started && !self.settings.file.failures.is_empty();
        let fails_at = timers.failures.iter().map(|(time, _)| *time).min();
        match (held.rebuild(), held.failed()) {
            (_, failed) if failed != 0 => Rebuild::Impossible { missing: held.incomplete().count_ones() },
            (Some((_, done)), _) => Rebuild::Running { done, rows },
            (None, _) if self.counts.failures == 0 => Rebuild::Intact { fails_at },
            (None, _) if fails => Rebuild::Running { done: 0, rows },
            (None, _) => Rebuild::Done,
        }
    }

    /// Starts a scrub, unless another synchronisation is in progress. Returns whether it started.
    pub(super) fn begin_scrub(&mut self, now: Instant) -> bool {
        let may = self.sync.is_none() && self.degraded() == 0;
        if may {
            self.begin_sync(Task::Scrub, now, 0);
        }
        may
    }

    /// Starts the next synchronisation that is needed.
    pub(super) fn sync_next(&mut self, now: Instant) {
        if self.sync.is_some() || self.power != Power::On {
            return;
        }
        if let Some((task, row)) = self.durability.next_sync() {
            self.begin_sync(task, now, row);
        } else if self.timers.scrub_waits {
            self.timers.scrub_waits = !self.begin_scrub(now);
        }
    }

    fn begin_sync(&mut self, task: Task, now: Instant, first: u64) {
        self.timers.syncs = self.timers.syncs.wrapping_add(1);
        let other = self.members.work().iter().map(DeviceTraffic::other_sectors).collect();
        self.sync = Some(Sync::new(task, self.timers.syncs, now, first, other));
    }

    /// Completes the rebuild of a member.
    pub(super) fn rebuilt(&mut self, over: &CompletedCommand, now: Instant) {
        if over.gone {
            return;
        }
        let member = over.sent.member;
        self.sync.take_if(|sync| sync.task == Task::Rebuild { member });
        self.durability.held.rebuilt(member, over.failed);
        self.timers.note_degraded(self.degraded() > 0, now);
        self.sync_next(now);
    }

    /// Whether the array accepts commands. After a power cut it accepts commands once the parity from the log
    /// replay is non-volatile.
    pub(super) fn is_accepting(&self) -> bool {
        let replays = self.sync.as_ref().is_some_and(|sync| sync.task == Task::Replay);
        self.power == Power::On && !replays && !self.durability.log.has_pending_replay()
    }

    /// Records sectors of a block as lost: those that several blocks of the row lack, and those whose parity
    /// does not give them.
    pub(super) fn note_lost(&mut self, row: &Row, member: u16, (several, doubtful): (SectorSet, SectorSet)) {
        let unreadable = self.durability.lost.add(row.row, member, several);
        let doubtful = self.durability.lost.add(row.row, member, doubtful);
        self.counts.lost += unreadable + doubtful;
        self.counts.lost_unreadable += unreadable;
        if row.untrusted {
            self.counts.lost_in_doubt += doubtful;
        } else {
            self.counts.lost_deferred_parity += doubtful;
        }
    }

    /// Notes the end of a recovery once the array accepts commands.
    pub(super) fn note_ready(&mut self, now: Instant) {
        if self.timers.powered_on.is_some() && self.is_accepting() {
            self.timers.recovery = self.timers.powered_on.take().map(|since| now.since(since));
        }
    }

    /// Follows the contents of blocks from now on, with this number of stripe heads.
    pub(super) fn new_followed(&self, heads: u32) -> TrackedContents {
        let striping = self.settings.striping;
        TrackedContents::new(heads, striping.members as usize, striping.block)
    }
}
