//! Errors in the user's input, each naming the file, the line or the key, what was found and what
//! was wanted. The command line turns every one of them into exit code 2.

use wordline_kernel::Complaints;

wordline_trace::input_errors! {
    /// An input that cannot be used, or an output that cannot be written.
    #[non_exhaustive]
    pub enum Error {
        /// Keys of a configuration, each with its origin (`file:line: key` or `--set key`).
        #[error("{0}")]
        Config(Complaints),
        /// A run does not get on: a bug in Wordline. The text says what waits for what, and holds the reproducer.
        #[error("the simulation does not get on: {0}")]
        Stuck(String),
        /// The user stopped it before there was anything to tell.
        #[error("stopped before the first request")]
        Stopped,
        /// A design or a policy gave an answer that was not allowed. The text holds the reproducer.
        #[error("{0}")]
        WrongAnswer(String),
        /// An always-on check of the simulation failed: a bug in Wordline. The text holds the reproducer.
        #[error("{0}")]
        Invariant(String),
    }
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
