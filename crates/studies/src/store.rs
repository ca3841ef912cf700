//! The store of a study: a folder with a file for each run, by the run's name.
//!
//! A file is written beside and takes its name only if that is free, so that a reader finds the whole of it, and two writers cannot
//! write the same run twice. It has a digest of its content, which is checked whenever it is read. What happens over simulated time, most of a
//! summary, has a file of its own.

mod check;
mod filed;
mod folder;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wordline_lab::error::{Error, Result};

pub use check::{Checked, Damage, Moved, check, repair};
pub use filed::Files;
use folder::file_of;

/// The number of the layout of a store. From 2 on files have digests.
const LAYOUT: u32 = 2;

/// The folder of the runs.
const RUNS: &str = "runs";

/// The key of a summary that has a file of its own, and the folder of these.
const WINDOWS: &str = "windows";

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It has a summary.
    Done,
    /// It ended with an error.
    Failed,
}

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The program that ran it, with version and commit.
    pub program: String,
    /// The varied keys with their values.
    pub at: toml::Table,
    /// The seed.
    pub seed: u64,
    /// How it ended.
    pub state: State,
    /// The error, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The summary, without what happened over simulated time, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Json>,
}

/// The runs of studies that are over.
pub struct Store {
    /// The folder; none where they are kept in memory alone.
    folder: Option<PathBuf>,
    /// Its mark, which is held.
    _mark: Option<File>,
    /// Those in memory.
    known: Mutex<BTreeMap<String, Record>>,
}

impl Store {
    /// One that is forgotten with the program.
    pub fn in_memory() -> Self {
        Self { folder: None, _mark: None, known: Mutex::default() }
    }

    /// Opens the folder `path`, or makes it. Files that killed programs left half written are removed, unless another program has it open.
    ///
    /// # Errors
    /// [`Error::Argument`] if something else is there, and [`Error::File`] if it cannot be read or made.
    pub fn open(path: &Path) -> Result<Self> {
        let mark = folder::open(path)?;
        Ok(Self { folder: Some(path.to_owned()), _mark: Some(mark), known: Mutex::default() })
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Record>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run of a name, if it is over.
    ///
    /// # Errors
    /// [`Error::File`] if its file cannot be read, [`Error::Argument`] if it is not as it was written.
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

    /// A run is over. Where another writer had it first, that one stays.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written.
    pub fn put(&self, name: &str, record: Record) -> Result<()> {
        let (files, record) = record.files(name);
        self.write(name, &files)?;
        self.known().insert(name.to_owned(), record);
        Ok(())
    }

    /// The same with files that were made elsewhere, to the byte.
    ///
    /// # Errors
    /// [`Error::File`] if they cannot be written, [`Error::Argument`] if they are not those of that run.
    pub fn put_files(&self, name: &str, files: &Files) -> Result<()> {
        let record = read("run that was done elsewhere", name, files.run.as_bytes(), "")?;
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
            // Windows without a run are those of a program that was killed.
            folder::write_over(&file_of(folder, WINDOWS, name), windows.as_bytes())?;
        }
        folder::write_new(&file, run.as_bytes())
    }

    /// Forgets a run, so that it is done again.
    ///
    /// # Errors
    /// [`Error::File`] if its file cannot be removed.
    pub fn forget(&self, name: &str) -> Result<()> {
        self.known().remove(name);
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = file_of(folder, RUNS, name);
        match std::fs::remove_file(&path) {
            Err(reason) if reason.kind() != ErrorKind::NotFound => Err(failed(&path, "remove", reason)),
            _ => Ok(()),
        }
    }
}

/// The record of the run called `name` in the bytes of the file `what`.
fn read(what: &str, name: &str, bytes: &[u8], advice: &str) -> Result<Record> {
    filed::read(name, bytes).map(|filed| filed.record).map_err(|found| Error::Argument {
        what: what.to_owned(),
        found,
        wanted: format!("the record of run {name} as it was written{advice}"),
    })
}

fn failed(path: &Path, action: &'static str, reason: io::Error) -> Error {
    Error::File { path: path.to_owned(), action, reason }
}
