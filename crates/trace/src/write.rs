//! Writes a trace in another format, compressed or not, to any byte sink.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant, one_of};

use super::format::{CSV_COLUMNS, MORE_CSV_COLUMNS, MSR_TICK_PS};
use super::{Generated, Op, Request};
use crate::{Error, error::Result};

/// A format in which traces can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TargetFormat {
    /// Wordline's CSV, which can express everything.
    Csv,
    /// MSR Cambridge CSV: reads and writes, ticks of 100 ns, host `wordline`. A disk has 16 bits: for device
    /// numbers beyond, their upper bits follow the name of the host.
    Msr,
    /// SPC: reads and writes, microseconds, 512 B addresses.
    Spc,
    /// DiskSim ASCII: reads and writes, nanoseconds as fractions of a millisecond, sectors.
    Disksim,
    /// MQSim and SSDSim ASCII: reads and writes, nanoseconds, sectors.
    Mqsim,
    /// fio's I/O log, version 3: microseconds, devices as files `/dev/wordline0` and so on.
    FioIolog,
}

impl TargetFormat {
    /// Every target, in the order in which they are listed.
    pub const ALL: [Self; 6] = [Self::Csv, Self::Msr, Self::Spc, Self::Disksim, Self::Mqsim, Self::FioIolog];

    /// Name in options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Msr => "msr",
            Self::Spc => "spc",
            Self::Disksim => "disksim",
            Self::Mqsim => "mqsim",
            Self::FioIolog => "fio-iolog",
        }
    }

    const fn holds(self, op: Op) -> bool {
        match self {
            Self::Csv => true,
            Self::FioIolog => matches!(op, Op::Read | Op::Write | Op::Discard | Op::Flush),
            _ => matches!(op, Op::Read | Op::Write),
        }
    }

    /// Whether a request is widened to the sectors that the format counts. SPC counts sizes in bytes.
    const fn widens(self, request: &Request) -> bool {
        let is_within = !request.offset.0.is_multiple_of(512);
        match self {
            Self::Disksim | Self::Mqsim => is_within || !request.size.0.is_multiple_of(512),
            Self::Spc => is_within,
            Self::Csv | Self::Msr | Self::FioIolog => false,
        }
    }
}

impl std::str::FromStr for TargetFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| Error::Argument {
            what: "format to write".into(),
            found: format!("\"{text}\""),
            wanted: one_of(text, &Self::ALL.map(Self::name)),
        })
    }
}

/// Counts of requests written, and of losses that the format causes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WriteReport {
    /// Requests written.
    pub written: u64,
    /// Requests dropped because the format cannot express them.
    pub left_out: u64,
    /// Requests widened to whole sectors of 512 B.
    pub widened: u64,
    /// Writes with forced unit access that are written without it.
    pub fua_lost: u64,
    /// Whether the requests are generated and the format cannot record this.
    pub mark_lost: bool,
}

/// Compression of a written trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// No compression.
    #[default]
    Plain,
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
}

impl Compression {
    /// Returns the compression for the extension of a file name: `.gz`, `.zst`, or no compression.
    ///
    /// # Errors
    /// [`Error::Content`] for the extension of another compression.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "gz" => Ok(Self::Gzip),
            "zst" => Ok(Self::Zstd),
            other if FOREIGN.contains(&other) => Err(Error::Content {
                path: path.into(),
                found: format!("a name that ends in .{extension}"),
                wanted: "one that ends in .gz or .zst, which can be written, or is a plain file's".into(),
            }),
            _ => Ok(Self::Plain),
        }
    }
}

/// Extensions of files that cannot be written.
const FOREIGN: [&str; 12] =
    ["parquet", "xz", "bz2", "zip", "lz4", "lzma", "lz", "br", "7z", "z", "tgz", "tar"];

/// Reasons why a trace cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output failed.
    #[error("{0}")]
    Output(#[from] io::Error),
    /// The requests cannot be read, or cannot be written.
    #[error("{0}")]
    Requests(Error),
}

/// Options for writing a trace.
#[derive(Clone, Copy, Debug)]
pub struct WriteOptions<'a> {
    /// Format.
    pub format: TargetFormat,
    /// Compression.
    pub compression: Compression,
    /// Origin of generated requests. The first line contains it if the format has comments.
    pub generated: Option<&'a Generated>,
    /// Whether fields that only some traces have, a processor or a stream, are written, too.
    pub has_more: bool,
}

type WriteResult = std::result::Result<WriteReport, WriteError>;

impl WriteOptions<'_> {
    /// Writes requests as they come.
    ///
    /// # Errors
    /// [`WriteError`]; part of the trace may have been written.
    pub fn write(&self, to: impl Write, requests: impl IntoIterator<Item = Result<Request>>) -> WriteResult {
        let (plain, requests) = (BufWriter::new(to), requests.into_iter());
        Ok(match self.compression {
            Compression::Gzip => {
                let mut out = flate2::write::GzEncoder::new(plain, flate2::Compression::default());
                let report = lines(&mut out, requests, *self)?;
                out.finish()?.flush()?;
                report
            }
            Compression::Zstd => {
                // Level 0 is the library's default.
                let mut out = zstd::Encoder::new(plain, 0)?;
                let report = lines(&mut out, requests, *self)?;
                out.finish()?.flush()?;
                report
            }
            Compression::Plain => {
                let mut out = plain;
                let report = lines(&mut out, requests, *self)?;
                out.flush()?;
                report
            }
        })
    }
}

fn lines(
    out: &mut impl Write,
    requests: impl Iterator<Item = Result<Request>>,
    how: WriteOptions<'_>,
) -> WriteResult {
    let WriteOptions { format, generated, has_more, .. } = how;
    begin(out, how)?;
    let mark_lost = generated.is_some() && format != TargetFormat::Csv;
    let mut report = WriteReport { mark_lost, ..WriteReport::default() };
    let (mut open, mut last) = (BTreeSet::new(), Instant::ZERO);
    for (number, request) in (1_u64..).zip(requests) {
        let request = request.map_err(WriteError::Requests)?;
        if request.arrival > Instant::LIMIT {
            return Err(WriteError::Requests(too_late(number, &request)));
        }
        if !format.holds(request.op) {
            report.left_out += 1;
            continue;
        }
        if format == TargetFormat::FioIolog && open.insert(request.device) {
            files(out, request.arrival, [request.device], &["add", "open"])?;
        }
        report.widened += u64::from(format.widens(&request));
        report.fua_lost += u64::from(request.fua && format != TargetFormat::Csv);
        line(out, &request, format, has_more)?;
        report.written += 1;
        last = request.arrival;
    }
    files(out, last, open, &["close"])?;
    Ok(report)
}

/// Writes the header lines.
fn begin(out: &mut impl Write, how: WriteOptions<'_>) -> io::Result<()> {
    match how.format {
        TargetFormat::Csv => {
            if let Some(generated) = how.generated {
                writeln!(out, "{}", generated.comment())?;
            }
            writeln!(out, "{CSV_COLUMNS}{}", if how.has_more { MORE_CSV_COLUMNS } else { "" })
        }
        TargetFormat::FioIolog => writeln!(out, "fio version 3 iolog"),
        _ => Ok(()),
    }
}

fn too_late(number: u64, request: &Request) -> Error {
    Error::Argument {
        what: format!("request {number}"),
        found: format!("an arrival {:.1} days after the first", request.arrival.seconds() / 86_400.0),
        wanted: "at most 106 days".into(),
    }
}

/// Writes the lines of an I/O log that open or close its files.
fn files(
    out: &mut impl Write,
    at: Instant,
    devices: impl IntoIterator<Item = u32>,
    actions: &[&str],
) -> io::Result<()> {
    let time = at.ps() / 1_000_000;
    for device in devices {
        for action in actions {
            writeln!(out, "{time} /dev/wordline{device} {action}")?;
        }
    }
    Ok(())
}

fn line(out: &mut impl Write, request: &Request, format: TargetFormat, more: bool) -> io::Result<()> {
    let Request { device, offset, size, .. } = *request;
    let (offset, size, ps) = (offset.0, size.0, request.arrival.ps());
    let is_read = u8::from(request.op == Op::Read);
    let first = offset / 512;
    let sectors = (offset + size).div_ceil(512) - first;
    match format {
        TargetFormat::Csv => {
            let op = request.op.letters();
            let response = request.response.map(|time| time.ps().to_string()).unwrap_or_default();
            let fua = u8::from(request.fua);
            write!(out, "{ps},{op},{offset},{size},{device},{response},{fua}")?;
            if more {
                let cpu = request.cpu.map(|cpu| cpu.to_string()).unwrap_or_default();
                write!(out, ",{cpu},{}", request.stream)?;
            }
            writeln!(out)
        }
        TargetFormat::Msr => {
            let op = if is_read == 1 { "Read" } else { "Write" };
            let response = request.response.unwrap_or(Duration::ZERO).ps() / MSR_TICK_PS;
            let ticks = ps / MSR_TICK_PS;
            let (host, disk) = (device >> 16, device & 0xffff);
            let host = if host == 0 { String::new() } else { host.to_string() };
            writeln!(out, "{ticks},wordline{host},{disk},{op},{offset},{size},{response}")
        }
        TargetFormat::Spc => {
            let op = if is_read == 1 { "r" } else { "w" };
            let us = ps / 1_000_000;
            let size = size + offset % 512;
            writeln!(out, "{device},{first},{size},{op},{}.{:06}", us / 1_000_000, us % 1_000_000)
        }
        TargetFormat::Disksim => {
            let ns = ps / 1_000;
            writeln!(out, "{}.{:06} {device} {first} {sectors} {is_read}", ns / 1_000_000, ns % 1_000_000)
        }
        TargetFormat::Mqsim => writeln!(out, "{} {device} {first} {sectors} {is_read}", ps / 1_000),
        TargetFormat::FioIolog => {
            let time = ps / 1_000_000;
            let op = ["read", "write", "trim", "sync"][request.op as usize];
            writeln!(out, "{time} /dev/wordline{device} {op} {offset} {size}")
        }
    }
}

#[cfg(test)]
mod tests {
    use wordline_kernel::Bytes;

    use super::*;

    /// A disk with a capacity in bytes.
    struct Disk(usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            if taken == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_an_error_wherever_it_fills_up() {
        let request = Request::new(Op::Write, Bytes(4096), Bytes(512));
        let generated = Generated { profile: true, name: "a/b".into(), seed: 1 };
        for format in TargetFormat::ALL {
            let how = WriteOptions {
                format,
                compression: Compression::Plain,
                generated: Some(&generated),
                has_more: false,
            };
            let mut whole = Vec::new();
            let requests = || (0..3).map(|_| Ok(request));
            lines(&mut whole, requests(), how).expect("memory suffices");
            for room in 0..whole.len() {
                let error = lines(&mut Disk(room), requests(), how).expect_err("the disk is full");
                assert!(matches!(error, WriteError::Output(why) if why.kind() == io::ErrorKind::StorageFull));
            }
        }
    }
}
