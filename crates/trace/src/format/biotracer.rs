//! BIOtracer on Android. The columns are address and size in sectors, size in bytes, flags (bit 0: write),
//! and the times in seconds at which the request was created, processed, submitted and finished. Rows are
//! ordered by finish time.

use super::super::Op;
use super::super::field::{exact_fields, parse_bytes, parse_decimal, parse_integer};
use super::super::formats::Units;
use super::super::input::ParseError;
use super::super::row::Row;

const LAYOUT: &str = "address sectors bytes flags created processed submitted finished";

/// Parses the request on one line. The arrival is the creation time; the response time is the finish time
/// minus the creation time.
pub(super) fn row(line: &str, units: Units) -> Result<Row, ParseError> {
    let [address, sectors, size, flags, created, _, _, finished] =
        exact_fields(line, line.split_ascii_whitespace(), LAYOUT)?;
    let op = if parse_integer(flags, "flags")? & 1 == 1 { Op::Write } else { Op::Read };
    let bytes = parse_bytes(sectors, units.size, "size")?;
    if bytes != parse_integer(size, "size in bytes")? {
        return Err(ParseError {
            found: format!("a size of {sectors} sectors and of {size} bytes"),
            wanted: format!("the same size twice, {bytes} bytes"),
        });
    }
    let created = parse_decimal(created, units.time.ps(), "creation time")?;
    let offset = parse_bytes(address, units.address, "address")?;
    let mut row = Row::new(created, op, 0, offset, bytes)?;
    row.set_response(parse_decimal(finished, units.time.ps(), "finish time")? - created);
    Ok(row)
}
