//! Ageing: a device executes a workload before the run, with the clock of its flash stopped.
//!
//! The device destages, selects victims and relocates pages as in a run. Flash commands take no time, so
//! queues are empty, and a program completes before the next command arrives. In a closed loop (a fixed queue
//! depth) the device is left busy, because the host always has another write. In an open loop the device does
//! GC and background work until the time of the next command.

use std::collections::VecDeque;

use wordline_kernel::{Duration, Instant, Schedule};

use crate::block_device::NextCommand;
use crate::snapshot::Agenda;
use crate::{BlockDevice, SECTOR};

/// A device that can be aged. A device composed of other devices delegates to its members.
pub trait Ages: BlockDevice {
    /// Whether an event keeps its time while the clock is stopped. All other events happen at once.
    fn is_timer(event: &Self::Event) -> bool;

    /// Stops the clock: flash commands take no time, cause no wear and never fail. Returns false if the
    /// device has no flash to age.
    fn stop_clock(&mut self) -> bool;

    /// Completes the next flash command. Returns false if there is none.
    fn next_untimed_completion(&mut self, clock: &mut impl Schedule<Self::Event>) -> bool;

    /// Starts no more GC. Used at the end of a closed loop, when the device is still busy.
    fn pause_gc(&mut self);

    /// Starts the clock: flash commands take time again.
    fn start_clock(&mut self);

    /// Time in which the flash programs a logical page with all of its dies busy.
    fn page_program_time(&self) -> Duration;
}

/// Calendar of a device whose clock is stopped: timers happen at their times, other events as soon as
/// possible.
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

/// Executes the commands of `next` with the clock of the flash stopped: implements [`BlockDevice::age`] for a
/// device that implements [`Ages`].
pub fn age<D: Ages>(device: &mut D, next: NextCommand<'_>, depth: Option<u32>) -> Option<Agenda<D::Event>> {
    device.stop_clock().then_some(())?;
    let mut clock = UntimedCalendar::of::<D>();
    // In a closed loop the host writes as fast as the flash programs.
    let time_of_a_page = device.page_program_time();
    carry_out(device, next, depth, time_of_a_page, &mut clock);
    if depth.is_some() {
        device.pause_gc();
    }
    rest(device, &mut clock);
    Some(clock.agenda())
}

/// Finishes the work in progress, then starts the clock.
pub fn rest<D: Ages>(device: &mut D, clock: &mut UntimedCalendar<D::Event>) {
    while advance(device, clock) {}
    device.start_clock();
}

/// Executes the commands of `next` with the clock stopped, until all have completed or the device accepts no
/// more writes. In a closed loop time advances by `time_of_a_page` for each page of a command.
pub fn carry_out<D: Ages>(
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
            // The outstanding commands wait for a timer.
            let Some((time, event)) = clock.due(Instant::LIMIT) else {
                give_up(device, clock);
                continue;
            };
            clock.now = clock.now.max(time);
            device.handle(event, clock);
            continue;
        }
        device.clear_completions();
        upcoming = next(device.programmed());
    }
    while device.outstanding() > 0 && device.invalid_decision().is_none() {
        if !advance(device, clock) {
            give_up(device, clock);
        }
    }
    device.clear_completions();
}

/// Fails commands that can never be executed. If there are none, a design has declined work that the commands wait
/// for.
fn give_up<D: Ages>(device: &mut D, clock: &mut UntimedCalendar<D::Event>) {
    let gives_up = device.give_up(clock) || device.invalid_decision().is_some();
    assert!(gives_up, "nothing moves: {}", device.describe_outstanding(clock.now));
}

/// Handles the next event that is due now, or completes the next flash command. Returns false if there is
/// neither.
pub fn advance<D: Ages>(device: &mut D, clock: &mut UntimedCalendar<D::Event>) -> bool {
    if let Some(event) = clock.soon.pop_front() {
        device.handle(event, clock);
    } else if let Some((_, event)) = clock.due(clock.now) {
        device.handle(event, clock);
    } else {
        return device.next_untimed_completion(clock);
    }
    true
}

/// Advances time to the arrival of a command, and handles the timers that are due before it.
fn wait_until<D: Ages>(device: &mut D, time: Instant, clock: &mut UntimedCalendar<D::Event>) {
    let time = time.max(clock.now);
    while let Some((due, event)) = clock.due(time) {
        clock.now = due.max(clock.now);
        device.handle(event, clock);
        while advance(device, clock) {}
    }
    clock.now = time;
}
