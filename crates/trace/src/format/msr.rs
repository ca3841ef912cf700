//! MSR Cambridge: Windows file time, host, disk, Read or Write, offset, size, response time in ticks of 100
//! ns.

use std::collections::BTreeMap;

use super::super::field::{device, exact_fields, parse_bytes, parse_decimal, split_commas};
use super::super::formats::Units;
use super::super::input::{ParseError, quoted};
use super::super::row::{LineReader, Row, read_or_write};
use super::MAX_NAMES;

const LAYOUT: &str = "time,host,disk,Read or Write,offset,size,response";

/// Tick of a Windows file time: 100 ns (Microsoft, structure FILETIME).
pub(crate) const TICK_PS: u64 = 100_000;

/// Upper bound on the length of a host name; the domain name system allows 253 (RFC 1035, section 3.1).
const MAX_HOST_BYTES: usize = 255;

/// Reads the lines. The disk is the device. With several hosts, the device is 65536 times the host's number
/// (in order of appearance), plus the disk.
pub(super) struct Msr {
    units: Units,
    hosts: BTreeMap<String, u32>,
    /// Host of the previous line. Most traces have only one host.
    last: (String, u32),
}

impl Msr {
    pub(super) const fn new(units: Units) -> Self {
        Self { units, hosts: BTreeMap::new(), last: (String::new(), 0) }
    }

    fn number(&mut self, host: &str) -> Result<u32, ParseError> {
        if !self.hosts.is_empty() && self.last.0 == host {
            return Ok(self.last.1);
        }
        let next = self.hosts.len();
        let number = self.hosts.get(host).copied();
        if number.is_none() && (next >= MAX_NAMES || host.len() > MAX_HOST_BYTES) {
            return Err(ParseError {
                found: format!("host {} after {next} others", quoted(host)),
                wanted: format!("at most {MAX_NAMES} hosts, with names of at most {MAX_HOST_BYTES} bytes"),
            });
        }
        let number = number.unwrap_or(next as u32);
        self.hosts.entry(host.into()).or_insert(number);
        self.last = (host.into(), number);
        Ok(number)
    }
}

impl LineReader for Msr {
    fn row(&mut self, line: &str) -> Result<Option<Row>, ParseError> {
        let fields = fields(line)?;
        let [_, host, disk, ..] = fields;
        let number = self.number(host)?;
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
        let hosts = self.hosts.len();
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
