//! A run under way on a device of a known type: requests go through a host queue into it, and what happens is measured.

mod stepping;
#[cfg(test)]
mod tests;
mod warming;

use std::collections::BTreeSet;
use std::path::PathBuf;

use wordline_host::{HostQueue, Submission};
use wordline_kernel::{Calendar, Duration, Instant, Schedule};
use wordline_ssd::BlockDevice;
use wordline_ssd::device::Watchdog;

use crate::admission::Admission;
use crate::arrivals::{Arrivals, Incoming};
use crate::error::{Error, Result, check_answers};
use crate::event::Event;
use crate::load::Load;
use crate::log::Log;
use crate::measure::Measurements;
use crate::observer::{Observer, RUNNING};
use crate::output::Output;
use crate::power::Power;
use crate::prepare::Prepared;
use crate::record::Record;
use crate::steps::Reached;
use crate::timeline::Recorder;
use crate::until::Batches;
use warming::Warming;

/// Requests between two looks at the observer: a few milliseconds of work.
const LOOK_EVERY: u64 = 4_096;

/// Events without an answer between two looks at whether the device gets on. Chosen: some ten milliseconds of work.
const EVENTS_BETWEEN_LOOKS: u32 = 1 << 16;

/// Requests after which the device is audited for the first time; then after twice as many each time, and at
/// the end. Chosen: an audit of a large device takes as long as some hundred thousand requests.
const FIRST_AUDIT: u64 = 1 << 20;

/// The output files of a run, opened before it begins.
pub(crate) struct Opened {
    log: Option<Log>,
    snapshot: Option<Output>,
    timeline: Option<Recorder>,
}

impl Opened {
    /// Those that a load names.
    ///
    /// # Errors
    /// [`Error::File`] if one cannot be written.
    pub(crate) fn of(load: &Load) -> Result<Self> {
        let log = load.log.as_deref().map(Log::create).transpose()?;
        let snapshot = load.save_snapshot.as_deref().map(Output::open).transpose()?;
        let recorder = |(path, from, to): &(PathBuf, _, _)| Recorder::create(path, *from, *to);
        let timeline = load.timeline.as_ref().map(recorder).transpose()?;
        Ok(Self { log, snapshot, timeline })
    }
}

/// A run under way.
pub(crate) struct Running<D: BlockDevice> {
    prepared: Prepared<D>,
    queue: HostQueue<Arrivals>,
    calendar: Calendar<Event<D::Event>>,
    around: Around,
    power: Power,
    looks: Looks,
    warming: Warming,
    batches: Option<Batches>,
    measurements: Measurements<D>,
    /// The description of the load; its requests are in the queue.
    load: Load,
    snapshot: Option<Output>,
    /// The seconds on this machine that preconditioning took, and that the run has taken.
    seconds: [f64; 2],
}

/// The events around the device that are pending, so that none is scheduled twice.
#[derive(Default)]
struct Around {
    /// Those of the host by their times, the next one last.
    host: Vec<Instant>,
    /// The times of pauses.
    pauses: BTreeSet<Instant>,
}

/// When what is looked at next.
struct Looks {
    watchdog: Watchdog,
    /// Requests answered until the next look at observer and device.
    look_at: u64,
    audit_at: u64,
    /// When the run has taken the time that there is.
    latest: Instant,
    /// The time line, if one is wanted.
    timeline: Option<Recorder>,
}

/// Where to stop before the end of the run.
#[derive(Clone, Copy)]
struct Stop {
    /// After so many answers.
    answered: u64,
    /// At this time.
    time: Option<Instant>,
    /// Where the device has taken all requests that were submitted.
    taken: bool,
    /// Where there is nothing to do before the next request is submitted.
    rests: bool,
}

impl Stop {
    /// At the end of the run alone.
    const NEVER: Self = Self { answered: u64::MAX, time: None, taken: false, rests: false };

    /// Whether a run that goes to its end would not stop here.
    fn is_early(&self) -> bool {
        self.taken || self.rests || self.time.is_some()
    }

    /// Whether to stop before the next event, now that the host has submitted what it can; `is_over` tells whether the workload is.
    #[cold]
    fn reached<S: wordline_host::Source>(&self, queue: &HostQueue<S>, is_over: bool) -> Option<Reached> {
        let is_taken = queue.upcoming()[0].is_none();
        if self.taken && is_taken {
            return Some(Reached::Wanted);
        }
        let is_at_rest = queue.outstanding() == 0 && (is_over || self.rests && is_taken);
        (is_at_rest && self.time.is_none()).then_some(Reached::Rest)
    }
}

impl<D: BlockDevice> Running<D> {
    /// Begins to run a load on a device whose preparation began at `began`.
    pub(crate) fn begin(
        prepared: Prepared<D>,
        mut load: Load,
        opened: Opened,
        began: std::time::Instant,
        observer: &mut dyn Observer,
    ) -> Self {
        let precondition_seconds = began.elapsed().as_secs_f64();
        observer.phase(RUNNING, load.total);
        let calendar = prepared.agenda.calendar(Event::Device);
        let (begin, device) = (calendar.now(), &prepared.device);
        let admission = Admission::new(&device.shape(), load.namespace, load.stream, load.pace);
        let requests = std::mem::replace(&mut load.requests, Incoming::generated(std::iter::empty()));
        let arrivals = Arrivals::new(requests, admission);
        let measurements = Measurements::new(Record::of(opened.log), device, begin, arrivals.jobs());
        let queue = HostQueue::spread(arrivals, load.pace, load.spread).beginning(begin);
        let looks = Looks {
            watchdog: Watchdog::of(device, begin),
            look_at: LOOK_EVERY,
            audit_at: FIRST_AUDIT,
            latest: begin + Duration::LIMIT,
            timeline: opened.timeline,
        };
        let warming = Warming::of(&load);
        let is_measured = matches!(warming, Warming::Over(_));
        let mut running = Self {
            prepared,
            queue,
            calendar,
            around: Around::default(),
            power: Power::default(),
            looks,
            warming,
            batches: load.until.clone().map(Batches::new),
            measurements,
            load,
            snapshot: opened.snapshot,
            seconds: [precondition_seconds, 0.0],
        };
        if is_measured {
            running.begin_to_measure();
        }
        running
    }

    /// The event loop, until `stop`, the end of the workload, or the observer stops it.
    fn simulate(&mut self, stop: Stop, observer: &mut dyn Observer) -> Result<Reached> {
        let Self { prepared, queue, calendar, around, power, looks, measurements, .. } = self;
        let device = &mut prepared.device;
        let (is_early, left_out) = (stop.is_early(), self.warming.answered());
        let mut look_at = looks.look_at.min(stop.answered);
        loop {
            check_answers(device)?;
            let is_over = !power.is_off() && submit(device, queue, calendar, &mut around.host)?;
            if is_over && queue.outstanding() == 0 && stop.time.is_none() {
                return Ok(Reached::Rest);
            }
            if is_early
                && !power.is_off()
                && let Some(reached) = stop.reached(queue, is_over)
            {
                return Ok(reached);
            }
            // Until something is answered or the host is due, its queue has nothing new to say.
            for left in (0..EVENTS_BETWEEN_LOOKS).rev() {
                // The recovery of some devices takes no events.
                if power.is_off() && power.is_back(device) {
                    observer.recovered(queue.total_answered() - left_out);
                    break;
                }
                match calendar.advance() {
                    Some(Event::Device(event)) => device.handle(event, &mut calendar.within(Event::Device)),
                    Some(Event::Host) => {
                        around.host.pop();
                        break;
                    }
                    Some(Event::PowerCut) => {
                        cut(power, device, queue, calendar, (around, looks, stop), observer);
                    }
                    Some(Event::Timeline) => looks.timeline_comes(calendar.now(), device)?,
                    Some(Event::Pause) if !pauses(device, queue, calendar, (around, stop))? => {}
                    Some(Event::Pause) => return Ok(Reached::Wanted),
                    None => give_up(device, calendar)?,
                }
                if power.is_off() && power.is_long() && !observer.goes_on(device.pages_recovered()) {
                    return Ok(Reached::Stopped);
                }
                if !device.answers().is_empty() {
                    break;
                }
                if left == 0 {
                    looks.look_at_device(device, calendar.now())?;
                }
            }
            let now = calendar.now();
            (now <= looks.latest).then_some(()).ok_or_else(|| too_long(queue.total_answered()))?;
            take_answers(device, queue, measurements, now)?;
            let answered = queue.total_answered();
            if power.is_due(answered - left_out) {
                cut(power, device, queue, calendar, (around, looks, stop), observer);
            }
            if answered >= look_at {
                if answered >= looks.look_at
                    && !looks.look(device, now, power.is_off(), (answered, left_out), observer)?
                {
                    return Ok(Reached::Stopped);
                }
                if answered >= stop.answered {
                    return Ok(Reached::Wanted);
                }
                look_at = looks.look_at.min(stop.answered);
            }
        }
    }
}

impl Around {
    /// Lets a pause come at this time.
    fn pause_at<E: Copy + PartialEq>(&mut self, time: Instant, calendar: &mut Calendar<Event<E>>) {
        if self.pauses.insert(time) {
            calendar.at(time, Event::Pause);
        }
    }
}

impl Looks {
    /// Looks whether a device gets on, and writes what was recorded for the time line so far.
    #[cold]
    fn look_at_device(&mut self, device: &mut impl BlockDevice, now: Instant) -> Result<()> {
        self.timeline.as_mut().map_or(Ok(()), |timeline| timeline.drain(device))?;
        self.watchdog.look(device, now).map_err(Error::Stuck)
    }

    /// The time line begins or ends.
    #[cold]
    fn timeline_comes(&mut self, now: Instant, device: &mut impl BlockDevice) -> Result<()> {
        self.timeline.as_mut().map_or(Ok(()), |timeline| timeline.comes(now, device))
    }

    /// Looks at a device, and at the observer; whether the run is to go on.
    #[cold]
    fn look(
        &mut self,
        device: &mut impl BlockDevice,
        now: Instant,
        recovers: bool,
        (answered, left_out): (u64, u64),
        observer: &mut dyn Observer,
    ) -> Result<bool> {
        self.look_at += LOOK_EVERY;
        self.look_at_device(device, now)?;
        if self.look_at > self.audit_at && !recovers {
            self.audit_at *= 2;
            device.audit(now - Instant::ZERO);
        }
        Ok(observer.progress(answered - left_out))
    }
}

/// Cuts the power. The events around the device are gone with its own; the time at which to stop is set once more, and those of the time line.
#[cold]
fn cut<D: BlockDevice>(
    power: &mut Power,
    device: &mut D,
    queue: &mut HostQueue<Arrivals>,
    calendar: &mut Calendar<Event<D::Event>>,
    (around, looks, stop): (&mut Around, &Looks, Stop),
    observer: &mut dyn Observer,
) {
    power.comes();
    *around = Around::default();
    power.cut(device, queue, calendar, observer);
    let now = calendar.now();
    for at in looks.timeline.iter().flat_map(|timeline| timeline.later(now)) {
        calendar.at(at, Event::Timeline);
    }
    if let Some(time) = stop.time {
        around.pause_at(time, calendar);
    }
}

/// Whether to stop at the pause that has just come. What else is due at this instant goes before it, and so does giving up commands
/// for which nothing will happen any more.
#[cold]
fn pauses<D: BlockDevice>(
    device: &mut D,
    queue: &HostQueue<Arrivals>,
    calendar: &mut Calendar<Event<D::Event>>,
    (around, stop): (&mut Around, Stop),
) -> Result<bool> {
    let now = calendar.now();
    around.pauses.remove(&now);
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
    around.pause_at(now, calendar);
    Ok(false)
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

/// Takes the answers that were given at `now`.
#[inline]
fn take_answers<D: BlockDevice>(
    device: &mut D,
    queue: &mut HostQueue<Arrivals>,
    measurements: &mut Measurements<D>,
    now: Instant,
) -> Result<()> {
    for answer in device.answers() {
        let job = queue.source().job_of(answer.command.tag);
        queue.answered(now, &answer.command);
        measurements.answered(answer, job, now, device.programmed())?;
    }
    measurements.look(device, now);
    device.forget_answers();
    Ok(())
}

/// Submits what is due; true at the end of the workload.
#[inline]
fn submit<D: BlockDevice>(
    device: &mut D,
    queue: &mut HostQueue<Arrivals>,
    calendar: &mut Calendar<Event<D::Event>>,
    due: &mut Vec<Instant>,
) -> Result<bool> {
    loop {
        match queue.next(calendar.now()) {
            Submission::Now(command) => {
                device.submit(command, &mut calendar.within(Event::Device));
                check_answers(device)?;
                device.foresee(queue.upcoming());
            }
            Submission::At(time) => {
                // Where one comes before, the queue is asked again then.
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
