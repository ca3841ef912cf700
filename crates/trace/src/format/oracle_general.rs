//! oracleGeneral of libCacheSim (traceReader/customizedReader/oracle): packed little-endian records of 24 bytes, with
//! the time in seconds (u32), the object (u64), its size in bytes (u32), and the number of the next request of the
//! object (i64), which is -1 if there is none.
//!
//! It is a trace of a cache of objects, without addresses: each object gets an address at its first appearance.

use std::io::BufRead;
use std::path::PathBuf;

use wordline_kernel::counted;

use super::super::Op;
use super::super::input::{Input, ParseError, fill, stream_error};
use super::super::row::{Reader, Row};
use super::places::Places;
use crate::{Error, error::Result};

const RECORD: usize = 24;

/// Records that detection examines. Chosen: more than other content is likely to satisfy.
const EXAMINED: usize = 1_000;

/// Largest number of a request that detection accepts. Chosen: a hundred times the longest public trace of its kind.
const MAX_REQUESTS: i64 = 1 << 40;

/// Number of the next request in files that were made without it.
const NOT_KNOWN: i64 = -2;

/// Fields of a record.
struct Record {
    seconds: u32,
    object: u64,
    size: u32,
    next: i64,
}

impl Record {
    fn parse(bytes: &[u8; RECORD]) -> Self {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Self { seconds: word(0), object: long(4), size: word(12), next: long(16) as i64 }
    }
}

/// Whether the beginning of a file consists of such records: times do not fall, sizes are not zero, and the next
/// request of an object is a later one.
pub(super) fn is_oracle_general(prefix: &[u8]) -> bool {
    let (records, _) = prefix.as_chunks::<RECORD>();
    let mut before = 0;
    let is_plausible = |(number, bytes): (i64, &[u8; RECORD])| {
        let record = Record::parse(bytes);
        let rises = record.seconds >= before;
        before = record.seconds;
        let is_later = record.next > number && record.next < MAX_REQUESTS;
        rises && record.size > 0 && (is_later || record.next == -1 || record.next == i64::MAX)
    };
    !records.is_empty() && (0..).zip(records.iter().take(EXAMINED)).all(is_plausible)
}

/// Reads the records.
pub(super) struct OracleGeneral<'a> {
    path: PathBuf,
    stream: Box<dyn BufRead + Send + 'a>,
    number: u64,
    places: Places,
}

impl<'a> From<Input<'a>> for OracleGeneral<'a> {
    fn from(input: Input<'a>) -> Self {
        Self { path: input.path, stream: input.stream, number: 0, places: Places::default() }
    }
}

impl OracleGeneral<'_> {
    fn wrong(&self, bad: ParseError) -> Error {
        Error::Line { path: self.path.clone(), line: self.number, found: bad.found, wanted: bad.wanted }
    }

    fn row(&mut self, bytes: &[u8; RECORD]) -> std::result::Result<Row, ParseError> {
        let Record { seconds, object, size, next } = Record::parse(bytes);
        if !(NOT_KNOWN..MAX_REQUESTS).contains(&next) && next != i64::MAX {
            return Err(ParseError {
                found: format!("next request {next} of object {object}"),
                wanted: "its number, or -1 if there is none".into(),
            });
        }
        let (address, _) = self.places.find(object, u64::from(size))?;
        let time = i128::from(seconds) * 1_000_000_000_000;
        Ok(Row { line: self.number, ..Row::new(time, Op::Read, 0, address, u64::from(size))? })
    }
}

impl Reader for OracleGeneral<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        self.number += 1;
        let mut bytes = [0; RECORD];
        let read = fill(&mut self.stream, &mut bytes)
            .map_err(|reason| stream_error(&self.path, self.number, &reason))?;
        match read {
            0 => Ok(None),
            RECORD => self.row(&bytes).map(Some).map_err(|bad| self.wrong(bad)),
            _ => Err(self.wrong(ParseError {
                found: format!("{read} bytes at the end of the file"),
                wanted: format!("a whole record of {RECORD} bytes: the file is cut off"),
            })),
        }
    }

    fn notes(&self) -> Vec<String> {
        let layout = format!(
            "a trace of a cache, without addresses: {} at the next free multiple of 4 KiB in the order of appearance; each \
             request is a GET, which reads its object",
            counted(self.places.count(), "object"),
        );
        let times = "times are whole seconds: all requests of a second arrive at once, so response times need a closed \
                     loop (queue depth)";
        [Some(layout), self.places.note(), Some(times.into())].into_iter().flatten().collect()
    }
}
