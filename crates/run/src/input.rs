//! Input files that a user names.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::output::is_standard;

/// Name of standard input in messages.
const STDIN: &str = "standard input";

/// Greatest size of a file that is read as a whole: a configuration, a workload, a script. Chosen: a hundred
/// times the largest embedded file.
const MOST_BYTES: u64 = 1 << 20;

/// The name of an input in messages.
pub fn shown(path: &Path) -> PathBuf {
    if is_standard(path) { STDIN.into() } else { path.to_owned() }
}

/// Opens a file that a user names; `-` is standard input.
///
/// # Errors
/// [`Error::File`] if it cannot be opened, or is a folder.
pub fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    let file = match std::fs::metadata(path) {
        // A folder could be opened, but reading it fails with a less specific error.
        Ok(about) if about.is_dir() => Err(ErrorKind::IsADirectory.into()),
        _ => open_file(path),
    };
    file.map_err(|reason| Error::File { path: path.to_owned(), action: "open", reason })
}

fn open_file(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if is_standard(path) {
        return Ok(Box::new(io::stdin()));
    }
    Ok(Box::new(File::open(path)?))
}

/// Reads a small file as a whole. `what` describes the file in messages.
///
/// # Errors
/// [`Error::File`] if the file cannot be read, [`Error::Content`] if it exceeds the size limit.
pub fn bytes(path: &Path, what: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open_file(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|reason| Error::File { path: shown(path), action: "read", reason })?;
    if bytes.len() as u64 > MOST_BYTES {
        let (found, wanted) = ("more than 1 MiB".into(), format!("{what} of at most 1 MiB"));
        return Err(Error::Content { path: shown(path), found, wanted });
    }
    Ok(bytes)
}

/// Reads a small text file.
///
/// # Errors
/// [`Error::Line`] if the file is not UTF-8; the errors of [`bytes`].
pub fn text(path: &Path, what: &str) -> Result<String> {
    String::from_utf8(bytes(path, what)?).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        Error::Line {
            path: shown(path),
            line: 1 + good.iter().filter(|byte| **byte == b'\n').count() as u64,
            found: "a byte that is not UTF-8".into(),
            wanted: format!("{what}, which is UTF-8 text"),
        }
    })
}
