//! Output of biosnoop of bcc or libbpf-tools: a header that begins with `TIME(s)`, and one line per request.
//!
//! TIME is the time of the completion, LAT the time since the request was issued to the device, and QUE the time that
//! it was queued before (tools/biosnoop_example.txt of bcc). A name in the column COMM may have spaces, so columns are
//! found from the right. Sectors have 512 bytes.

use wordline_kernel::counted;

use super::super::field::{parse_decimal, parse_integer};
use super::super::formats::{TimeUnit, Units};
use super::super::input::{Lines, ParseError, quoted};
use super::super::options::Action;
use super::super::recorded::RecordedOp;
use super::super::row::{LineReader, Row};
use super::header;
use super::names::Names;
use super::rwbs::Rwbs;
use crate::error::Result;

/// First word of the header line.
pub(super) const HEADER: &str = "TIME(s)";

/// Columns that are read, except the first. All are to the right of the name of the process.
const WANTED: [&str; 5] = ["DISK", "T", "SECTOR", "BYTES", "LAT(ms)"];

/// Reads the lines.
pub(super) struct Biosnoop {
    /// Number of columns to the right of each wanted one.
    behind: [usize; WANTED.len()],
    /// Columns of the header.
    count: usize,
    units: Units,
    names: Names,
}

/// Reads the header.
pub(super) fn reader(lines: &mut Lines<'_>, units: Units) -> Result<Biosnoop> {
    let header = header::read(lines)?;
    let columns: Vec<&str> = header.split_ascii_whitespace().collect();
    let mut behind = [0; WANTED.len()];
    for (place, name) in behind.iter_mut().zip(WANTED) {
        let column = columns.iter().rposition(|column| *column == name);
        *place = column
            .map(|at| columns.len() - 1 - at)
            .ok_or_else(|| lines.wrong(ParseError::quoting(&header, format!("a column {name}"))))?;
    }
    Ok(Biosnoop { behind, count: columns.len(), units, names: Names::of("device") })
}

impl LineReader for Biosnoop {
    fn row(&mut self, line: &str) -> std::result::Result<Option<Row>, ParseError> {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        // The name of the disk is blank for some requests of drivers.
        if fields.len() + 1 < self.count {
            return Err(ParseError {
                found: format!("{} in {}", counted(fields.len() as u64, "field"), quoted(line)),
                wanted: format!("{} fields, as in the header", self.count),
            });
        }
        let [disk, letters, sector, bytes, latency] =
            self.behind.map(|behind| fields[fields.len() - 1 - behind]);
        let completed = parse_decimal(fields[0], self.units.time.ps(), "TIME(s)")?;
        let response = parse_decimal(latency, TimeUnit::Ms.ps(), "LAT(ms)")?;
        let time = completed - response;
        let is_unplaced = parse_integer(sector, "SECTOR").is_ok_and(|sector| sector == u64::MAX);
        if is_unplaced || sector == "-1" || fields.len() < self.count {
            return Ok(Some(Row::left_out(time, RecordedOp::Passthrough, 0, Some(Action::Issue))));
        }
        let device = self.names.number(disk)?;
        let mut row = Rwbs::parse(letters).event(time, Action::Issue, device, (sector, bytes), self.units)?;
        row.set_response(response);
        Ok(Some(row))
    }

    fn notes(&self) -> Vec<String> {
        self.names.note().into_iter().collect()
    }
}
