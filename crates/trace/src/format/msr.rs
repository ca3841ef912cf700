//! MSR Cambridge: Windows file time, host, disk, Read or Write, offset, size, response time in ticks of 100
//! ns.

use super::super::field::{device, exact_fields, parse_bytes, parse_decimal, split_commas};
use super::super::formats::Units;
use super::super::input::{ParseError, quoted};
use super::super::row::{LineReader, Row, read_or_write};
use super::names::Names;

const LAYOUT: &str = "time,host,disk,Read or Write,offset,size,response";

/// Tick of a Windows file time: 100 ns (Microsoft, structure FILETIME).
pub(crate) const TICK_PS: u64 = 100_000;

/// Reads the lines. The disk is the device. With several hosts, the device is 65536 times the host's number
/// (in order of appearance), plus the disk.
pub(super) struct Msr {
    units: Units,
    hosts: Names,
}

impl Msr {
    pub(super) const fn new(units: Units) -> Self {
        Self { units, hosts: Names::of("host") }
    }
}

impl LineReader for Msr {
    fn row(&mut self, line: &str) -> Result<Option<Row>, ParseError> {
        let fields = fields(line)?;
        let [_, host, disk, ..] = fields;
        let number = self.hosts.number(host)?;
        let disk = device(disk)?;
        if disk >= 1 << 16 {
            return Err(ParseError {
                found: format!("disk {disk} of host {}", quoted(host)),
                wanted: "a disk below 65536".into(),
            });
        }
        row(fields, number << 16 | disk, self.units).map(Some)
    }

    fn notes(&self) -> Vec<String> {
        let hosts = self.hosts.count();
        let note = || format!("the trace holds {hosts} hosts; devices count disks of all of them");
        (hosts > 1).then(note).into_iter().collect()
    }
}

fn fields(line: &str) -> Result<[&str; 7], ParseError> {
    exact_fields(line, split_commas(line), LAYOUT)
}

fn row(fields: [&str; 7], device: u32, units: Units) -> Result<Row, ParseError> {
    let [time, _, _, op, offset, size, response] = fields;
    let mut row = Row::new(
        parse_decimal(time, units.time.ps(), "time")?,
        read_or_write(op)?,
        device,
        parse_bytes(offset, units.address, "offset")?,
        parse_bytes(size, units.size, "size")?,
    )?;
    row.set_response(parse_decimal(response, units.time.ps(), "response time")?);
    Ok(row)
}
