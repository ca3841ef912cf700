//! Traces of Meta's caches, as CacheLib publishes them (website/docs/Cache_Library_User_Guides/Cachebench_FB_HW_eval.md):
//! text with a header that names the columns. CacheBench finds its columns by their names (KVReplayGenerator.h,
//! BlockChunkReplayGenerator.h), and so do these readers; other columns are ignored.
//!
//! * Key-value caches (`kvcache/202206`, `kvcache/202401`): `op_time,key,key_size,op,op_count,size,...`. Files of 2022
//!   have no time.
//! * Block storage (`storage/202312`): `op_time,block_id,block_id_size,io_size,io_offset,...,op_name,op_count,host_name,
//!   rs_shard_id`. A block of the storage is a `block_id` with its shard.
//!
//! A line stands for `op_count` requests of the same second.

use wordline_kernel::{Bytes, counted};

use super::super::Op;
use super::super::field::{parse_bytes, parse_decimal, parse_integer, parse_small, split_commas, unquoted};
use super::super::formats::Units;
use super::super::input::{ParseError, quoted};
use super::super::row::{LineReader, Row};
use super::places::{Places, object_id};

type Parsed<T> = std::result::Result<T, ParseError>;

/// Columns of key-value caches that are used.
const KEY_VALUE: [&str; 5] = ["key", "op", "size", "op_time", "op_count"];

/// Columns of block storage that are used.
const STORAGE: [&str; 7] =
    ["block_id", "op_name", "io_size", "io_offset", "op_time", "op_count", "rs_shard_id"];

/// The columns of a key-value cache in a file without a header, as CacheBench takes them (KVReplayGenerator.h).
const WITHOUT_HEADER: &str = "key,op,size,op_count,key_size,ttl";

/// Space of a block of the storage: CacheBench's `blockSizeKB` (util/Config.h).
const BLOCK: Bytes = Bytes(16 << 20);

/// Whether a line is the header of a key-value cache.
pub(super) fn is_key_value_header(line: &str) -> bool {
    has(line, &KEY_VALUE[..3])
}

/// Whether a line is the header of block storage.
pub(super) fn is_storage_header(line: &str) -> bool {
    has(line, &STORAGE[..4])
}

fn has(line: &str, wanted: &[&str]) -> bool {
    wanted.iter().all(|name| split_commas(line).any(|column| unquoted(column, '"') == *name))
}

/// The places of `N` columns in a line.
struct Header<const N: usize> {
    places: [Option<usize>; N],
    count: usize,
}

impl<const N: usize> Header<N> {
    /// Finds the columns in a header; the first `needed` must be there.
    fn parse(line: &str, names: [&str; N], needed: usize) -> Parsed<Self> {
        let place = |name: &str| split_commas(line).position(|column| unquoted(column, '"') == name);
        let places = names.map(place);
        if let Some(at) = places[..needed].iter().position(Option::is_none) {
            return Err(ParseError {
                found: format!("no column {} in {}", names[at], quoted(line)),
                wanted: format!("a header with {}", names[..needed].join(", ")),
            });
        }
        Ok(Self { places, count: split_commas(line).count() })
    }

    /// Returns the fields of a line; "" for a column that the file does not have. A line may end before columns that
    /// are not used.
    fn cells<'a>(&self, line: &'a str) -> Parsed<[&'a str; N]> {
        let fields: Vec<&str> = split_commas(line).map(|field| unquoted(field, '"')).collect();
        let last = self.places.iter().flatten().max().copied().unwrap_or(0);
        if fields.len() <= last || fields.len() > self.count {
            let found = format!("{} in {}", counted(fields.len() as u64, "field"), quoted(line));
            return Err(ParseError { found, wanted: format!("{} fields, as in the header", self.count) });
        }
        Ok(self.places.map(|place| place.map_or("", |place| fields[place])))
    }
}

/// A row that stands for several requests.
#[derive(Default)]
struct Repeats {
    row: Option<Row>,
    left: u32,
}

impl Repeats {
    /// Returns the first of `count` equal rows, and keeps the others.
    fn first(&mut self, row: Row, count: u32) -> Row {
        *self = Self { row: Some(row), left: count - 1 };
        row
    }

    fn next(&mut self) -> Option<Row> {
        self.left = self.left.checked_sub(1)?;
        self.row
    }
}

/// Parses the number of requests of a line, 1 if the file does not have it.
fn count(text: &str) -> Parsed<u32> {
    if text.is_empty() {
        return Ok(1);
    }
    let wrong =
        || ParseError { found: format!("op_count {}", quoted(text)), wanted: "a whole number from 1".into() };
    parse_small::<u32>(text, "op_count").ok().filter(|count| *count > 0).ok_or_else(wrong)
}

/// Parses the time of a line, 0 if the file does not have it.
fn time(text: &str, units: Units) -> Parsed<i128> {
    if text.is_empty() { Ok(0) } else { parse_decimal(text, units.time.ps(), "op_time") }
}

/// Note on the times.
fn time_note(has_times: bool) -> String {
    let have = if has_times {
        "times are whole seconds: all requests of a second arrive at once"
    } else {
        "the file has no times: all requests arrive at once"
    };
    format!("{have}, so response times need a closed loop (queue depth)")
}

/// Reads a trace of a key-value cache.
pub(super) struct KeyValue {
    units: Units,
    header: Option<Header<5>>,
    places: Places,
    repeats: Repeats,
    without_data: u64,
    deletes: u64,
}

impl KeyValue {
    pub(super) fn new(units: Units) -> Self {
        let (header, places, repeats) = (None, Places::default(), Repeats::default());
        Self { units, header, places, repeats, without_data: 0, deletes: 0 }
    }
}

impl LineReader for KeyValue {
    fn row(&mut self, line: &str) -> Parsed<Option<Row>> {
        if self.header.is_none() {
            let is_header = is_key_value_header(line);
            let names = if is_header { line } else { WITHOUT_HEADER };
            self.header = Some(Header::parse(names, KEY_VALUE, 3)?);
            if is_header {
                return Ok(None);
            }
        }
        let header = self.header.as_ref().expect("it was just set");
        let [key, op, size, op_time, op_count] = header.cells(line)?;
        let (time, count) = (time(op_time, self.units)?, count(op_count)?);
        let size = parse_bytes(size, self.units.size, "size")?;
        let op = match op {
            "GET" | "GET_LEASE" => Op::Read,
            "SET" | "SET_LEASE" => Op::Write,
            "DELETE" => {
                self.deletes += u64::from(count);
                return Ok(None);
            }
            _ => {
                return Err(ParseError {
                    found: format!("op {}", quoted(op)),
                    wanted: "GET, GET_LEASE, SET, SET_LEASE or DELETE".into(),
                });
            }
        };
        if size == 0 {
            self.without_data += u64::from(count);
            return Ok(None);
        }
        let (address, _) = self.places.find(object_id(key), size)?;
        Ok(Some(self.repeats.first(Row::new(time, op, 0, address, size)?, count)))
    }

    fn further_row(&mut self) -> Option<Row> {
        self.repeats.next()
    }

    fn notes(&self) -> Vec<String> {
        let has_times = self.header.as_ref().is_some_and(|header| header.places[3].is_some());
        let layout = format!(
            "a trace of a key-value cache, without addresses: {} at the next free multiple of 4 KiB in the order of \
             appearance; a GET reads its object, a SET writes it",
            counted(self.places.count(), "object"),
        );
        let left_out =
            |count: u64, what, why| (count > 0).then(|| format!("left out: {} {why}", counted(count, what)));
        [
            Some(layout),
            self.places.note(),
            left_out(self.without_data, "request", "of size 0, which are misses of the recorded cache"),
            left_out(self.deletes, "DELETE", "which the cache does in memory"),
            Some(time_note(has_times)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Reads a trace of block storage.
pub(super) struct Storage {
    units: Units,
    header: Option<Header<7>>,
    places: Places,
    repeats: Repeats,
}

impl Storage {
    pub(super) fn new(units: Units) -> Self {
        Self { units, header: None, places: Places::default(), repeats: Repeats::default() }
    }
}

impl LineReader for Storage {
    fn row(&mut self, line: &str) -> Parsed<Option<Row>> {
        let Some(header) = &self.header else {
            self.header = Some(Header::parse(line, STORAGE, 4)?);
            return Ok(None);
        };
        let [block, op, size, offset, op_time, op_count, shard] = header.cells(line)?;
        let (time, count) = (time(op_time, self.units)?, count(op_count)?);
        let (size, offset) = (
            parse_bytes(size, self.units.size, "io_size")?,
            parse_bytes(offset, self.units.address, "io_offset")?,
        );
        // CacheBench tells operations by these beginnings, too.
        let op = match op {
            _ if op.starts_with("getChunkData") => Op::Read,
            _ if op.starts_with("putChunk") => Op::Write,
            _ => {
                return Err(ParseError {
                    found: format!("op_name {}", quoted(op)),
                    wanted: "a name that begins with getChunkData or putChunk".into(),
                });
            }
        };
        let shard = if shard.is_empty() { 0 } else { parse_integer(shard, "rs_shard_id")? };
        let end = offset.checked_add(size).ok_or_else(|| ParseError {
            found: format!("io_offset {offset} and io_size {size}"),
            wanted: "a range that ends below 8 EiB".into(),
        })?;
        let (address, _) = self.places.find(object_id(&format!("{block}_{shard}")), end.max(BLOCK.0))?;
        let row = Row::new(time, op, 0, address.saturating_add(offset), size)?;
        Ok(Some(self.repeats.first(row, count)))
    }

    fn further_row(&mut self) -> Option<Row> {
        self.repeats.next()
    }

    fn notes(&self) -> Vec<String> {
        let has_times = self.header.as_ref().is_some_and(|header| header.places[4].is_some());
        let layout = format!(
            "a trace of block storage, without addresses: {} of {BLOCK} one after another in the order of appearance; \
             getChunkData reads, putChunk writes",
            counted(self.places.count(), "block"),
        );
        vec![layout, time_note(has_times)]
    }
}
