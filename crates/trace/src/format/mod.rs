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
mod header;
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
mod text;
mod vscsi;
mod wiscsee;

pub(super) use blktrace::{Merged, PartReader, processor};
pub(super) use csv::{COLUMNS as CSV_COLUMNS, MORE_COLUMNS as MORE_CSV_COLUMNS};
pub(super) use detect::{Content, detect};
pub(super) use msr::TICK_PS as MSR_TICK_PS;
pub(super) use parquet::is_parquet;

use super::formats::{Format, Units};
use super::input::Input;
use super::options::Options;
use super::row::{LineReader, Reader, TextReader};
use super::units::AssumedUnits;
use crate::{Error, error::Result};
use kv_cache::KvCache;

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
        format => text::reader(format, units),
    };
    Ok((Box::new(TextReader::new(lines, reader)), assumed))
}

/// Error for the format `columns` without the option of this name.
fn no_columns() -> Error {
    Error::Argument {
        what: "trace option columns".into(),
        found: "none".into(),
        wanted: "the columns of the file, such as columns=ts:s,off:512,len:512,op:0=R|1=W".into(),
    }
}
