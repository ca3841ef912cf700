//! Temporary files that are removed if the program ends early.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The files to remove if the program ends now, the last one first.
static UNDER_WAY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file, or an empty folder, that is removed if the program ends early.
#[derive(Debug)]
pub(super) struct CleanupGuard(PathBuf);

impl CleanupGuard {
    pub(super) fn new(path: &Path) -> Self {
        UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
        Self(path.to_owned())
    }

    /// Removes the file, as at an early end of the program.
    #[cfg(test)]
    pub(super) fn remove(&self) {
        remove(&self.0);
    }
}

impl Drop for CleanupGuard {
    fn drop(&mut self) {
        let mut under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = under_way.iter().rposition(|path| *path == self.0) {
            under_way.remove(place);
        }
    }
}

/// Removes all temporary files, before the program ends without unwinding.
pub fn remove_unfinished() {
    let under_way = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
    under_way.iter().rev().for_each(|path| remove(path));
}

fn remove(path: &Path) {
    // Errors are ignored. The folder of a report is removed only if it is empty.
    let _ = match path.is_dir() {
        true if super::names::is_temporary(path) => fs::remove_dir_all(path),
        true => fs::remove_dir(path),
        false => fs::remove_file(path),
    };
}
