//! Binary records of blktrace, one file per CPU, merged by time. Both byte orders are read.
//!
//! Records of version 7 are `struct blk_io_trace`, those of version 8 (October 2025) `struct blk_io_trace2`, both in
//! include/uapi/linux/blktrace_api.h of Linux 6.19. A file may have both.
//!
//! | version | bytes of a record |
//! |---|---|
//! | 7 | 0 magic, 4 sequence, 8 time, 16 sector, 24 bytes, 28 action, 32 pid, 36 device, 40 cpu, u16 44 error, u16 46 payload |
//! | 8 | 0 magic, 4 sequence, 8 time, 16 sector, 24 bytes, 28 pid, u64 32 action, 40 device, 44 cpu, u16 48 error, u16 50 payload, 52 padding |

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Read;
use std::path::{Path, PathBuf};

use wordline_kernel::Bytes;

use super::super::Op;
use super::super::field::bytes;
use super::super::input::{Input, ParseError, fill, stream_error};
use super::super::options::Action;
use super::super::recorded::RecordedOp;
use super::super::row::{Reader, Row};
use crate::{Error, error::Result};

/// First four bytes of every record (`BLK_IO_TRACE_MAGIC`): the letters `eat`, and the version in the lowest byte.
const MAGIC: u32 = 0x6561_7400;

/// Unit of addresses.
const SECTOR: Bytes = Bytes(512);

/// Size of the fields up to the longest version's padding, in bytes.
const MAX_RECORD: usize = 64;

/// Categories of an event, bits of its action word above the sixteenth (`enum blktrace_cat`).
mod category {
    pub(super) const WRITE: u64 = 1 << 1;
    pub(super) const FLUSH: u64 = 1 << 2;
    pub(super) const COMPLETE: u64 = 1 << 7;
    pub(super) const COMMAND: u64 = 1 << 9;
    pub(super) const NOTIFY: u64 = 1 << 10;
    pub(super) const DISCARD: u64 = 1 << 13;
    pub(super) const FUA: u64 = 1 << 15;
    // From here on in version 8 only.
    pub(super) const ZONE_APPEND: u64 = 1 << 16;
    pub(super) const ZONE_RESET: u64 = 1 << 17;
    pub(super) const ZONE_RESET_ALL: u64 = 1 << 18;
    pub(super) const ZONE_FINISH: u64 = 1 << 19;
    pub(super) const ZONE_OPEN: u64 = 1 << 20;
    pub(super) const ZONE_CLOSE: u64 = 1 << 21;
    pub(super) const WRITE_ZEROES: u64 = 1 << 22;
}

/// Operation of a request by its categories: the first category found decides. All but reads are writes too.
const OPERATIONS: [(u64, Option<Op>, Option<RecordedOp>); 9] = [
    (category::DISCARD, Some(Op::Discard), None),
    (category::ZONE_APPEND, Some(Op::Write), Some(RecordedOp::ZoneAppend)),
    (category::ZONE_RESET, None, Some(RecordedOp::ZoneReset)),
    (category::ZONE_RESET_ALL, None, Some(RecordedOp::ZoneResetAll)),
    (category::ZONE_FINISH, None, Some(RecordedOp::ZoneFinish)),
    (category::ZONE_OPEN, None, Some(RecordedOp::ZoneOpen)),
    (category::ZONE_CLOSE, None, Some(RecordedOp::ZoneClose)),
    (category::WRITE_ZEROES, Some(Op::WriteZeroes), None),
    (category::WRITE, Some(Op::Write), None),
];

/// Whether the beginning of a file is a record.
pub(super) fn is_blktrace(prefix: &[u8]) -> bool {
    prefix.first_chunk().is_some_and(|magic| Layout::of(*magic).is_some())
}

/// Returns the processor if a name has the form of a per-CPU file, `sda.blktrace.3`, compressed or not.
pub(crate) fn processor(name: &str) -> Option<u32> {
    let plain = name.strip_suffix(".zst").or_else(|| name.strip_suffix(".gz")).unwrap_or(name);
    let (base, number) = plain.rsplit_once('.')?;
    base.ends_with(".blktrace").then(|| number.parse().ok()).flatten()
}

#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

/// Byte order of a record, and the offsets of the fields that differ between versions.
#[derive(Clone, Copy)]
struct Layout {
    order: Order,
    length: usize,
    action: usize,
    is_long_action: bool,
    device: usize,
    cpu: usize,
    payload: usize,
}

impl Layout {
    /// Returns the layout of a record with this magic number.
    fn of(magic: [u8; 4]) -> Option<Self> {
        let version = |magic: u32| (magic & !0xff == MAGIC).then_some(magic & 0xff);
        let (order, version) = version(u32::from_le_bytes(magic))
            .map(|version| (Order::Little, version))
            .or_else(|| version(u32::from_be_bytes(magic)).map(|version| (Order::Big, version)))?;
        match version {
            7 => Some(Self {
                order,
                length: 48,
                action: 28,
                is_long_action: false,
                device: 36,
                cpu: 40,
                payload: 46,
            }),
            8 => Some(Self {
                order,
                length: 64,
                action: 32,
                is_long_action: true,
                device: 40,
                cpu: 44,
                payload: 50,
            }),
            _ => None,
        }
    }
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

    fn cut(&self, read: usize, length: &str) -> Error {
        let found = format!("{read} bytes at the end of the file");
        self.wrong(found, &format!("a whole record of {length} bytes: the file is cut off"))
    }

    fn record(&mut self) -> Result<Option<Record>> {
        self.number += 1;
        let mut bytes = [0; MAX_RECORD];
        let broken = |part: &Self, reason| stream_error(&part.path, part.number, &reason);
        let start = fill(&mut self.stream, &mut bytes[..4]).map_err(|reason| broken(self, reason))?;
        if start == 0 {
            return Ok(None);
        }
        let magic = *bytes.first_chunk().expect("a record has 64 bytes");
        let layout = match Layout::of(magic) {
            Some(layout) => layout,
            None if start < 4 => return Err(self.cut(start, "48 or 64")),
            None => {
                let found = format!("magic number {:#010x}", u32::from_le_bytes(magic));
                return Err(self.wrong(found, "0x65617407 or 0x65617408 in either byte order"));
            }
        };
        let rest =
            fill(&mut self.stream, &mut bytes[4..layout.length]).map_err(|reason| broken(self, reason))?;
        if 4 + rest < layout.length {
            return Err(self.cut(4 + rest, &layout.length.to_string()));
        }
        let record = Record::parse(&bytes, layout);
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

    fn file(&self, _part: u16) -> Option<&Path> {
        Some(&self.path)
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
        let row = self.next[part].map(|row| Row { part: part as u16, ..row });
        self.advance(part)?;
        Ok(row)
    }

    fn file(&self, part: u16) -> Option<&Path> {
        self.parts.get(usize::from(part))?.file(0)
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
    action: u64,
    device: u32,
    cpu: u32,
    payload: u64,
}

impl Record {
    fn parse(record: &[u8; MAX_RECORD], layout: Layout) -> Self {
        let order = layout.order;
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
        let payload = [record[layout.payload], record[layout.payload + 1]];
        let payload = match order {
            Order::Little => u16::from_le_bytes(payload),
            Order::Big => u16::from_be_bytes(payload),
        };
        Self {
            time_ns: long(8),
            sector: long(16),
            bytes: word(24),
            action: if layout.is_long_action { long(layout.action) } else { u64::from(word(layout.action)) },
            device: word(layout.device),
            cpu: word(layout.cpu),
            payload: u64::from(payload),
        }
    }

    /// Returns the event, if it belongs to a data request.
    fn row(&self) -> std::result::Result<Option<Row>, ParseError> {
        let is = |category: u64| self.action >> 16 & category != 0;
        // The low byte is the event (`enum blktrace_act`); the bit above it marks a cgroup ID.
        let kind = match self.action & 0xff {
            1 => Action::Queue,
            7 => Action::Issue,
            8 => Action::Complete,
            _ => return Ok(None),
        };
        // A zone append completes twice: version 8 adds an event without the category of completions, by which the
        // device's choice of the address becomes known (`BLK_TA_ZONE_APPEND`).
        let is_address = is(category::ZONE_APPEND) && kind == Action::Complete && !is(category::COMPLETE);
        if is(category::NOTIFY) || is_address {
            return Ok(None);
        }
        let time = i128::from(self.time_ns) * 1_000;
        let left_out = |recorded| Ok(Some(Row::left_out(time, recorded, self.device, Some(kind))));
        if is(category::COMMAND) {
            return left_out(RecordedOp::Passthrough);
        }
        let operation = OPERATIONS.iter().find(|(category, ..)| is(*category));
        let (op, recorded) = operation.map_or((Some(Op::Read), None), |(_, op, recorded)| (*op, *recorded));
        let Some(op) = op else {
            let recorded = recorded.unwrap_or(RecordedOp::Unknown);
            let offset = recorded.offset(|| bytes(self.sector, SECTOR, "sector"))?;
            return Ok(Some(Row { offset, ..Row::left_out(time, recorded, self.device, Some(kind)) }));
        };
        let size = u64::from(self.bytes);
        // The address of an event without data has no meaning, and sometimes has all bits set.
        let offset = if size == 0 { 0 } else { bytes(self.sector, SECTOR, "sector")? };
        Ok(Some(Row {
            event: Some(kind),
            preflush: is(category::FLUSH),
            fua: is(category::FUA) && matches!(op, Op::Write | Op::WriteZeroes),
            recorded,
            cpu: u16::try_from(self.cpu).ok(),
            ..Row::new(time, op, self.device, offset, size)?
        }))
    }
}
