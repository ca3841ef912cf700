//! What can be wrong with what the user gave, each naming the file, the line or the key, what was found and what
//! was wanted. The command line turns every one of them into exit code 2.

use std::path::PathBuf;

use wordline_kernel::Complaints;

/// An input that cannot be used, or an output that cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
    /// A line (or, in a binary file, a record) of a trace is not what its format says.
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
    /// Keys of a configuration, each with its origin (`file:line: key` or `--set key`).
    #[error("{0}")]
    Config(Complaints),
    /// An argument names something that does not exist or does not fit.
    #[error("{what}: found {found}, wanted {wanted}")]
    Argument {
        /// The argument or name.
        what: String,
        /// What was given.
        found: String,
        /// What would be right.
        wanted: String,
    },
    /// A run does not get on: a bug in Wordline. The text says what waits for what, and holds the reproducer.
    #[error("the simulation does not get on: {0}")]
    Stuck(String),
    /// The user stopped it before there was anything to tell.
    #[error("stopped before the first request")]
    Stopped,
    /// An always-on check of the simulation failed: a bug in Wordline. The text holds the reproducer.
    #[error("{0}")]
    Invariant(String),
}

impl From<wordline_trace::Error> for Error {
    fn from(error: wordline_trace::Error) -> Self {
        use wordline_trace::Error as Of;
        match error {
            Of::File { path, action, reason } => Self::File { path, action, reason },
            Of::Line { path, line, found, wanted } => Self::Line { path, line, found, wanted },
            Of::Content { path, found, wanted } => Self::Content { path, found, wanted },
            Of::Argument { what, found, wanted } => Self::Argument { what, found, wanted },
        }
    }
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
