//! VMware's vscsiStats: little-endian records of SCSI commands, 32 bytes (version 1) or 40 (version 2).
//!
//! | version | record |
//! |---|---|
//! | 1 | u32 serial, u32 bytes, u32 segments, u16 command, u16 version, u64 block, u64 microseconds |
//! | 2 | u16 command, u16 version, u32 serial, u32 bytes, u32 segments, u64 block, u64 microseconds, u64 response |
//!
//! The layouts follow libCacheSim's reader; the upper byte of the version field is the version.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::PathBuf;

use super::super::Op;
use super::super::field::bytes;
use super::super::input::{Input, ParseError, fill, stream_error};
use super::super::row::{Reader, Row};
use crate::{Error, error::Result};

const BLOCK: wordline_kernel::Bytes = wordline_kernel::Bytes(512);
const US: i128 = 1_000_000;

/// Offsets of the fields in a record.
#[derive(Clone, Copy)]
struct Layout {
    length: usize,
    version: u8,
    command: usize,
    size: usize,
    block: usize,
    time: usize,
    response: Option<usize>,
}

const LAYOUTS: [Layout; 2] = [
    Layout { length: 32, version: 1, command: 12, size: 4, block: 16, time: 24, response: None },
    Layout { length: 40, version: 2, command: 0, size: 8, block: 16, time: 24, response: Some(32) },
];

/// Size of the longest record, in bytes.
const MAX_RECORD_BYTES: usize = 40;

/// Whether the beginning of a file consists of such records.
pub(super) fn is_vscsi(prefix: &[u8]) -> bool {
    layout_of(prefix).is_some()
}

/// Returns the layout for which the first records, at most 16, all have its version, and at least half of
/// them are supported commands.
fn layout_of(prefix: &[u8]) -> Option<Layout> {
    LAYOUTS.into_iter().find(|layout| {
        let records = || prefix.chunks_exact(layout.length).take(16);
        let known = records().filter(|record| op(u16_at(record, layout.command)).is_some()).count();
        known > 0
            && known * 2 >= records().count()
            && records().all(|record| record[layout.command + 3] == layout.version)
    })
}

/// Reads the records.
pub(super) struct Vscsi<'a> {
    path: PathBuf,
    stream: Box<dyn BufRead + Send + 'a>,
    layout: Layout,
    number: u64,
    /// Counts of the commands that are not simulated, by operation code.
    others: BTreeMap<u16, u64>,
}

/// Detects the layout.
pub(super) fn reader(input: Input<'_>) -> Result<Vscsi<'_>> {
    let Input { path, prefix, stream, .. } = input;
    let layout = layout_of(&prefix).ok_or_else(|| Error::Content {
        path: path.clone(),
        found: "no records of vscsiStats".into(),
        wanted: "records of version 1 (32 bytes) or 2 (40 bytes)".into(),
    })?;
    Ok(Vscsi { path, stream, layout, number: 0, others: BTreeMap::new() })
}

impl Vscsi<'_> {
    fn wrong(&self, bad: ParseError) -> Error {
        Error::Line { path: self.path.clone(), line: self.number, found: bad.found, wanted: bad.wanted }
    }
}

impl Reader for Vscsi<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        let mut record = [0; MAX_RECORD_BYTES];
        let record = &mut record[..self.layout.length];
        loop {
            self.number += 1;
            let read = fill(&mut self.stream, record)
                .map_err(|reason| stream_error(&self.path, self.number, &reason))?;
            if read == 0 {
                return Ok(None);
            }
            if read < record.len() {
                return Err(self.wrong(ParseError {
                    found: format!("{read} bytes at the end of the file"),
                    wanted: format!("a whole record of {} bytes: the file is cut off", record.len()),
                }));
            }
            match row(record, self.layout).map_err(|bad| self.wrong(bad))? {
                Some(row) => return Ok(Some(Row { line: self.number, ..row })),
                None => *self.others.entry(u16_at(record, self.layout.command)).or_default() += 1,
            }
        }
    }

    fn notes(&self) -> Vec<String> {
        let list: Vec<String> =
            self.others.iter().map(|(code, count)| format!("{count} {}", name(*code))).collect();
        (!list.is_empty())
            .then(|| format!("not simulated, left out: {}", list.join(", ")))
            .into_iter()
            .collect()
    }
}

fn row(record: &[u8], layout: Layout) -> std::result::Result<Option<Row>, ParseError> {
    let version = record[layout.command + 3];
    if version != layout.version {
        return Err(ParseError {
            found: format!("version {version} in a record"),
            wanted: format!("version {}, as in the records before", layout.version),
        });
    }
    let Some(op) = op(u16_at(record, layout.command)) else { return Ok(None) };
    let time = i128::from(u64_at(record, layout.time)) * US;
    let (offset, size) = if op == Op::Flush {
        (0, 0)
    } else {
        let size = u32::from_le_bytes(array(record, layout.size));
        (bytes(u64_at(record, layout.block), BLOCK, "block")?, u64::from(size))
    };
    let mut row = Row::new(time, op, 0, offset, size)?;
    if let Some(at) = layout.response {
        row.set_response(i128::from(u64_at(record, at)) * US);
    }
    Ok(Some(row))
}

/// The operation of a SCSI command (SBC-4, table of commands): READ and WRITE of 6, 10, 12 and 16 bytes,
/// WRITE AND VERIFY, SYNCHRONIZE CACHE.
fn op(command: u16) -> Option<Op> {
    match command {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Read),
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(Op::Write),
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}

/// Names a command that is not simulated (SBC-4 and SPC-5, tables of operation codes).
fn name(command: u16) -> String {
    let name = match command {
        0x00 => "TEST UNIT READY",
        0x12 => "INQUIRY",
        0x25 => "READ CAPACITY",
        0x2f | 0x8f | 0xaf => "VERIFY",
        0x41 | 0x93 => "WRITE SAME",
        0x42 => "UNMAP",
        0x89 => "COMPARE AND WRITE",
        0x9e => "SERVICE ACTION IN",
        _ => return format!("of SCSI command {command:#04x}"),
    };
    format!("{name} ({command:#04x})")
}

fn array<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    record[at..at + N].try_into().expect("the layout lies inside the record")
}

fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(record, at))
}

fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(record, at))
}
