//! The folder of a store: how to create it, recognise it, and remove what killed programs left in it.
//!
//! A new store is built in a folder next to its final path, and renamed. It is therefore complete or absent.
//! An existing empty folder, which may have an owner and permissions of its own, gets its parts one by one,
//! the mark last. If this is interrupted, the next start completes the store.

use std::fs::{File, Metadata};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::{Builder, NamedTempFile};
use wordline_lab::error::{Error, Result};

use super::{LAYOUT, RUNS, WINDOWS, failed};

/// File that marks a folder as a store.
const MARK_FILE: &str = "store.json";

/// Prefix of the names of files that are being written.
pub(super) const UNFINISHED_PREFIX: &str = ".unfinished-";

/// Maximum number of attempts to create a store. Chosen: if another program creates the same store, the
/// second attempt finds it. A third attempt is for the case that another program removes it meanwhile.
const MAX_ATTEMPTS: u32 = 3;

#[derive(Serialize, Deserialize)]
struct Mark {
    layout: u32,
}

/// State of the path of a store.
enum PathState {
    /// A complete store.
    Complete,
    /// The path does not exist.
    Absent,
    /// An empty folder, or an incomplete store.
    Incomplete,
}

/// Opens or creates the store in `path`. While the returned file is open, no other program removes files that
/// are being written.
pub(super) fn open(path: &Path) -> Result<File> {
    let mut failure = None;
    for _ in 0..MAX_ATTEMPTS {
        let made = match standing(path)? {
            PathState::Complete => return lock_mark(path),
            PathState::Absent => build_in_sibling(path),
            PathState::Incomplete => complete(path),
        };
        failure = made.err().or(failure);
    }
    match standing(path)? {
        PathState::Complete => lock_mark(path),
        _ => Err(failure.unwrap_or_else(|| refused(path, "a folder that is removed repeatedly"))),
    }
}

/// Returns an error if the path is not a store.
///
/// # Errors
/// [`Error::Argument`] if there is no store, [`Error::File`] if the path cannot be read.
pub fn has_store(path: &Path) -> Result<()> {
    match standing(path)? {
        PathState::Complete => Ok(()),
        PathState::Absent => Err(refused(path, "nothing")),
        PathState::Incomplete => Err(refused(path, "a folder without store.json")),
    }
}

fn refused(path: &Path, found: &str) -> Error {
    Error::Argument {
        what: format!("store {}", path.display()),
        found: found.to_owned(),
        wanted: "a store of studies, or a folder that is empty or not there".into(),
    }
}

fn standing(path: &Path) -> Result<PathState> {
    let Some(about) = about(path)? else { return Ok(PathState::Absent) };
    if !about.is_dir() {
        return Err(refused(path, kind_of(&about)));
    }
    if is_marked(path)? {
        return Ok(PathState::Complete);
    }
    for part in [RUNS, WINDOWS] {
        part_of(path, part)?;
    }
    let is_empty = |folder: &Path| std::fs::read_dir(folder).map_or(true, |mut all| all.all(is_unfinished));
    let is_known = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = entry.as_ref().map(std::fs::DirEntry::file_name).unwrap_or_default();
        let is_part = name == RUNS || name == WINDOWS;
        name == MARK_FILE || is_part && is_empty(&path.join(&name)) || is_unfinished(entry)
    };
    match std::fs::read_dir(path).map_err(|reason| failed(path, "read", reason))?.all(is_known) {
        true => Ok(PathState::Incomplete),
        // Since the first check, another program may have created the store and begun to fill it.
        false if is_marked(path)? => Ok(PathState::Complete),
        false => Err(refused(path, "a folder with other files")),
    }
}

fn is_unfinished(entry: std::io::Result<std::fs::DirEntry>) -> bool {
    entry.is_ok_and(|entry| entry.file_name().as_encoded_bytes().starts_with(UNFINISHED_PREFIX.as_bytes()))
}

/// Whether a folder has the mark of a store and both subfolders.
fn is_marked(path: &Path) -> Result<bool> {
    let Some(bytes) = read(&path.join(MARK_FILE))? else { return Ok(false) };
    let mark: Mark = serde_json::from_slice(&bytes)
        .map_err(|error| refused(path, &format!("{MARK_FILE} with other content: {error}")))?;
    if mark.layout != LAYOUT {
        return Err(refused(path, &format!("a store of layout {}, this program has {LAYOUT}", mark.layout)));
    }
    for part in [RUNS, WINDOWS] {
        if part_of(path, part)?.is_none() {
            return Err(refused(path, &format!("a store without its folder {part}")));
        }
    }
    Ok(true)
}

/// A subfolder of a store, if it exists.
fn part_of(path: &Path, part: &str) -> Result<Option<()>> {
    match about(&path.join(part))? {
        Some(about) if !about.is_dir() => {
            Err(refused(path, &format!("{} in the place of its folder {part}", kind_of(&about))))
        }
        found => Ok(found.map(drop)),
    }
}

fn about(path: &Path) -> Result<Option<Metadata>> {
    match std::fs::symlink_metadata(path) {
        Ok(about) => Ok(Some(about)),
        Err(reason) if reason.kind() == ErrorKind::NotFound => Ok(None),
        Err(reason) => Err(failed(path, "read", reason)),
    }
}

/// Kind of a file-system entry, for messages.
pub(super) fn kind_of(about: &Metadata) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = about.file_type();
        if kind.is_fifo() {
            return "a FIFO";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    match about {
        about if about.is_symlink() => "a link",
        about if about.is_dir() => "a folder",
        _ => "a file",
    }
}

/// Reads a file of a store, if it exists. Links are an error. FIFOs are an error too, because they may never
/// get a writer.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match about(path)? {
        None => Ok(None),
        Some(about) if !about.is_file() => Err(Error::Argument {
            what: path.display().to_string(),
            found: kind_of(&about).to_owned(),
            wanted: "a file of a store".into(),
        }),
        Some(_) => match std::fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(reason) if reason.kind() == ErrorKind::NotFound => Ok(None),
            Err(reason) => Err(failed(path, "read", reason)),
        },
    }
}

/// Builds a store in a folder next to `path`, and renames it. If another program created the store first,
/// this one is removed.
fn build_in_sibling(path: &Path) -> Result<()> {
    let parent = parent_of(path);
    let made = |reason| failed(path, "make", reason);
    std::fs::create_dir_all(parent).map_err(made)?;
    let mut builder = Builder::new();
    let prefix = sibling_prefix(path);
    builder.prefix(&prefix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Default permissions of a folder; the user's umask is applied.
        builder.permissions(std::fs::Permissions::from_mode(0o777));
    }
    let beside = builder.tempdir_in(parent).map_err(made)?;
    complete(beside.path())?;
    std::fs::rename(beside.path(), path).map_err(made)?;
    // After the rename there is no temporary folder to remove.
    let _ = beside.keep();
    Ok(())
}

/// Creates the missing parts of a store, the mark last.
fn complete(path: &Path) -> Result<()> {
    for part in [RUNS, WINDOWS] {
        match std::fs::create_dir(path.join(part)) {
            Err(reason) if reason.kind() != ErrorKind::AlreadyExists => {
                return Err(failed(path, "make", reason));
            }
            _ => {}
        }
    }
    let text = serde_json::to_vec(&Mark { layout: LAYOUT }).expect("it is an object");
    write_new(&path.join(MARK_FILE), &text)
}

fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Prefix of the names of folders in which the store `path` is built.
fn sibling_prefix(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!(".{name}{UNFINISHED_PREFIX}")
}

/// Opens and locks the mark of a store. If no other program has it open, files that killed programs left are
/// removed. Systems without locks skip this.
fn lock_mark(path: &Path) -> Result<File> {
    let place = path.join(MARK_FILE);
    let mark = File::open(&place).map_err(|reason| failed(&place, "read", reason))?;
    if mark.try_lock().is_ok() {
        for folder in [path.to_owned(), path.join(RUNS), path.join(WINDOWS)] {
            remove_all(&folder, UNFINISHED_PREFIX);
        }
        remove_all(parent_of(path), &sibling_prefix(path));
        // Without locks there is nothing to unlock.
        let _ = mark.unlock();
    }
    let _ = mark.lock_shared();
    Ok(mark)
}

/// Removes entries whose names begin with `beginning`. Failures do no harm and are ignored.
fn remove_all(folder: &Path, beginning: &str) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning)) {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let _ = if is_folder { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
    }
}

/// Creates a file atomically. An existing file is kept.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    let file = unfinished(path, bytes)?;
    match file.persist_noclobber(path) {
        Err(failure) if failure.error.kind() != ErrorKind::AlreadyExists => {
            Err(failed(path, "write", failure.error))
        }
        _ => Ok(()),
    }
}

/// Creates or replaces a file atomically.
pub(super) fn replace_file(path: &Path, bytes: &[u8]) -> Result<()> {
    unfinished(path, bytes)?.persist(path).map_err(|failure| failed(path, "write", failure.error)).map(drop)
}

fn unfinished(path: &Path, bytes: &[u8]) -> Result<NamedTempFile> {
    let write = || {
        let folder = path.parent().expect("a file in a folder");
        let mut file = Builder::new().prefix(UNFINISHED_PREFIX).tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        Ok(file)
    };
    write().map_err(|reason| failed(path, "write", reason))
}

/// Path of the file of a run, in one of the folders of a store.
pub(super) fn file_of(folder: &Path, part: &str, name: &str) -> PathBuf {
    folder.join(part).join(format!("{name}.json"))
}
