//! Block traces: requests as they were recorded, and the formats they come in.

mod footprint;
pub mod published;
pub mod stats;

use serde::Serialize;
use wordline_kernel::{Bytes, Instant};

pub use published::{Statistic, Unit, statistic};
pub use stats::Statistics;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Discard, TRIM, deallocate.
    Discard,
    /// Write everything acknowledged so far to flash.
    Flush,
}

/// One request of a trace or a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it arrives, counted from the first request of the trace.
    pub arrival: Instant,
    /// What it does.
    pub op: Op,
    /// Forced unit access: a write that is complete only once it is in flash.
    pub fua: bool,
    /// The recorded device (disk, ASU, volume), 0 where the format has none.
    pub device: u32,
    /// The first byte.
    pub offset: Bytes,
    /// How many bytes; zero for a flush only.
    pub size: Bytes,
    /// The response time that was recorded, where the format has one.
    pub response: Option<wordline_kernel::Duration>,
}
