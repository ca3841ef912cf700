//! FIU: nanoseconds, process ID, process, address, sectors, R or W, major, minor, content hash.
//!
//! Published samples were cut from tar archives, so that lines of tar headers occur between the requests.

use super::super::field::{exact_fields, parse_bytes, parse_decimal};
use super::super::formats::Units;
use super::super::input::ParseError;
use super::super::row::{LineReader, Row, linux_device, read_or_write};

const LAYOUT: &str = "time pid process address sectors R/W major minor hash";

/// Reads the lines, ignoring remains of tar headers.
pub(super) struct Fiu {
    units: Units,
    damaged: u64,
}

impl Fiu {
    pub(super) const fn new(units: Units) -> Self {
        Self { units, damaged: 0 }
    }
}

impl LineReader for Fiu {
    fn row(&mut self, line: &str) -> Result<Option<Row>, ParseError> {
        if is_tar_remains(line) {
            self.damaged += 1;
            return Ok(None);
        }
        row(line, self.units).map(Some)
    }

    fn notes(&self) -> Vec<String> {
        let Self { damaged, .. } = self;
        let note = || format!("{damaged} lines of tar headers between the requests were ignored");
        (*damaged > 0).then(note).into_iter().collect()
    }
}

/// Whether a line has a zero byte, a pax path, or a pax record (`28 ctime=1410563671.72`).
fn is_tar_remains(line: &str) -> bool {
    let is_pax_record = line.split_once(' ').is_some_and(|(length, record)| {
        !length.is_empty()
            && length.bytes().all(|digit| digit.is_ascii_digit())
            && record.contains('=')
            && !record.contains(' ')
    });
    line.contains('\0') || line.contains("PaxHeader") || is_pax_record
}

/// Parses the request on one line.
pub(super) fn row(line: &str, units: Units) -> Result<Row, ParseError> {
    let [time, _, _, address, sectors, op, major, minor, _] =
        exact_fields(line, line.split_ascii_whitespace(), LAYOUT)?;
    Row::new(
        parse_decimal(time, units.time.ps(), "time")?,
        read_or_write(op)?,
        linux_device(major, minor)?,
        parse_bytes(address, units.address, "address")?,
        parse_bytes(sectors, units.size, "size")?,
    )
}
