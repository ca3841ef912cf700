//! Looks up where a request is in its trace, for the message of an error. Requests do not carry their lines, which
//! would cost memory for every one. After an error the trace is read again up to the request.

use std::path::PathBuf;

use super::input::is_rereadable;
use super::options::Options;
use super::read::TraceInput;
use crate::Error;

/// A trace file and the options with which its requests were read.
#[derive(Clone, Debug)]
pub struct Locator {
    path: PathBuf,
    options: Options,
}

impl Locator {
    /// Looks up requests of the trace at `path`. `None` if it can be read only once, such as standard input.
    pub fn of(path: PathBuf, options: Options) -> Option<Self> {
        is_rereadable(&path).then_some(Self { path, options })
    }

    /// Returns the error about the request with this number, counted from 1 in the order of the requests, which may
    /// differ from the order in the file. The error names the file and the line, or the record of a binary file.
    /// `None` if the request is not found, because the file has changed.
    #[cold]
    pub fn error(&self, number: u64, found: &str, wanted: &str) -> Option<Error> {
        let input = TraceInput::Path(self.path.clone());
        let mut stream = input.open(&self.options, &mut |_| {}).ok()?;
        let (path, line) = stream.place_of(number)?;
        let record = if stream.format().is_binary() { format!(", record {line}") } else { String::new() };
        let found = format!("{found} (request {number}{record})");
        Some(Error::Line { path, line, found, wanted: wanted.into() })
    }
}
