//! Block traces: the requests of a host to a disk. This crate knows nothing about the inside of the disk.
//!
//! * [`open()`] detects the format of a file from its content, decompresses as it reads, sorts requests by
//!   time within a window, and notes every correction.
//! * [`read()`] loads a whole trace into memory.
//! * [`prepare()`] surveys a trace before the requests are used.
//! * [`Statistics`] are the numbers that papers print about a trace.
//! * [`fit()`] moves requests into a smaller address space.
//! * [`WriteOptions`] writes requests in another format.
//! * [`workload`] generates requests: as a pattern, or from published statistics of a trace that may not be
//!   redistributed.
//!
//! Memory does not grow with the length of a trace, except in functions that are documented to load a whole
//! one.
//!
//! ```
//! use wordline_trace::{Compression, Op, Options, Statistics, TargetFormat, WriteOptions, read_bytes};
//!
//! // MSR Cambridge: time in ticks of 100 ns, host, disk, operation, offset, size, response.
//! let recorded = "128166372003061629,hm,0,Read,383496192,32768,413\n\
//!                 128166372016382155,hm,0,Write,310983680,16384,5420\n";
//! let trace = read_bytes("hm_0.csv", recorded.as_bytes(), &Options::default())?;
//! assert_eq!((trace.format.name(), trace.requests[1].op), ("msr", Op::Write));
//!
//! let statistics = Statistics::of(&trace.requests);
//! assert_eq!((statistics.reads, statistics.written_bytes), (1, 16384));
//!
//! let how = WriteOptions {
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
mod columns;
mod embedded;
mod error;
mod events;
mod field;
mod fit;
mod format;
mod formats;
mod generated;
mod input;
mod layout;
mod locate;
mod options;
mod order;
mod prepare;
mod read;
mod recorded;
mod row;
mod source;
mod stream;
mod trace;
mod units;
pub mod workload;
mod write;
mod zones;

pub use columns::Columns;
pub use embedded::embedded;
pub use error::{Error, Result};
pub use fit::{Fit, FitReport, Fitter, fit, wrap};
pub use formats::{Format, TimeUnit};
pub use generated::Generated;
pub use input::Progress;
pub use locate::Locator;
pub use options::{Action, Devices, Filter, Options, Zones};
pub use prepare::{LateNotes, MAX_HELD_REQUESTS, Prepared, Requests, Survey, prepare, prepare_embedded};
pub use read::{open, open_with_progress, read, read_bytes};
pub use source::{Source, SourceKind};
pub use stream::Stream;
pub use trace::Trace;
pub use write::{Compression, TargetFormat, WriteError, WriteOptions, WriteReport};
pub use zones::OverZones;

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
    /// Make all completed writes durable (NVMe Flush).
    Flush,
    /// Make the range read as zeroes (NVMe Write Zeroes).
    WriteZeroes,
    /// Compare the range with what the host holds.
    Compare,
    /// Write at the write pointer of the zone that contains the offset (NVMe Zone Append).
    ZoneAppend,
    /// Reset the zone that contains the offset.
    ZoneReset,
    /// Finish the zone that contains the offset.
    ZoneFinish,
    /// Open the zone that contains the offset.
    ZoneOpen,
    /// Close the zone that contains the offset.
    ZoneClose,
}

impl Op {
    /// Every operation, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Read,
        Self::Write,
        Self::Discard,
        Self::Flush,
        Self::WriteZeroes,
        Self::Compare,
        Self::ZoneAppend,
        Self::ZoneReset,
        Self::ZoneFinish,
        Self::ZoneOpen,
        Self::ZoneClose,
    ];

    /// Number of operations.
    pub const COUNT: usize = Self::ALL.len();

    /// Letters in CSV traces and logs.
    pub const fn letters(self) -> &'static str {
        ["R", "W", "D", "F", "Z", "C", "ZA", "ZR", "ZF", "ZO", "ZC"][self as usize]
    }

    /// Whether the operation changes the state of a zone without data.
    pub fn is_zone_management(self) -> bool {
        matches!(self, Self::ZoneReset | Self::ZoneFinish | Self::ZoneOpen | Self::ZoneClose)
    }
}

/// One request of a trace or a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Arrival time, counted from the first request of the trace.
    pub arrival: Instant,
    /// Operation.
    pub op: Op,
    /// Forced unit access: the write completes only when its data are durable.
    pub fua: bool,
    /// Recorded device (disk, ASU, volume); 0 if the format has none.
    pub device: u32,
    /// First byte.
    pub offset: Bytes,
    /// Size in bytes; zero only for a flush.
    pub size: Bytes,
    /// Recorded response time, if the format has one.
    pub response: Option<wordline_kernel::Duration>,
    /// Recorded processor, if the format has one.
    pub cpu: Option<u16>,
    /// Stream of a write, for devices with streams; 0 for none.
    pub stream: u8,
}

impl Request {
    /// Creates a request at the start of a trace, to device 0, without recorded extras.
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

    /// Byte after the last that the request touches; 0 for a flush, which touches none.
    pub fn end(&self) -> Bytes {
        match self.op {
            Op::Flush => Bytes(0),
            _ => Bytes(self.offset.0.saturating_add(self.size.0)),
        }
    }
}
