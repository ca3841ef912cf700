//! hfplayer CSV: columns named by a header line, such as `ELAPSED_USECS.D`; one line per request.

use super::super::Op;
use super::super::field::{device, parse_bytes, parse_decimal};
use super::super::formats::Units;
use super::super::input::{Lines, ParseError, quoted};
use super::super::row::{LineReader, Row};
use super::header;
use crate::error::Result;

const WANTED: [&str; 5] = ["ELAPSED_USECS", "CMD", "LBA", "NBLKS", "LATENCY_USECS"];

/// Column index of each field.
pub(super) struct Hfplayer {
    columns: usize,
    places: [usize; WANTED.len()],
    lun: Option<usize>,
    units: Units,
}

/// Reads the header.
pub(super) fn reader(lines: &mut Lines<'_>, units: Units) -> Result<Hfplayer> {
    let header = header::read(lines)?;
    let names: Vec<&str> = header
        .trim_start_matches('#')
        .split(',')
        .map(|name| name.split('.').next().unwrap_or(name))
        .collect();
    let column = |wanted: &str| names.iter().position(|name| *name == wanted);
    if let Some(twice) = WANTED.iter().find(|wanted| names.iter().filter(|name| name == wanted).count() > 1) {
        return Err(lines.wrong(ParseError::quoting(&header, format!("one column {twice}"))));
    }
    let mut places = [0; WANTED.len()];
    for (place, wanted) in places.iter_mut().zip(WANTED) {
        *place = column(wanted)
            .ok_or_else(|| lines.wrong(ParseError::quoting(&header, format!("a column {wanted}"))))?;
    }
    Ok(Hfplayer { columns: names.len(), places, lun: column("HOST_LUN"), units })
}

impl LineReader for Hfplayer {
    fn row(&mut self, line: &str) -> std::result::Result<Option<Row>, ParseError> {
        let fields: Vec<&str> = line.split(',').collect();
        if fields.len() != self.columns {
            let found = format!("{} fields in {}", fields.len(), quoted(line));
            return Err(ParseError { found, wanted: format!("{} fields, as in the header", self.columns) });
        }
        let lun = self.lun.map_or(Ok(0), |place| device(fields[place]))?;
        row(self.places.map(|place| fields[place]), lun, self.units).map(Some)
    }
}

fn row(fields: [&str; 5], lun: u32, units: Units) -> std::result::Result<Row, ParseError> {
    let [time, command, address, blocks, latency] = fields;
    let op = match command.get(..2) {
        Some("WR") => Op::Write,
        Some("RD") => Op::Read,
        _ => {
            return Err(ParseError {
                found: format!("CMD {}", quoted(command)),
                wanted: "a command that begins with RD or WR".into(),
            });
        }
    };
    let mut row = Row::new(
        parse_decimal(time, units.time.ps(), "ELAPSED_USECS")?,
        op,
        lun,
        parse_bytes(address, units.address, "LBA")?,
        parse_bytes(blocks, units.size, "NBLKS")?,
    )?;
    row.set_response(parse_decimal(latency, units.time.ps(), "LATENCY_USECS")?);
    Ok(row)
}
