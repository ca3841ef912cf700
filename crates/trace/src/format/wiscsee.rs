//! Events of wiscsee: process, D (issued) or C (completed), read, write or discard, offset, size, seconds,
//! seconds since the previous event, and whether the request is synchronous.

use super::super::field::{leading_fields, parse_bytes, parse_decimal};
use super::super::formats::Units;
use super::super::input::{ParseError, quoted};
use super::super::options::Action;
use super::super::row::{LineReader, Row, op};

const LAYOUT: &str = "pid D/C op offset size seconds wait sync";

/// Reads the events. Ignores reads with a negative offset, which the tool writes for a file system's own
/// probes.
pub(super) struct Wiscsee {
    units: Units,
    negative: u64,
}

impl Wiscsee {
    pub(super) const fn new(units: Units) -> Self {
        Self { units, negative: 0 }
    }
}

impl LineReader for Wiscsee {
    fn row(&mut self, line: &str) -> Result<Option<Row>, ParseError> {
        let units = self.units;
        let [_, kind, op_name, offset, size, time] =
            leading_fields(line, line.split_ascii_whitespace(), LAYOUT)?;
        let event = match kind {
            "D" => Action::Issue,
            "C" => Action::Complete,
            _ => {
                return Err(ParseError { found: format!("event {}", quoted(kind)), wanted: "D or C".into() });
            }
        };
        if offset.starts_with('-') {
            self.negative += 1;
            return Ok(None);
        }
        let row = Row::new(
            parse_decimal(time, units.time.ps(), "time")?,
            op(op_name)?,
            0,
            parse_bytes(offset, units.address, "offset")?,
            parse_bytes(size, units.size, "size")?,
        )?;
        Ok(Some(Row { event: Some(event), ..row }))
    }

    fn notes(&self) -> Vec<String> {
        let Self { negative, .. } = self;
        let note = || format!("{negative} requests with a negative offset were ignored");
        (*negative > 0).then(note).into_iter().collect()
    }
}
