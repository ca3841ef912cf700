//! Merges stores.

use std::path::Path;

use serde::Serialize;
use wordline_lab::error::{Error, Result};

use super::check::files_of;
use super::{Files, RUNS, State, Store, WINDOWS, folder};

/// Result of merging a store into another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MergeReport {
    /// Number of runs that were copied.
    pub added: usize,
    /// Number of runs that the store had already.
    pub known: usize,
}

impl Store {
    /// Copies the runs that the store in `path` has and this one does not, byte for byte. A failed run is
    /// replaced by one that did not fail.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no store in `path`, or if one of its files is damaged; then only runs
    /// before it were copied. [`Error::File`] if a file cannot be read or written.
    pub fn merge(&self, path: &Path) -> Result<MergeReport> {
        folder::has_store(path)?;
        let mut report = MergeReport::default();
        for file in files_of(path, RUNS)? {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = |folder: &str| -> Result<Option<String>> {
                let place = folder::file_of(path, folder, &name);
                let bytes = folder::read(&place)?;
                bytes.map(|bytes| String::from_utf8(bytes).map_err(|_| damaged(path, &place))).transpose()
            };
            let run = text(RUNS)?.ok_or_else(|| damaged(path, &path.join(&file)))?;
            let files = Files { run, windows: text(WINDOWS)? };
            match self.put_or_replace(&name, &files).map_err(|error| of_store(error, path))? {
                true => report.added += 1,
                false => report.known += 1,
            }
        }
        Ok(report)
    }

    /// Stores the files of a run, in place of a failed one if this one did not fail. Returns false if the
    /// store has the run already.
    ///
    /// # Errors
    /// Those of [`put_files`](Self::put_files).
    pub fn put_or_replace(&self, name: &str, files: &Files) -> Result<bool> {
        let is_failed = |state: State| state == State::Failed;
        match self.get(name)? {
            Some(known) if !is_failed(known.state) || is_failed(super::read_files(name, files)?.state) => {
                return Ok(false);
            }
            Some(_) => self.remove_run(name)?,
            None => {}
        }
        self.put_files(name, files).map(|()| true)
    }

    /// Number of runs of a store in a folder, finished and failed; 0 for a store in memory.
    ///
    /// # Errors
    /// [`Error::File`] if the folder cannot be read.
    pub fn count(&self) -> Result<usize> {
        self.folder.as_deref().map_or(Ok(0), |folder| files_of(folder, RUNS).map(|files| files.len()))
    }
}

fn damaged(path: &Path, file: &Path) -> Error {
    Error::Argument {
        what: file.display().to_string(),
        found: "a damaged file".into(),
        wanted: format!("a store without damage; `wordline store check {}` lists it", path.display()),
    }
}

/// An error about a file of the other store.
fn of_store(error: Error, path: &Path) -> Error {
    match error {
        Error::Argument { what, found, wanted } => {
            Error::Argument { what: format!("store {}: {what}", path.display()), found, wanted }
        }
        other => other,
    }
}
