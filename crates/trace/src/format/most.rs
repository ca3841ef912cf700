//! Text of the MOST tools, made from Android block traces: seconds, action, RWBS, sector, sectors, pid,
//! process, class and optionally a file, separated by tabs.

use super::super::field::{leading_fields, parse_decimal};
use super::super::formats::Units;
use super::super::input::{ParseError, quoted};
use super::super::row::{LineReader, Row};
use super::blkparse::kind;
use super::rwbs::Rwbs;

const LAYOUT: &str = "seconds, action, RWBS, sector, sectors, pid, process, class, separated by tabs";

/// Reads the events.
pub(super) struct Most(pub(super) Units);

impl LineReader for Most {
    fn row(&mut self, line: &str) -> Result<Option<Row>, ParseError> {
        event(line, self.0)
    }
}

/// Parses the event on a line; `None` if it does not belong to a request.
pub(super) fn event(line: &str, units: Units) -> Result<Option<Row>, ParseError> {
    let [time, action, rwbs, sector, count, _, _, _] = leading_fields(line, line.split('\t'), LAYOUT)?;
    let time = parse_decimal(time, units.time.ps(), "time")?;
    if action.is_empty() || !action.bytes().all(|letter| letter.is_ascii_alphabetic()) {
        return Err(ParseError {
            found: format!("action {}", quoted(action)),
            wanted: "a letter such as Q, D or C".into(),
        });
    }
    let Some(kind) = kind(action) else { return Ok(None) };
    Rwbs::parse(rwbs).event(time, kind, 0, (sector, count), units).map(Some)
}
