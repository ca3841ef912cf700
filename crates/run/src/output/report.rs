//! The folder of a report. A report is replaced as a whole, and one run at a time can write to the folder.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::names::{TEMPORARY, directory_of, is_temporary};
use super::unfinished::CleanupGuard;
use super::{failed, is_standard};
use crate::error::{Error, Result};

/// File name of the page of a report.
pub(crate) const PAGE: &str = "report.html";

/// Name of the folder of the charts, inside the report.
const CHARTS: &str = "charts";

/// Extension of chart files.
const CHART: &str = ".vl.json";

/// Extensions of charts drawn for papers, which are in the folder of the chart files.
const DRAWN: [&str; 3] = [".pdf", ".svg", ".png"];

/// Data files of a report.
const DATA: [&str; 7] =
    ["summary.json", "outcome.json", "table.json", "answers.json", "why.json", "fit.json", "device.toml"];

/// The lock file of the run that will write the report. Its name counts as temporary.
const LOCK: &str = ".wordline-lock";

/// A folder for a report, which this program has locked against other programs.
#[derive(Debug)]
pub struct ReportFolder {
    path: PathBuf,
    /// The files of the existing report.
    before: Vec<PathBuf>,
    /// Whether the folder was created for this report.
    is_new: bool,
    /// The locked file. The lock ends with this value.
    _lock: File,
    _unfinished: Vec<CleanupGuard>,
}

impl ReportFolder {
    /// Locks a folder for a report. The folder may be new, empty, or contain a report.
    ///
    /// # Errors
    /// [`Error::Content`] if it has other files or is claimed by another run; [`Error::File`] if it cannot be
    /// written.
    pub fn claim(path: &Path) -> Result<Self> {
        if is_standard(path) {
            return Err(Error::Argument {
                what: "report".into(),
                found: "`-`, standard output".into(),
                wanted: "a folder: a report is several files".into(),
            });
        }
        let is_new =
            matches!(fs::symlink_metadata(path), Err(reason) if reason.kind() == ErrorKind::NotFound);
        let mut unfinished = Vec::new();
        if is_new {
            fs::create_dir_all(path).map_err(|reason| failed(path, reason))?;
            unfinished.push(CleanupGuard::new(path));
        }
        let before = report_in(path)?;
        let lock = path.join(LOCK);
        let file = OpenOptions::new().create(true).append(true).open(&lock);
        let file = file.map_err(|reason| failed(path, reason))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Content {
                    path: path.to_owned(),
                    found: "a folder that another run is going to write its report to".into(),
                    wanted: "a different folder for each run".into(),
                });
            }
            Err(TryLockError::Error(reason)) => return Err(failed(path, reason)),
        }
        unfinished.push(CleanupGuard::new(&lock));
        Ok(Self { path: path.to_owned(), before, is_new, _lock: file, _unfinished: unfinished })
    }

    /// Whether an existing report will be replaced.
    pub fn replaces(&self) -> bool {
        !self.before.is_empty()
    }

    /// The path as the user wrote it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the files of the report, each with its path in the folder, and removes the files of the
    /// previous report.
    ///
    /// # Errors
    /// [`Error::File`]. The previous report stays until the new files are written.
    pub fn write(mut self, files: &[(String, Vec<u8>)]) -> Result<()> {
        let is_known = |name: &str| name == PAGE || DATA.contains(&name) || name.starts_with(CHARTS);
        debug_assert!(files.iter().all(|(name, _)| is_known(name)), "no later report could replace the file");
        self.replace(files).map_err(|reason| failed(&self.path, reason))?;
        self.is_new = false;
        Ok(())
    }

    fn replace(&self, files: &[(String, Vec<u8>)]) -> io::Result<()> {
        let beside = tempfile::Builder::new().prefix(TEMPORARY).tempdir_in(&self.path)?;
        let _unfinished = CleanupGuard::new(beside.path());
        for (name, bytes) in files {
            let path = beside.path().join(name);
            fs::create_dir_all(directory_of(&path))?;
            let mut file = File::create(path)?;
            file.write_all(bytes)?;
            file.sync_all()?;
        }
        for old in &self.before {
            fs::remove_file(old).or_else(|reason| match reason.kind() {
                ErrorKind::NotFound => Ok(()),
                _ => Err(reason),
            })?;
        }
        for (name, _) in files {
            let path = self.path.join(name);
            fs::create_dir_all(directory_of(&path))?;
            fs::rename(beside.path().join(name), path)?;
        }
        Ok(())
    }
}

impl Drop for ReportFolder {
    fn drop(&mut self) {
        // A lock file that cannot be removed does no harm.
        let _ = fs::remove_file(self.path.join(LOCK));
        if self.is_new {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// The files of the report in a folder; empty for an empty folder.
fn report_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let refused = |found: String| Error::Content {
        path: folder.to_owned(),
        found,
        wanted: "the folder of a report, an empty folder, or a name that is free".into(),
    };
    let mut files = Vec::new();
    for path in entries(folder)? {
        let name = name_of(&path);
        if path.is_file() && (name == PAGE || DATA.contains(&&*name)) {
            files.push(path);
        } else if path.is_dir() && name == CHARTS {
            let charts = entries(&path)?;
            let is_chart = |name: &str| {
                let stem = DRAWN.iter().find_map(|ending| name.strip_suffix(ending));
                let beside = stem.map(|stem| path.join(format!("{stem}{CHART}")));
                name.ends_with(CHART) || beside.is_some_and(|beside| charts.contains(&beside))
            };
            for chart in charts.iter().cloned() {
                if !chart.is_file() || !is_chart(&name_of(&chart)) {
                    return Err(refused(format!("a folder that holds {CHARTS}/{}, too", name_of(&chart))));
                }
                files.push(chart);
            }
        } else if !is_temporary(&path) {
            return Err(refused(format!("a folder that holds {name}, too")));
        }
    }
    if !files.is_empty() && !files.contains(&folder.join(PAGE)) {
        return Err(refused(format!("a folder with files, without {PAGE} among them")));
    }
    Ok(files)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = || -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
    };
    let mut entries = list().map_err(|reason| failed(folder, reason))?;
    entries.sort_unstable();
    Ok(entries)
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
