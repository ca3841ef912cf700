//! The store of a study: a folder with a file for each run. The file is named by the run.
//!
//! A file is written under a temporary name, and renamed only if its final name is free. Readers see only
//! complete files, and two writers cannot write one run twice. The file contains a digest of its content,
//! which is checked on every read. Time series, the largest part of a summary, are in a file of their own.

mod check;
mod filed;
mod folder;
mod merge;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wordline_lab::error::{Error, Result};

pub use check::{CheckReport, Damage, MovedFile, check, repair};
pub use filed::Files;
use folder::file_of;
pub use folder::has_store;
pub use merge::MergeReport;

/// Version of the store layout. Files have digests from version 2 on.
const LAYOUT: u32 = 2;

/// Folder of the files of runs.
const RUNS: &str = "runs";

/// Key of the summary that is stored in a file of its own, and name of the folder of these files.
const WINDOWS: &str = "windows";

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The run has a summary.
    Done,
    /// The run ended with an error.
    Failed,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The program that executed the run, with version and commit.
    pub program: String,
    /// Values of the varied keys.
    pub at: toml::Table,
    /// Seed.
    pub seed: u64,
    /// Outcome.
    pub state: State,
    /// Error of a failed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Summary of a run that did not fail, without time series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Json>,
}

/// The finished runs of studies.
pub struct Store {
    /// Path of the folder; `None` for a store in memory.
    folder: Option<PathBuf>,
    /// The file that marks the folder as a store. It is kept open and locked.
    _mark: Option<File>,
    /// Runs of a store in memory.
    known: Mutex<BTreeMap<String, Record>>,
}

impl Store {
    /// Creates a store in memory.
    pub fn in_memory() -> Self {
        Self { folder: None, _mark: None, known: Mutex::default() }
    }

    /// Opens or creates a store in the folder `path`. Removes incomplete files that killed programs left,
    /// unless another program has the store open.
    ///
    /// # Errors
    /// [`Error::Argument`] if the path has something else, [`Error::File`] if the store cannot be read or
    /// created.
    pub fn open(path: &Path) -> Result<Self> {
        let mark = folder::open(path)?;
        Ok(Self { folder: Some(path.to_owned()), _mark: Some(mark), known: Mutex::default() })
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Record>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the run `name`, if it is finished.
    ///
    /// # Errors
    /// [`Error::File`] if its file cannot be read, [`Error::Argument`] if the file is damaged.
    pub fn get(&self, name: &str) -> Result<Option<Record>> {
        if let Some(record) = self.known().get(name) {
            return Ok(Some(record.clone()));
        }
        let Some(folder) = &self.folder else { return Ok(None) };
        let path = file_of(folder, RUNS, name);
        let Some(bytes) = folder::read(&path)? else { return Ok(None) };
        let advice = format!("; `wordline store repair {}` moves it aside", folder.display());
        let record = read(&path.display().to_string(), name, &bytes, &advice)?;
        self.known().insert(name.to_owned(), record.clone());
        Ok(Some(record))
    }

    /// Stores a finished run. If another writer stored it first, that record is kept.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written.
    pub fn put(&self, name: &str, record: Record) -> Result<()> {
        let (files, record) = record.files(name);
        self.write(name, &files)?;
        self.known().insert(name.to_owned(), record);
        Ok(())
    }

    /// Stores the files of a run that another machine executed, byte for byte.
    ///
    /// # Errors
    /// [`Error::File`] if they cannot be written, [`Error::Argument`] if they do not belong to the run.
    pub fn put_files(&self, name: &str, files: &Files) -> Result<()> {
        let record = read_files(name, files)?;
        self.write(name, files)?;
        self.known().insert(name.to_owned(), record);
        Ok(())
    }

    fn write(&self, name: &str, Files { run, windows }: &Files) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let file = file_of(folder, RUNS, name);
        if std::fs::symlink_metadata(&file).is_ok() {
            return Ok(());
        }
        if let Some(windows) = windows {
            // A killed program may have left a file of windows without the file of its run. The file is
            // replaced.
            folder::replace_file(&file_of(folder, WINDOWS, name), windows.as_bytes())?;
        }
        folder::write_new(&file, run.as_bytes())
    }

    /// Removes a run, so that it will be executed again.
    ///
    /// # Errors
    /// [`Error::File`] if its file cannot be removed.
    pub fn remove_run(&self, name: &str) -> Result<()> {
        self.known().remove(name);
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = file_of(folder, RUNS, name);
        match std::fs::remove_file(&path) {
            Err(reason) if reason.kind() != ErrorKind::NotFound => Err(failed(&path, "remove", reason)),
            _ => Ok(()),
        }
    }
}

/// Parses the record of the run `name` from the bytes of its file, which messages call `what`.
fn read(what: &str, name: &str, bytes: &[u8], advice: &str) -> Result<Record> {
    filed::read(name, bytes).map(|filed| filed.record).map_err(|found| Error::Argument {
        what: what.to_owned(),
        found,
        wanted: format!("the record of run {name} as it was written{advice}"),
    })
}

/// The record of the run `name` from its files. Windows must be those of the record.
fn read_files(name: &str, files: &Files) -> Result<Record> {
    let what = "run that was done elsewhere";
    let record = read(what, name, files.run.as_bytes(), "")?;
    let digest = filed::read(name, files.run.as_bytes()).ok().and_then(|stored| stored.windows);
    if files.windows.as_ref().map(|windows| filed::digest(windows.as_bytes())) != digest {
        return Err(Error::Argument {
            what: what.to_owned(),
            found: "windows that its digest does not fit".into(),
            wanted: format!("the windows of run {name} as they were written"),
        });
    }
    Ok(record)
}

fn failed(path: &Path, action: &'static str, reason: io::Error) -> Error {
    Error::File { path: path.to_owned(), action, reason }
}
