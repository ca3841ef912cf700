//! fio I/O logs. Version 2: `file action [offset length]`, where time advances only by `wait` lines, whose
//! offset is the microseconds since the previous wait. Version 3: the same with a leading time stamp in
//! microseconds.

use std::collections::BTreeMap;

use super::super::Op;
use super::super::field::{at_least, bytes_field, decimal};
use super::super::input::{Bad, Lines, quoted};
use super::super::options::Units;
use super::super::row::{LineReader, Row};
use super::MOST_NAMES;
use crate::error::Result;

/// First words of the log, before the version number and `iolog`.
pub(super) const HEADER: &str = "fio version ";

const LAYOUT_2: &str = "file action [offset length]";
const LAYOUT_3: &str = "time file action [offset length]";

/// Upper bound on the length of a file name: PATH_MAX of Linux (limits.h).
const LONGEST_NAME: usize = 4096;

/// Reads the log. Files are numbered as devices in order of appearance.
pub(super) struct Log {
    stamped: bool,
    units: Units,
    now: i128,
    files: BTreeMap<String, u32>,
}

impl Log {
    /// Reads the header.
    pub(super) fn new(lines: &mut Lines<'_>, units: Units) -> Result<Self> {
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
        Ok(Self { stamped, units, now: 0, files: BTreeMap::new() })
    }

    fn device(&mut self, file: &str) -> std::result::Result<u32, Bad> {
        if let Some(number) = self.files.get(file) {
            return Ok(*number);
        }
        let next = self.files.len();
        if next >= MOST_NAMES || file.len() > LONGEST_NAME {
            return Err(Bad {
                found: format!("file {} after {next} others", quoted(file)),
                wanted: format!("at most {MOST_NAMES} files, with names of at most {LONGEST_NAME} bytes"),
            });
        }
        self.files.insert(file.into(), next as u32);
        Ok(next as u32)
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

impl LineReader for Log {
    fn row(&mut self, line: &str) -> std::result::Result<Option<Row>, Bad> {
        let mut rest = line.split_ascii_whitespace();
        let layout = if self.stamped { LAYOUT_3 } else { LAYOUT_2 };
        if self.stamped {
            self.now = decimal(rest.next().unwrap_or_default(), self.units.time.ps(), "time")?;
        }
        let [file, action] = at_least(line, rest.clone(), layout)?;
        rest.nth(1);
        let op = match action {
            "add" | "open" | "close" => return Ok(None),
            "wait" if !self.stamped => {
                let [offset] = at_least(line, rest, layout)?;
                self.now += decimal(offset, self.units.time.ps(), "wait")?;
                return Ok(None);
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
        let device = self.device(file)?;
        Row::new(self.now, op, device, offset, size).map(Some)
    }

    fn notes(&self) -> Vec<String> {
        let timeless = !self.stamped && self.now == 0 && !self.files.is_empty();
        let note = || "the log has no times: all requests arrive at once; replay it in closed loop".into();
        timeless.then(note).into_iter().collect()
    }
}
