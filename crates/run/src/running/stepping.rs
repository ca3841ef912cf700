//! The interface through which a session drives a run.

use wordline_device::snapshot::Agenda;
use wordline_device::{BlockDevice, ZoneDescriptor};
use wordline_kernel::{Instant, Metrics, Schedule};

use super::{HostEvents, Running, StopCondition};
use crate::calendar::Event;
use crate::error::{Error, Result};
use crate::load::Load;
use crate::measure::RunEnd;
use crate::observer::{Observer, SAVING};
use crate::output::Output;
use crate::precision::Batches;
use crate::provenance::{Fingerprint, TraceFile};
use crate::quantity::Quantity;
use crate::record::{CompletedRequest, Record};
use crate::steps::{Standing, StepTarget, SteppedRun, StopReason};
use crate::summary::{Host, Outcome, Summary};
use crate::timeline::Recorder;
use crate::until::Until;
use wordline_trace::Request;

impl<D> SteppedRun for Running<D>
where
    D: BlockDevice<Event: Send, Mark: Send> + Send,
{
    fn submit(&mut self, request: &Request) -> Result<u64> {
        let now = self.now();
        self.queue.source_mut().enqueue(request, now, &self.load.source.name)
    }

    fn advance(&mut self, until: StepTarget, observer: &mut dyn Observer) -> Result<StopReason> {
        Record::keep(self.measurements.record());
        let warm = self.warm_up(observer)?;
        if warm != StopReason::Target {
            return Ok(warm);
        }
        let when_idle =
            StopCondition { when_idle: self.queue.source().accepts_requests(), ..StopCondition::NEVER };
        let stop = match until {
            StepTarget::Idle => when_idle,
            StepTarget::Accepted => StopCondition { all_accepted: true, ..when_idle },
            StepTarget::Completions(0) => return Ok(StopReason::Target),
            StepTarget::Completions(more) => {
                StopCondition { completed: self.queue.total_completed().saturating_add(more), ..when_idle }
            }
            StepTarget::CompletionBy(time) => StopCondition {
                completed: self.queue.total_completed() + 1,
                time: Some(self.pause_at(time)?),
                ..when_idle
            },
            StepTarget::Time(time) => StopCondition { time: Some(self.pause_at(time)?), ..when_idle },
        };
        self.resume(stop, observer)
    }

    fn completions(&mut self) -> Vec<CompletedRequest> {
        self.measurements.record().as_mut().map(Record::take).unwrap_or_default()
    }

    fn standing(&self) -> Standing {
        let queue = &self.queue;
        let left_out = self.warming.completed();
        // Requests that were outstanding when the measurement began count as measured.
        let [submitted, completed] =
            [queue.total_submitted(), queue.total_completed()].map(|count| count - left_out);
        let drawn = queue.upcoming().iter().flatten().count() as u64;
        Standing {
            now: self.now(),
            waiting: if queue.source().accepts_requests() { queue.source().pending() + drawn } else { 0 },
            submitted,
            completed,
            outstanding: queue.outstanding(),
            lost: submitted - completed - queue.outstanding(),
            recovers: self.power.is_off(),
        }
    }

    fn metrics(&self) -> Metrics {
        self.measurements.metrics(&self.prepared.device, self.calendar.now())
    }

    fn host(&self) -> Host {
        self.measurements.host_until(self.calendar.now())
    }

    fn summary(&mut self) -> Summary {
        let is_over = self.has_ended() && !self.power.is_off();
        let outcome = if is_over { self.outcome(false) } else { Outcome::Interrupted };
        let cuts = self.power.results().iter().map(|cut| cut.note());
        let notes = self.load.notes.iter().cloned().chain(cuts).collect();
        self.summary_of(None, outcome, notes)
    }

    fn report_zones(&self) -> Result<Vec<ZoneDescriptor>> {
        let refuse = |found: String, wanted: &str| {
            Err(Error::Argument { what: "the report of zones".into(), found, wanted: wanted.into() })
        };
        match self.prepared.device.report_zones() {
            None => refuse(
                format!("a device without zones, {}", self.load.device_name),
                "a device with `device = \"zoned-namespace\"`, such as the preset zns-tlc-raw",
            ),
            Some(_) if self.power.is_off() => {
                refuse("one while the device recovers".into(), "one when it has recovered")
            }
            Some(zones) => Ok(zones),
        }
    }

    fn cut_power(&mut self, observer: &mut dyn Observer) -> Result<()> {
        if self.power.is_off() {
            return Err(Error::Argument {
                what: "a power cut".into(),
                found: "one while the device recovers from the one before".into(),
                wanted: "one when it has recovered".into(),
            });
        }
        self.host_events = HostEvents::default();
        self.power.cut(&mut self.prepared.device, &mut self.queue, &mut self.calendar, observer);
        Ok(())
    }

    fn save(&mut self, to: Output, observer: &mut dyn Observer) -> Result<()> {
        let (outstanding, recovers) = (self.queue.outstanding(), self.power.is_off());
        if outstanding > 0 || recovers {
            let found = if recovers {
                "a device that recovers".into()
            } else {
                format!("{outstanding} outstanding requests")
            };
            return Err(Error::Argument {
                what: format!("the snapshot {}", to.path().display()),
                found,
                wanted: "a session at rest".into(),
            });
        }
        self.save_to(to, observer)
    }

    fn finish(&mut self, observer: &mut dyn Observer) -> Result<Summary> {
        self.queue.source_mut().end();
        Record::stop_keeping(self.measurements.record());
        let reached = match self.warm_up(observer)? {
            StopReason::Target => self.measure_to_the_end(observer)?,
            // A rebuild continues without requests.
            StopReason::Idle if self.load.until == Some(Until::Rebuilt) => {
                self.measure_to_the_end(observer)?
            }
            reached => reached,
        };
        self.conclude(reached == StopReason::Stopped, observer)
    }
}

impl<D: BlockDevice> Running<D> {
    /// The present, from the beginning of the measurement.
    fn now(&self) -> Instant {
        Instant::ZERO + (self.calendar.now() - self.measurements.begin())
    }

    /// Schedules a pause at a time from the beginning of the measurement. Returns its instant.
    pub(super) fn pause_at(&mut self, time: Instant) -> Result<Instant> {
        let now = self.now();
        if time < now || time > Instant::LIMIT {
            let from = Quantity::Seconds(now.seconds());
            return Err(Error::Argument {
                what: "the time to go on to".into(),
                found: Quantity::Seconds(time.seconds()).to_string(),
                wanted: format!("from {from}, the present, to 106 days"),
            });
        }
        let at = self.measurements.begin() + (time - Instant::ZERO);
        self.host_events.pause_at(at, &mut self.calendar);
        Ok(at)
    }

    pub(super) fn resume(&mut self, stop: StopCondition, observer: &mut dyn Observer) -> Result<StopReason> {
        let started = std::time::Instant::now();
        let reached = self.simulate(stop, observer);
        self.seconds[1] += started.elapsed().as_secs_f64();
        let reached = reached?;
        let submitted = self.queue.total_submitted();
        let Load { source, locator, .. } = &self.load;
        self.queue.source_mut().check(submitted, &source.name, locator.as_ref())?;
        Ok(reached)
    }

    fn outcome(&self, interrupted: bool) -> Outcome {
        match (interrupted, self.prepared.device.is_read_only()) {
            (true, _) => Outcome::Interrupted,
            (false, true) => Outcome::ReadOnly,
            (false, false) => Outcome::Complete,
        }
    }

    /// Ends the run: makes the final checks, saves the snapshot, and collects notes and result.
    fn conclude(&mut self, mut interrupted: bool, observer: &mut dyn Observer) -> Result<Summary> {
        // No audit is possible during a recovery. An interrupted run does not wait for the end of the
        // recovery, so it has no audit.
        if !interrupted && self.queue.outstanding() == 0 {
            self.prepared.device.audit(self.calendar.now() - Instant::ZERO);
        }
        self.load.notes.extend(self.load.late_notes.take());
        self.load.notes.extend(self.power.notes());
        self.load.notes.extend(self.checks.timeline.as_ref().and_then(Recorder::note));
        if let Some(to) = self.snapshot.take() {
            observer.phase(SAVING, None);
            let saved = self.save_after(to, interrupted, observer)?;
            interrupted |= !saved.0;
            self.load.notes.push(saved.1);
        }
        self.measurements.extend_to(&self.prepared.device, self.calendar.now());
        let outcome = self.outcome(interrupted);
        // An interrupted run does not wait for the digest of the trace file.
        let ready = |file: &Fingerprint| outcome != Outcome::Interrupted || file.is_finished();
        let trace_file = self.load.trace_file.take().filter(ready).and_then(Fingerprint::finish);
        let summary = self.summary_of(trace_file, outcome, self.load.notes.clone());
        if let Some(record) = self.measurements.record().take() {
            record.finish(&summary)?;
        }
        if let Some(timeline) = self.checks.timeline.take() {
            timeline.finish(&mut self.prepared.device, self.calendar.now(), &summary)?;
        }
        Ok(summary)
    }

    fn summary_of(&self, trace_file: Option<TraceFile>, outcome: Outcome, notes: Vec<String>) -> Summary {
        let ending = RunEnd { end: self.calendar.now(), outcome, trace_file, notes, seconds: self.seconds };
        let summary = self.measurements.summary(&self.load, &self.prepared.device, ending);
        let (warm_up, precision) =
            (self.warming.left_out().cloned(), self.batches.as_ref().map(Batches::attained));
        Summary { warm_up, precision, rebuild: self.rebuilt.clone(), ..summary }
            .with_power_cuts(self.power.results().to_vec())
    }

    /// Saves the device after its run. Returns whether it was saved, and a note.
    fn save_after(
        &mut self,
        to: Output,
        interrupted: bool,
        observer: &mut dyn Observer,
    ) -> Result<(bool, String)> {
        let name = to.path().display().to_string();
        let stopped = || Ok((false, format!("the run was stopped: the snapshot {name} was not saved")));
        if interrupted {
            return stopped();
        }
        match self.save_to(to, observer) {
            Err(Error::Stopped) => stopped(),
            saved => saved.map(|()| (true, format!("saved as the snapshot {name}"))),
        }
    }

    /// Saves the device with its pending events.
    fn save_to(&mut self, to: Output, observer: &mut dyn Observer) -> Result<()> {
        let of_device = |(time, event)| match event {
            Event::Device(event) => Some((time, event)),
            Event::Host | Event::PowerCut | Event::Timeline | Event::Pause => None,
        };
        let events = self.calendar.pending().into_iter().filter_map(of_device).collect();
        let prepared = &mut self.prepared;
        prepared.agenda = Agenda { now: self.calendar.now(), events };
        let (digest, source, seed) = (prepared.device.digest(), &self.load.source.name, self.load.seed);
        prepared.history.push(format!("ran {source} with seed {seed} up to the digest {digest}"));
        let saved = prepared.save(&self.load.device_name, &self.load.config_text, to, observer);
        prepared.history.pop();
        saved
    }
}
