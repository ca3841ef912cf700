//! Runs. They release Python for other threads, and the user can stop them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use wordline_lab as lab;
use wordline_lab::{Error, Observer, PowerCutPoint, RunOptions, StepTarget, StopReason};

use crate::design::with_design;
use crate::design_object::CallStats;
use crate::device::Device;
use crate::errors::run_error;
use crate::log::{BATCH, Log, LogBuilder};
use crate::provenance;
use crate::results::Summary;
use crate::settings::Settings;
use crate::workload::Workload;

/// Time between two checks for signals. Chosen: Ctrl-C takes effect well within half a second, and the checks
/// cost little.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A request of another thread to stop a run.
#[pyclass(frozen, module = "wordline._native")]
#[derive(Clone, Default)]
pub struct Stop(pub Arc<AtomicBool>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Stops the run at its next check.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
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
}

impl RunObserver {
    /// Creates an observer whose first check is one interval from now.
    pub fn begin(stop: Stop) -> Self {
        Self { look_at: Instant::now() + POLL_INTERVAL, stop, raised: None, calls: None }
    }

    fn phase_progress(&mut self) -> bool {
        if self.raised.is_some() || self.stop.0.load(Ordering::Relaxed) {
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
    fn progress(&mut self, _completed: u64) -> bool {
        self.phase_progress()
    }

    fn phase_progress(&mut self, _done: u64) -> bool {
        RunObserver::phase_progress(self)
    }
}

/// Outcome of a run: the result, the log if requested, and the exception that ended the run early.
type Ran = (Option<Summary>, Option<Log>, Option<PyErr>);

/// Runs a workload on a device. `log` keeps each request in memory.
#[pyfunction]
pub fn run(
    py: Python<'_>,
    device: &Device,
    workload: &Workload,
    settings: &Bound<'_, PyDict>,
    log: bool,
) -> PyResult<Ran> {
    let (options, stop) = (options(&Settings(settings))?, Stop::of(&Settings(settings))?);
    let design =
        Settings(settings).get("design")?.map(|object| with_design(&device.0, &object)).transpose()?;
    let (device, workload) = (design.as_ref().map_or(&device.0, |(device, _)| device), &workload.0);
    let (result, raised) = py.detach(|| {
        let calls = design.as_ref().map(|(_, calls)| Arc::clone(calls));
        let mut watch = RunObserver { calls, ..RunObserver::begin(stop) };
        let result = match log {
            true => logged(device, workload, &options, &mut watch).map(|(run, log)| (run, Some(log))),
            false => lab::run(device, workload, &options, &mut watch).map(|run| (run, None)),
        };
        (result, watch.raised)
    });
    let calls = design.as_ref().map(|(_, calls)| calls);
    if let Some(raised) = calls.and_then(|calls| calls.take_raised()) {
        return Err(raised);
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

/// Runs a workload in steps, and collects all completions in a log.
fn logged(
    device: &lab::Device,
    workload: &lab::Workload,
    options: &RunOptions,
    watch: &mut RunObserver,
) -> lab::error::Result<(lab::Summary, Log)> {
    if let Some(until) = &options.until {
        return Err(Error::Argument {
            what: "until".into(),
            found: format!("{} beside log=True", until.column),
            wanted: "a log in a file, log=PATH".into(),
        });
    }
    let mut session = lab::Session::of(workload.job(device, options, watch)?, watch)?;
    let mut log = LogBuilder::begin();
    loop {
        let reached = session.advance_observed(StepTarget::Completions(BATCH), watch)?;
        log.add(&session.completions());
        match reached {
            StopReason::Target => {}
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
