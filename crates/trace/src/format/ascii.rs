//! DiskSim, SSDSim and MQSim ASCII: time, device, address, size, and 1 for a read or 0 for a write.
//!
//! The formats differ in their units: DiskSim counts time in milliseconds, SSDSim and MQSim in nanoseconds.

use super::super::Op;
use super::super::field::{device, exact_fields, leading_fields, parse_bytes, parse_decimal};
use super::super::formats::Units;
use super::super::input::{ParseError, quoted};
use super::super::row::Row;

const LAYOUT: &str = "time device address size read(1)/write(0)";

/// Parses the request on one line. `more` allows further columns, such as content hashes.
pub(super) fn row(line: &str, units: Units, more: bool) -> Result<Row, ParseError> {
    let fields = line.split_ascii_whitespace();
    let [time, dev, address, size, flags] =
        if more { leading_fields(line, fields, LAYOUT) } else { exact_fields(line, fields, LAYOUT) }?;
    let op = match flags {
        "0" => Op::Write,
        "1" => Op::Read,
        _ => {
            return Err(ParseError {
                found: format!("flags {}", quoted(flags)),
                wanted: "1 for a read or 0 for a write".into(),
            });
        }
    };
    Row::new(
        parse_decimal(time, units.time.ps(), "time")?,
        op,
        device(dev)?,
        parse_bytes(address, units.address, "address")?,
        parse_bytes(size, units.size, "size")?,
    )
}
