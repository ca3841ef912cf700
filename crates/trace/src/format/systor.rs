//! SYSTOR '17 (Lee et al., "Understanding storage traffic characteristics on enterprise virtual desktop
//! infrastructure", SNIA IOTTA trace 4964): seconds, response in seconds, R or W, LUN, offset and size in bytes. The
//! response may be empty. The operation is empty for requests of an unknown operation. Files begin with a header.

use super::super::field::{device, exact_fields, parse_bytes, parse_decimal, split_commas};
use super::super::formats::Units;
use super::super::input::ParseError;
use super::super::recorded::RecordedOp;
use super::super::row::{Row, read_or_write};

/// The header line.
pub(super) const HEADER: &str = "Timestamp,Response,IOType,LUN,Offset,Size";

/// Parses the request on one line.
pub(super) fn row(line: &str, units: Units) -> Result<Row, ParseError> {
    let [time, response, op, lun, offset, size] = exact_fields(line, split_commas(line), HEADER)?;
    let (time, lun) = (parse_decimal(time, units.time.ps(), "time")?, device(lun)?);
    if op.is_empty() {
        return Ok(Row::left_out(time, RecordedOp::Unknown, lun, None));
    }
    let mut row = Row::new(
        time,
        read_or_write(op)?,
        lun,
        parse_bytes(offset, units.address, "offset")?,
        parse_bytes(size, units.size, "size")?,
    )?;
    if !response.is_empty() {
        row.set_response(parse_decimal(response, units.time.ps(), "response")?);
    }
    Ok(row)
}
