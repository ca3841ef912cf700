//! Alibaba's cloud block storage (Li et al., "An in-depth analysis of cloud block storage workloads in large-scale
//! production", IISWC 2020): number of the device, R or W, offset and length in bytes, and microseconds.

use super::super::field::{device, exact_fields, parse_bytes, parse_decimal, split_commas};
use super::super::formats::Units;
use super::super::input::ParseError;
use super::super::row::{Row, read_or_write};

/// A header line; published files have none.
pub(super) const HEADER: &str = "device_id,opcode,offset,length,timestamp";

/// Parses the request on one line.
pub(super) fn row(line: &str, units: Units) -> Result<Row, ParseError> {
    let [number, op, offset, length, time] = exact_fields(line, split_commas(line), HEADER)?;
    Row::new(
        parse_decimal(time, units.time.ps(), "time")?,
        read_or_write(op)?,
        device(number)?,
        parse_bytes(offset, units.address, "offset")?,
        parse_bytes(length, units.size, "length")?,
    )
}
