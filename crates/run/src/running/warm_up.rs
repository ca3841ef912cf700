//! The warm-up: the beginning of a run, which is not measured.

use wordline_device::BlockDevice;
use wordline_device::tail::Tail;
use wordline_host::Source;
use wordline_kernel::{Instant, Schedule};

use super::{Running, StopCondition};
use crate::calendar::Event;
use crate::error::{Error, Result};
use crate::load::Load;
use crate::measure::{Measurements, RunEnd};
use crate::measured::{LeftOut, WarmUpEnd};
use crate::observer::{Observer, RUNNING, SETTLING};
use crate::power::Power;
use crate::precision::Batches;
use crate::settling::{PassChanges, Settling};
use crate::steps::StopReason;
use crate::summary::{Outcome, Summary};
use crate::transient::{Reading, Transient, WarmUp};
use crate::until::Until;

/// The warm-up that is still to come, or the result of a warm-up that is over.
#[derive(Debug)]
pub(super) enum WarmUpState {
    Pending(WarmUp),
    Done(Option<LeftOut>),
}

impl WarmUpState {
    /// The state before a load begins.
    pub fn of(load: &Load) -> Self {
        match load.warm_up {
            WarmUp::None if load.settling.is_none() => Self::Done(None),
            wanted => Self::Pending(wanted),
        }
    }

    /// Number of requests that completed in the warm-up.
    pub fn completed(&self) -> u64 {
        self.left_out().map_or(0, |left_out| left_out.requests)
    }

    /// The warm-up that was left out of the measurement.
    pub fn left_out(&self) -> Option<&LeftOut> {
        if let Self::Done(left_out) = self { left_out.as_ref() } else { None }
    }
}

impl<D: BlockDevice> Running<D> {
    /// Runs the warm-up if there is one, and begins the measurement. If the observer stops the warm-up, or
    /// the requests end before it, everything is measured and a note says so.
    pub(super) fn warm_up(&mut self, observer: &mut dyn Observer) -> Result<StopReason> {
        let WarmUpState::Pending(wanted) = self.warming else { return Ok(StopReason::Target) };
        self.warming = WarmUpState::Done(None);
        observer.phase(SETTLING, None);
        let record = self.measurements.record().take();
        let ended = match self.load.settling.take() {
            Some(settling) => self.run_passes(&settling, observer),
            None => self.run_warm_up(wanted, observer),
        };
        *self.measurements.record() = record;
        let (mut reached, end) = ended?;
        if end == WarmUpEnd::Asked && self.load.until != Some(Until::Rebuilt) && self.has_ended() {
            reached = StopReason::Idle;
        }
        if reached == StopReason::Target {
            self.note_failed_before(end);
            self.restart_measurements(end);
        } else {
            let why = if reached == StopReason::Stopped { "it was stopped" } else { "the requests ended" };
            self.load.notes.push(format!("{why} before the warm-up was over: the result includes all of it"));
            self.begin_measurement();
        }
        observer.phase(RUNNING, self.load.total);
        Ok(reached)
    }

    /// Whether no request is outstanding, and the workload has no more requests, or a session none that it has
    /// not submitted.
    pub(super) fn has_ended(&self) -> bool {
        let (queue, source) = (&self.queue, self.queue.source());
        let is_drawn = queue.upcoming()[0].is_none() && source.pending() == 0;
        is_drawn && queue.outstanding() == 0 && (source.accepts_requests() || !source.has_more())
    }

    fn run_warm_up(
        &mut self,
        wanted: WarmUp,
        observer: &mut dyn Observer,
    ) -> Result<(StopReason, WarmUpEnd)> {
        if let Some((limit, total)) = wanted.limit(self.load.total).zip(self.additional()) {
            // Requests of an open loop may arrive faster than they complete. A batch may go beyond the limit.
            self.queue.source_mut().limit_to(total.saturating_add(limit.saturating_mul(2)));
        }
        let stop = match wanted {
            WarmUp::None => return Ok((StopReason::Target, WarmUpEnd::Asked)),
            WarmUp::Requests(requests) => StopCondition { completed: requests, ..StopCondition::NEVER },
            WarmUp::Time(time) => {
                StopCondition { time: Some(self.pause_at(Instant::ZERO + time)?), ..StopCondition::NEVER }
            }
            WarmUp::Rule => return self.until_steady(observer),
            WarmUp::Failure => return Ok((self.until_before_failure(observer)?, WarmUpEnd::Failure)),
        };
        Ok((self.resume(stop, observer)?, WarmUpEnd::Asked))
    }

    /// Advances until the load is steady, or until the limit of requests.
    fn until_steady(&mut self, observer: &mut dyn Observer) -> Result<(StopReason, WarmUpEnd)> {
        let most = WarmUp::Rule.limit(self.load.total).unwrap_or(u64::MAX);
        // Without additional requests, warm-up and measurement share the requests of the workload; the
        // warm-up takes at most half.
        let most = if self.load.beside > 0 { most } else { most.min(self.load.total.unwrap_or(most) / 2) };
        let mut transient = Transient::begin(self.reading());
        loop {
            let stop = StopCondition { completed: transient.next(), ..StopCondition::NEVER };
            let reached = self.resume(stop, observer)?;
            if reached != StopReason::Target {
                return Ok((reached, WarmUpEnd::Rule));
            }
            transient.add(self.reading());
            let unsteady = transient.unsteady();
            if unsteady.is_empty() {
                return Ok((StopReason::Target, WarmUpEnd::Rule));
            }
            if self.queue.total_completed() >= most {
                self.load.notes.push(format!(
                    "the load was not steady when measuring began; these still drift (MSER-5 cuts more than half): {}; a longer --warm-up, or \
                     another --precondition, may help",
                    unsteady.join(", ")
                ));
                return Ok((StopReason::Target, WarmUpEnd::Limit));
            }
        }
    }

    /// Runs whole passes over the workload until the device has settled, or until the greatest number of
    /// passes.
    fn run_passes(
        &mut self,
        wanted: &Settling,
        observer: &mut dyn Observer,
    ) -> Result<(StopReason, WarmUpEnd)> {
        let mut passes = PassChanges::new(wanted);
        loop {
            self.measurements.begin_batch(&self.prepared.device, self.calendar.now());
            let reached =
                self.resume(StopCondition { completed: passes.next(), ..StopCondition::NEVER }, observer)?;
            if reached != StopReason::Target {
                return Ok((reached, WarmUpEnd::Rule));
            }
            passes.add(&self.batch()).map_err(|column| Error::Argument {
                what: "the columns by which a device settles".into(),
                found: column.into(),
                wanted: "a metric of the result that is a number, such as write_amplification".into(),
            })?;
            if passes.is_settled() {
                return Ok((StopReason::Target, WarmUpEnd::Rule));
            }
            if passes.is_last() {
                self.load.notes.push(passes.note());
                return Ok((StopReason::Target, WarmUpEnd::Limit));
            }
        }
    }

    /// Advances to the end of the requests, until a metric has the wanted precision, or until an array is
    /// rebuilt.
    pub(super) fn measure_to_the_end(&mut self, observer: &mut dyn Observer) -> Result<StopReason> {
        if self.load.until == Some(Until::Rebuilt) {
            return self.measure_until_rebuilt(observer);
        }
        let Some(mut batches) = self.batches.take() else {
            return self.measure_all(observer);
        };
        let unknown = |batches: &Batches, wanted| Error::Argument {
            what: "the metric of --until".into(),
            found: batches.column().to_owned(),
            wanted,
        };
        let (mut is_new, mut reached) = (true, Ok(StopReason::Target));
        while let Ok(StopReason::Target) = reached
            && !batches.attained().is_reached
        {
            if is_new {
                self.measurements.begin_batch(&self.prepared.device, self.calendar.now());
            }
            let stop = StopCondition {
                completed: self.queue.total_completed() + batches.next(),
                ..StopCondition::NEVER
            };
            reached = self.resume(stop, observer);
            if let Ok(StopReason::Target) = reached {
                is_new = batches.take(&self.batch()).map_err(|wanted| unknown(&batches, wanted))?;
            }
        }
        // A run may end before its first batch.
        batches.check(&self.batch()).map_err(|wanted| unknown(&batches, wanted))?;
        self.batches = Some(batches);
        match reached? {
            StopReason::Target => self.end_load(observer),
            reached => Ok(reached),
        }
    }

    /// Number of measured requests, if those of the warm-up are additional.
    fn additional(&self) -> Option<u64> {
        self.load.total.filter(|_| self.load.beside > 0)
    }

    /// Advances until the wanted number of requests is measured. At the begin of the measurement more may be
    /// outstanding; then some are outstanding at its end. They complete if a snapshot is wanted.
    fn measure_all(&mut self, observer: &mut dyn Observer) -> Result<StopReason> {
        let Some(total) = self.additional().filter(|_| self.snapshot.is_none()) else {
            return self.resume(StopCondition::NEVER, observer);
        };
        let completed = self.warming.completed().saturating_add(total);
        let reached = self.resume(StopCondition { completed, ..StopCondition::NEVER }, observer)?;
        if reached == StopReason::Target && self.queue.outstanding() > 0 {
            self.load.notes.push(format!(
                "{} requests were outstanding when the last of the {total} measured ones completed: more than {total} were when measuring began",
                self.queue.outstanding()
            ));
        }
        Ok(reached)
    }

    /// Draws no more requests. The outstanding ones complete before the run ends.
    pub(super) fn end_load(&mut self, observer: &mut dyn Observer) -> Result<StopReason> {
        self.queue.source_mut().limit_to(0);
        self.resume(StopCondition::NEVER, observer)
    }

    /// The result of the current batch.
    fn batch(&self) -> Summary {
        let (end, outcome) = (self.calendar.now(), Outcome::Complete);
        let ending = RunEnd { end, outcome, trace_file: None, notes: Vec::new(), seconds: self.seconds };
        let batch = self.measurements.batch().expect("it was begun");
        batch.summary(&self.load, &self.prepared.device, ending).with_power_cuts(Vec::new())
    }

    fn reading(&self) -> Reading {
        let (device, at) = (&self.prepared.device, self.calendar.now());
        let (gauges, programmed) = (device.gauges(at), device.programmed());
        Reading {
            at,
            completed: self.queue.total_completed(),
            written: self.measurements.written(),
            programmed: (programmed.host + programmed.other) * device.shape().logical_page.0,
            buffered: gauges.buffered_pages,
            free: gauges.free_blocks,
        }
    }

    /// Discards the measurements so far, and begins the measurement.
    fn restart_measurements(&mut self, end: WarmUpEnd) {
        let (now, completed) = (self.calendar.now(), self.queue.total_completed());
        let seconds = (now - self.measurements.begin()).seconds();
        let left_out = LeftOut { requests: completed, seconds, end };
        // Nothing is left out if a member fails at once.
        let is_empty = end == WarmUpEnd::Failure && completed == 0 && seconds == 0.0;
        self.warming = WarmUpState::Done(Some(left_out).filter(|_| !is_empty));
        let record = self.measurements.record().take();
        let jobs = self.queue.source().jobs();
        self.measurements = Measurements::new(record, &self.prepared.device, now, jobs);
        self.begin_measurement();
    }

    /// Begins everything that counts from the beginning of the measurement: tail attribution, time line,
    /// power cut, and number of requests.
    pub(super) fn begin_measurement(&mut self) {
        let begin = self.measurements.begin();
        if let Some(slowest) = self.load.slowest {
            self.prepared.device.explain(Tail::keeping_slowest(slowest as usize));
        }
        for at in self.checks.timeline.iter_mut().flat_map(|timeline| timeline.start_at(begin)) {
            self.calendar.at(at.max(self.calendar.now()), Event::Timeline);
        }
        self.power = Power::new(self.load.power_cut, &mut self.calendar);
        if let Some(total) = self.additional() {
            self.queue.source_mut().limit_to(self.warming.completed() + total);
        }
    }
}
