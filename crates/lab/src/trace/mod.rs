//! Block traces: requests as they were recorded, and the formats they come in.
//!
//! [`open()`] finds the format by content, decompresses as it reads, puts requests in the order of time within a window and
//! notes whatever it had to do; [`read()`] takes a whole trace into memory. [`prepare()`] looks at what must be known before a
//! run, [`fit()`] moves requests to a smaller device, [`write()`] puts them down in another format.

mod archive;
mod embedded;
mod events;
mod field;
mod fit;
mod format;
mod generated;
mod input;
mod layout;
mod options;
mod order;
mod prepare;
mod read;
mod row;
mod stream;
mod units;
mod write;

pub use embedded::embedded;
pub use fit::{Fit, FitReport, Fitting, fit, wrap};
pub use generated::Generated;
pub use options::{Action, Devices, Format, Options, TimeUnit};
pub use prepare::{HELD, LateNotes, Prepared, Requests, Survey, prepare, prepare_embedded};
pub use read::{Trace, open, read, read_bytes};
pub use stream::Stream;
pub use write::{Target, TargetFormat, WriteReport, write};

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
    /// Make the range read as zeroes.
    WriteZeroes,
    /// Compare the range with what the host holds.
    Compare,
}

impl Op {
    /// How many kinds there are.
    pub const COUNT: usize = 6;
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
    /// The recorded processor, where the format has one.
    pub cpu: Option<u16>,
    /// The stream of a write, for devices that keep streams apart; 0 for none.
    pub stream: u8,
}
