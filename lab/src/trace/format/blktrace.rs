//! Binary records of the Linux block tracer (`struct blk_io_trace`, linux/blktrace_api.h, version 7), one file a
//! processor, merged by time. Either byte order is read.

use std::io::Read;
use std::path::PathBuf;

use super::super::Op;
use super::super::field::bytes;
use super::super::input::{Bad, Input, stream_error};
use super::super::options::{Action, Options};
use super::super::row::Found;
use super::events::{Event, Events};
use crate::{Error, error::Result};

/// The first four bytes of every record: the letters `eat`, and the version in the lowest byte.
const MAGIC: u32 = 0x6561_7407;

/// Bytes of a record without the payload that may follow it.
const RECORD: usize = 48;

/// The categories of an event, bits of the upper half of its action word (`enum blktrace_cat`).
mod category {
    pub(super) const WRITE: u32 = 1 << 1;
    pub(super) const FLUSH: u32 = 1 << 2;
    pub(super) const COMMAND: u32 = 1 << 9;
    pub(super) const NOTIFY: u32 = 1 << 10;
    pub(super) const DISCARD: u32 = 1 << 13;
    pub(super) const FUA: u32 = 1 << 15;
}

/// The file of one processor.
pub(in crate::trace) struct Part<'a> {
    /// The file, for messages; with the member's name where it is an archive.
    pub(in crate::trace) path: PathBuf,
    /// Its content.
    pub(in crate::trace) stream: Box<dyn Read + 'a>,
}

impl<'a> From<Input<'a>> for Part<'a> {
    fn from(input: Input<'a>) -> Self {
        Self { path: input.path, stream: Box::new(input.stream) }
    }
}

/// Whether the beginning of a file is a record.
pub(super) fn is_blktrace(prefix: &[u8]) -> bool {
    prefix.first_chunk().is_some_and(|magic| order(*magic).is_some())
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

/// Reads the requests out of the files of all processors, which `each` gives one after another to its argument.
pub(in crate::trace) fn read_parts(
    path: &std::path::Path,
    options: &Options,
    each: impl FnOnce(&mut dyn FnMut(Part<'_>) -> Result<()>) -> Result<()>,
) -> Result<Found> {
    let mut events = Events::default();
    let mut parts = 0_u64;
    each(&mut |part| {
        parts += 1;
        read_part(part, &mut events)
    })?;
    let mut found = events.requests(path, options.action)?;
    if parts > 1 {
        found.notes.push(format!("the files of {parts} processors were merged by time"));
    }
    Ok(found)
}

fn read_part(mut part: Part<'_>, events: &mut Events) -> Result<()> {
    let path = part.path.clone();
    let wrong = |line, found: String, wanted: &str| Error::Line {
        path: path.clone(),
        line,
        found,
        wanted: wanted.into(),
    };
    for number in 1.. {
        let mut bytes = Vec::with_capacity(RECORD);
        let read = part.stream.by_ref().take(RECORD as u64).read_to_end(&mut bytes);
        let read = read.map_err(|reason| stream_error(&path, number, &reason))?;
        if read == 0 {
            break;
        }
        let record: [u8; RECORD] = bytes.try_into().map_err(|_| {
            wrong(
                number,
                format!("{read} bytes at the end of the file"),
                "a whole record of 48 bytes: the file is cut off",
            )
        })?;
        let record = Record::parse(record).map_err(|magic| {
            wrong(number, format!("magic number {magic:#010x}"), "0x65617407 in either byte order")
        })?;
        let skipped = std::io::copy(&mut part.stream.by_ref().take(record.payload), &mut std::io::sink())
            .map_err(|reason| stream_error(&path, number, &reason))?;
        if skipped < record.payload {
            let found = format!("{skipped} bytes of payload at the end of the file");
            return Err(wrong(number, found, &format!("{} bytes: the file is cut off", record.payload)));
        }
        if let Some(event) = record.event().map_err(|bad| wrong(number, bad.found, &bad.wanted))? {
            events.push(event);
        }
    }
    Ok(())
}

/// What is read of a record.
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
    /// The fields of a record, or the number that stands where its magic number should.
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

    /// The event, if it is one of a request's data.
    fn event(&self) -> std::result::Result<Option<Event>, Bad> {
        let is = |category: u32| self.action >> 16 & category != 0;
        // The lower byte is the event (`enum blktrace_act`); the bit above it marks a control group's number.
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
        // Events without data carry no address that means anything, at times all ones.
        let offset = if size == 0 { 0 } else { bytes(self.sector, wordline_kernel::Bytes(512), "sector")? };
        let mut event = Event::new(time, kind, self.device, op, offset, size)?;
        event.preflush = is(category::FLUSH);
        event.row.fua = is(category::FUA) && op == Op::Write;
        Ok(Some(event.on(u16::try_from(self.cpu).ok())))
    }
}
