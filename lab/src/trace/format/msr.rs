//! MSR Cambridge: a Windows file time, host, disk, Read or Write, offset, size, response time in ticks of 100 ns.

use super::super::field::{bytes_field, decimal, device, exactly};
use super::super::input::{Bad, Lines, quoted};
use super::super::options::Units;
use super::super::row::{Found, Row, read_or_write};
use crate::error::Result;

const LAYOUT: &str = "time,host,disk,Read or Write,offset,size,response";

/// The tick of a Windows file time: 100 ns (Microsoft, structure FILETIME).
pub(in crate::trace) const TICK_PS: u64 = 100_000;

/// Reads all lines. The disk is the device; with several hosts, the device is 65536 x the host's number in order of
/// appearance + the disk.
pub(super) fn read(lines: &mut Lines<'_>, units: Units) -> Result<Found> {
    let mut found = Found::default();
    let mut hosts: Vec<String> = Vec::new();
    lines.each(|line| {
        let [_, host, disk, ..] = fields(line)?;
        let number = hosts.iter().position(|known| known == host).unwrap_or_else(|| {
            hosts.push(host.into());
            hosts.len() - 1
        });
        let disk = device(disk)?;
        if disk >= 1 << 16 || number >= 1 << 16 {
            return Err(Bad {
                found: format!("disk {disk} of host {}", quoted(host)),
                wanted: "a disk below 65536 of at most 65536 hosts".into(),
            });
        }
        found.rows.push(row(line, (number as u32) << 16 | disk, units)?);
        Ok(())
    })?;
    if hosts.len() > 1 {
        found
            .notes
            .push(format!("the trace holds {} hosts; devices count disks of all of them", hosts.len()));
    }
    Ok(found)
}

fn fields(line: &str) -> std::result::Result<[&str; 7], Bad> {
    exactly(line, line.split(','), LAYOUT)
}

fn row(line: &str, device: u32, units: Units) -> std::result::Result<Row, Bad> {
    let [time, _, _, op, offset, size, response] = fields(line)?;
    let mut row = Row::new(
        decimal(time, units.time.ps(), "time")?,
        read_or_write(op)?,
        device,
        bytes_field(offset, units.address, "offset")?,
        bytes_field(size, units.size, "size")?,
    )?;
    row.answered_after(decimal(response, units.time.ps(), "response time")?);
    Ok(row)
}
