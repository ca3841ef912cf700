//! Device descriptions.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyMapping;
use wordline_lab as lab;
use wordline_lab::Registry;
use wordline_lab::snapshot::Snapshot;

use crate::errors::{device_error, refused, refused_key};
use crate::values::{to_pairs, to_python, to_table};

/// A validated device description. A setting does not change it, but returns another description.
#[pyclass(frozen, module = "wordline._native")]
pub struct Device(pub lab::Device);

#[pymethods]
impl Device {
    /// Returns the preset `name`, or the device in the file at that path.
    #[staticmethod]
    fn preset(name: &str) -> PyResult<Self> {
        lab::Device::preset(name).map(Self).map_err(device_error)
    }

    /// Returns the device in a configuration file.
    #[staticmethod]
    fn file(path: PathBuf) -> PyResult<Self> {
        lab::Device::file(path).map(Self).map_err(device_error)
    }

    /// Returns the device that a snapshot holds.
    #[staticmethod]
    fn snapshot(path: PathBuf) -> PyResult<Self> {
        let snapshot = Snapshot::open(&path).map_err(device_error)?;
        lab::Device::of_snapshot(&Registry::default(), &snapshot, &[]).map(Self).map_err(device_error)
    }

    /// Returns the device `name` from a table of keys.
    #[staticmethod]
    fn of_keys(name: &str, keys: &Bound<'_, PyMapping>) -> PyResult<Self> {
        let table = to_table("device", keys)?;
        lab::Device::of_keys(&Registry::default(), name, table).map(Self).map_err(device_error)
    }

    /// Returns the device of a complete TOML document, in the form of [`toml`](Self::toml).
    #[staticmethod]
    fn of_toml(name: &str, text: &str) -> PyResult<Self> {
        let table = text
            .parse()
            .map_err(|error: toml::de::Error| refused(name, error.message(), "a TOML document"))?;
        lab::Device::of_keys(&Registry::default(), name, table).map(Self).map_err(device_error)
    }

    /// Returns this device with other values of these keys.
    fn with_keys(&self, keys: &Bound<'_, PyMapping>) -> PyResult<Self> {
        let all = to_pairs("settings", keys)?;
        if let Some((key, _)) = all.iter().find(|(key, _)| key.contains('=')) {
            let key = format!("--set {key}");
            return Err(refused_key(&key, "not a key", "a key such as ftl.over_provisioning"));
        }
        let keys = all.iter().map(|(key, value)| (key.as_str(), value.clone()));
        self.0.with_all(keys).map(Self).map_err(device_error)
    }

    /// The value of `key`; `None` if it is not set.
    fn get<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.get(key).map(|value| to_python(py, &value)).transpose()
    }

    /// All keys.
    fn table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &toml::Value::Table(self.0.configured.table()))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn description(&self) -> &str {
        &self.0.description
    }

    #[getter]
    fn device_type(&self) -> &str {
        self.0.configured.device_type()
    }

    #[getter]
    fn toml(&self) -> &str {
        &self.0.text
    }

    /// Capacity that the host sees, in bytes.
    #[getter]
    fn capacity(&self) -> u64 {
        self.0.capacity().0
    }

    fn explain(&self) -> String {
        self.0.explain()
    }
}
