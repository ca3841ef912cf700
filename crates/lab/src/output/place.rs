//! The target that a name stands for: a regular file, standard output, or something that must not be replaced.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// Links that are followed at most, as Linux does.
const MOST_LINKS: usize = 40;

/// The target that a name stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Stdout,
    /// A device, a pipe, a terminal: it exists and is no regular file.
    Special(PathBuf),
    /// A regular file, behind all links, or a name that is free.
    Regular(PathBuf),
}

/// Whether a user's name for a file stands for standard input or standard output.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// The target that `path` stands for.
pub(super) fn of(path: &Path) -> io::Result<Place> {
    if is_standard(path) {
        return Ok(Place::Stdout);
    }
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match descriptor(&path) {
            // Through the stream that prints, so that the order of what is written stays.
            Some(Some(1)) => return Ok(Place::Stdout),
            // A file that a shell has opened is the shell's: it is not replaced under its hands.
            Some(_) => return Ok(Place::Special(path)),
            None => {}
        }
        match fs::symlink_metadata(&path) {
            Ok(about) if about.is_symlink() => {
                let target = fs::read_link(&path)?;
                path = super::names::directory_of(&path).join(target);
            }
            Ok(about) if about.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(about) if about.is_file() => return Ok(Place::Regular(path)),
            Ok(_) => return Ok(Place::Special(path)),
            Err(reason) if reason.kind() == ErrorKind::NotFound => return Ok(Place::Regular(path)),
            Err(reason) => return Err(reason),
        }
    }
    Err(io::Error::other("too many links lead on from there"))
}

/// Whether a name is that of an open file of a process, such as `/dev/fd/63` or `/proc/self/fd/1`; and its number where
/// it is one of this process.
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
