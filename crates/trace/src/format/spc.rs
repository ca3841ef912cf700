//! SPC, as in the UMass repository: ASU, address in 512 B blocks, size in bytes, r or w, seconds. Further
//! fields are ignored.

use super::super::field::{device, leading_fields, parse_bytes, parse_decimal, split_commas};
use super::super::formats::Units;
use super::super::input::ParseError;
use super::super::row::{Row, read_or_write};

const LAYOUT: &str = "ASU,address,size,R or W,seconds";

/// Parses the request on one line.
pub(super) fn row(line: &str, units: Units) -> Result<Row, ParseError> {
    let [asu, address, size, op, time] = leading_fields(line, split_commas(line), LAYOUT)?;
    let seconds = parse_decimal(time, units.time.ps(), "time")?;
    if seconds < 0 {
        let wanted = "a time from 0: those of SPC are counted from the beginning of the trace";
        return Err(ParseError::quoting(time, wanted));
    }
    Row::new(
        seconds,
        read_or_write(op)?,
        device(asu)?,
        parse_bytes(address, units.address, "address")?,
        parse_bytes(size, units.size, "size")?,
    )
}
