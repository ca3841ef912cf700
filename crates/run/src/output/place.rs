//! Resolves an output path to a regular file, standard output, or a special file, which must not be replaced.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// Greatest number of links that are followed, as in Linux.
const MOST_LINKS: usize = 40;

/// The target of an output path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ResolvedPath {
    Stdout,
    /// An existing file that is not regular, such as a device, a pipe or a terminal.
    Special(PathBuf),
    /// A regular file or an unused name, with all links resolved.
    Regular(PathBuf),
}

/// Whether a path means standard input or standard output.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Resolves `path`.
pub(super) fn of(path: &Path) -> io::Result<ResolvedPath> {
    if is_standard(path) {
        return Ok(ResolvedPath::Stdout);
    }
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match descriptor(&path) {
            // The same stream as for printing, so that the order of the output is kept.
            Some(Some(1)) => return Ok(ResolvedPath::Stdout),
            // A file that the shell opened belongs to the shell, and is not replaced.
            Some(_) => return Ok(ResolvedPath::Special(path)),
            None => {}
        }
        match fs::symlink_metadata(&path) {
            Ok(about) if about.is_symlink() => {
                let target = fs::read_link(&path)?;
                path = super::names::directory_of(&path).join(target);
            }
            Ok(about) if about.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(about) if about.is_file() => return Ok(ResolvedPath::Regular(path)),
            Ok(_) => return Ok(ResolvedPath::Special(path)),
            Err(reason) if reason.kind() == ErrorKind::NotFound => return Ok(ResolvedPath::Regular(path)),
            Err(reason) => return Err(reason),
        }
    }
    Err(io::Error::other("too many links lead on from there"))
}

/// Whether a path names an open file of a process, such as `/dev/fd/63` or `/proc/self/fd/1`. The inner value
/// is the file descriptor, if the process is this one.
fn descriptor(path: &Path) -> Option<Option<u32>> {
    if !cfg!(unix) {
        return None;
    }
    let parts: Vec<&str> = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| part.as_os_str().to_str())
        .collect::<Option<_>>()?;
    let own = std::process::id().to_string();
    match parts[..] {
        ["/", "dev", "fd", number] => Some(number.parse().ok()),
        ["/", "dev", "stdout"] => Some(Some(1)),
        ["/", "proc", process, "fd", number] if process == "self" || process == own => {
            Some(number.parse().ok())
        }
        ["/", "proc", _, "fd", _] => Some(None),
        _ => None,
    }
}
