//! Ageing: a device carries out a workload before the run, with the clock of its flash off.
//!
//! The device decides, relocates and writes as in a run, except for effects of waiting: queues are empty, and
//! a program completes before the next command arrives. In a closed loop the device is left busy: the host
//! always has something to write. In an open loop it works until the time of the next command, as far as it
//! wants.

use std::collections::VecDeque;

use wordline_kernel::{Duration, Instant, Schedule};

use crate::block_device::{BlockDevice, NextCommand};
use crate::command::SECTOR;
use crate::snapshot::Agenda;

/// A device that can be aged, with the clock of its flash off. A device composed of others delegates to its
/// members.
pub trait Ages: BlockDevice {
    /// Whether an event waits for its time although the clock is off; any other happens at once.
    fn is_timer(event: &Self::Event) -> bool;

    /// Stops the clock: flash commands take no time, wear nothing and never fail; false if there is no flash
    /// to age.
    fn stop_clock(&mut self) -> bool;

    /// Completes the next flash command; false if there is none.
    fn next_untimed_completion(&mut self, clock: &mut impl Schedule<Self::Event>) -> bool;

    /// Starts no more GC, because the host stops in the middle of its work.
    fn pause_gc(&mut self);

    /// Starts the clock: flash commands take time again.
    fn start_clock(&mut self);

    /// Time in which the flash programs a logical page with all of its dies busy.
    fn page_program_time(&self) -> Duration;
}

/// Calendar of a device that takes no time: its own events happen soon, timers at their times.
#[derive(Debug)]
pub struct UntimedCalendar<E> {
    now: Instant,
    soon: VecDeque<E>,
    timers: Vec<(Instant, E)>,
    is_timer: fn(&E) -> bool,
}

impl<E> Schedule<E> for UntimedCalendar<E> {
    fn now(&self) -> Instant {
        self.now
    }

    fn at(&mut self, time: Instant, event: E) {
        match (self.is_timer)(&event) {
            true => self.timers.push((time, event)),
            false => self.soon.push_back(event),
        }
    }

    fn is_settled(&self) -> bool {
        true
    }

    fn next(&mut self, event: E) {
        self.soon.push_front(event);
    }
}

impl<E> UntimedCalendar<E> {
    /// Calendar of a device, at time zero.
    pub fn of<D: Ages<Event = E>>() -> Self {
        Self { now: Instant::ZERO, soon: VecDeque::new(), timers: Vec::new(), is_timer: D::is_timer }
    }

    /// First timer that is due by `time`.
    fn due(&mut self, time: Instant) -> Option<(Instant, E)> {
        let (first, _) = self.timers.iter().enumerate().min_by_key(|(_, (time, _))| *time)?;
        (self.timers[first].0 <= time).then(|| self.timers.remove(first))
    }

    /// Remaining timers, for the calendar of a run.
    fn agenda(mut self) -> Agenda<E> {
        self.timers.sort_by_key(|(time, _)| *time);
        Agenda { now: self.now, events: self.timers }
    }
}

/// Carries out the commands of `next` with the clock of the flash off: [`BlockDevice::age`] of a device that
/// [`Ages`].
pub fn age<D: Ages>(device: &mut D, next: NextCommand<'_>, depth: Option<u32>) -> Option<Agenda<D::Event>> {
    device.stop_clock().then_some(())?;
    let mut clock = UntimedCalendar::of::<D>();
    // A host that waits for its writes is as fast as the flash.
    let time_of_a_page = device.page_program_time();
    carry_out(device, next, depth, time_of_a_page, &mut clock);
    if depth.is_some() {
        device.pause_gc();
    }
    rest(device, &mut clock);
    Some(clock.agenda())
}

/// Finishes the work in progress. From then on flash takes time.
pub(crate) fn rest<D: Ages>(device: &mut D, clock: &mut UntimedCalendar<D::Event>) {
    while advance(device, clock) {}
    device.start_clock();
}

/// Carries out the commands of `next` with the clock off, until all are complete or the device accepts no
/// more writes. In a closed loop time advances by `time_of_a_page` for each page.
pub(crate) fn carry_out<D: Ages>(
    device: &mut D,
    next: NextCommand<'_>,
    depth: Option<u32>,
    time_of_a_page: Duration,
    clock: &mut UntimedCalendar<D::Event>,
) {
    let sectors = device.shape().logical_page.0 / SECTOR.0;
    let mut upcoming = next(device.programmed());
    while let Some((time, command)) = upcoming
        && !device.is_read_only()
        && device.invalid_decision().is_none()
    {
        let has_room = depth.is_some_and(|depth| device.outstanding() < depth as usize);
        if has_room {
            let end = (command.sector + command.sectors).div_ceil(sectors);
            let pages = if command.sectors == 0 { 0 } else { end - command.sector / sectors };
            clock.now += time_of_a_page * pages;
            device.submit(command, clock);
        } else if advance(device, clock) {
            continue;
        } else if depth.is_none() {
            wait_until(device, time, clock);
            device.submit(command, clock);
        } else {
            // The remaining work waits for a timer.
            let Some((time, event)) = clock.due(Instant::LIMIT) else {
                assert!(device.give_up(clock), "nothing moves: {}", device.describe_outstanding(clock.now));
                continue;
            };
            clock.now = clock.now.max(time);
            device.handle(event, clock);
            continue;
        }
        device.clear_completions();
        upcoming = next(device.programmed());
    }
    while device.outstanding() > 0 && (advance(device, clock) || device.give_up(clock)) {}
    assert_eq!(device.outstanding(), 0, "nothing moves: {}", device.describe_outstanding(clock.now));
    device.clear_completions();
}

/// Handles the next event or flash command that is due now; false if there is none.
pub(crate) fn advance<D: Ages>(device: &mut D, clock: &mut UntimedCalendar<D::Event>) -> bool {
    if let Some(event) = clock.soon.pop_front() {
        device.handle(event, clock);
    } else if let Some((_, event)) = clock.due(clock.now) {
        device.handle(event, clock);
    } else {
        return device.next_untimed_completion(clock);
    }
    true
}

/// Advances time to the arrival of a command.
fn wait_until<D: Ages>(device: &mut D, time: Instant, clock: &mut UntimedCalendar<D::Event>) {
    let time = time.max(clock.now);
    while let Some((due, event)) = clock.due(time) {
        clock.now = due.max(clock.now);
        device.handle(event, clock);
        while advance(device, clock) {}
    }
    clock.now = time;
}
