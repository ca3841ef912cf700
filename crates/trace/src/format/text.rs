//! Readers of the text formats that need nothing but their units.

use super::super::formats::{Format, Units};
use super::super::input::ParseError;
use super::super::row::{LineReader, RequestPerLine, Row};
use super::{alibaba, ascii, biotracer, blkparse, fiu, meta, most, msr, spc, systor, tencent, wiscsee};

/// Returns a reader of the lines of a format that needs nothing but its units.
pub(super) fn reader(format: Format, units: Units) -> Box<dyn LineReader> {
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
