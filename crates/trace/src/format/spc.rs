//! SPC, as in the UMass repository: ASU, address in 512 B blocks, size in bytes, r or w, seconds; further
//! fields are ignored.

use super::super::field::{at_least, by_commas, bytes_field, decimal, device};
use super::super::input::Bad;
use super::super::options::Units;
use super::super::row::{Row, read_or_write};

const LAYOUT: &str = "ASU,address,size,R or W,seconds";

/// Parses the request on one line.
pub(super) fn row(line: &str, units: Units) -> Result<Row, Bad> {
    let [asu, address, size, op, time] = at_least(line, by_commas(line), LAYOUT)?;
    let seconds = decimal(time, units.time.ps(), "time")?;
    if seconds < 0 {
        let wanted = "a time from 0: those of SPC are counted from the beginning of the trace";
        return Err(Bad::quoting(time, wanted));
    }
    Row::new(
        seconds,
        read_or_write(op)?,
        device(asu)?,
        bytes_field(address, units.address, "address")?,
        bytes_field(size, units.size, "size")?,
    )
}
