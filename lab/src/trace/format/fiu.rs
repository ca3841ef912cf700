//! FIU: nanoseconds, process id, process, address, sectors, R or W, major, minor, hash of the content.
//!
//! Published samples were cut from tar archives: lines of tar headers stand between the requests.

use super::super::field::{bytes_field, decimal, exactly};
use super::super::input::{Bad, Lines};
use super::super::options::Units;
use super::super::row::{Found, Row, linux_device, read_or_write};
use crate::error::Result;

const LAYOUT: &str = "time pid process address sectors R/W major minor hash";

/// Reads all lines, passing over remains of tar headers.
pub(super) fn read(lines: &mut Lines<'_>, units: Units) -> Result<Found> {
    let mut found = Found::default();
    let mut damaged = 0_u64;
    lines.each(|line| {
        if is_tar_remains(line) {
            damaged += 1;
        } else {
            found.rows.push(row(line, units)?);
        }
        Ok(())
    })?;
    if damaged > 0 {
        found.notes.push(format!("{damaged} lines of tar headers between the requests were passed over"));
    }
    Ok(found)
}

/// A line with a zero byte, a pax path, or a pax record (`28 ctime=1410563671.72`).
fn is_tar_remains(line: &str) -> bool {
    let is_pax_record = line.split_once(' ').is_some_and(|(length, record)| {
        !length.is_empty()
            && length.bytes().all(|digit| digit.is_ascii_digit())
            && record.contains('=')
            && !record.contains(' ')
    });
    line.contains('\0') || line.contains("PaxHeader") || is_pax_record
}

/// The request on one line.
pub(super) fn row(line: &str, units: Units) -> std::result::Result<Row, Bad> {
    let [time, _, _, address, sectors, op, major, minor, _] =
        exactly(line, line.split_ascii_whitespace(), LAYOUT)?;
    Row::new(
        decimal(time, units.time.ps(), "time")?,
        read_or_write(op)?,
        linux_device(major, minor)?,
        bytes_field(address, units.address, "address")?,
        bytes_field(sectors, units.size, "size")?,
    )
}
