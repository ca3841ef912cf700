//! Runs. They release Python for other threads, and the user can stop them.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator};
use wordline_lab as lab;
use wordline_lab::observer::{RECOVERING, RUNNING};
use wordline_lab::summary::Outcome;
use wordline_lab::trace::Request;
use wordline_lab::{Error, Observer, PowerCutPoint, RunOptions, StepTarget, StopReason};

use crate::arrow::ArrowTable;
use crate::columns::{request, rows};
use crate::design::with_design;
use crate::design_object::CallStats;
use crate::device::Device;
use crate::errors::run_error;
use crate::log::{BATCH, LogBuilder};
use crate::provenance;
use crate::results::Summary;
use crate::settings::Settings;
use crate::workload::Workload;

/// Time between two checks for signals. Chosen: Ctrl-C takes effect well within half a second, and the checks
/// cost little.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The connection of another thread to a run: it shows the progress of the run, and can stop it.
#[pyclass(frozen, module = "wordline._native")]
#[derive(Clone, Default)]
pub struct Stop(Arc<Shared>);

/// The data of both threads.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    progress: Mutex<PhaseProgress>,
}

/// A phase of a run, the amount of work that is done, and its total if known.
type PhaseProgress = (&'static str, u64, Option<u64>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Stops the run at its next check.
    fn set(&self) {
        self.flag().store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to stop.
    fn is_set(&self) -> bool {
        self.flag().load(Ordering::Relaxed)
    }

    /// Name of the phase, empty before the first; amount of work done; total, if known.
    fn progress(&self) -> PhaseProgress {
        *self.lock()
    }
}

impl Stop {
    fn lock(&self) -> MutexGuard<'_, PhaseProgress> {
        self.0.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The flag that stops the run.
    pub fn flag(&self) -> &AtomicBool {
        &self.0.stop
    }

    /// Begins a phase.
    pub fn begin(&self, phase: &'static str, total: Option<u64>) {
        *self.lock() = (phase, 0, total);
    }

    /// Reports that all work of the phase is done.
    pub fn finish(&self) {
        let mut progress = self.lock();
        progress.1 = progress.2.unwrap_or(progress.1);
    }

    /// Reports the work done in the phase, and its total if it is known by now.
    pub fn report(&self, done: u64, total: Option<u64>) {
        let mut progress = self.lock();
        *progress = (progress.0, done, total.or(progress.2));
    }
}

impl Stop {
    /// The stop flag among the settings, or a flag that is never set.
    pub fn of(settings: &Settings<'_, '_>) -> PyResult<Self> {
        let given = settings.get("stop")?;
        Ok(given
            .map(|stop| stop.cast_into::<Self>())
            .transpose()?
            .map(|stop| stop.get().clone())
            .unwrap_or_default())
    }
}

/// An observer that stops a run when a Python signal handler raises an exception, or when another thread asks
/// for it.
pub struct RunObserver {
    look_at: Instant,
    stop: Stop,
    /// The exception of the signal handler.
    pub raised: Option<PyErr>,
    /// Call statistics of a design in Python. The run stops when the design raises an exception.
    calls: Option<Arc<CallStats>>,
    /// Phase that a recovery interrupted, and its total.
    interrupted: (&'static str, Option<u64>),
}

impl RunObserver {
    /// Creates an observer whose first check is one interval from now.
    pub fn begin(stop: Stop) -> Self {
        Self {
            look_at: Instant::now() + POLL_INTERVAL,
            stop,
            raised: None,
            calls: None,
            interrupted: (RUNNING, None),
        }
    }

    /// Reports the work done. Returns false if the run has to stop.
    fn goes_on(&mut self, done: u64) -> bool {
        self.stop.report(done, None);
        if self.raised.is_some() || self.stop.is_set() {
            return false;
        }
        let now = Instant::now();
        if now >= self.look_at {
            self.look_at = now + POLL_INTERVAL;
            if self.calls.as_ref().is_some_and(|calls| calls.has_raised()) {
                return false;
            }
            self.raised = Python::attach(|py| py.check_signals()).err();
        }
        self.raised.is_none()
    }
}

impl Observer for RunObserver {
    fn phase(&mut self, name: &'static str, total: Option<u64>) {
        self.stop.begin(name, total);
    }

    fn set_total(&mut self, total: u64) {
        let (_, done, _) = self.stop.progress();
        self.stop.report(done, Some(total));
    }

    fn recovery_began(&mut self, pages: u64) {
        let (phase, _, total) = self.stop.progress();
        self.interrupted = (phase, total);
        self.stop.begin(RECOVERING, Some(pages));
    }

    fn recovery_ended(&mut self, completed: u64) {
        let (phase, total) = self.interrupted;
        self.stop.begin(phase, total);
        self.stop.report(completed, None);
    }

    fn progress(&mut self, completed: u64) -> bool {
        self.goes_on(completed)
    }

    fn phase_progress(&mut self, done: u64) -> bool {
        self.goes_on(done)
    }
}

/// Outcome of a run: the result, the log if requested, and the exception that ended the run early.
type Ran = (Option<Summary>, Option<ArrowTable>, Option<PyErr>);

/// Runs a workload on a device. `log` keeps each request in memory. The setting `observe` is a function that gets
/// the requests in batches of `batch` requests, `source` an iterator that makes them in chunks.
#[pyfunction]
pub fn run(
    py: Python<'_>,
    device: &Device,
    workload: &Workload,
    settings: &Bound<'_, PyDict>,
    log: bool,
) -> PyResult<Ran> {
    let (options, stop) = (options(&Settings(settings))?, Stop::of(&Settings(settings))?);
    let steps = Steps::of(&Settings(settings), log)?;
    let design =
        Settings(settings).get("design")?.map(|object| with_design(&device.0, &object)).transpose()?;
    let (device, workload) = (design.as_ref().map_or(&device.0, |(device, _)| device), &workload.0);
    let (result, raised) = py.detach(|| {
        let calls = design.as_ref().map(|(_, calls)| Arc::clone(calls));
        let mut watch = RunObserver { calls, ..RunObserver::begin(stop.clone()) };
        let result = match log || steps.observe.is_some() || steps.source.is_some() {
            true => stepped(device, workload, &options, steps, &mut watch)
                .map(|(run, rows)| (run, log.then_some(rows))),
            false => lab::run(device, workload, &options, &mut watch).map(|run| (run, None)),
        };
        (result, watch.raised)
    });
    let calls = design.as_ref().map(|(_, calls)| calls);
    if let Some(raised) = calls.and_then(|calls| calls.take_raised()) {
        return Err(raised);
    }
    if result.as_ref().is_ok_and(|(run, _)| run.outcome != Outcome::Interrupted) {
        stop.finish();
    }
    match (result, raised) {
        (Ok((mut run, log)), raised) if calls.is_some() => {
            let seconds = run.simulator.wall_seconds + run.simulator.precondition_seconds;
            run.notes.extend(calls.map(|calls| calls.describe(seconds)));
            Ok((Some(Summary(run)), log, raised))
        }
        (Ok((run, log)), raised) => Ok((Some(Summary(run)), log, raised)),
        (Err(Error::Stopped), raised) => Ok((None, None, raised)),
        (Err(error), _) => Err(run_error(error, &other_files(&options))),
    }
}

/// Files of a run that are not traces.
pub fn other_files(options: &RunOptions) -> [Option<&Path>; 3] {
    [&options.from_snapshot, &options.save_snapshot, &options.log].map(Option::as_deref)
}

/// The part of Python in a run.
struct Steps {
    /// Whether all requests are kept in a log.
    log: bool,
    /// Number of requests of a batch.
    batch: u64,
    /// Gets the requests of each batch.
    observe: Option<Py<PyAny>>,
    /// Iterator over chunks of requests, each four columns as for a session, to be submitted in turn.
    source: Option<Py<PyAny>>,
}

impl Steps {
    fn of(settings: &Settings<'_, '_>, log: bool) -> PyResult<Self> {
        let object = |key| settings.get(key).map(|value| value.map(Bound::unbind));
        let batch = settings.whole("batch", 1)?.unwrap_or(BATCH);
        Ok(Self { log, batch, observe: object("observe")?, source: object("source")? })
    }

    /// Calls the observer with rows.
    fn observe(&self, rows: ArrowTable) -> PyResult<()> {
        match &self.observe {
            Some(function) if rows.rows() > 0 => Python::attach(|py| function.call1(py, (rows,)).map(drop)),
            _ => Ok(()),
        }
    }

    /// The next chunk of requests; `None` after the last.
    fn next_chunk(&mut self) -> PyResult<Option<Vec<Request>>> {
        let Some(source) = &self.source else { return Ok(None) };
        let chunk = Python::attach(|py| {
            let next = source.bind(py).cast::<PyIterator>()?.clone().next();
            let rows = next.map(|chunk| rows(py, chunk?.extract()?)).transpose()?;
            rows.map(|rows| rows.into_iter().map(request).collect::<PyResult<Vec<_>>>()).transpose()
        })?;
        if chunk.is_none() {
            self.source = None;
        }
        Ok(chunk)
    }
}

/// Runs a workload in steps, in which Python observes or makes the requests. All completions go into a log, or
/// batch by batch to the observer.
fn stepped(
    device: &lab::Device,
    workload: &lab::Workload,
    options: &RunOptions,
    mut steps: Steps,
    watch: &mut RunObserver,
) -> lab::error::Result<(lab::Summary, ArrowTable)> {
    if let Some(until) = &options.until {
        let (beside, instead) = match (&steps.source, &steps.observe) {
            (Some(_), _) => ("a drawn workload", ""),
            (None, Some(_)) => ("observe", ""),
            (None, None) => ("log=True", ", or a log in a file: log=PATH"),
        };
        return Err(Error::Argument {
            what: "until".into(),
            found: format!("{until} beside {beside}"),
            wanted: format!("one of them{instead}"),
        });
    }
    let mut session = lab::Session::of(workload.job(device, options, watch)?, watch)?;
    let mut log = LogBuilder::begin();
    loop {
        let target = match steps.next_chunk() {
            Ok(None) => StepTarget::Completions(steps.batch),
            Ok(Some(chunk)) => {
                chunk.iter().try_for_each(|request| session.submit(request).map(drop))?;
                StepTarget::Accepted
            }
            Err(raised) => {
                watch.raised = Some(raised);
                return Ok((session.summary(), log.end()));
            }
        };
        let reached = session.advance_observed(target, watch)?;
        let completions = session.completions();
        if steps.log || steps.observe.is_some() {
            log.add(&completions);
        }
        if steps.observe.is_some() {
            let rows = std::mem::replace(&mut log, LogBuilder::begin()).end();
            watch.raised = steps.observe(rows).err().or(watch.raised.take());
        }
        match reached {
            _ if watch.raised.is_some() => return Ok((session.summary(), log.end())),
            StopReason::Target => {}
            StopReason::Idle if steps.source.is_some() => {}
            StopReason::Idle => return Ok((session.finish_observed(watch)?, log.end())),
            StopReason::Stopped => return Ok((session.summary(), log.end())),
        }
    }
}

/// Converts the settings to options of a run or a session.
pub fn options(settings: &Settings<'_, '_>) -> PyResult<RunOptions> {
    let after = settings.whole("cut_power_after", 1)?.map(PowerCutPoint::Requests);
    let at = settings.read("cut_power_at")?.map(PowerCutPoint::Time);
    Ok(RunOptions {
        as_counted: false,
        seed: settings.whole("seed", 0)?.unwrap_or_default(),
        precondition: settings.read("precondition")?,
        warm_up: settings.read("warm_up")?,
        until: settings.read("until")?,
        from_snapshot: settings.path("from_snapshot")?,
        save_snapshot: settings.path("save_snapshot")?,
        log: settings.path("log")?,
        slowest: Some(settings.whole("slowest", 0)?.unwrap_or(lab::SLOWEST)),
        timeline: None,
        power_cut: after.or(at),
        provenance: provenance::of_interpreter(settings.0.py())?,
    })
}
