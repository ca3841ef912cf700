//! Sessions: runs that advance step by step.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, TryLockError};

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use wordline_kernel::{Duration, Instant};
use wordline_lab as lab;
use wordline_lab::{Error, StepTarget, StopReason};

use crate::columns;
use crate::device::Device;
use crate::errors::{refused, run_error};
use crate::results::Summary;
use crate::run::{RunObserver, Stop, options, other_files};
use crate::settings::Settings;
use crate::workload::Workload;

/// A session on a device.
#[pyclass(frozen, module = "wordline._native")]
pub struct Session(Mutex<Option<lab::Session>>);

/// State of a session: time, then the numbers of waiting, submitted, completed, outstanding and lost
/// requests, then whether the device recovers.
type Standing = (u64, u64, u64, u64, u64, u64, bool);

/// Descriptor of a zone: first sector, writable sectors, write pointer, state.
type Zone = (u64, u64, Option<u64>, &'static str);

impl Session {
    /// Locks the session. Does not wait for the lock, because the thread that holds it may wait for Python.
    fn lock(&self) -> PyResult<MutexGuard<'_, Option<lab::Session>>> {
        match self.0.try_lock() {
            Ok(session) => Ok(session),
            Err(TryLockError::Poisoned(broken)) => Ok(broken.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(refused("the session", "a call while another one is in progress", "one call at a time"))
            }
        }
    }

    /// Calls `step` with the session, while Python is released.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut lab::Session) -> lab::error::Result<T> + Send,
    ) -> PyResult<T> {
        let mut session = self.lock()?;
        let session = session.as_mut().ok_or_else(finished)?;
        py.detach(|| step(session)).map_err(|error| run_error(error, &[]))
    }
}

fn finished() -> PyErr {
    refused("the session", "a call after its end", "a new session")
}

#[pymethods]
impl Session {
    /// Opens a session on a device, which is prepared as the settings describe.
    #[new]
    fn new(
        py: Python<'_>,
        device: &Device,
        workload: &Workload,
        settings: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let options = options(&Settings(settings))?;
        let (device, workload) = (&device.0, &workload.0);
        let mut watch = RunObserver::begin(Stop::default());
        let opened = py.detach(|| lab::Session::open_observed(device, workload, &options, &mut watch));
        match (opened, watch.raised) {
            (_, Some(raised)) => Err(raised),
            (Ok(session), None) => Ok(Self(Mutex::new(Some(session)))),
            (Err(error), None) => Err(run_error(error, &other_files(&options))),
        }
    }

    /// Submits one request. Returns its number.
    fn submit_one(&self, time: i64, op: i64, sector: i64, length: i64) -> PyResult<u64> {
        let request = columns::request([time, op, sector, length])?;
        let mut session = self.lock()?;
        let session = session.as_mut().ok_or_else(finished)?;
        session.submit(&request).map_err(|error| run_error(error, &[]))
    }

    /// Submits requests. Returns the number of submitted requests, and the exception of the first rejected
    /// request, if any.
    fn submit(&self, py: Python<'_>, columns: [PyBuffer<i64>; 4]) -> PyResult<(usize, Option<PyErr>)> {
        let rows = columns::rows(py, columns)?;
        let mut session = self.lock()?;
        let session = session.as_mut().ok_or_else(finished)?;
        for (n, row) in rows.iter().enumerate() {
            let submitted = columns::request(*row)
                .and_then(|request| session.submit(&request).map_err(|error| run_error(error, &[])));
            if let Err(error) = submitted {
                return Ok((n, Some(error)));
            }
        }
        Ok((rows.len(), None))
    }

    /// Advances the session to a time in picoseconds, by a number of completions, or until all requests are
    /// accepted. Without a condition it advances until the device is idle. Returns true if the condition was
    /// reached, false if the device became idle first, or if the step was stopped.
    #[pyo3(signature = (until, completions, taken, stop))]
    fn advance(
        &self,
        py: Python<'_>,
        until: Option<u64>,
        completions: Option<u64>,
        taken: bool,
        stop: Option<Bound<'_, Stop>>,
    ) -> PyResult<bool> {
        let time = until.map(|ps| Instant::ZERO + Duration::from_ps(ps));
        let until = match (time, completions, taken) {
            (None, None, false) => StepTarget::Idle,
            (None, None, true) => StepTarget::Accepted,
            (Some(time), None, false) => StepTarget::Time(time),
            (None, Some(completions), false) => StepTarget::Completions(completions),
            (Some(time), Some(1), false) => StepTarget::CompletionBy(time),
            _ => {
                return Err(refused(
                    "advance",
                    "more than one end",
                    "a time, completions=N, a time with completions=1, or taken=True",
                ));
            }
        };
        let is_to_idle = matches!(until, StepTarget::Idle);
        let mut watch = RunObserver::begin(stop.map(|stop| stop.get().clone()).unwrap_or_default());
        let reached = self.with(py, |session| session.advance_observed(until, &mut watch))?;
        match watch.raised {
            Some(raised) => Err(raised),
            None => Ok(reached == StopReason::Target || is_to_idle && reached == StopReason::Idle),
        }
    }

    /// Completions since the last call, as the bytes of an array of records.
    fn completions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let completions = self.lock()?.as_mut().ok_or_else(finished)?.completions();
        Ok(columns::completions(py, &completions))
    }

    /// Current time, in picoseconds.
    #[getter]
    fn now(&self) -> PyResult<u64> {
        Ok(self.lock()?.as_ref().ok_or_else(finished)?.now().ps())
    }

    #[getter]
    fn standing(&self) -> PyResult<Standing> {
        let standing = self.lock()?.as_ref().ok_or_else(finished)?.standing();
        let lab::Standing { now, waiting, submitted, completed, outstanding, lost, recovers } = standing;
        Ok((now.ps(), waiting, submitted, completed, outstanding, lost, recovers))
    }

    /// Result so far.
    fn summary(&self, py: Python<'_>) -> PyResult<Summary> {
        self.with(py, |session| Ok(session.summary())).map(Summary)
    }

    /// Zones: first sector, writable sectors, write pointer and state of each.
    fn report_zones(&self, py: Python<'_>) -> PyResult<Vec<Zone>> {
        let zones = self.with(py, lab::Session::report_zones)?;
        Ok(zones
            .iter()
            .map(|zone| (zone.start, zone.capacity, zone.write_pointer, zone.state.name()))
            .collect())
    }

    fn cut_power(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, lab::Session::cut_power)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.with(py, |session| session.save(&path))
    }

    /// Advances to the end. Returns the result, and the exception that ended the session early.
    fn finish(&self, py: Python<'_>) -> PyResult<(Option<Summary>, Option<PyErr>)> {
        let session = self.lock()?.take().ok_or_else(finished)?;
        let mut watch = RunObserver::begin(Stop::default());
        match (py.detach(|| session.finish_observed(&mut watch)), watch.raised) {
            (Ok(run), raised) => Ok((Some(Summary(run)), raised)),
            (Err(Error::Stopped), raised) => Ok((None, raised)),
            (Err(error), _) => Err(run_error(error, &[])),
        }
    }
}
