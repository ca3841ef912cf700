//! What leaves the buffer before it is too full: pages that the destage policy lets go as soon as they are written, and
//! everything from time to time. What is in the buffer by then leaves it a program unit at a time, spread over the interval,
//! so that the host does not meet all of it at once.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant, Schedule, state};

use super::{Device, Event};
use crate::Config;
use crate::buffer::EntryId;
use crate::command::SECTOR;
use crate::config::BufferMode;
use crate::ftl::mapping::LogicalPage;
use crate::policy::destage::Destage;

/// Steps of a round at the most. Chosen: in a thousandth of the interval the host hardly notices what a step writes, and a
/// step is an event.
const MOST_STEPS: u64 = 1_000;

/// What is written out in the present interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Round {
    begun: Instant,
    /// Pages of this flush epoch and of older ones belong to it.
    epoch: u64,
    /// Pages that leave the buffer at each step, and the time between two of them.
    pages: u32,
    every: Duration,
}

/// Pages leave the buffer as soon as they are written.
pub(super) struct AtOnce {
    policy: Box<dyn Destage>,
    /// Pages of the device.
    pages: u32,
    /// Pages, or sectors where these are counted, that may be on their way to flash before writes wait.
    most: u32,
}

state!(AtOnce { parts { policy } fixed { pages, most } });

impl AtOnce {
    /// What `policy` wants of the device; none if no page ever leaves so, or all do that by the mode of the buffer.
    pub fn of(config: &Config, mut policy: Box<dyn Destage>) -> Option<Box<Self>> {
        let in_flight = policy.in_flight().filter(|_| config.file.buffer.mode == BufferMode::WriteBack)?;
        let counted = if config.file.buffer.room().is_some() { SECTOR } else { config.unit };
        policy.prepare(config.logical_pages);
        let most = in_flight.0.div_ceil(counted.0) as u32;
        Some(Box::new(Self { policy, pages: config.logical_pages, most }))
    }

    /// Forgets everything, as when the power is cut.
    pub fn forget(&mut self) {
        self.policy.prepare(self.pages);
    }
}

impl Device {
    /// Whether a write of `page` waits because it would leave at once, and as much is on its way as may be.
    #[inline(never)]
    pub(super) fn waits_to_leave(&self, page: LogicalPage, now: Instant) -> bool {
        let at_once = self.destage.as_ref().filter(|at_once| self.buffer.on_the_way() >= at_once.most);
        at_once.is_some_and(|at_once| at_once.policy.leaves(page, now))
    }

    /// The host wrote the entry: it leaves now if the policy says so and it waits.
    #[inline(never)]
    pub(super) fn leave_if_told(&mut self, id: EntryId, calendar: &mut impl Schedule<Event>) {
        let page = self.buffer.get(id).logical;
        let Some(at_once) = &mut self.destage else { return };
        let leaves = at_once.policy.leaves(page, calendar.now());
        at_once.policy.written(page, calendar.now());
        // It may have left with its neighbours.
        if leaves && self.dirty_entry(page.0) == Some(id) {
            self.leave(id, calendar);
        }
    }

    pub(super) fn set_timer(&mut self, calendar: &mut impl Schedule<Event>) {
        let interval = self.config.file.buffer.flush_interval;
        if !self.timer_set && interval > Duration::ZERO && self.buffer.in_use() > 0 {
            self.timer_set = true;
            calendar.after(interval, Event::FlushTimer);
        }
    }

    /// The next step of a round, or the next round.
    #[inline(never)]
    pub(super) fn write_out_on_time(&mut self, calendar: &mut impl Schedule<Event>) {
        let round = match self.round.take() {
            Some(round) => Some(round),
            None => self.begin_round(calendar.now()),
        };
        self.timer_set = false;
        let Some(round) = round else { return self.rest_until_next_round(None, calendar) };
        let most = self.buffer.dirty().saturating_sub(round.pages);
        while self.buffer.dirty() > most
            && let Some(oldest) = self.buffer.oldest()
            && self.buffer.epoch(oldest) <= round.epoch
        {
            self.leave(oldest, calendar);
        }
        if self.buffer.oldest().is_some_and(|oldest| self.buffer.epoch(oldest) <= round.epoch) {
            self.pump(calendar);
            (self.round, self.timer_set) = (Some(round), true);
            calendar.after(round.every, Event::FlushTimer);
            return;
        }
        // The last pages do not wait for others to fill a program unit with.
        self.drain = self.drain.max(Some(round.epoch));
        self.urge_covered(round.epoch);
        self.pump(calendar);
        self.rest_until_next_round(Some(round), calendar);
    }

    /// What is in the buffer now is written out over the next interval; none if there is nothing.
    fn begin_round(&mut self, now: Instant) -> Option<Round> {
        let epoch = self.buffer.end_epoch()?;
        let rows = 0..self.config.pools.rows();
        let unit = rows.map(|row| self.config.pools.per_program(row)).max().unwrap_or(1);
        let dirty = self.buffer.dirty();
        let steps = u64::from(dirty.div_ceil(unit)).clamp(1, MOST_STEPS);
        let every = Duration::from_ps(self.config.file.buffer.flush_interval.ps() / steps);
        Some(Round { begun: now, epoch, pages: dirty.div_ceil(steps as u32), every })
    }

    /// Rounds begin an interval apart. With no die at work nothing moves by itself any more; the next write sets the timer
    /// again.
    fn rest_until_next_round(&mut self, last: Option<Round>, calendar: &mut impl Schedule<Event>) {
        if self.flash.outstanding() == 0 || self.timer_set {
            return;
        }
        let Some(Round { begun, .. }) = last else { return self.set_timer(calendar) };
        if self.buffer.in_use() > 0 {
            self.timer_set = true;
            let next = begun + self.config.file.buffer.flush_interval;
            calendar.at(next.max(calendar.now()), Event::FlushTimer);
        }
    }
}
