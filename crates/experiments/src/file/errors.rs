//! Errors in the file of an experiment.

use std::path::Path;

use wordline_kernel::Complaints;
use wordline_lab::devices::Registry;

/// Collects faults of the file, each with `file:line: key`.
pub(crate) struct ErrorCollector<'a> {
    pub registry: &'a Registry,
    pub path: &'a Path,
    /// Folder of experiments that contains the file; `None` for an embedded experiment.
    pub folder: Option<&'a Path>,
    pub text: &'a str,
    pub all: Complaints,
}

impl ErrorCollector<'_> {
    pub(crate) fn add(
        &mut self,
        at: usize,
        key: &str,
        found: impl std::fmt::Display,
        wanted: impl Into<String>,
    ) {
        let line = self.text[..at.min(self.text.len())].matches('\n').count() + 1;
        self.all.add(format!("{}:{line}: {key}", self.path.display()), found, wanted);
    }
}
