//! The store of a study: a folder with a file for each run, by the run's name.
//!
//! A file is written beside and takes its name only if that is free, so that a reader finds the whole of it, and two writers cannot
//! write the same run twice. What happens over simulated time, most of a summary, has a file of its own.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wordline_lab::error::{Error, Result};

/// The number of the layout of a store.
const LAYOUT: u32 = 1;

/// The file that tells a store from other folders.
const MARK: &str = "store.json";

/// The key of a summary that has a file of its own.
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

/// The files of a run, as a store has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// Its record.
    pub run: String,
    /// The windows of it over simulated time, if it has any.
    pub windows: Option<String>,
}

impl Record {
    /// The files of it, and what is left of it without its windows.
    pub(crate) fn files(mut self) -> (Files, Self) {
        let windows =
            self.summary.as_mut().and_then(Json::as_object_mut).and_then(|members| members.remove(WINDOWS));
        (Files { run: json(&self), windows: windows.map(|windows| json(&windows)) }, self)
    }
}

#[derive(Serialize, Deserialize)]
struct Mark {
    layout: u32,
}

/// The runs of studies that are over.
pub struct Store {
    /// The folder; none where they are kept in memory alone.
    folder: Option<PathBuf>,
    /// Those in memory.
    known: Mutex<BTreeMap<String, Record>>,
}

impl Store {
    /// One that is forgotten with the program.
    pub fn in_memory() -> Self {
        Self { folder: None, known: Mutex::default() }
    }

    /// Opens the folder `path`, or makes it.
    ///
    /// # Errors
    /// [`Error::Argument`] if something else is in the folder, and [`Error::File`] if it cannot be read or made.
    pub fn open(path: &Path) -> Result<Self> {
        let mark = path.join(MARK);
        let refused = |found: String| Error::Argument {
            what: format!("store {}", path.display()),
            found,
            wanted: "a store of studies, or a folder that is empty or not there".into(),
        };
        match std::fs::read(&mark) {
            Ok(bytes) => match serde_json::from_slice::<Mark>(&bytes) {
                Ok(Mark { layout: LAYOUT }) => {}
                Ok(Mark { layout }) => {
                    return Err(refused(format!("a store of layout {layout}, this program has {LAYOUT}")));
                }
                Err(error) => return Err(refused(format!("{MARK}: {error}"))),
            },
            Err(reason) if reason.kind() == ErrorKind::NotFound => {
                let is_empty = std::fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none());
                if !is_empty {
                    return Err(refused("a folder with other files".into()));
                }
                for folder in ["runs", WINDOWS] {
                    std::fs::create_dir_all(path.join(folder))
                        .map_err(|reason| failed(path, "make", reason))?;
                }
                let text = serde_json::to_vec(&Mark { layout: LAYOUT }).expect("it is an object");
                write_new(&mark, &text)?;
            }
            Err(reason) => return Err(failed(&mark, "read", reason)),
        }
        Ok(Self { folder: Some(path.to_owned()), known: Mutex::default() })
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Record>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run of a name, if it is over.
    ///
    /// # Errors
    /// [`Error::File`] if its file cannot be read, or is no record.
    pub fn get(&self, name: &str) -> Result<Option<Record>> {
        if let Some(record) = self.known().get(name) {
            return Ok(Some(record.clone()));
        }
        let Some(folder) = &self.folder else { return Ok(None) };
        let path = run_file(folder, name);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(reason) if reason.kind() == ErrorKind::NotFound => return Ok(None),
            Err(reason) => return Err(failed(&path, "read", reason)),
        };
        let record: Record =
            serde_json::from_slice(&bytes).map_err(|error| failed(&path, "read", io::Error::other(error)))?;
        self.known().insert(name.to_owned(), record.clone());
        Ok(Some(record))
    }

    /// A run is over. Where another writer had it first, that one stays.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written.
    pub fn put(&self, name: &str, record: Record) -> Result<()> {
        let (files, record) = record.files();
        self.write(name, &files)?;
        self.known().insert(name.to_owned(), record);
        Ok(())
    }

    /// The same with files that were made elsewhere, to the byte.
    ///
    /// # Errors
    /// [`Error::File`] if they cannot be written, or have no record.
    pub fn put_files(&self, name: &str, files: &Files) -> Result<()> {
        let record: Record = serde_json::from_str(&files.run)
            .map_err(|error| failed(Path::new(name), "read", io::Error::other(error)))?;
        self.write(name, files)?;
        self.known().insert(name.to_owned(), record);
        Ok(())
    }

    fn write(&self, name: &str, Files { run, windows }: &Files) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        if let Some(windows) = windows {
            write_new(&folder.join(WINDOWS).join(format!("{name}.json")), windows.as_bytes())?;
        }
        write_new(&run_file(folder, name), run.as_bytes())
    }

    /// Forgets a run, so that it is done again.
    ///
    /// # Errors
    /// [`Error::File`] if its file cannot be removed.
    pub fn forget(&self, name: &str) -> Result<()> {
        self.known().remove(name);
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = run_file(folder, name);
        match std::fs::remove_file(&path) {
            Err(reason) if reason.kind() != ErrorKind::NotFound => Err(failed(&path, "remove", reason)),
            _ => Ok(()),
        }
    }
}

fn run_file(folder: &Path, name: &str) -> PathBuf {
    folder.join("runs").join(format!("{name}.json"))
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("keys are text")
}

fn failed(path: &Path, action: &'static str, reason: io::Error) -> Error {
    Error::File { path: path.to_owned(), action, reason }
}

/// Writes a file that is whole, or not there; one that is there stays.
fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || -> io::Result<()> {
        let folder = path.parent().expect("a file in a folder");
        let mut file = tempfile::Builder::new().prefix(".unfinished-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(path) {
            Err(failure) if failure.error.kind() != ErrorKind::AlreadyExists => Err(failure.error),
            _ => Ok(()),
        }
    };
    write().map_err(|reason| failed(path, "write", reason))
}
