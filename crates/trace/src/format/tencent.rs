//! Tencent's cloud block storage (Zhang et al., "OSCA", ATC 2020; SNIA IOTTA trace 27917): whole seconds, offset and
//! size in sectors, 0 for a read or 1 for a write, and the number of the volume.

use super::super::Op;
use super::super::field::{device, exact_fields, parse_bytes, parse_decimal, split_commas};
use super::super::formats::Units;
use super::super::input::{ParseError, quoted};
use super::super::row::Row;

/// A header line; published files have none.
pub(super) const HEADER: &str = "Timestamp,Offset,Size,IOType,VolumeID";

/// Note on the times.
pub(super) const NOTE: &str = "times are whole seconds: all requests of a second arrive at once, so response times need a closed loop (queue depth)";

/// Parses the request on one line.
pub(super) fn row(line: &str, units: Units) -> Result<Row, ParseError> {
    let [time, offset, size, op, volume] = exact_fields(line, split_commas(line), HEADER)?;
    let op = match op {
        "0" => Op::Read,
        "1" => Op::Write,
        _ => {
            return Err(ParseError {
                found: format!("IOType {}", quoted(op)),
                wanted: "0 for a read or 1 for a write".into(),
            });
        }
    };
    Row::new(
        parse_decimal(time, units.time.ps(), "time")?,
        op,
        device(volume)?,
        parse_bytes(offset, units.address, "offset")?,
        parse_bytes(size, units.size, "size")?,
    )
}
