//! Checks a store: reads every file, and reports damaged files or moves them away.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;
use wordline_lab::error::Result;

use super::folder::{self, UNFINISHED_PREFIX, kind_of};
use super::{RUNS, WINDOWS, failed, filed};

/// Folder inside a store to which damaged files are moved.
const DAMAGED: &str = "damaged";

/// A damaged file of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// Path of the file inside the store.
    pub file: PathBuf,
    /// The reason why it counts as damaged.
    pub reason: String,
}

/// Result of checking a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// Number of intact runs.
    pub runs: usize,
    /// Damaged files, in order.
    pub damage: Vec<Damage>,
}

/// A file that was moved. Paths are inside the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MovedFile {
    /// Old path.
    pub from: PathBuf,
    /// New path.
    pub to: PathBuf,
}

/// Reads every file of the store in `path`, and reports damaged files. Changes nothing. A file of windows
/// without the file of its run does not count as damage. A program that is killed between writing the two
/// files leaves such a file, and the next execution of the run rewrites both.
///
/// # Errors
/// [`Error::Argument`](wordline_lab::error::Error::Argument) if there is no store,
/// [`Error::File`](wordline_lab::error::Error::File) if a file cannot be read.
pub fn check(path: &Path) -> Result<CheckReport> {
    folder::has_store(path)?;
    let mut checked = CheckReport { runs: 0, damage: Vec::new() };
    for file in files_of(path, RUNS)? {
        match damage_of(path, &file)? {
            None => checked.runs += 1,
            Some(damage) => checked.damage.push(damage),
        }
    }
    for file in files_of(path, WINDOWS)? {
        let found = match std::fs::symlink_metadata(path.join(&file)) {
            Ok(about) if !about.is_file() => Some(kind_of(&about)),
            _ if name_of(&file).is_none() => Some("a file that is none of a store"),
            _ => None,
        };
        checked.damage.extend(found.map(|found| Damage { file, reason: found.to_owned() }));
    }
    checked.damage.sort_by(|one, other| one.file.cmp(&other.file));
    checked.damage.dedup_by(|next, before| next.file == before.file);
    Ok(checked)
}

/// Moves damaged files of the store in `path` to its folder `damaged`, without overwriting any file there. If
/// windows are damaged, their run is moved too. A study repeats the runs that were moved.
///
/// # Errors
/// Those of [`check`]. [`Error::File`](wordline_lab::error::Error::File) if a file cannot be moved.
pub fn repair(path: &Path) -> Result<(CheckReport, Vec<MovedFile>)> {
    let checked = check(path)?;
    let mut wanted: BTreeSet<PathBuf> = BTreeSet::new();
    for Damage { file, .. } in &checked.damage {
        wanted.insert(file.clone());
        wanted.extend(file.file_name().map(|name| Path::new(RUNS).join(name)));
    }
    let is_there = |file: &PathBuf| std::fs::symlink_metadata(path.join(file)).is_ok();
    let moved = wanted.into_iter().filter(is_there).map(|file| move_aside(path, file));
    let moved = moved.collect::<Result<_>>()?;
    Ok((checked, moved))
}

fn move_aside(path: &Path, from: PathBuf) -> Result<MovedFile> {
    let folder = from.parent().unwrap_or(Path::new(""));
    let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let into = Path::new(DAMAGED).join(folder);
    std::fs::create_dir_all(path.join(&into)).map_err(|reason| failed(&path.join(&into), "make", reason))?;
    let numbered =
        |number: u32| into.join(if number == 0 { name.clone() } else { format!("{name}.{number}") });
    let is_free = |to: &PathBuf| std::fs::symlink_metadata(path.join(to)).is_err();
    let to = (0..=u32::MAX).map(numbered).find(is_free).expect("no folder has that many files");
    let place = path.join(&from);
    std::fs::rename(&place, path.join(&to)).map_err(|reason| failed(&place, "move", reason))?;
    Ok(MovedFile { from, to })
}

/// Damage of the file of a run, or of its windows.
fn damage_of(path: &Path, file: &Path) -> Result<Option<Damage>> {
    let damage = |file: &Path, reason: String| Ok(Some(Damage { file: file.to_owned(), reason }));
    let place = path.join(file);
    let about = std::fs::symlink_metadata(&place).map_err(|reason| failed(&place, "read", reason))?;
    if !about.is_file() {
        return damage(file, kind_of(&about).to_owned());
    }
    let Some(name) = name_of(file) else { return damage(file, "a file that is none of a store".into()) };
    let bytes = std::fs::read(&place).map_err(|reason| failed(&place, "read", reason))?;
    let filed = match filed::read(name, &bytes) {
        Ok(filed) => filed,
        Err(found) => return damage(file, found),
    };
    let Some(digest) = filed.windows else { return Ok(None) };
    let windows = Path::new(WINDOWS).join(file.file_name().unwrap_or_default());
    let place = path.join(&windows);
    match std::fs::symlink_metadata(&place) {
        Err(_) => damage(&windows, format!("no file, though run {name} has windows")),
        Ok(about) if !about.is_file() => damage(&windows, kind_of(&about).to_owned()),
        Ok(_) => {
            let bytes = std::fs::read(&place).map_err(|reason| failed(&place, "read", reason))?;
            let is_its = filed::digest(&bytes) == digest;
            let reason = || format!("content that is not that of the windows of run {name}");
            if is_its { Ok(None) } else { damage(&windows, reason()) }
        }
    }
}

/// Name of the run that owns a file.
fn name_of(file: &Path) -> Option<&str> {
    file.file_name()?.to_str()?.strip_suffix(".json")
}

/// Files of a folder of a store, in order, except files that are being written.
pub(super) fn files_of(path: &Path, part: &str) -> Result<Vec<PathBuf>> {
    let folder = path.join(part);
    let entries = std::fs::read_dir(&folder).map_err(|reason| failed(&folder, "read", reason))?;
    let mut all = Vec::new();
    for entry in entries {
        let name = entry.map_err(|reason| failed(&folder, "read", reason))?.file_name();
        if !name.as_encoded_bytes().starts_with(UNFINISHED_PREFIX.as_bytes()) {
            all.push(Path::new(part).join(name));
        }
    }
    all.sort();
    Ok(all)
}
