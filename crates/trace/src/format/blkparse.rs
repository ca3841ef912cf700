//! The default text of blkparse: `major,minor cpu sequence seconds pid action RWBS sector + sectors
//! [process]`.
//!
//! The reader takes the actions Q, D and C, and ignores the summary at the end, messages and headers.

use super::super::Op;
use super::super::field::{leading_fields, parse_bytes, parse_decimal, parse_integer};
use super::super::input::ParseError;
use super::super::options::{Action, Units};
use super::super::row::{LineReader, Row, linux_device};

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
    let flags = Rwbs::parse(rest.next().unwrap_or_default());
    let Some(op) = flags.op else { return Ok(None) };
    let sector = rest.next().unwrap_or_default();
    match rest.next() {
        Some("+") => {
            let count = rest.next().unwrap_or_default();
            flags.event(time, kind, device, op, (sector, count), units).map(|row| Some(Row { cpu, ..row }))
        }
        // `sector (bytes of a command) [process]`: a passthrough command, not a request of the block layer.
        Some(text) if text.starts_with('(') => Ok(None),
        // A flush, or the completion of a request without data, has no size.
        _ if flags.preflush || kind == Action::Complete && sector.parse::<u64>().is_ok() => {
            flags.event(time, kind, device, op, ("0", "0"), units).map(|row| Some(Row { cpu, ..row }))
        }
        _ => Err(ParseError::quoting(line, format!("a line of {LAYOUT}"))),
    }
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

/// The RWBS letters of blkparse: operation and flags of a request.
pub(super) struct Rwbs {
    /// Read, write, discard or flush; `None` if the letters name no data request (`N`).
    pub(super) op: Option<Op>,
    /// An F before the operation, or a B (barrier, kernels before 2.6.37).
    pub(super) preflush: bool,
    fua: bool,
}

impl Rwbs {
    /// Parses letters such as `WS`, `FWFS` or `RA`. F before the operation is a flush; F after the operation
    /// is forced unit access.
    pub(super) fn parse(text: &str) -> Self {
        let before = text.strip_prefix('F');
        let rest = before.unwrap_or(text);
        let op = match rest.chars().next() {
            Some('R') => Some(Op::Read),
            Some('W') => Some(Op::Write),
            Some('D' | 'E') => Some(Op::Discard),
            _ => None,
        };
        let barrier = rest.contains('B');
        Self { op, preflush: before.is_some() || barrier, fua: rest.contains('F') || barrier }
    }

    /// Builds the event of a request with these letters, from (sector, count) as text.
    pub(super) fn event(
        &self,
        time: i128,
        kind: Action,
        device: u32,
        op: Op,
        (sector, count): (&str, &str),
        units: Units,
    ) -> std::result::Result<Row, ParseError> {
        let offset = parse_bytes(sector, units.address, "sector")?;
        let size = parse_bytes(count, units.size, "size")?;
        let row = Row::new(time, op, device, offset, size)?;
        Ok(Row { event: Some(kind), preflush: self.preflush, fua: self.fua && op == Op::Write, ..row })
    }
}
