//! Trace formats, one file each: how a line or record is parsed into a row. `detect.rs` finds the format of a
//! file.

mod alibaba;
mod ascii;
mod biosnoop;
mod biotracer;
mod blkparse;
mod blktrace;
mod columns;
mod csv;
mod detect;
mod fio;
mod fiu;
mod ftrace;
mod hfplayer;
mod kv_cache;
mod lmcache;
mod meta;
mod mooncake;
mod most;
mod msr;
mod names;
mod oracle_general;
mod parquet;
mod places;
mod proposal;
mod rwbs;
mod spc;
mod systor;
mod tencent;
mod vscsi;
mod wiscsee;

pub(super) use blktrace::{Merged, PartReader, processor};
pub(super) use csv::{COLUMNS as CSV_COLUMNS, MORE_COLUMNS as MORE_CSV_COLUMNS};
pub(super) use detect::{Content, detect};
pub(super) use hfplayer::HEADER as HFPLAYER_HEADER;
pub(super) use msr::TICK_PS as MSR_TICK_PS;
pub(super) use parquet::is_parquet;

use super::formats::{Format, Units};
use super::input::{Input, ParseError};
use super::options::Options;
use super::row::{LineReader, Reader, RequestPerLine, Row, TextReader};
use super::units::AssumedUnits;
use crate::{Error, error::Result};
use kv_cache::KvCache;

/// Upper bound on host or file names in a trace. The names are kept to number the devices.
const MAX_NAMES: usize = 1 << 16;

/// Returns a reader of a file in `format`, which is not binary blktrace, and the units that were assumed.
pub(super) fn reader<'a>(
    format: Format,
    input: Input<'a>,
    options: &Options,
    units: Units,
) -> Result<(Box<dyn Reader + 'a>, AssumedUnits)> {
    if format == Format::Vscsi {
        return Ok((Box::new(vscsi::reader(input)?), AssumedUnits::none()));
    }
    if format == Format::OracleGeneral {
        return Ok((Box::new(oracle_general::OracleGeneral::from(input)), AssumedUnits::none()));
    }
    if format == Format::Mooncake {
        let lines = mooncake::Mooncake::new(units.time, options);
        return Ok((Box::new(KvCache::new(input.lines(), lines)), AssumedUnits::none()));
    }
    if format == Format::Lmcache {
        let lines = lmcache::Lmcache::new(options);
        return Ok((Box::new(KvCache::new(input.lines(), lines)), AssumedUnits::none()));
    }
    if format == Format::Parquet {
        let (reader, assumed) = parquet::reader(input, options)?;
        return Ok((Box::new(reader), assumed));
    }
    let ftrace = (format == Format::Ftrace).then(|| ftrace::Ftrace::new(&input.prefix, units));
    let log = (format == Format::Columns).then(|| columns::log_of(&input.prefix)).flatten();
    let mut lines = input.lines();
    let mut assumed = AssumedUnits::of(format, units, options);
    let reader: Box<dyn LineReader> = match format {
        Format::Csv => Box::new(csv::reader(&mut lines, options, units, &mut assumed)?),
        Format::FioIolog => Box::new(fio::Log::new(&mut lines, units)?),
        Format::Hfplayer => Box::new(hfplayer::reader(&mut lines, units)?),
        Format::Ftrace => Box::new(ftrace.expect("the format is ftrace")),
        Format::Biosnoop => Box::new(biosnoop::reader(&mut lines, units)?),
        Format::Columns => {
            Box::new(columns::Mapped::new(options.columns.clone().or(log).ok_or_else(no_columns)?))
        }
        format => text_reader(format, units),
    };
    Ok((Box::new(TextReader::new(lines, reader)), assumed))
}

/// Returns a reader of the lines of a format that needs nothing but its units.
fn text_reader(format: Format, units: Units) -> Box<dyn LineReader> {
    match format {
        Format::Msr => Box::new(msr::Msr::new(units)),
        Format::Spc => Box::new(RequestPerLine(move |line: &str| spc::row(line, units))),
        Format::Disksim | Format::Mqsim => {
            Box::new(RequestPerLine(move |line: &str| ascii::row(line, units, false)))
        }
        Format::Ssdsim => Box::new(RequestPerLine(move |line: &str| ascii::row(line, units, true))),
        Format::Blkparse => Box::new(blkparse::Blkparse(units)),
        Format::Most => Box::new(most::Most(units)),
        Format::Fiu => Box::new(fiu::Fiu::new(units)),
        Format::Biotracer => Box::new(RequestPerLine(move |line: &str| biotracer::row(line, units))),
        Format::Wiscsee => Box::new(wiscsee::Wiscsee::new(units)),
        Format::Systor => cloud(systor::HEADER, None, move |line| systor::row(line, units)),
        Format::Tencent => cloud(tencent::HEADER, Some(tencent::NOTE), move |line| tencent::row(line, units)),
        Format::Alibaba => cloud(alibaba::HEADER, None, move |line| alibaba::row(line, units)),
        Format::MetaKv => Box::new(meta::KeyValue::new(units)),
        Format::MetaStorage => Box::new(meta::Storage::new(units)),
        Format::Csv
        | Format::FioIolog
        | Format::Hfplayer
        | Format::Ftrace
        | Format::Biosnoop
        | Format::Blktrace
        | Format::Vscsi
        | Format::OracleGeneral
        | Format::Mooncake
        | Format::Lmcache
        | Format::Parquet
        | Format::Columns => unreachable!("these formats have readers of their own"),
    }
}

/// Returns a reader of one request per line, below a header that some files have.
fn cloud(
    header: &'static str,
    note: Option<&'static str>,
    row: impl Fn(&str) -> std::result::Result<Row, ParseError> + Send + 'static,
) -> Box<dyn LineReader> {
    Box::new(BelowHeader { header, note, row })
}

/// Lines below a header that some files have.
struct BelowHeader<F> {
    header: &'static str,
    note: Option<&'static str>,
    row: F,
}

impl<F: Fn(&str) -> std::result::Result<Row, ParseError> + Send> LineReader for BelowHeader<F> {
    fn row(&mut self, line: &str) -> std::result::Result<Option<Row>, ParseError> {
        if line.eq_ignore_ascii_case(self.header) { Ok(None) } else { (self.row)(line).map(Some) }
    }

    fn notes(&self) -> Vec<String> {
        self.note.map(str::to_string).into_iter().collect()
    }
}

/// Error for the format `columns` without the option of this name.
fn no_columns() -> Error {
    Error::Argument {
        what: "trace option columns".into(),
        found: "none".into(),
        wanted: "the columns of the file, such as columns=ts:s,off:512,len:512,op:0=R|1=W".into(),
    }
}
