//! Converts errors of the lab to exceptions of the package. The messages are those of the command line.

use std::path::Path;

use pyo3::prelude::*;
use wordline_experiments::FileLoad;
use wordline_kernel::Complaints;
use wordline_lab::{Error, Finding};
use wordline_ssd::contract::Failure;

/// Module of the exceptions.
pub const MODULE: &str = "wordline._errors";

/// The exception for an error in a device description.
pub fn device_error(error: Error) -> PyErr {
    raised(&error, "ConfigError")
}

/// The exception for an error of a run or its requests. `others` are files of the run that are not traces.
pub fn run_error(error: Error, others: &[Option<&Path>]) -> PyErr {
    let files = match &error {
        Error::File { path, .. } | Error::Content { path, .. } | Error::Line { path, .. }
            if others.contains(&Some(path)) || FileLoad::is_file(&path.to_string_lossy()) =>
        {
            "ConfigError"
        }
        _ => "TraceError",
    };
    raised(&error, files)
}

/// The exception for an invalid setting.
pub fn refused(key: &str, found: impl std::fmt::Display, wanted: &str) -> PyErr {
    let (what, found, wanted) = (key.to_owned(), found.to_string(), wanted.to_owned());
    device_error(Error::Argument { what, found, wanted })
}

/// The exception for an invalid decision of a design.
pub fn invalid_decision(design: &str, seam: &str, found: &str, wanted: &str) -> PyErr {
    let text =
        format!("the design {design} made an invalid decision for `{seam}`: found {found}, wanted {wanted}");
    raised(&Error::InvalidDecision(text), "DesignError")
}

/// The exception for a design that violates the contract. `raised` is an exception of the design itself, if
/// it raised one.
pub fn broken_contract(design: &str, failure: &Failure, raised: Option<PyErr>) -> PyErr {
    let Failure { trial, seed, at, what } = failure;
    Python::attach(|py| {
        let what = raised.as_ref().map_or_else(|| what.clone(), |raised| raised.to_string());
        let (trial, place) = (trial.name(), format!("trial {}, seed {seed}, at {at}", trial.name()));
        let text = format!("the design {design} breaks the contract: {what} ({place})");
        let made = py
            .import(MODULE)
            .and_then(|module| module.getattr("ContractError"))
            .and_then(|class| class.call1((text, (), "", trial, *seed, at.ps())));
        let error = made.map_or_else(|failed| failed, PyErr::from_value);
        error.set_cause(py, raised);
        error
    })
}

/// Whether an exception of this package rejects a value.
pub fn is_refusal(py: Python<'_>, raised: &PyErr) -> bool {
    let class = py.import(MODULE).and_then(|module| module.getattr("ConfigError"));
    class.is_ok_and(|class| raised.is_instance(py, &class))
}

/// The exception for a value of a key that TOML cannot represent.
pub fn refused_key(key: &str, found: &str, wanted: &str) -> PyErr {
    let mut wrong = Complaints::default();
    wrong.add(key, found, wanted);
    device_error(Error::Config(wrong))
}

/// The exception for `error`. `files` is its class if the content of a file is wrong.
fn raised(error: &Error, files: &str) -> PyErr {
    let class = match error {
        Error::Config(_) | Error::Argument { .. } => "ConfigError",
        Error::File { action: "write", .. } => "Error",
        Error::File { .. } | Error::Content { .. } | Error::Line { .. } => files,
        Error::InvalidDecision(_) => "DesignError",
        Error::Stuck(_) | Error::Invariant(_) => "Fault",
        _ => "Error",
    };
    let text = error.to_string();
    // The message leaves out the configuration of the reproducer, which is several screens long.
    let (message, reproducer) = match error.is_simulation_error() {
        true => (text.lines().next().unwrap_or_default(), text.as_str()),
        false => (text.as_str(), ""),
    };
    let findings: Vec<_> = error.findings().into_iter().map(fields).collect();
    Python::attach(|py| {
        let made = py
            .import(MODULE)
            .and_then(|module| module.getattr(class))
            .and_then(|class| class.call1((message, findings, reproducer)));
        made.map_or_else(|failed| failed, PyErr::from_value)
    })
}

fn fields(finding: Finding) -> (Option<String>, Option<u64>, Option<String>, String, String) {
    let Finding { file, line, key, found, wanted } = finding;
    (file, line, key, found, wanted)
}
