//! Errors in a trace, or in a request to read or write one. An error has file and line, what was found and
//! what was expected.

/// Declares the error type of a crate that reads user input. It has errors in files, lines and arguments,
/// with the same wording in every crate, and further variants of the crate. The crate needs `thiserror`.
#[macro_export]
macro_rules! input_errors {
    ($(#[$doc:meta])* pub enum $name:ident { $($more:tt)* }) => {
        $(#[$doc])*
        #[derive(Debug, ::thiserror::Error)]
        pub enum $name {
            /// A file cannot be opened, read or written.
            #[error("{path}: cannot {action}: {reason}", path = path.display())]
            File {
                /// The file.
                path: ::std::path::PathBuf,
                /// `open`, `read` or `write`.
                action: &'static str,
                /// The error of the operating system.
                reason: ::std::io::Error,
            },
            /// A line (or, in a binary file, a record) does not follow its format.
            #[error("{path}:{line}: found {found}, wanted {wanted}", path = path.display())]
            Line {
                /// The file; for an archive, with the name of the member.
                path: ::std::path::PathBuf,
                /// The line or record, counted from 1.
                line: u64,
                /// Text found in the line.
                found: String,
                /// Text expected instead.
                wanted: String,
            },
            /// A file as a whole is invalid.
            #[error("{path}: found {found}, wanted {wanted}", path = path.display())]
            Content {
                /// The file.
                path: ::std::path::PathBuf,
                /// The content found.
                found: String,
                /// Content expected instead.
                wanted: String,
            },
            /// An argument, option or name is unknown or invalid.
            #[error("{what}: found {found}, wanted {wanted}")]
            Argument {
                /// The argument or name.
                what: String,
                /// The value given.
                found: String,
                /// Values that would be valid.
                wanted: String,
            },
            $($more)*
        }
    };
}

input_errors! {
    /// A trace that cannot be read or written, or an option that does not fit.
    pub enum Error {}
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
