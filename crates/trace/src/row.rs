//! Rows, as the readers of all formats deliver them in file order, before sorting.

use std::path::Path;

use super::field;
use super::input::{Lines, ParseError};
use super::options::{Action, Zones};
use super::recorded::RecordedOp;
use super::{Generated, Op};
use crate::error::Result as Read;

/// One request as recorded, or one event of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// Recorded time in picoseconds, from the origin of the trace's clock.
    pub(super) time: i128,
    pub(super) op: Op,
    pub(super) fua: bool,
    pub(super) device: u32,
    pub(super) offset: u64,
    pub(super) size: u64,
    /// Recorded response time in picoseconds.
    pub(super) response: Option<i64>,
    pub(super) cpu: Option<u16>,
    pub(super) stream: u8,
    /// Line, or record of a binary file.
    pub(super) line: u64,
    /// Event kind, in formats that record several events per request.
    pub(super) event: Option<Action>,
    /// Whether the device's cache is flushed before the request.
    pub(super) preflush: bool,
    /// The operation as recorded, if no request equals it.
    pub(super) recorded: Option<RecordedOp>,
    /// Index of the file of the row, among files that are merged.
    pub(super) part: u16,
}

const _: () = assert!(size_of::<Row>() <= 80, "a window of rows is kept in memory");

/// Largest read or write: a SCSI command covers up to 2^32 - 1 blocks of 512 bytes (SBC-4, READ (16)).
const MAX_REQUEST_BYTES: u64 = 2 << 40;

impl Row {
    /// Creates a row without response time or forced unit access. Checks the end of its range.
    pub(super) fn new(time: i128, op: Op, device: u32, offset: u64, size: u64) -> Result<Self, ParseError> {
        if offset.checked_add(size).is_none_or(|end| end > i64::MAX as u64) {
            return Err(ParseError {
                found: format!("a range that ends at byte {}", u128::from(offset) + u128::from(size)),
                wanted: "an end below 8 EiB".into(),
            });
        }
        if size > MAX_REQUEST_BYTES && matches!(op, Op::Read | Op::Write | Op::Compare | Op::ZoneAppend) {
            return Err(ParseError {
                found: format!("a request of {size} bytes"),
                wanted: "at most 2 TiB in one read or write".into(),
            });
        }
        Ok(Self {
            time,
            op,
            fua: false,
            device,
            offset,
            size,
            response: None,
            cpu: None,
            stream: 0,
            line: 0,
            event: None,
            preflush: false,
            recorded: None,
            part: 0,
        })
    }

    /// Creates the row of an event that is counted, but not simulated.
    pub(super) const fn left_out(
        time: i128,
        recorded: RecordedOp,
        device: u32,
        event: Option<Action>,
    ) -> Self {
        Self {
            time,
            op: Op::Flush,
            fua: false,
            device,
            offset: 0,
            size: 0,
            response: None,
            cpu: None,
            stream: 0,
            line: 0,
            event,
            preflush: false,
            recorded: Some(recorded),
            part: 0,
        }
    }

    /// Keeps or maps the operation, if it is one of zones. Recordings have it in `recorded`, our CSV in `op`.
    pub(super) fn treat_zones(&mut self, zones: Zones) {
        match (zones, self.op) {
            (Zones::Keep, _) => {
                if let Some(op) = self.recorded.and_then(RecordedOp::of_zones) {
                    self.op = op;
                }
            }
            (Zones::Map, Op::ZoneAppend) => {
                (self.op, self.recorded) = (Op::Write, Some(RecordedOp::ZoneAppend));
            }
            (Zones::Map, op) if op.is_zone_management() => {
                let is_it = |recorded: &RecordedOp| recorded.of_zones() == Some(op);
                (self.op, self.recorded) = (Op::Flush, RecordedOp::ALL.into_iter().find(is_it));
            }
            (Zones::Map, _) => {}
        }
    }

    /// Sets the recorded response time, in picoseconds; ignores a value that does not fit.
    pub(super) fn set_response(&mut self, ps: i128) {
        self.response = i64::try_from(ps).ok();
    }
}

impl Row {
    /// Whether the row belongs to a request. A row without data does not, unless it is a flush.
    pub(super) fn is_request(&self) -> bool {
        self.size > 0 || self.preflush || self.op == Op::Flush || self.op.is_zone_management()
    }
}

/// Reads a file row by row.
pub(super) trait Reader: Send {
    /// Returns the next row, `None` after the last.
    fn next(&mut self) -> Read<Option<Row>>;

    /// Notes for the user on the rows read so far.
    fn notes(&self) -> Vec<String>;

    /// Origin of generated requests, if the file gives it.
    fn generated(&self) -> Option<&Generated> {
        None
    }

    /// File of a row with this part, if the trace has several files.
    fn file(&self, _part: u16) -> Option<&Path> {
        None
    }
}

/// Reads the lines of a format.
pub(super) trait LineReader: Send {
    /// Parses a line that is neither blank nor a comment; `None` if the line has no row.
    fn row(&mut self, line: &str) -> Result<Option<Row>, ParseError>;

    /// Returns a further row of the last line, if it has more than one.
    fn further_row(&mut self) -> Option<Row> {
        None
    }

    /// Notes for the user on the rows read so far.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Origin of generated requests, if the file gives it.
    fn generated(&self) -> Option<&Generated> {
        None
    }
}

/// A format with one request per line.
pub(super) struct RequestPerLine<F>(pub(super) F);

impl<F: FnMut(&str) -> Result<Row, ParseError> + Send> LineReader for RequestPerLine<F> {
    fn row(&mut self, line: &str) -> Result<Option<Row>, ParseError> {
        (self.0)(line).map(Some)
    }
}

/// Reads a text file.
pub(super) struct TextReader<'a> {
    lines: Lines<'a>,
    format: Box<dyn LineReader>,
    /// Whether all rows so far are whole sectors of 512 bytes; `None` before the first.
    in_sectors: Option<bool>,
}

impl<'a> TextReader<'a> {
    pub(super) fn new(lines: Lines<'a>, format: Box<dyn LineReader>) -> Self {
        Self { lines, format, in_sectors: None }
    }

    /// Checks a last line without line end. It may be truncated within its last number and still parse. In
    /// that case the request most likely ends inside a sector, although no earlier request does.
    fn check(&mut self, row: &Row) -> Read<()> {
        let whole = row.offset.is_multiple_of(512) && row.size.is_multiple_of(512);
        if self.lines.is_unended() && !whole && self.in_sectors == Some(true) && row.event.is_none() {
            return Err(self.lines.wrong(ParseError {
                found: format!("{} bytes at offset {}", row.size, row.offset),
                wanted: "multiples of 512 bytes, as in all requests before".into(),
            }));
        }
        self.in_sectors = Some(self.in_sectors.unwrap_or(true) && whole);
        Ok(())
    }
}

impl Reader for TextReader<'_> {
    fn next(&mut self) -> Read<Option<Row>> {
        let Self { lines, format, .. } = self;
        if let Some(row) = format.further_row() {
            return Ok(Some(Row { line: lines.number(), ..row }));
        }
        let Some(mut row) = lines.first(|line| format.row(line))? else { return Ok(None) };
        row.line = self.lines.number();
        self.check(&row)?;
        Ok(Some(row))
    }

    fn notes(&self) -> Vec<String> {
        let Self { lines, format, .. } = self;
        format.notes().into_iter().chain(lines.unended_note()).collect()
    }

    fn generated(&self) -> Option<&Generated> {
        self.format.generated()
    }
}

/// The words for operations.
const WORDS: [(Op, &[&str]); Op::COUNT] = [
    (Op::Read, &["read"]),
    (Op::Write, &["write"]),
    (Op::Discard, &["discard", "trim", "unmap"]),
    (Op::Flush, &["flush", "sync"]),
    (Op::WriteZeroes, &["write_zeroes", "writezeroes"]),
    (Op::Compare, &["compare"]),
    (Op::ZoneAppend, &["zone_append", "append"]),
    (Op::ZoneReset, &["zone_reset"]),
    (Op::ZoneFinish, &["zone_finish"]),
    (Op::ZoneOpen, &["zone_open"]),
    (Op::ZoneClose, &["zone_close"]),
];

/// Parses the operation of a request: R, W, D, F, Z, C, ZA, ZR, ZF, ZO, ZC or the full words, in any case.
pub(super) fn op(text: &str) -> Result<Op, ParseError> {
    let is = |name: &str| name.eq_ignore_ascii_case(text);
    let known = WORDS.iter().find(|(op, words)| is(op.letters()) || words.iter().any(|word| is(word)));
    known.map(|(op, _)| *op).ok_or_else(|| ParseError {
        found: format!("op {}", super::input::quoted(text)),
        wanted: "R, W, D, F, Z, C, ZA, ZR, ZF, ZO or ZC, or the words: read, write, discard, flush, write_zeroes, compare, zone_append, zone_reset, zone_finish, zone_open, zone_close".into(),
    })
}

/// Parses a read or a write, the only two operations of most formats.
pub(super) fn read_or_write(text: &str) -> Result<Op, ParseError> {
    op(text).ok().filter(|op| matches!(op, Op::Read | Op::Write)).ok_or_else(|| ParseError {
        found: format!("op {}", super::input::quoted(text)),
        wanted: "a read or a write, as R or W or the word".into(),
    })
}

/// Combines a device number `major,minor` as Linux does: the major number is in the upper 12 bits.
pub(super) fn linux_device(major: &str, minor: &str) -> Result<u32, ParseError> {
    let (high, low) = (field::device(major)?, field::device(minor)?);
    if high >= 1 << 12 || low >= 1 << 20 {
        return Err(ParseError {
            found: format!("device {high},{low}"),
            wanted: "a major below 4096 and a minor below 1048576".into(),
        });
    }
    Ok(high << 20 | low)
}
