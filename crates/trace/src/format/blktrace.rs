//! Binary records of blktrace (`struct blk_io_trace`, linux/blktrace_api.h, version 7), one file per CPU,
//! merged by time. Both byte orders are read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Read;
use std::path::PathBuf;

use super::super::Op;
use super::super::field::bytes;
use super::super::input::{Input, ParseError, fill, stream_error};
use super::super::options::Action;
use super::super::row::{Reader, Row};
use crate::{Error, error::Result};

/// First four bytes of every record: the letters `eat`, and the version in the lowest byte.
const MAGIC: u32 = 0x6561_7407;

/// Size of a record in bytes, without the payload that may follow.
const RECORD: usize = 48;

/// Categories of an event, bits in the upper half of its action word (`enum blktrace_cat`).
mod category {
    pub(super) const WRITE: u32 = 1 << 1;
    pub(super) const FLUSH: u32 = 1 << 2;
    pub(super) const COMMAND: u32 = 1 << 9;
    pub(super) const NOTIFY: u32 = 1 << 10;
    pub(super) const DISCARD: u32 = 1 << 13;
    pub(super) const FUA: u32 = 1 << 15;
}

/// Whether the beginning of a file is a record.
pub(super) fn is_blktrace(prefix: &[u8]) -> bool {
    prefix.first_chunk().is_some_and(|magic| order(*magic).is_some())
}

/// Returns the processor if a name has the form of a per-CPU file, `sda.blktrace.3`, compressed or not.
pub(crate) fn processor(name: &str) -> Option<u32> {
    let plain = name.strip_suffix(".zst").or_else(|| name.strip_suffix(".gz")).unwrap_or(name);
    let (base, number) = plain.rsplit_once('.')?;
    base.ends_with(".blktrace").then(|| number.parse().ok()).flatten()
}

fn order(magic: [u8; 4]) -> Option<Order> {
    if u32::from_le_bytes(magic) == MAGIC {
        Some(Order::Little)
    } else if u32::from_be_bytes(magic) == MAGIC {
        Some(Order::Big)
    } else {
        None
    }
}

#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

/// Reads the events of one per-CPU file.
pub(crate) struct PartReader<'a> {
    /// File name for messages; with the member name for an archive.
    path: PathBuf,
    stream: Box<dyn Read + Send + 'a>,
    number: u64,
}

impl<'a> From<Input<'a>> for PartReader<'a> {
    fn from(input: Input<'a>) -> Self {
        Self { path: input.path, stream: Box::new(input.stream), number: 0 }
    }
}

impl PartReader<'_> {
    fn wrong(&self, found: String, wanted: &str) -> Error {
        Error::Line { path: self.path.clone(), line: self.number, found, wanted: wanted.into() }
    }

    fn record(&mut self) -> Result<Option<Record>> {
        self.number += 1;
        let mut bytes = [0; RECORD];
        let broken = |part: &Self, reason| stream_error(&part.path, part.number, &reason);
        let read = fill(&mut self.stream, &mut bytes).map_err(|reason| broken(self, reason))?;
        if read == 0 {
            return Ok(None);
        }
        if read < RECORD {
            let found = format!("{read} bytes at the end of the file");
            return Err(self.wrong(found, "a whole record of 48 bytes: the file is cut off"));
        }
        let record = Record::parse(bytes).map_err(|magic| {
            self.wrong(format!("magic number {magic:#010x}"), "0x65617407 in either byte order")
        })?;
        let skipped = std::io::copy(&mut self.stream.by_ref().take(record.payload), &mut std::io::sink())
            .map_err(|reason| broken(self, reason))?;
        if skipped < record.payload {
            let found = format!("{skipped} bytes of payload at the end of the file");
            return Err(self.wrong(found, &format!("{} bytes: the file is cut off", record.payload)));
        }
        Ok(Some(record))
    }
}

impl Reader for PartReader<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        while let Some(record) = self.record()? {
            if let Some(row) = record.row().map_err(|bad| self.wrong(bad.found, &bad.wanted))? {
                return Ok(Some(Row { line: self.number, ..row }));
            }
        }
        Ok(None)
    }

    fn notes(&self) -> Vec<String> {
        vec!["one processor's file alone; name its directory to merge those of all".into()]
    }
}

/// Per-CPU files merged by time.
pub(crate) struct Merged<'a> {
    parts: Vec<Box<dyn Reader + 'a>>,
    /// The next row of each part that has one.
    next: Vec<Option<Row>>,
    /// Time of the next row, and its part. On equal times the part with the lowest number is first.
    turns: BinaryHeap<Reverse<(i128, usize)>>,
}

impl<'a> Merged<'a> {
    /// Reads the first row of each part.
    pub(crate) fn new(parts: Vec<Box<dyn Reader + 'a>>) -> Result<Self> {
        let next = parts.iter().map(|_| None).collect();
        let mut merged = Self { parts, next, turns: BinaryHeap::new() };
        (0..merged.parts.len()).try_for_each(|part| merged.advance(part))?;
        Ok(merged)
    }

    fn advance(&mut self, part: usize) -> Result<()> {
        self.next[part] = self.parts[part].next()?;
        self.turns.extend(self.next[part].map(|row| Reverse((row.time, part))));
        Ok(())
    }
}

impl Reader for Merged<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        let Some(Reverse((_, part))) = self.turns.pop() else { return Ok(None) };
        let row = self.next[part];
        self.advance(part)?;
        Ok(row)
    }

    fn notes(&self) -> Vec<String> {
        let parts = self.parts.len();
        (parts > 1)
            .then(|| format!("the files of {parts} processors were merged by time"))
            .into_iter()
            .collect()
    }
}

/// Fields read from a record.
struct Record {
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    cpu: u32,
    payload: u64,
}

impl Record {
    /// Parses a record; returns the wrong magic number as error.
    fn parse(record: [u8; RECORD]) -> std::result::Result<Self, u32> {
        let magic = *record.first_chunk().expect("a record has 48 bytes");
        let order = order(magic).ok_or(u32::from_le_bytes(magic))?;
        let word = |at: usize| {
            let bytes = record[at..at + 4].try_into().expect("four bytes");
            match order {
                Order::Little => u32::from_le_bytes(bytes),
                Order::Big => u32::from_be_bytes(bytes),
            }
        };
        let long = |at: usize| {
            let (first, second) = (u64::from(word(at)), u64::from(word(at + 4)));
            match order {
                Order::Little => second << 32 | first,
                Order::Big => first << 32 | second,
            }
        };
        let payload = [record[46], record[47]];
        let payload = match order {
            Order::Little => u16::from_le_bytes(payload),
            Order::Big => u16::from_be_bytes(payload),
        };
        Ok(Self {
            time_ns: long(8),
            sector: long(16),
            bytes: word(24),
            action: word(28),
            device: word(36),
            cpu: word(40),
            payload: u64::from(payload),
        })
    }

    /// Returns the event, if it belongs to a data request.
    fn row(&self) -> std::result::Result<Option<Row>, ParseError> {
        let is = |category: u32| self.action >> 16 & category != 0;
        // The low byte is the event (`enum blktrace_act`); the bit above it marks a cgroup ID.
        let kind = match self.action & 0xff {
            1 => Action::Queue,
            7 => Action::Issue,
            8 => Action::Complete,
            _ => return Ok(None),
        };
        if is(category::NOTIFY) || is(category::COMMAND) {
            return Ok(None);
        }
        let op = if is(category::DISCARD) {
            Op::Discard
        } else if is(category::WRITE) {
            Op::Write
        } else {
            Op::Read
        };
        let time = i128::from(self.time_ns) * 1_000;
        let size = u64::from(self.bytes);
        // The address of an event without data has no meaning, and sometimes has all bits set.
        let offset = if size == 0 { 0 } else { bytes(self.sector, wordline_kernel::Bytes(512), "sector")? };
        Ok(Some(Row {
            event: Some(kind),
            preflush: is(category::FLUSH),
            fua: is(category::FUA) && op == Op::Write,
            cpu: u16::try_from(self.cpu).ok(),
            ..Row::new(time, op, self.device, offset, size)?
        }))
    }
}
