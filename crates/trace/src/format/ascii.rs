//! DiskSim, SSDSim and MQSim ASCII: time, device, address, size, and 1 for a read or 0 for a write.
//!
//! They differ in their units: DiskSim counts time in milliseconds, the others in nanoseconds.

use super::super::Op;
use super::super::field::{at_least, bytes_field, decimal, device, exactly};
use super::super::input::{Bad, quoted};
use super::super::options::Units;
use super::super::row::Row;

const LAYOUT: &str = "time device address size read(1)/write(0)";

/// Parses the request on one line; `more` allows further columns, such as content hashes.
pub(super) fn row(line: &str, units: Units, more: bool) -> Result<Row, Bad> {
    let fields = line.split_ascii_whitespace();
    let [time, dev, address, size, flags] =
        if more { at_least(line, fields, LAYOUT) } else { exactly(line, fields, LAYOUT) }?;
    let op = match flags {
        "0" => Op::Write,
        "1" => Op::Read,
        _ => {
            return Err(Bad {
                found: format!("flags {}", quoted(flags)),
                wanted: "1 for a read or 0 for a write".into(),
            });
        }
    };
    Row::new(
        decimal(time, units.time.ps(), "time")?,
        op,
        device(dev)?,
        bytes_field(address, units.address, "address")?,
        bytes_field(size, units.size, "size")?,
    )
}
