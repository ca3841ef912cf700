//! hfplayer's CSV: columns named by a header line, such as `ELAPSED_USECS.D`; one line a request.

use super::super::Op;
use super::super::field::{bytes_field, decimal, device};
use super::super::input::{Bad, Lines, quoted};
use super::super::options::Units;
use super::super::row::{Found, Row};
use crate::error::Result;

/// How the header line begins.
pub(super) const HEADER: &str = "#DUMP_OFFSET";

const WANTED: [&str; 5] = ["ELAPSED_USECS", "CMD", "LBA", "NBLKS", "LATENCY_USECS"];

/// Reads the header and all lines.
pub(super) fn read(lines: &mut Lines<'_>, units: Units) -> Result<Found> {
    let header = lines.next()?.unwrap_or_default().trim().to_string();
    let names: Vec<&str> = header
        .trim_start_matches('#')
        .split(',')
        .map(|name| name.split('.').next().unwrap_or(name))
        .collect();
    let column = |wanted: &str| names.iter().position(|name| *name == wanted);
    let mut places = [0; WANTED.len()];
    for (place, wanted) in places.iter_mut().zip(WANTED) {
        *place =
            column(wanted).ok_or_else(|| lines.wrong(Bad::quoting(&header, format!("a column {wanted}"))))?;
    }
    let lun = column("HOST_LUN");
    let mut found = Found::default();
    lines.each(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        if fields.len() != names.len() {
            let found = format!("{} fields in {}", fields.len(), quoted(line));
            return Err(Bad { found, wanted: format!("{} fields, as in the header", names.len()) });
        }
        let lun = lun.map_or(Ok(0), |place| device(fields[place]))?;
        found.rows.push(row(places.map(|place| fields[place]), lun, units)?);
        Ok(())
    })?;
    Ok(found)
}

fn row(fields: [&str; 5], lun: u32, units: Units) -> std::result::Result<Row, Bad> {
    let [time, command, address, blocks, latency] = fields;
    let op = match command.get(..2) {
        Some("WR") => Op::Write,
        Some("RD") => Op::Read,
        _ => {
            return Err(Bad {
                found: format!("CMD {}", quoted(command)),
                wanted: "a command that begins with RD or WR".into(),
            });
        }
    };
    let mut row = Row::new(
        decimal(time, units.time.ps(), "ELAPSED_USECS")?,
        op,
        lun,
        bytes_field(address, units.address, "LBA")?,
        bytes_field(blocks, units.size, "NBLKS")?,
    )?;
    row.answered_after(decimal(latency, units.time.ps(), "LATENCY_USECS")?);
    Ok(row)
}
