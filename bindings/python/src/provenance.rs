//! Origins of results.

use pyo3::prelude::*;
use wordline_lab::provenance::Provenance;

/// The commit from which the package was built, if known.
const COMMIT: Option<&str> = option_env!("WORDLINE_COMMIT");

/// The origin with the arguments of the Python interpreter as the command line.
pub fn of_interpreter(py: Python<'_>) -> PyResult<Provenance> {
    let command = py.import("sys")?.getattr("orig_argv")?.extract()?;
    Ok(Provenance::of(COMMIT, command))
}

/// The origin without the command line.
pub fn without_command() -> Provenance {
    Provenance::of(COMMIT, Vec::new())
}
