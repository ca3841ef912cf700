//! Ageing: a device carries out a workload before the run through all of its engines, with the clock of the flash off.
//!
//! What the policies are asked and what is moved and written is what it would be in a run, but for what follows from waiting:
//! queues are empty, and a program is over before the next command comes. In a closed loop the collector keeps the pace of a host that
//! always has something to write: a step for each command that is over. By the times of the workload it goes as far as it wants
//! before the next command.

use std::collections::VecDeque;

use wordline_kernel::{Duration, Instant, Schedule};

use crate::block_device::{BlockDevice, Next};
use crate::device::Device;
use crate::event::Event;
use crate::snapshot::Agenda;

/// The calendar of a device that takes no time: what it does itself happens soon, and what it set a timer for at its time.
#[derive(Debug, Default)]
pub(super) struct Untimed {
    now: Instant,
    soon: VecDeque<Event>,
    timers: Vec<(Instant, Event)>,
}

/// How a device is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// As a host leaves it that wrote as fast as it could until now: with victims half cleaned.
    AtWork,
    /// With as many free blocks as cleaning goes for.
    Rested,
}

impl Schedule<Event> for Untimed {
    fn now(&self) -> Instant {
        self.now
    }

    fn at(&mut self, time: Instant, event: Event) {
        match event {
            Event::FlushTimer | Event::Idle => self.timers.push((time, event)),
            _ => self.soon.push_back(event),
        }
    }

    fn is_settled(&self) -> bool {
        true
    }

    fn next(&mut self, event: Event) {
        self.soon.push_front(event);
    }
}

impl Untimed {
    /// The first timer that is due by `time`.
    fn due(&mut self, time: Instant) -> Option<(Instant, Event)> {
        let (first, _) = self.timers.iter().enumerate().min_by_key(|(_, (time, _))| *time)?;
        (self.timers[first].0 <= time).then(|| self.timers.remove(first))
    }

    /// What is left of it, for the calendar of a run.
    fn agenda(mut self) -> Agenda {
        self.timers.sort_by_key(|(time, _)| *time);
        Agenda { now: self.now, events: self.timers }
    }
}

impl Device {
    /// Carries out what `next` gives with the clock of the flash off; see [`BlockDevice::age`].
    pub fn age(&mut self, next: Next<'_>, depth: Option<u32>) -> Agenda {
        let mut clock = Untimed::default();
        // A host that has to wait for its writes is as fast as the flash.
        let time_of_a_page = self.time_of_a_page();
        self.carry_out(next, depth, time_of_a_page, &mut clock);
        let stops = depth.is_some() && self.core.map.by_block().is_none();
        self.come_to(if stops { End::AtWork } else { End::Rested }, &mut clock);
        clock.agenda()
    }

    /// Carries out what `next` gives until all of it is answered, or the device takes no more writes. In a closed loop time goes on by `time_of_a_page` for each page.
    pub(super) fn carry_out(
        &mut self,
        next: Next<'_>,
        depth: Option<u32>,
        time_of_a_page: Duration,
        clock: &mut Untimed,
    ) {
        self.core.base.flash.stop_clock();
        let mut upcoming = next(BlockDevice::programmed(self));
        while let Some((time, command)) = upcoming
            && !self.is_read_only()
            && self.wrong_answer().is_none()
        {
            let has_room = depth.is_some_and(|depth| self.front.outstanding() < depth as usize);
            if has_room {
                let (first, end) = self.core.base.pages_of(&command);
                clock.now += time_of_a_page * u64::from(end - first);
                self.submit(command, clock);
            } else if self.advance(clock) {
                continue;
            } else if depth.is_none() {
                self.wait_until(time, clock);
                self.submit(command, clock);
            } else {
                // Whatever waits has to wait for a timer.
                let Some((time, event)) = clock.due(Instant::LIMIT) else {
                    assert!(self.give_up(clock), "nothing moves: {}", self.what_waits(clock.now));
                    continue;
                };
                clock.now = clock.now.max(time);
                self.handle(event, clock);
                continue;
            }
            self.front.forget_answers();
            upcoming = next(BlockDevice::programmed(self));
        }
        while self.front.outstanding() > 0 && (self.advance(clock) || self.give_up(clock)) {}
        assert_eq!(self.front.outstanding(), 0, "nothing moves: {}", self.what_waits(clock.now));
        self.front.forget_answers();
    }

    /// Writes out what the buffer holds. A host that writes as fast as it can leaves no time for more cleaning than that takes.
    pub(super) fn write_out(&mut self, end: End, clock: &mut Untimed) {
        if end == End::AtWork {
            self.core.reclaim.hold_back();
        }
        self.front.write_out(&mut self.core, &mut self.writer, clock);
        while self.core.cache.in_use() > 0 && self.advance(clock) {}
    }

    /// Finishes what is begun, and cleans as far as the `end` wants it. From then on flash takes time.
    pub(super) fn come_to(&mut self, end: End, clock: &mut Untimed) {
        if end == End::AtWork {
            self.core.reclaim.pause();
        }
        while self.advance(clock) {}
        self.core.reclaim.go_on();
        self.core.base.flash.start_clock();
    }

    /// No timer is set, as in a new device.
    pub(super) fn forget_timers(&mut self) {
        self.front.forget_timer();
        self.core.reclaim.forget_timer();
    }

    /// The time in which the flash can program a logical page with all of its dies at work.
    fn time_of_a_page(&self) -> Duration {
        let pools = &self.core.base.config.pools;
        let times = &pools.first().part.timing.program;
        let program = times.iter().map(|time| time.middle().ps()).sum::<u64>() / times.len() as u64;
        let at_once: u64 = pools.all_rows().map(|row| u64::from(pools.per_program(row))).sum();
        Duration::from_ps(program / at_once)
    }

    /// Lets the device do the next thing that it has to do now; false if there is nothing.
    fn advance(&mut self, clock: &mut Untimed) -> bool {
        if let Some(event) = clock.soon.pop_front() {
            self.handle(event, clock);
        } else if let Some((_, event)) = clock.due(clock.now) {
            self.handle(event, clock);
        } else if let Some(done) = self.core.base.flash.next_over() {
            self.command_done(&done, clock);
            self.writer.write_tables(&mut self.core, clock);
        } else {
            return false;
        }
        true
    }

    /// Lets time go on to the arrival of a command.
    fn wait_until(&mut self, time: Instant, clock: &mut Untimed) {
        let time = time.max(clock.now);
        while let Some((due, event)) = clock.due(time) {
            clock.now = due.max(clock.now);
            self.handle(event, clock);
            while self.advance(clock) {}
        }
        clock.now = time;
    }
}

#[cfg(test)]
mod tests;
