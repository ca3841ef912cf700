//! fio I/O logs. A line of version 2 is `file action [offset length]`. Time advances only by `wait` lines,
//! whose offset is the microseconds since the previous wait. A line of version 3 has a time stamp in
//! microseconds before these fields.

use std::collections::BTreeMap;

use super::super::Op;
use super::super::field::{leading_fields, parse_bytes, parse_decimal};
use super::super::formats::Units;
use super::super::input::{Lines, ParseError, quoted};
use super::super::row::{LineReader, Row};
use super::header;
use super::names::MAX_NAMES;
use crate::error::Result;

/// First words of the log, before the version number and `iolog`.
pub(super) const HEADER: &str = "fio version ";

const LAYOUT_2: &str = "file action [offset length]";
const LAYOUT_3: &str = "time file action [offset length]";

/// Upper bound on the length of a file name: PATH_MAX of Linux (limits.h).
const MAX_NAME_BYTES: usize = 4096;

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
        let header = header::read(lines)?;
        let stamped = match header.as_str() {
            "fio version 2 iolog" => false,
            "fio version 3 iolog" => true,
            _ => {
                return Err(lines.wrong(ParseError::quoting(
                    &header,
                    "\"fio version 2 iolog\" or \"fio version 3 iolog\"",
                )));
            }
        };
        Ok(Self { stamped, units, now: 0, files: BTreeMap::new() })
    }

    fn device(&mut self, file: &str) -> std::result::Result<u32, ParseError> {
        if let Some(number) = self.files.get(file) {
            return Ok(*number);
        }
        let next = self.files.len();
        if next >= MAX_NAMES || file.len() > MAX_NAME_BYTES {
            return Err(ParseError {
                found: format!("file {} after {next} others", quoted(file)),
                wanted: format!("at most {MAX_NAMES} files, with names of at most {MAX_NAME_BYTES} bytes"),
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
    ) -> std::result::Result<(u64, u64), ParseError> {
        let [offset, length] = leading_fields(line, rest, layout)?;
        Ok((
            parse_bytes(offset, self.units.address, "offset")?,
            parse_bytes(length, self.units.size, "length")?,
        ))
    }
}

impl LineReader for Log {
    fn row(&mut self, line: &str) -> std::result::Result<Option<Row>, ParseError> {
        let mut rest = line.split_ascii_whitespace();
        let layout = if self.stamped { LAYOUT_3 } else { LAYOUT_2 };
        if self.stamped {
            self.now = parse_decimal(rest.next().unwrap_or_default(), self.units.time.ps(), "time")?;
        }
        let [file, action] = leading_fields(line, rest.clone(), layout)?;
        rest.nth(1);
        let op = match action {
            "add" | "open" | "close" => return Ok(None),
            "wait" if !self.stamped => {
                let [offset] = leading_fields(line, rest, layout)?;
                self.now += parse_decimal(offset, self.units.time.ps(), "wait")?;
                return Ok(None);
            }
            "read" => Op::Read,
            "write" => Op::Write,
            "trim" => Op::Discard,
            "sync" | "datasync" => Op::Flush,
            _ => {
                return Err(ParseError {
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
