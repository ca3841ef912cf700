//! Block traces: the requests of a host to a disk, one after another. Nothing here knows what the disk is made of.
//!
//! [`open()`] finds the format of a file by its content, decompresses as it reads, puts requests in the order of time within a
//! window, and notes all that it had to do; [`read()`] takes a whole trace into memory. [`prepare()`] looks at what must be
//! known before the requests go anywhere. [`Statistics`] are the numbers that papers print of a trace, [`fit()`] moves
//! requests into a smaller address space, and [`Writing`] puts them down in another format. [`workload`] generates
//! requests: as a pattern, or to the statistics that a paper gives of a trace which may not be passed on.
//!
//! Memory does not grow with the length of a trace, but where a function says that it takes a whole one.
//!
//! ```
//! use wordline_trace::{Compression, Op, Options, Statistics, TargetFormat, Writing, read_bytes};
//!
//! // MSR Cambridge: time in ticks of 100 ns, host, disk, what is done, offset, size, response.
//! let recorded = "128166372003061629,hm,0,Read,383496192,32768,413\n\
//!                 128166372016382155,hm,0,Write,310983680,16384,5420\n";
//! let trace = read_bytes("hm_0.csv", recorded.as_bytes(), &Options::default())?;
//! assert_eq!((trace.format.name(), trace.requests[1].op), ("msr", Op::Write));
//!
//! let statistics = Statistics::of(&trace.requests);
//! assert_eq!((statistics.reads, statistics.written_bytes), (1, 16384));
//!
//! let how = Writing {
//!     format: TargetFormat::Csv,
//!     compression: Compression::Plain,
//!     generated: None,
//!     has_more: false,
//! };
//! let mut csv = Vec::new();
//! how.write(&mut csv, trace.requests.into_iter().map(Ok))?;
//! assert!(csv.starts_with(b"t_ps,op,offset,size"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod embedded;
mod error;
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
mod source;
mod stream;
mod units;
pub mod workload;
mod write;

pub use embedded::embedded;
pub use error::{Error, Result};
pub use fit::{Fit, FitReport, Fitting, fit, wrap};
pub use generated::Generated;
pub use input::Progress;
pub use options::{Action, Devices, Format, Options, TimeUnit};
pub use prepare::{HELD, LateNotes, Prepared, Requests, Survey, prepare, prepare_embedded};
pub use read::{Trace, open, open_told, read, read_bytes};
pub use source::{Source, SourceKind};
pub use stream::Stream;
pub use write::{Compression, TargetFormat, WriteError, WriteReport, Writing};

mod footprint;
pub mod published;
pub mod stats;

use serde::Serialize;
use wordline_kernel::{Bytes, Instant};

pub use published::{Statistic, Unit, statistic};
pub use stats::Statistics;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Discard, TRIM, deallocate.
    Discard,
    /// Make everything acknowledged so far durable.
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
    /// Its operation.
    pub op: Op,
    /// Forced unit access: a write that is complete only once it is durable.
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

impl Request {
    /// A request at the start of a trace, to device 0, with nothing recorded beside it.
    pub const fn new(op: Op, offset: Bytes, size: Bytes) -> Self {
        Self {
            arrival: Instant::ZERO,
            op,
            fua: false,
            device: 0,
            offset,
            size,
            response: None,
            cpu: None,
            stream: 0,
        }
    }
}
