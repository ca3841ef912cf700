//! fio's I/O log. Version 2: `file action [offset length]`, where time passes only by `wait` lines, whose offset is
//! the number of microseconds since the wait before. Version 3: the same with a time stamp in front, in microseconds.

use std::collections::BTreeMap;

use super::super::Op;
use super::super::field::{at_least, bytes_field, decimal};
use super::super::input::{Bad, Lines, quoted};
use super::super::options::Units;
use super::super::row::{Found, Row};
use crate::error::Result;

/// The first words of the log, before the version number and `iolog`.
pub(super) const HEADER: &str = "fio version ";

const LAYOUT_2: &str = "file action [offset length]";
const LAYOUT_3: &str = "time file action [offset length]";

/// Reads the whole log. The device of a request is the number of its file in order of appearance.
pub(super) fn read(lines: &mut Lines<'_>, units: Units) -> Result<Found> {
    let header = lines.next()?.unwrap_or_default().trim().to_string();
    let stamped = match header.as_str() {
        "fio version 2 iolog" => false,
        "fio version 3 iolog" => true,
        _ => {
            return Err(
                lines.wrong(Bad::quoting(&header, "\"fio version 2 iolog\" or \"fio version 3 iolog\""))
            );
        }
    };
    let mut log = Log { stamped, units, now: 0, files: BTreeMap::new(), found: Found::default() };
    lines.each(|line| log.take(line))?;
    if !stamped && log.now == 0 && !log.found.rows.is_empty() {
        log.found
            .notes
            .push("the log has no times: all requests arrive at once; replay it in closed loop".into());
    }
    Ok(log.found)
}

struct Log {
    stamped: bool,
    units: Units,
    now: i128,
    files: BTreeMap<String, u32>,
    found: Found,
}

impl Log {
    fn take(&mut self, line: &str) -> std::result::Result<(), Bad> {
        let mut rest = line.split_ascii_whitespace();
        let layout = if self.stamped { LAYOUT_3 } else { LAYOUT_2 };
        if self.stamped {
            self.now = decimal(rest.next().unwrap_or_default(), self.units.time.ps(), "time")?;
        }
        let [file, action] = at_least(line, rest.clone(), layout)?;
        rest.nth(1);
        let op = match action {
            "add" | "open" | "close" => return Ok(()),
            "wait" if !self.stamped => {
                let [offset] = at_least(line, rest, layout)?;
                self.now += decimal(offset, self.units.time.ps(), "wait")?;
                return Ok(());
            }
            "read" => Op::Read,
            "write" => Op::Write,
            "trim" => Op::Discard,
            "sync" | "datasync" => Op::Flush,
            _ => {
                return Err(Bad {
                    found: format!("action {}", quoted(action)),
                    wanted: "add, open, close, wait (version 2), read, write, trim, sync or datasync".into(),
                });
            }
        };
        let (offset, size) = if op == Op::Flush { (0, 0) } else { self.range(line, rest, layout)? };
        let next = self.files.len() as u32;
        let device = *self.files.entry(file.into()).or_insert(next);
        self.found.rows.push(Row::new(self.now, op, device, offset, size)?);
        Ok(())
    }

    fn range<'a>(
        &self,
        line: &'a str,
        rest: impl Iterator<Item = &'a str>,
        layout: &str,
    ) -> std::result::Result<(u64, u64), Bad> {
        let [offset, length] = at_least(line, rest, layout)?;
        Ok((
            bytes_field(offset, self.units.address, "offset")?,
            bytes_field(length, self.units.size, "length")?,
        ))
    }
}
