//! Reads fio job files, with the files and variables that they refer to.

use std::path::Path;

use crate::error::{Error, Result};
use crate::input;
use crate::trace::workload::fio::{JobFile, Surroundings};

/// Reads the job file at `path`.
///
/// # Errors
/// A file that cannot be read, and everything that is wrong with it.
pub(super) fn job_file(path: &Path) -> Result<JobFile> {
    let name = input::shown(path).display().to_string();
    let text = input::text(path, "a job file of fio")?;
    let folder = path.parent().unwrap_or(Path::new(""));
    // As in fio: a name is one of the current folder, or of the job file's.
    let include = |file: &str| {
        let own = Path::new(file);
        std::fs::read_to_string(if own.exists() { own.to_owned() } else { folder.join(own) })
    };
    let variable = |name: &str| std::env::var(name).ok();
    let around = Surroundings { include: &include, variable: &variable };
    JobFile::parse_within(&name, &text, around).map_err(Error::Config)
}
