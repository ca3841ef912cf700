//! The events of wiscsee: process, D (issued) or C (completed), read, write or discard, offset, size, seconds,
//! seconds since the event before, and whether the request is synchronous.

use super::super::field::{at_least, bytes_field, decimal};
use super::super::input::{Bad, Lines, quoted};
use super::super::options::{Action, Options, Units};
use super::super::row::{Found, op};
use super::events::{Event, Events};
use crate::error::Result;

const LAYOUT: &str = "pid D/C op offset size seconds wait sync";

/// Reads all events. A read with a negative offset, which the tool writes for a file system's own probes, is
/// passed over.
pub(super) fn read(lines: &mut Lines<'_>, options: &Options, units: Units) -> Result<Found> {
    let mut events = Events::default();
    let mut negative = 0_u64;
    lines.each(|line| {
        let [_, kind, op_name, offset, size, time] = at_least(line, line.split_ascii_whitespace(), LAYOUT)?;
        let kind = match kind {
            "D" => Action::Issue,
            "C" => Action::Complete,
            _ => {
                return Err(Bad { found: format!("event {}", quoted(kind)), wanted: "D or C".into() });
            }
        };
        if offset.starts_with('-') {
            negative += 1;
            return Ok(());
        }
        events.push(Event::new(
            decimal(time, units.time.ps(), "time")?,
            kind,
            0,
            op(op_name)?,
            bytes_field(offset, units.address, "offset")?,
            bytes_field(size, units.size, "size")?,
        )?);
        Ok(())
    })?;
    let mut found = events.requests(&lines.path, options.action)?;
    if negative > 0 {
        found.notes.push(format!("{negative} requests with a negative offset were left out"));
    }
    Ok(found)
}
