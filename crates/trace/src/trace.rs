//! A whole trace in memory.

use super::formats::Format;
use super::generated::source;
use super::{Generated, Request};
use crate::Source;

/// A whole trace in memory: recorded, or generated and written by this program.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Name of the file without directory.
    pub name: String,
    /// Format, as detected or as given by the user.
    pub format: Format,
    /// The requests in the order of their arrival, the first at zero.
    pub requests: Vec<Request>,
    /// Notes for the user: requests dropped or sorted, gaps closed, values assumed.
    pub notes: Vec<String>,
    /// Origin of generated requests, if the file gives it. Only Wordline's CSV can.
    pub generated: Option<Generated>,
}

impl Trace {
    /// Returns the original source of the requests: the file, or the profile or workload from which they were
    /// generated.
    pub fn source(&self) -> Source {
        source(&self.name, self.generated.as_ref())
    }
}
