//! What can be wrong with a trace, or with what is asked of one: the file and line, what was found and what was wanted.

use std::path::PathBuf;

/// A trace that cannot be read or written, or an option that does not fit.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be opened, read or written.
    #[error("{path}: cannot {action}: {reason}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// `open`, `read` or `write`.
        action: &'static str,
        /// What the system said.
        reason: std::io::Error,
    },
    /// A line (or, in a binary file, a record) is not what its format says.
    #[error("{path}:{line}: found {found}, wanted {wanted}", path = path.display())]
    Line {
        /// The file, with the member's name where it is an archive.
        path: PathBuf,
        /// The line or record, counted from 1.
        line: u64,
        /// What stands there.
        found: String,
        /// What would be right.
        wanted: String,
    },
    /// A file as a whole is not what it should be.
    #[error("{path}: found {found}, wanted {wanted}", path = path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: String,
        /// What would be right.
        wanted: String,
    },
    /// An option or a name that there is not, or that does not fit.
    #[error("{what}: found {found}, wanted {wanted}")]
    Argument {
        /// The option or name.
        what: String,
        /// What was given.
        found: String,
        /// What would be right.
        wanted: String,
    },
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
