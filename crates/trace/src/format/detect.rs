//! Detects the format of a trace from its content.

use super::super::formats::{Format, TimeUnit};
use super::super::input::{Input, quoted};
use super::super::row::Row;
use super::super::units::DATES;
use super::{
    alibaba, ascii, biosnoop, biotracer, blkparse, blktrace, columns, csv, fio, fiu, ftrace, header, lmcache,
    meta, mooncake, most, oracle_general, parquet, proposal, spc, systor, tencent, vscsi,
};
use crate::{Error, error::Result};

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A trace in this format.
    Trace(Format),
    /// A tar archive, which should hold blktrace files.
    Archive,
}

/// Number of lines examined, chosen to skip the longest header seen.
const LINES: usize = 100;

/// Detects the format: by magic number, by the header, or by the first line with the shape of a known format.
pub(crate) fn detect(input: &Input<'_>) -> Result<Content> {
    let prefix = input.prefix.as_slice();
    if parquet::is_parquet(prefix) {
        return Ok(Content::Trace(Format::Parquet));
    }
    if blktrace::is_blktrace(prefix) {
        return Ok(Content::Trace(Format::Blktrace));
    }
    if vscsi::is_vscsi(prefix) {
        return Ok(Content::Trace(Format::Vscsi));
    }
    if oracle_general::is_oracle_general(prefix) {
        return Ok(Content::Trace(Format::OracleGeneral));
    }
    let text = String::from_utf8_lossy(prefix);
    let lines = || text.lines().take(LINES).map(str::trim).filter(|line| !line.is_empty());
    let rows = || lines().filter(|line| !line.starts_with('#'));
    // The POSIX archive magic, at its offset in the first header. FIU samples begin with such a header, too.
    let is_fiu = |line: &str| fiu::row(line, Format::Fiu.units()).is_ok();
    if prefix.get(257..262) == Some(b"ustar") && !lines().any(is_fiu) {
        return Ok(Content::Archive);
    }
    if rows().next().is_some_and(mooncake::is_request) {
        return Ok(Content::Trace(Format::Mooncake));
    }
    if rows().next().is_some_and(lmcache::is_lookup) {
        return Ok(Content::Trace(Format::Lmcache));
    }
    if lmcache::is_storage_trace(prefix) {
        return Err(Error::Content {
            path: input.path.clone(),
            found: "a storage-level trace of LMCache".into(),
            wanted: "its lookups, which lmcache server writes with --lookup-hash-log-dir".into(),
        });
    }
    if rows().next().is_some_and(columns::is_log) {
        return Ok(Content::Trace(Format::Columns));
    }
    let is_csv = || rows().next().is_some_and(csv::is_header).then_some(Format::Csv);
    let header = lines().find(|line| !header::is_comment_above(line));
    if let Some(format) = header.and_then(header_format).or_else(is_csv) {
        return Ok(Content::Trace(format));
    }
    // The first events may be of other kinds, such as the switches of processes.
    if text.lines().any(ftrace::is_event) {
        return Ok(Content::Trace(Format::Ftrace));
    }
    if let Some(format) = rows().find_map(line_format) {
        // One time with a decimal point suffices: integer milliseconds may come first.
        let points =
            lines().filter_map(|line| line.split_ascii_whitespace().next()).any(|time| time.contains('.'));
        let is_mqsim = format == Format::Mqsim;
        return Ok(Content::Trace(if is_mqsim && points { Format::Disksim } else { format }));
    }
    let first = lines().next().unwrap_or_default();
    Err(Error::Content {
        path: input.path.clone(),
        found: format!("a first line {} of no format known", quoted(first)),
        wanted: format!(
            "a trace in one of the formats {} (name it with --format), or a map of its columns{}",
            Format::names(),
            proposal::in_words(rows())
        ),
    })
}

/// Returns the format with this header.
pub(super) fn header_format(line: &str) -> Option<Format> {
    const HEADERS: [(&str, Format); 6] = [
        (fio::HEADER, Format::FioIolog),
        (header::HFPLAYER, Format::Hfplayer),
        (biosnoop::HEADER, Format::Biosnoop),
        (systor::HEADER, Format::Systor),
        (tencent::HEADER, Format::Tencent),
        (alibaba::HEADER, Format::Alibaba),
    ];
    let begins =
        |header: &str| line.get(..header.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(header));
    let by_names = [
        (meta::is_key_value_header as fn(&str) -> bool, Format::MetaKv),
        (meta::is_storage_header, Format::MetaStorage),
    ];
    let named = || by_names.into_iter().find(|(is_header, _)| is_header(line)).map(|(_, format)| format);
    HEADERS.into_iter().find(|(header, _)| begins(header)).map(|(_, format)| format).or_else(named)
}

/// Returns the format to which a line belongs. More distinctive formats are tried first.
fn line_format(line: &str) -> Option<Format> {
    let words = || line.split_ascii_whitespace();
    let commas = || line.split(',').map(str::trim);
    if blkparse::begins_as_event(line) && words().count() >= 6 {
        return Some(Format::Blkparse);
    }
    if fiu::row(line, Format::Fiu.units()).is_ok() {
        return Some(Format::Fiu);
    }
    if most::event(line, Format::Most.units()).is_ok() {
        return Some(Format::Most);
    }
    if biotracer::row(line, Format::Biotracer.units()).is_ok() {
        return Some(Format::Biotracer);
    }
    if matches!(words().nth(1), Some("D" | "C")) && (6..=8).contains(&words().count()) {
        return Some(Format::Wiscsee);
    }
    if commas().count() == 7 && commas().nth(3).is_some_and(is_read_or_write) {
        return Some(Format::Msr);
    }
    if spc::row(line, Format::Spc.units()).is_ok() {
        return Some(Format::Spc);
    }
    if systor::row(line, Format::Systor.units()).is_ok() {
        return Some(Format::Systor);
    }
    if alibaba::row(line, Format::Alibaba.units()).is_ok_and(|row| is_date(&row)) {
        return Some(Format::Alibaba);
    }
    if tencent::row(line, Format::Tencent.units()).is_ok_and(|row| is_date(&row)) {
        return Some(Format::Tencent);
    }
    ascii::row(line, Format::Ssdsim.units(), true).ok()?;
    Some(match (words().next().is_some_and(|time| time.contains('.')), words().count()) {
        (true, _) => Format::Disksim,
        (false, 5) => Format::Mqsim,
        (false, _) => Format::Ssdsim,
    })
}

/// Whether the time of a request is a date from 1995 to 2035. Formats whose columns may be those of other files are
/// detected only with such times.
fn is_date(row: &Row) -> bool {
    DATES.contains(&(row.time / TimeUnit::S.ps()))
}

fn is_read_or_write(text: &str) -> bool {
    text.eq_ignore_ascii_case("read") || text.eq_ignore_ascii_case("write")
}
