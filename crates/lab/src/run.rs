//! The run: a workload goes through a host queue into a device, and what happens is measured.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wordline_host::{HostQueue, Pace, Source as Arriving, Spread, Submission};
use wordline_kernel::{Calendar, Duration, Instant, Schedule};
use wordline_ssd::design::WrongAnswer;
use wordline_ssd::device::Watchdog;
use wordline_ssd::snapshot::Agenda;
use wordline_ssd::{BlockDevice, Config, Parts};

use crate::admission::Admission;
use crate::arrivals::{Arrivals, Incoming};
use crate::devices::{Configured, DeviceType, as_ssd};
use crate::error::{Error, Result};
use crate::log::Log;
use crate::measure::Measurements;
use crate::output::Output;
use crate::power::{CutAfter, Power};
use crate::prepare::Prepared;
use crate::provenance::{Fingerprint, Provenance};
use crate::summary::{Outcome, PowerCut, Source, Summary};
use crate::trace::LateNotes;
use crate::warm_up::Passes;

/// The state of a device before the first request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Precondition {
    /// Nothing was ever written.
    Empty,
    /// This fraction of the logical pages was written once, in order.
    Filled(f64),
    /// Everything was written, then overwritten at random until the write amplification stood still.
    Steady,
    /// The same with this first fraction of the logical pages: no more blocks are free than with all of them.
    SteadyTo(f64),
    /// Everything was written once, in order; then the workload itself wrote this many times the size of the device, or until the write
    /// amplification stood still.
    Workload(Option<f64>),
}

/// A run: everything that it depends on.
pub struct Job {
    /// The device, of whichever type.
    pub device: Arc<dyn Configured>,
    /// The state of the device before.
    pub precondition: Precondition,
    /// The snapshot that the device is restored from, in place of the precondition.
    pub from_snapshot: Option<PathBuf>,
    /// Where the device is to be saved after the run.
    pub save_snapshot: Option<PathBuf>,
    /// The requests, and their description for the result.
    pub load: Load,
}

impl Job {
    /// Runs the design of a crate of its own: what it changes of the parts of an SSD, in place of the design that is named.
    ///
    /// # Panics
    /// If the device is no SSD.
    pub fn change_parts(&mut self, change: impl Fn(Parts, &Config) -> Parts + Send + Sync + 'static) {
        let ssd = as_ssd(&self.device).expect("an SSD is made of parts");
        self.device = Arc::new(ssd.clone().with(change));
    }
}

/// The requests of a run, and their description for the result.
pub struct Load {
    /// Name of the device, for the result.
    pub device_name: String,
    /// The configuration as text: what a reproducer needs.
    pub config_text: String,
    /// The source of the requests, for the result.
    pub source: Source,
    /// The requests. One that cannot be had ends the run with its error, once those before it are answered.
    pub requests: Incoming,
    /// How many there are, if that is known.
    pub total: Option<u64>,
    /// When they are submitted.
    pub pace: Pace,
    /// To which of the device's submission queues.
    pub spread: Spread,
    /// To which namespace, counted from 0.
    pub namespace: u16,
    /// The stream of writes that have none of their own; 0 for none.
    pub stream: u8,
    /// The seed of all random streams.
    pub seed: u64,
    /// Where every request is to be logged, if anywhere.
    pub log: Option<PathBuf>,
    /// When the power is cut, if at all.
    pub power_cut: Option<CutAfter>,
    /// Things that the user should know, for the result.
    pub notes: Vec<String>,
    /// The program that runs it, for the result.
    pub provenance: Provenance,
    /// The trace file that the requests are read from, for the result.
    pub trace_file: Option<Fingerprint>,
    /// Things that are known only when the last request has come.
    pub late_notes: LateNotes,
    /// The requests once more, to warm the device up with; none where they come once.
    pub passes: Option<Passes>,
}

/// The phase in which a trace is looked at, before the device is made.
pub const READING: &str = "reading the trace";
/// The phase before the first request, which ends with nothing to report.
pub const PRECONDITIONING: &str = "preconditioning";
/// Its second part, on the way to a steady state.
pub const OVERWRITING: &str = "overwriting";
/// The same where the workload itself is written.
pub const WARMING_UP: &str = "warming up";
/// The phase in which requests are simulated.
pub const RUNNING: &str = "running";

/// The phase in which a device puts its tables together after a power cut.
pub const RECOVERING: &str = "recovering";

/// The phase in which a snapshot is saved.
pub const SAVING: &str = "saving a snapshot";

/// An observer of a run.
pub trait Observer {
    /// A phase begins: [`READING`], [`PRECONDITIONING`], [`OVERWRITING`], [`RUNNING`] or [`SAVING`].
    fn phase(&mut self, _name: &'static str, _total: Option<u64>) {}
    /// The work of the phase, as far as is known by now.
    fn expects(&mut self, _total: u64) {}
    /// The power was cut: in the phase [`RECOVERING`] the device reads this many pages.
    fn recovers(&mut self, _pages: u64) {}
    /// That is over, with this many requests answered; [`RUNNING`] goes on.
    fn recovered(&mut self, _answered: u64) {}
    /// This many requests are answered; false stops the run.
    fn progress(&mut self, _answered: u64) -> bool {
        true
    }
    /// So much is done of a phase that answers none: bytes in [`READING`] and [`SAVING`], pages written in [`PRECONDITIONING`] and
    /// [`OVERWRITING`], pages read in [`RECOVERING`]. False stops it, and the run, but for [`READING`].
    fn goes_on(&mut self, _done: u64) -> bool {
        true
    }
}

/// No observer.
pub struct Unobserved;

impl Observer for Unobserved {}

/// Requests between two looks at the observer: a few milliseconds of work.
const LOOK_EVERY: u64 = 4_096;

/// Events without an answer between two looks at whether the device gets on. Chosen: some ten milliseconds of work.
const EVENTS_BETWEEN_LOOKS: u32 = 1 << 16;

/// Requests after which the device is audited for the first time; then after twice as many each time, and at
/// the end. Chosen: an audit of a large device takes as long as some hundred thousand requests.
const FIRST_AUDIT: u64 = 1 << 20;

/// The events of a run of a device with events `E`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event<E> {
    Device(E),
    /// The host has something to submit.
    Host,
    /// The power is cut.
    PowerCut,
}

const _: () =
    assert!(size_of::<Event<wordline_ssd::Event>>() <= 12, "an event is copied on every push and pop");

/// Runs a job to its end, or until the observer stops it.
///
/// # Errors
/// [`Error::Argument`] for a request beyond the device, [`Error::File`] if the log cannot be written, [`Error::Stopped`] if the
/// observer stopped it before the first request, and with a reproducer [`Error::Invariant`] if a check of the simulation fails and
/// [`Error::Stuck`] if it does not get on.
pub fn run(job: Job, observer: &mut dyn Observer) -> Result<Summary> {
    let device = Arc::clone(&job.device);
    device.run(job, observer)
}

/// The same of a device of a known type.
pub(crate) fn run_of<T: DeviceType>(
    device: &T,
    mut job: Job,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let reproducer = Reproducer::of(&job.load);
    reproducer.told_of(|position| {
        let files = Files::open(job.load.log.as_deref(), job.save_snapshot.as_deref())?;
        let started = std::time::Instant::now();
        observer.phase(PRECONDITIONING, pages_to_fill(&job));
        let prepared = Prepared::of(device, &mut job, observer)?;
        drive(prepared, job.load, files, started, (observer, position))
    })
}

/// Runs a load on any device that was just made, to its end or until the observer stops it.
///
/// # Errors
/// Those of [`run`].
pub fn run_on<D: BlockDevice>(
    device: D,
    precondition: Precondition,
    load: Load,
    observer: &mut dyn Observer,
) -> Result<Summary> {
    let reproducer = Reproducer::of(&load);
    reproducer.told_of(|position| {
        let files = Files::open(load.log.as_deref(), None)?;
        let started = std::time::Instant::now();
        observer.phase(PRECONDITIONING, None);
        let prepared = Prepared::preconditioned(
            device,
            precondition,
            load.seed,
            Some((&load, "this device")),
            observer,
        )?;
        drive(prepared, load, files, started, (observer, position))
    })
}

/// The data needed to repeat a run in which a check failed.
struct Reproducer {
    trace: String,
    seed: u64,
    configuration: String,
}

impl Reproducer {
    fn of(load: &Load) -> Self {
        Self {
            trace: format!("{} ({:?})", load.source.name, load.source.kind),
            seed: load.seed,
            configuration: load.config_text.clone(),
        }
    }

    /// The text of a reproducer for a fault of Wordline itself.
    fn of_fault(&self, position: u64) -> String {
        format!("This is a fault of Wordline, not of the input. {}", self.text(position))
    }

    fn text(&self, position: u64) -> String {
        let Self { trace, seed, configuration } = self;
        format!(
            "To reproduce it:\n  \
             trace position: request {position} of {trace}\n  seed: {seed}\n  configuration:\n{configuration}"
        )
    }

    /// The result of `run`, which keeps up how many requests were submitted; with this where it failed by a fault of ours.
    fn told_of(&self, run: impl FnOnce(&mut u64) -> Result<Summary>) -> Result<Summary> {
        let mut position = 0;
        match catch_unwind(AssertUnwindSafe(|| run(&mut position))) {
            Ok(Err(Error::Stuck(what))) => Err(Error::Stuck(format!("{what}{}", self.of_fault(position)))),
            Ok(Err(Error::WrongAnswer(what))) => {
                Err(Error::WrongAnswer(format!("{what}\n{}", self.text(position))))
            }
            Ok(other) => other,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let what = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text");
                let reproducer = self.of_fault(position);
                Err(Error::Invariant(format!("a check of the simulation failed: {what}\n{reproducer}")))
            }
        }
    }
}

/// The output files of a run, opened before it begins.
struct Files {
    log: Option<Log>,
    snapshot: Option<Output>,
}

impl Files {
    fn open(log: Option<&Path>, snapshot: Option<&Path>) -> Result<Self> {
        Ok(Self { log: log.map(Log::create).transpose()?, snapshot: snapshot.map(Output::open).transpose()? })
    }
}

/// Runs a load on a device that is ready since its preparation `started`.
fn drive<D: BlockDevice>(
    mut prepared: Prepared<D>,
    mut load: Load,
    files: Files,
    started: std::time::Instant,
    (observer, position): (&mut dyn Observer, &mut u64),
) -> Result<Summary> {
    let precondition_seconds = started.elapsed().as_secs_f64();
    observer.phase(RUNNING, load.total);
    let mut calendar = prepared.agenda.calendar(Event::Device);
    let device = &mut prepared.device;
    let begin = calendar.now();
    let mut measurements = Measurements::new(files.log, device, begin);
    let admission = Admission::new(&device.shape(), load.namespace, load.stream, load.pace);
    let requests = std::mem::replace(&mut load.requests, Incoming::generated(std::iter::empty()));
    let arrivals = Arrivals::new(requests, admission);
    let mut queue = HostQueue::spread(arrivals, load.pace, load.spread).beginning(begin);
    let started = std::time::Instant::now();
    let mut power = Power::new(load.power_cut, &mut calendar);
    let (end, mut interrupted) =
        simulate(device, &mut queue, &mut calendar, &mut power, &mut measurements, observer, position)?;
    let wall = started.elapsed().as_secs_f64();
    queue.into_source().check(*position, &load.source.name)?;
    // During a recovery no audit is possible, and a run that the user stopped does not wait for its end.
    if !interrupted {
        device.audit(end - Instant::ZERO);
    }
    load.notes.extend(load.late_notes.take());
    let power_cut = power.result();
    load.notes.extend(note_of_cut(power_cut.as_ref(), load.power_cut));
    if let Some(to) = files.snapshot {
        observer.phase(SAVING, None);
        let saved = save(&mut prepared, &calendar, &load, interrupted, (to, observer))?;
        interrupted |= !saved.0;
        load.notes.push(saved.1);
    }
    let outcome = match (interrupted, prepared.device.is_read_only()) {
        (true, _) => Outcome::Interrupted,
        (false, true) => Outcome::ReadOnly,
        (false, false) => Outcome::Complete,
    };
    let summary = measurements.summary(load, &prepared.device, end, outcome, [precondition_seconds, wall])?;
    Ok(Summary { power_cuts: power_cut.into_iter().collect(), ..summary })
}

/// The result's note on a power cut that came, or was to come.
fn note_of_cut(came: Option<&PowerCut>, was_to_come: Option<CutAfter>) -> Option<String> {
    let missed = || was_to_come.map(|_| "the run was over before the power was to be cut".into());
    came.map(PowerCut::note).or_else(missed)
}

/// Saves the device after its run: whether that was done, and a sentence about it.
fn save<D: BlockDevice>(
    prepared: &mut Prepared<D>,
    calendar: &Calendar<Event<D::Event>>,
    load: &Load,
    interrupted: bool,
    (to, observer): (Output, &mut dyn Observer),
) -> Result<(bool, String)> {
    let name = to.path().display().to_string();
    let stopped = || Ok((false, format!("the run was stopped: the snapshot {name} was not saved")));
    if interrupted {
        return stopped();
    }
    let of_device = |(time, event)| match event {
        Event::Device(event) => Some((time, event)),
        Event::Host | Event::PowerCut => None,
    };
    let events = calendar.pending().into_iter().filter_map(of_device).collect();
    prepared.agenda = Agenda { now: calendar.now(), events };
    let (digest, source, seed) = (prepared.device.digest(), &load.source.name, load.seed);
    prepared.history.push(format!("ran {source} with seed {seed} up to the digest {digest}"));
    match prepared.save(&load.device_name, &load.config_text, to, observer) {
        Err(Error::Stopped) => stopped(),
        saved => saved.map(|()| (true, format!("saved as the snapshot {name}"))),
    }
}

/// Pages that are written before the first request, where that is known.
fn pages_to_fill(job: &Job) -> Option<u64> {
    match job.precondition {
        Precondition::Filled(fraction) if job.from_snapshot.is_none() => {
            let shape = job.device.shape();
            Some((shape.capacity.0 as f64 / shape.logical_page.0 as f64 * fraction) as u64)
        }
        _ => None,
    }
}

/// The event loop. Returns when the last answer was given, and whether the observer stopped it before.
fn simulate<D: BlockDevice, S: Arriving>(
    device: &mut D,
    queue: &mut HostQueue<S>,
    calendar: &mut Calendar<Event<D::Event>>,
    power: &mut Power,
    measurements: &mut Measurements<D>,
    observer: &mut dyn Observer,
    position: &mut u64,
) -> Result<(Instant, bool)> {
    let (mut last_answer, mut look_at, mut audit_at) = (calendar.now(), LOOK_EVERY, FIRST_AUDIT);
    let mut host_at = None;
    let latest = calendar.now() + Duration::LIMIT;
    let mut watchdog = Watchdog::of(device, calendar.now());
    loop {
        check_answers(device)?;
        let ended = !power.is_off() && submit(device, queue, calendar, &mut host_at)?;
        *position = queue.total_submitted();
        if ended && queue.outstanding() == 0 {
            return Ok((last_answer, false));
        }
        // Until something is answered or the host is due, its queue has nothing new to say.
        for left in (0..EVENTS_BETWEEN_LOOKS).rev() {
            let event = calendar.advance();
            if let Some(Event::Device(event)) = event {
                device.handle(event, &mut calendar.within(Event::Device));
            } else {
                host_at = None;
                match event {
                    Some(Event::PowerCut) => power.cut(device, queue, calendar, observer),
                    Some(Event::Host | Event::Device(_)) => break,
                    None => give_up(device, calendar)?,
                }
            }
            if power.is_off() {
                if power.is_back(device) {
                    observer.recovered(queue.total_answered());
                    last_answer = calendar.now();
                    break;
                }
                if power.is_long() && !observer.goes_on(device.pages_recovered()) {
                    return Ok((calendar.now(), true)); // the dies have worked since the last answer
                }
            }
            if !device.answers().is_empty() {
                break;
            }
            if left == 0 {
                watchdog.look(device, calendar.now()).map_err(Error::Stuck)?;
            }
        }
        let now = calendar.now();
        (now <= latest).then_some(()).ok_or_else(|| too_long(queue.total_answered()))?;
        last_answer = if take_answers(device, queue, measurements, now)? { now } else { last_answer };
        if power.is_due(queue.total_answered()) {
            host_at = None;
            power.cut(device, queue, calendar, observer);
        }
        if queue.total_answered() >= look_at {
            look_at += LOOK_EVERY;
            watchdog.look(device, now).map_err(Error::Stuck)?;
            if look_at > audit_at && !power.is_off() {
                audit_at *= 2;
                device.audit(now - Instant::ZERO);
            }
            if !observer.progress(queue.total_answered()) {
                return Ok((last_answer, true));
            }
        }
    }
}

/// A design or a policy of the device gave an answer that was not allowed.
#[inline]
pub(crate) fn check_answers(device: &impl BlockDevice) -> Result<()> {
    match device.wrong_answer() {
        None => Ok(()),
        Some(wrong) => Err(told(wrong)),
    }
}

#[cold]
fn told(wrong: &WrongAnswer) -> Error {
    Error::WrongAnswer(wrong.to_string())
}

/// A closed loop has no times that could be checked before: it ends when it has taken the time that there is.
#[cold]
fn too_long(answered: u64) -> Error {
    Error::Argument {
        what: "the run".into(),
        found: format!("more than 106 days of simulated time with {answered} requests answered"),
        wanted: "at most 106 days: fewer requests, or a shorter think time".into(),
    }
}

/// Nothing is going to happen while requests are outstanding: a device at the end of its life gives them up.
#[cold]
fn give_up<D: BlockDevice>(device: &mut D, calendar: &mut Calendar<Event<D::Event>>) -> Result<()> {
    if device.give_up(&mut calendar.within(Event::Device)) {
        return Ok(());
    }
    let now = calendar.now();
    Err(Error::Stuck(format!("commands wait and nothing will happen\n{}", device.what_waits(now))))
}

/// Takes the answers that were given at `now`; whether there are any.
#[inline]
fn take_answers<D: BlockDevice, S: Arriving>(
    device: &mut D,
    queue: &mut HostQueue<S>,
    measurements: &mut Measurements<D>,
    now: Instant,
) -> Result<bool> {
    for answer in device.answers() {
        queue.answered(now, &answer.command);
        measurements.answered(answer, now, device.programmed())?;
    }
    let any = !device.answers().is_empty();
    device.forget_answers();
    Ok(any)
}

/// Submits what is due; true at the end of the workload.
#[inline]
fn submit<D: BlockDevice, S: Arriving>(
    device: &mut D,
    queue: &mut HostQueue<S>,
    calendar: &mut Calendar<Event<D::Event>>,
    host_at: &mut Option<Instant>,
) -> Result<bool> {
    loop {
        match queue.next(calendar.now()) {
            Submission::Now(command) => {
                device.submit(command, &mut calendar.within(Event::Device));
                check_answers(device)?;
                device.foresee(queue.upcoming());
            }
            Submission::At(time) => {
                if host_at.is_none() {
                    calendar.at(time, Event::Host);
                    *host_at = Some(time);
                }
                return Ok(false);
            }
            Submission::Wait => return Ok(false),
            Submission::End => return Ok(true),
        }
    }
}

#[cfg(test)]
mod tests;
