//! Workload descriptions.

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use wordline_kernel::Duration;
use wordline_lab as lab;
use wordline_lab::config::named;
use wordline_lab::trace::workload::arrival::Bursts;
use wordline_lab::trace::{Fit, Options};
use wordline_lab::{DEFAULT_PRESET, Origin};

use crate::columns::{request, rows};
use crate::errors::{device_error, refused};
use crate::settings::Settings;
use crate::values::{shown, to_pairs};

/// Requests and their pace.
#[pyclass(frozen, module = "wordline._native")]
pub struct Workload(pub lab::Workload);

#[pymethods]
impl Workload {
    /// Creates the workload or trace that the settings name, or else the embedded trace.
    #[new]
    fn new(settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let settings = Settings(settings);
        let origin = origin(&settings)?;
        with_pace(origin, &settings).map(Self)
    }

    /// A workload whose requests are submitted to a session one by one.
    #[staticmethod]
    fn submitted(settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        with_pace(Origin::Submitted, &Settings(settings)).map(Self)
    }

    /// Creates a workload from given requests, called `name` in the result.
    #[staticmethod]
    fn given(
        py: Python<'_>,
        name: String,
        columns: [PyBuffer<i64>; 4],
        settings: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let requests = rows(py, columns)?.into_iter().map(request).collect::<PyResult<Vec<_>>>()?;
        with_pace(Origin::Given(name, requests.into()), &Settings(settings)).map(Self)
    }

    /// The default preset.
    #[getter]
    fn usual_preset(&self) -> &'static str {
        DEFAULT_PRESET
    }
}

fn origin(settings: &Settings<'_, '_>) -> PyResult<Origin> {
    let options = options(settings)?;
    Ok(match (settings.path("trace")?, settings.text("name")?) {
        (Some(path), None) => Origin::Trace(path, options),
        (Some(path), Some(name)) => {
            let wanted = format!("one of them: name={name:?} or trace={path:?}");
            return Err(refused("workload", "a name and a trace", &wanted));
        }
        (None, named) if options != Options::default() => {
            let with = named.as_deref().unwrap_or("the embedded trace");
            return Err(refused("format or trace_options", format!("it with {with}"), "trace=FILE as well"));
        }
        (None, Some(name)) => Origin::Named(name),
        (None, None) => Origin::Embedded,
    })
}

/// The options for reading a trace, as the user set them.
fn options(settings: &Settings<'_, '_>) -> PyResult<Options> {
    let mut options = Options::default();
    let mut set =
        |key: &str, value: &str| options.set(key, value).map_err(|error| device_error(error.into()));
    if let Some(given) = settings.get("trace_options")? {
        let wanted = "a dict of options, such as {\"time_unit\": \"us\"}";
        let pairs = given.cast::<PyMapping>().map_err(|_| refused("trace_options", shown(&given), wanted))?;
        for (key, value) in to_pairs("trace_options", pairs)? {
            match value {
                toml::Value::String(text) => set(&key, &text)?,
                toml::Value::Integer(number) => set(&key, &number.to_string())?,
                other => {
                    let key = format!("trace_options.{key}");
                    return Err(refused(&key, other, "text or a whole number"));
                }
            }
        }
    }
    if let Some(format) = settings.text("format")? {
        set("format", &format)?;
    }
    Ok(options)
}

fn with_pace(origin: Origin, settings: &Settings<'_, '_>) -> PyResult<lab::Workload> {
    Ok(lab::Workload {
        origin,
        traces: settings.path("traces")?,
        requests: settings.whole("requests", 1)?,
        fit: settings.read_by("fit", named::<Fit>)?.unwrap_or_default(),
        time_scale: settings.number("time_scale")?,
        queue_depth: settings.whole("queue_depth", 1)?,
        bursts: settings.read::<Duration>("bursts")?.map(Bursts::halves),
        times_of: settings.path("times_of")?,
        queues: settings.whole("queues", 1)?,
        namespace: settings.whole("namespace", 1)?,
        think_time: settings.read("think_time")?,
    })
}
