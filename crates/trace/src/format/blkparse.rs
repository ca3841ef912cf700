//! The default text of blkparse: `major,minor cpu sequence seconds pid action RWBS sector + sectors
//! [process]`.
//!
//! The reader takes the actions Q, D and C, and ignores the summary at the end, messages and headers.

use super::super::field::{leading_fields, parse_decimal, parse_integer};
use super::super::formats::Units;
use super::super::input::ParseError;
use super::super::options::Action;
use super::super::recorded::RecordedOp;
use super::super::row::{LineReader, Row, linux_device};
use super::rwbs::Rwbs;

const LAYOUT: &str = "major,minor cpu sequence seconds pid action RWBS sector + sectors";

/// First words of the summary lines that blkparse prints after the events.
const SUMMARY: [&str; 15] = [
    "CPU",
    "Total",
    "Reads",
    "Read",
    "Writes",
    "PC ",
    "IO unplugs",
    "Timer unplugs",
    "Throughput",
    "Events",
    "Skips",
    "Input file",
    "Allocation wait",
    "Dispatch wait",
    "Completion wait",
];

/// Reads the events.
pub(super) struct Blkparse(pub(super) Units);

impl LineReader for Blkparse {
    fn row(&mut self, line: &str) -> std::result::Result<Option<Row>, ParseError> {
        if SUMMARY.iter().any(|start| line.starts_with(start)) { Ok(None) } else { event(line, self.0) }
    }
}

/// Whether a line begins like an event: `8,16 3 ...`.
pub(super) fn begins_as_event(line: &str) -> bool {
    line.split_ascii_whitespace()
        .next()
        .and_then(|first| first.split_once(','))
        .is_some_and(|(major, minor)| major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok())
}

/// Parses the event on a line; `None` if it does not belong to a request.
fn event(line: &str, units: Units) -> std::result::Result<Option<Row>, ParseError> {
    let [device, cpu, sequence, time, pid, action] =
        leading_fields(line, line.split_ascii_whitespace(), LAYOUT)?;
    let (major, minor) =
        device.split_once(',').ok_or_else(|| ParseError::quoting(line, format!("a line of {LAYOUT}")))?;
    let device = linux_device(major, minor)?;
    for (text, what) in [(sequence, "sequence"), (pid, "pid")] {
        parse_integer(text, what)?;
    }
    let cpu = u16::try_from(parse_integer(cpu, "cpu")?).ok();
    let time = parse_decimal(time, units.time.ps(), "time")?;
    let Some(kind) = kind(action) else { return Ok(None) };
    let mut rest = line.split_ascii_whitespace().skip(6);
    let malformed = || ParseError::quoting(line, format!("a line of {LAYOUT}"));
    let flags = Rwbs::parse(rest.next().ok_or_else(malformed)?);
    let sector = rest.next().unwrap_or_default();
    let range = match rest.next() {
        Some("+") => (sector, rest.next().unwrap_or_default()),
        // `bytes (the bytes of a command) [process]`: not a request of the block layer.
        Some(text) if text.starts_with('(') => {
            return Ok(Some(Row::left_out(time, RecordedOp::Passthrough, device, Some(kind))));
        }
        // The completion of a flush: its request had the letters.
        _ if kind == Action::Complete && flags.left_out() == Some(RecordedOp::NoLetters) => return Ok(None),
        // A flush, a zone command, or the completion of a request without data has no size.
        _ if flags.preflush
            || flags.left_out().is_some()
            || kind == Action::Complete && sector.parse::<u64>().is_ok() =>
        {
            // Zone commands are about the zone at the sector.
            (if sector.parse::<u64>().is_ok() { sector } else { "0" }, "0")
        }
        _ => return Err(malformed()),
    };
    flags.event(time, kind, device, range, units).map(|row| Some(Row { cpu, ..row }))
}

/// Returns the kind of an event from its letter; `None` for events that are ignored.
pub(super) fn kind(letter: &str) -> Option<Action> {
    match letter {
        "Q" => Some(Action::Queue),
        "D" => Some(Action::Issue),
        "C" => Some(Action::Complete),
        _ => None,
    }
}
