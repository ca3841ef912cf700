//! Runs, which leave Python to its other threads and end when the user wants.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use wordline_lab as lab;
use wordline_lab::provenance::Provenance;
use wordline_lab::{CutAfter, Error, Observer, Reached, RunOptions, Until};

use crate::asked::Calls;
use crate::design::with_design;
use crate::device::Device;
use crate::errors::of_run;
use crate::log::{BATCH, Log, Logging};
use crate::results::Summary;
use crate::settings::Settings;
use crate::workload::Workload;

/// Time between two looks for a signal. Chosen: Ctrl-C is answered long before half a second, and the look costs nothing.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A wish of another thread that a run ends.
#[pyclass(frozen, module = "wordline._native")]
#[derive(Clone, Default)]
pub struct Stop(pub Arc<AtomicBool>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Ends the run at its next look.
    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Stop {
    /// The one of the settings, or one that nobody sets.
    pub fn of(settings: &Settings<'_, '_>) -> PyResult<Self> {
        let given = settings.get("stop")?;
        Ok(given
            .map(|stop| stop.cast_into::<Self>())
            .transpose()?
            .map(|stop| stop.get().clone())
            .unwrap_or_default())
    }
}

/// An observer that ends a run where Python has a signal to handle that raises an exception, or another thread wants it to end.
pub struct Watch {
    look_at: Instant,
    stop: Stop,
    /// The exception that was raised.
    pub raised: Option<PyErr>,
    /// The calls of a design in Python, which ends the run where it raises an exception.
    calls: Option<Arc<Calls>>,
}

impl Watch {
    /// One that begins to look now.
    pub fn begin(stop: Stop) -> Self {
        Self { look_at: Instant::now() + BETWEEN_LOOKS, stop, raised: None, calls: None }
    }

    fn goes_on(&mut self) -> bool {
        if self.raised.is_some() || self.stop.0.load(Ordering::Relaxed) {
            return false;
        }
        let now = Instant::now();
        if now >= self.look_at {
            self.look_at = now + BETWEEN_LOOKS;
            if self.calls.as_ref().is_some_and(|calls| calls.has_raised()) {
                return false;
            }
            self.raised = Python::attach(|py| py.check_signals()).err();
        }
        self.raised.is_none()
    }
}

impl Observer for Watch {
    fn progress(&mut self, _answered: u64) -> bool {
        self.goes_on()
    }

    fn goes_on(&mut self, _done: u64) -> bool {
        Watch::goes_on(self)
    }
}

/// The outcome of a run: the result, the log if one was wanted, and the exception that ended it early.
type Ran = (Option<Summary>, Option<Log>, Option<PyErr>);

/// Runs a workload on a device; in memory where `log` says so, each request is logged.
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
        let mut watch = Watch { calls, ..Watch::begin(stop) };
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
            run.notes.extend(calls.map(|calls| calls.told(seconds)));
            Ok((Some(Summary(run)), log, raised))
        }
        (Ok((run, log)), raised) => Ok((Some(Summary(run)), log, raised)),
        (Err(Error::Stopped), raised) => Ok((None, None, raised)),
        (Err(error), _) => Err(of_run(error, &others(&options))),
    }
}

/// The files of a run that are no trace.
pub fn others(options: &RunOptions) -> [Option<&Path>; 3] {
    [&options.from_snapshot, &options.save_snapshot, &options.log].map(Option::as_deref)
}

/// The same, step by step, with all answers.
fn logged(
    device: &lab::Device,
    workload: &lab::Workload,
    options: &RunOptions,
    watch: &mut Watch,
) -> lab::error::Result<(lab::Summary, Log)> {
    if let Some(until) = &options.until {
        return Err(Error::Argument {
            what: "until".into(),
            found: format!("{} beside log=True", until.column),
            wanted: "a log in a file, log=PATH".into(),
        });
    }
    let mut session = lab::Session::of(workload.job(device, options, watch)?, watch)?;
    let mut log = Logging::begin();
    loop {
        let reached = session.advance_observed(Until::Answers(BATCH), watch)?;
        log.add(&session.answers());
        match reached {
            Reached::Wanted => {}
            Reached::Rest => return Ok((session.finish_observed(watch)?, log.end())),
            Reached::Stopped => return Ok((session.summary(), log.end())),
        }
    }
}

/// Everything else that the caller asked of a run or a session.
pub fn options(settings: &Settings<'_, '_>) -> PyResult<RunOptions> {
    let after = settings.whole("cut_power_after", 1)?.map(CutAfter::Requests);
    let at = settings.read("cut_power_at")?.map(CutAfter::Time);
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
        provenance: provenance(settings.0.py())?,
    })
}

/// The program that runs it: the arguments of the interpreter.
fn provenance(py: Python<'_>) -> PyResult<Provenance> {
    let command = py.import("sys")?.getattr("orig_argv")?.extract()?;
    Ok(Provenance::of(option_env!("WORDLINE_COMMIT"), command))
}
