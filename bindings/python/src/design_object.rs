//! A Python object that takes decisions of a device, and the statistics of its calls.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::{PyClass, PyClassInitializer};
use wordline_kernel::Stream;

use crate::errors::invalid_decision;
use crate::kind::{Decision, Kind};
use crate::settings::whole;
use crate::values::shown;
use crate::views::Random;

/// Call statistics of a design, over all devices that use it.
#[derive(Default)]
pub struct CallStats {
    pub name: &'static str,
    raised: Mutex<Option<PyErr>>,
    calls: AtomicU64,
    nanoseconds: AtomicU64,
}

impl CallStats {
    /// Empty statistics for the design `name`.
    pub fn of(name: &'static str) -> Arc<Self> {
        Arc::new(Self { name, ..Self::default() })
    }

    /// Whether the design raised an exception.
    pub fn has_raised(&self) -> bool {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Removes and returns the exception that the design raised, if any.
    pub fn take_raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A note with the number of calls, and with their share of the wall time of a run that took this many
    /// seconds.
    pub fn describe(&self, seconds: f64) -> String {
        let (name, calls) = (self.name, self.calls.load(Ordering::Relaxed));
        let percent = self.nanoseconds.load(Ordering::Relaxed) as f64 / 1e7 / seconds.max(1e-9);
        format!("the design {name} in Python was called {calls} times, {percent:.2} % of the time of the run")
    }
}

/// A Python object that takes the decisions of one device.
pub struct DesignObject {
    object: Py<PyAny>,
    pub kind: Kind,
    /// State of the object without counters, as it was made.
    settings: Arc<str>,
    calls: Arc<CallStats>,
}

impl DesignObject {
    /// A deep copy of an object, whose state belongs to one device.
    pub fn copied(py: Python<'_>, object: &Py<PyAny>, calls: &Arc<CallStats>) -> PyResult<Self> {
        let object = object.bind(py).call_method0("_copied")?;
        let kind = object.getattr("_kind")?.cast_into::<Kind>()?.get().clone();
        let settings = object.call_method0("_settings")?.extract::<String>()?.into();
        Ok(Self { kind, settings, object: object.unbind(), calls: Arc::clone(calls) })
    }

    /// Another reference to the object, for another part of the same device.
    pub fn shared(&self, py: Python<'_>) -> Self {
        let (kind, settings, calls) =
            (self.kind.clone(), Arc::clone(&self.settings), Arc::clone(&self.calls));
        Self { object: self.object.clone_ref(py), kind, settings, calls }
    }

    fn raise(&self, error: PyErr) {
        let mut raised = self.calls.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.get_or_insert(error);
    }

    /// Calls a decision method with the view `shown_view`, and parses its decision with `read`. An exception
    /// ends the run. Once one was raised, returns `otherwise` without a call.
    pub fn decide<A, T>(
        &self,
        method: Decision,
        shown_view: A,
        stream: &mut Stream,
        otherwise: T,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Result<T, &'static str>,
    ) -> T
    where
        A: PyClass + Into<PyClassInitializer<A>>,
    {
        if self.calls.has_raised() {
            return otherwise;
        }
        let began = Instant::now();
        let asked = |py: Python<'_>| {
            let random = Bound::new(py, Random(Mutex::new(stream.clone())))?;
            let decision =
                self.object.bind(py).call_method1(method.name(), (Bound::new(py, shown_view)?, &random));
            *stream = random.get().0.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let decision = decision?;
            read(&decision)
                .map_err(|wanted| invalid_decision(self.kind.name, method.name(), &shown(&decision), wanted))
        };
        let decision = self.call(asked);
        self.calls.calls.fetch_add(1, Ordering::Relaxed);
        self.calls.nanoseconds.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        decision.unwrap_or(otherwise)
    }

    /// The result of a call. If it raises an exception, returns `None`, and the run ends.
    fn call<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        Python::attach(call).map_err(|error| self.raise(error)).ok()
    }

    /// The whole state of the object as text. If a part is not plain data, returns `None`, and the run ends.
    pub fn fields(&self) -> Option<String> {
        self.call(|py| self.object.bind(py).call_method0("_save")?.extract::<String>())
    }

    /// The state of the object without counters, as it was made.
    pub fn settings(&self) -> &str {
        &self.settings
    }

    /// Whether the object was made with the settings `saved`. If not, the run ends with an exception.
    pub fn has_settings(&self, saved: &str) -> bool {
        let check = |py: Python<'_>| {
            self.object.bind(py).call_method1("_check_settings", (&*self.settings, saved)).map(drop)
        };
        self.call(check).is_some()
    }

    /// Restores the state of the object.
    pub fn take_fields(&self, fields: &str) {
        self.call(|py| self.object.bind(py).call_method1("_load", (fields,)).map(drop));
    }

    /// The value of a counter of the object.
    pub fn counter(&self, attribute: &str) -> Option<u64> {
        self.call(|py| {
            let value = self.object.bind(py).getattr(attribute)?;
            let key = format!("counter {attribute} of the design {}", self.kind.name);
            whole(&key, &value, 0)
        })
    }
}
