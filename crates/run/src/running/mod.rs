//! A run in progress on a device of a known type. Requests pass through a host queue to the device, and are
//! measured.

mod rebuild;
mod stepping;
mod warm_up;

use std::collections::BTreeSet;
use std::path::PathBuf;

use wordline_device::BlockDevice;
use wordline_device::watchdog::Watchdog;
use wordline_host::{HostQueue, Submission};
use wordline_kernel::{Calendar, Duration, Instant, Schedule};

use crate::admission::Admission;
use crate::arrivals::{Arrivals, RequestSource};
use crate::calendar::{Event, RunCalendar};
use crate::error::{Error, Result, check_decisions};
use crate::load::Load;
use crate::log::Log;
use crate::measure::Measurements;
use crate::measured::RebuildTime;
use crate::observer::{Observer, RUNNING};
use crate::output::Output;
use crate::power::Power;
use crate::precision::{Batches, Precision};
use crate::prepare::Prepared;
use crate::record::Record;
use crate::steps::{SteppedRun, StopReason};
use crate::timeline::Recorder;
use crate::until::Until;
use rebuild::RebuildStep;
use warm_up::WarmUpState;

/// Requests between two calls of the observer. Chosen: a few milliseconds of work.
const CHECK_INTERVAL: u64 = 4_096;

/// Events without a completion between two checks of progress. Chosen: about ten milliseconds of work.
const EVENTS_BETWEEN_CHECKS: u32 = 1 << 16;

/// Requests before the first audit of the device. The number doubles after each audit, and a last audit
/// follows at the end. Chosen: an audit of a large device takes as long as a few hundred thousand requests.
const FIRST_AUDIT: u64 = 1 << 20;

/// The output files of a run. They are opened before the run begins.
pub struct OutputFiles {
    log: Option<Log>,
    snapshot: Option<Output>,
    timeline: Option<Recorder>,
}

impl OutputFiles {
    /// Opens the output files of a load.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be written.
    pub fn of(load: &Load) -> Result<Self> {
        let log = load.log.as_deref().map(Log::create).transpose()?;
        let snapshot = load.save_snapshot.as_deref().map(Output::open).transpose()?;
        let recorder = |(path, from, to): &(PathBuf, _, _)| Recorder::create(path, *from, *to);
        let timeline = load.timeline.as_ref().map(recorder).transpose()?;
        Ok(Self { log, snapshot, timeline })
    }
}

/// Begins a run of a load on a prepared device. The preparation began at the wall time `began`.
pub fn begin<D>(
    prepared: Prepared<D>,
    load: Load,
    opened: OutputFiles,
    began: std::time::Instant,
    observer: &mut dyn Observer,
) -> Box<dyn SteppedRun>
where
    D: BlockDevice<Event: Send, Mark: Send> + Send + 'static,
{
    Box::new(Running::begin(prepared, load, opened, began, observer))
}

/// A run in progress.
struct Running<D: BlockDevice> {
    prepared: Prepared<D>,
    queue: HostQueue<Arrivals>,
    calendar: RunCalendar<D>,
    host_events: HostEvents,
    power: Power,
    checks: Checks,
    warming: WarmUpState,
    batches: Option<Batches>,
    /// The rebuild that the run waited for.
    rebuilt: Option<RebuildTime>,
    measurements: Measurements<D>,
    /// The description of the load. Its requests are in the queue.
    load: Load,
    snapshot: Option<Output>,
    /// Wall time of preconditioning, and of the run so far, in seconds.
    seconds: [f64; 2],
}

/// Pending events outside the device. The record prevents scheduling an event twice.
#[derive(Default)]
struct HostEvents {
    /// Times of host events, the earliest last.
    host: Vec<Instant>,
    /// Times of pauses.
    pauses: BTreeSet<Instant>,
}

/// The schedule of the checks.
struct Checks {
    watchdog: Watchdog,
    /// Number of completions at which the observer is called and the device is checked.
    look_at: u64,
    audit_at: u64,
    /// Limit of simulated time.
    latest: Instant,
    /// The time line, if one is written.
    timeline: Option<Recorder>,
    /// Whether the progress is that of a rebuild, and not the number of completions.
    shows_rebuild: bool,
    /// Events of a rebuild since the observer was called.
    events: u32,
}

/// Conditions to stop before the end of the run.
#[derive(Clone, Copy)]
struct StopCondition {
    /// Stop after this many completions.
    completed: u64,
    /// Stop at this time.
    time: Option<Instant>,
    /// Stop when the device has accepted all submitted requests.
    all_accepted: bool,
    /// Stop when nothing is left to do until the next request is submitted.
    when_idle: bool,
    /// Stop at this step of a rebuild, which may come after the last request.
    rebuild: Option<RebuildStep>,
}

impl StopCondition {
    /// No condition: stop only at the end of the run.
    const NEVER: Self =
        Self { completed: u64::MAX, time: None, all_accepted: false, when_idle: false, rebuild: None };

    /// Whether a condition other than the number of completions can stop the run.
    fn is_early(&self) -> bool {
        self.all_accepted || self.when_idle || self.outlasts_requests()
    }

    /// Whether the run may go on after its last request.
    fn outlasts_requests(&self) -> bool {
        self.time.is_some() || self.rebuild.is_some()
    }

    /// Events without a completion after which conditions are checked again. A device may complete a command
    /// when it takes it, and a step of a rebuild may come with any event.
    fn events_before_checks(&self, device: &impl BlockDevice) -> u32 {
        match self.rebuild {
            _ if !device.completions().is_empty() => 0,
            Some(_) => 1,
            None => EVENTS_BETWEEN_CHECKS,
        }
    }

    /// Whether to stop before the next event. The host has submitted what it can. `is_over` is set at the end
    /// of the workload.
    #[cold]
    fn reached<S: wordline_host::Source>(
        &self,
        queue: &HostQueue<S>,
        is_over: bool,
        device: &impl BlockDevice,
    ) -> Option<StopReason> {
        if self.rebuild.is_some_and(|step| step.is_reached(device.rebuild())) {
            return Some(StopReason::Target);
        }
        let is_taken = queue.upcoming()[0].is_none();
        if self.all_accepted && is_taken {
            return Some(StopReason::Target);
        }
        let is_at_rest = queue.outstanding() == 0 && (is_over || self.when_idle && is_taken);
        (is_at_rest && !self.outlasts_requests()).then_some(StopReason::Idle)
    }
}

impl<D: BlockDevice> Running<D> {
    fn begin(
        prepared: Prepared<D>,
        mut load: Load,
        opened: OutputFiles,
        began: std::time::Instant,
        observer: &mut dyn Observer,
    ) -> Self {
        let precondition_seconds = began.elapsed().as_secs_f64();
        observer.phase(RUNNING, load.total);
        let calendar = prepared.agenda.calendar(Event::Device);
        let (begin, device) = (calendar.now(), &prepared.device);
        let admission = Admission::new(&device.shape(), load.namespace, load.stream, load.pace);
        let requests = std::mem::replace(&mut load.requests, RequestSource::generated(std::iter::empty()));
        let arrivals = Arrivals::new(requests, admission);
        let measurements = Measurements::new(Record::of(opened.log), device, begin, arrivals.jobs());
        let queue = HostQueue::spread(arrivals, load.pace, load.spread).starting_at(begin);
        let checks = Checks {
            watchdog: Watchdog::of(device, begin),
            look_at: CHECK_INTERVAL,
            audit_at: FIRST_AUDIT,
            latest: begin + Duration::LIMIT,
            timeline: opened.timeline,
            shows_rebuild: false,
            events: 0,
        };
        let warming = WarmUpState::of(&load);
        let is_measured = matches!(warming, WarmUpState::Done(_));
        let mut running = Self {
            prepared,
            queue,
            calendar,
            host_events: HostEvents::default(),
            power: Power::default(),
            checks,
            warming,
            batches: load.until.clone().and_then(precision).map(Batches::new),
            rebuilt: None,
            measurements,
            load,
            snapshot: opened.snapshot,
            seconds: [precondition_seconds, 0.0],
        };
        if is_measured {
            running.begin_measurement();
        }
        running
    }

    /// The event loop. It ends at `stop`, at the end of the workload, or when the observer stops it.
    fn simulate(&mut self, stop: StopCondition, observer: &mut dyn Observer) -> Result<StopReason> {
        let Self { prepared, queue, calendar, host_events, power, checks, measurements, .. } = self;
        let device = &mut prepared.device;
        let (is_early, left_out) = (stop.is_early(), self.warming.completed());
        let mut look_at = checks.look_at.min(stop.completed);
        loop {
            check_decisions(device)?;
            let is_over = !power.is_off() && submit(device, queue, calendar, &mut host_events.host)?;
            if is_over && queue.outstanding() == 0 && !stop.outlasts_requests() {
                return Ok(StopReason::Idle);
            }
            if is_early
                && !power.is_off()
                && let Some(reached) = stop.reached(queue, is_over, device)
            {
                return Ok(reached);
            }
            // The host queue submits nothing before a request completes or a host event is due, so only
            // events are handled here.
            for left in (0..stop.events_before_checks(device)).rev() {
                // Some devices recover without events.
                if power.is_off() && power.has_recovered(device) {
                    observer.recovery_ended(queue.total_completed() - left_out);
                    break;
                }
                match calendar.advance() {
                    Some(Event::Device(event)) => device.handle(event, &mut calendar.within(Event::Device)),
                    Some(Event::Host) => {
                        host_events.host.pop();
                        break;
                    }
                    Some(Event::PowerCut) => {
                        cut(power, device, queue, calendar, (host_events, checks, stop), observer);
                    }
                    Some(Event::Timeline) => checks.trigger_timeline(calendar.now(), device)?,
                    Some(Event::Pause) if !pauses(device, queue, calendar, (host_events, stop))? => {}
                    Some(Event::Pause) => return Ok(StopReason::Target),
                    None => give_up(device, calendar)?,
                }
                let shows_recovery = power.is_off() && power.is_observer_due();
                if shows_recovery && !observer.phase_progress(device.pages_recovered()) {
                    return Ok(StopReason::Stopped);
                }
                if !device.completions().is_empty() {
                    break;
                }
                if left == 0 && !checks.after_events(device, calendar.now(), observer)? {
                    return Ok(StopReason::Stopped);
                }
            }
            let now = calendar.now();
            (now <= checks.latest).then_some(()).ok_or_else(|| time_limit_error(queue.total_completed()))?;
            take_completions(device, queue, measurements, now)?;
            let completed = queue.total_completed();
            if power.is_due(completed - left_out) {
                cut(power, device, queue, calendar, (host_events, checks, stop), observer);
            }
            if completed >= look_at {
                if completed >= checks.look_at
                    && !checks.look(device, now, power.is_off(), (completed, left_out), observer)?
                {
                    return Ok(StopReason::Stopped);
                }
                if completed >= stop.completed {
                    return Ok(StopReason::Target);
                }
                look_at = checks.look_at.min(stop.completed);
            }
        }
    }
}

/// The precision that ends a run, if one does.
fn precision(until: Until) -> Option<Precision> {
    match until {
        Until::Precise(precision) => Some(precision),
        Until::Rebuilt => None,
    }
}

impl HostEvents {
    /// Schedules a pause.
    fn pause_at<E: Copy + PartialEq>(&mut self, time: Instant, calendar: &mut Calendar<Event<E>>) {
        if self.pauses.insert(time) {
            calendar.at(time, Event::Pause);
        }
    }
}

impl Checks {
    /// Checks that the device makes progress, and writes the recorded spans to the time line.
    #[cold]
    fn check_device(&mut self, device: &mut impl BlockDevice, now: Instant) -> Result<()> {
        self.timeline.as_mut().map_or(Ok(()), |timeline| timeline.drain(device, now, false))?;
        self.watchdog.look(device, now).map_err(Error::Stuck)
    }

    /// Checks the device after events without a completion. During a rebuild, calls the observer from time to
    /// time. Returns whether to continue.
    #[cold]
    fn after_events(
        &mut self,
        device: &mut impl BlockDevice,
        now: Instant,
        observer: &mut dyn Observer,
    ) -> Result<bool> {
        self.check_device(device, now)?;
        if !self.shows_rebuild {
            return Ok(true);
        }
        self.events += 1;
        if self.events < EVENTS_BETWEEN_CHECKS {
            return Ok(true);
        }
        self.events = 0;
        Ok(observer.phase_progress(rebuild::rows(device.rebuild()).0))
    }

    /// Begins or ends the time line.
    #[cold]
    fn trigger_timeline(&mut self, now: Instant, device: &mut impl BlockDevice) -> Result<()> {
        self.timeline.as_mut().map_or(Ok(()), |timeline| timeline.trigger(now, device))
    }

    /// Checks the device and calls the observer. Returns whether to continue.
    #[cold]
    fn look(
        &mut self,
        device: &mut impl BlockDevice,
        now: Instant,
        recovers: bool,
        (completed, left_out): (u64, u64),
        observer: &mut dyn Observer,
    ) -> Result<bool> {
        self.look_at += CHECK_INTERVAL;
        self.check_device(device, now)?;
        if self.look_at > self.audit_at && !recovers {
            self.audit_at *= 2;
            device.audit(now - Instant::ZERO);
        }
        if self.shows_rebuild {
            return Ok(observer.phase_progress(rebuild::rows(device.rebuild()).0));
        }
        Ok(observer.progress(completed - left_out))
    }
}

/// Cuts the power. All events are lost. A pause and the events of the time line are scheduled again.
#[cold]
fn cut<D: BlockDevice>(
    power: &mut Power,
    device: &mut D,
    queue: &mut HostQueue<Arrivals>,
    calendar: &mut RunCalendar<D>,
    (host_events, checks, stop): (&mut HostEvents, &Checks, StopCondition),
    observer: &mut dyn Observer,
) {
    power.trigger();
    *host_events = HostEvents::default();
    power.cut(device, queue, calendar, observer);
    let now = calendar.now();
    for at in checks.timeline.iter().flat_map(|timeline| timeline.times_after(now)) {
        calendar.at(at, Event::Timeline);
    }
    if let Some(time) = stop.time {
        host_events.pause_at(time, calendar);
    }
}

/// Whether to stop at the pause that is due. Other events of this instant are handled first. Outstanding
/// commands that cannot complete any more fail first.
#[cold]
fn pauses<D: BlockDevice>(
    device: &mut D,
    queue: &HostQueue<Arrivals>,
    calendar: &mut RunCalendar<D>,
    (host_events, stop): (&mut HostEvents, StopCondition),
) -> Result<bool> {
    let now = calendar.now();
    host_events.pauses.remove(&now);
    if stop.time != Some(now) {
        return Ok(false); // of a step that was stopped before it
    }
    let is_settled = calendar.is_settled();
    if is_settled && (queue.outstanding() == 0 || !calendar.pending().is_empty()) {
        return Ok(true);
    }
    if is_settled {
        give_up(device, calendar)?;
    }
    host_events.pause_at(now, calendar);
    Ok(false)
}

/// The error of a run that exceeds simulated time. A closed loop can reach it, because its times are not
/// known in advance.
#[cold]
fn time_limit_error(completed: u64) -> Error {
    Error::Argument {
        what: "the run".into(),
        found: format!("more than 106 days of simulated time with {completed} requests completed"),
        wanted: "at most 106 days: fewer requests, or a shorter think time".into(),
    }
}

/// Fails outstanding commands if no event is pending. Such commands are valid for a device at the end of its
/// life, and otherwise a bug.
#[cold]
fn give_up<D: BlockDevice>(device: &mut D, calendar: &mut RunCalendar<D>) -> Result<()> {
    if device.give_up(&mut calendar.within(Event::Device)) {
        return Ok(());
    }
    check_decisions(device)?;
    let now = calendar.now();
    Err(Error::Stuck(format!(
        "commands are outstanding and no event is pending\n{}",
        device.describe_outstanding(now)
    )))
}

/// Processes the completions at `now`.
#[inline]
fn take_completions<D: BlockDevice>(
    device: &mut D,
    queue: &mut HostQueue<Arrivals>,
    measurements: &mut Measurements<D>,
    now: Instant,
) -> Result<()> {
    for completion in device.completions() {
        let job = queue.source().job_of(completion.command.tag);
        queue.completed(now, &completion.command);
        measurements.completed(completion, job, now, device.programmed())?;
    }
    measurements.look(device, now);
    device.clear_completions();
    Ok(())
}

/// Submits the requests that are due. Returns true at the end of the workload.
#[inline]
fn submit<D: BlockDevice>(
    device: &mut D,
    queue: &mut HostQueue<Arrivals>,
    calendar: &mut RunCalendar<D>,
    due: &mut Vec<Instant>,
) -> Result<bool> {
    loop {
        match queue.next(calendar.now()) {
            Submission::Submit(command) => {
                device.submit(command, &mut calendar.within(Event::Device));
                check_decisions(device)?;
                device.prefetch_lookups(queue.upcoming());
            }
            Submission::RetryAt(time) => {
                // If a host event is due before `time`, the queue is polled then and returns a new time.
                if due.last().is_none_or(|next| time < *next) {
                    due.push(time);
                    calendar.at(time, Event::Host);
                }
                return Ok(false);
            }
            Submission::Wait => return Ok(false),
            Submission::End => return Ok(true),
        }
    }
}
