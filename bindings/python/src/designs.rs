//! Designs in Python for the devices of a study.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use wordline_lab::devices::Configured;
use wordline_lab::error::Result as LabResult;
use wordline_studies::{CallerDesigns, DesignMonitor, DeviceWithDesign};

use crate::design::{kind_of, placed};
use crate::design_object::CallStats;
use crate::errors::MODULE;
use crate::kind::Kind;

/// The varied key that selects the design of a run.
const KEY: &str = "design";

/// The designs of a study by label. Labels are values of the varied key `design`. The empty label is a design
/// for all runs. A label without an object has no design.
pub struct PythonDesigns(BTreeMap<String, Option<LabelledDesign>>);

struct LabelledDesign {
    object: Py<PyAny>,
    kind: Kind,
    source: String,
}

impl PythonDesigns {
    /// Creates them from a dict of labels. Its values are an object and its source, or `None`.
    pub fn of(designs: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut all = BTreeMap::new();
        for (label, given) in designs {
            let given: Option<(Bound<'_, PyAny>, String)> = given.extract()?;
            let given = given.map(|(object, source)| {
                Ok::<_, PyErr>(LabelledDesign { kind: kind_of(&object)?, object: object.unbind(), source })
            });
            all.insert(label.extract()?, given.transpose()?);
        }
        Ok(Self(all))
    }

    fn given(&self, at: &toml::Table) -> Option<&LabelledDesign> {
        let label = at.get(KEY).and_then(toml::Value::as_str).unwrap_or_default();
        self.0.get(label)?.as_ref()
    }
}

impl CallerDesigns for PythonDesigns {
    fn source(&self, at: &toml::Table) -> Option<String> {
        self.given(at).map(|given| given.source.clone())
    }

    fn metrics(&self) -> Vec<&'static str> {
        let kinds = self.0.values().flatten().map(|given| &given.kind);
        kinds.flat_map(|kind| kind.counters.iter().map(|(_, metric)| metric.name)).collect()
    }

    fn placed(&self, at: &toml::Table, device: &Arc<dyn Configured>) -> LabResult<Option<DeviceWithDesign>> {
        let Some(LabelledDesign { object, kind, .. }) = self.given(at) else { return Ok(None) };
        let calls = CallStats::of(kind.name);
        let device = Python::attach(|py| placed(device, object.bind(py), &calls))?;
        Ok(Some(DeviceWithDesign { device, design: Box::new(StudyMonitor(calls)) }))
    }
}

/// Call statistics of a design during a run of a study.
struct StudyMonitor(Arc<CallStats>);

impl DesignMonitor for StudyMonitor {
    fn has_failed(&self) -> bool {
        self.0.has_raised()
    }

    fn error(&self) -> Option<String> {
        let raised = self.0.take_raised()?;
        Some(Python::attach(|py| {
            let (text, raised) = (raised.to_string(), raised.into_value(py));
            let module = py.import(MODULE);
            let told = module.and_then(|module| module.getattr("told")?.call1((self.0.name, raised)));
            told.and_then(|told| told.extract::<String>()).unwrap_or(text)
        }))
    }

    fn note(&self, seconds: f64) -> String {
        self.0.describe(seconds)
    }
}
