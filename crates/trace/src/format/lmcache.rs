//! Lookups of LMCache, which its server writes with `--lookup-hash-log-dir` as JSON lines (lmcache/v1/mp_observability/
//! subscribers/logging/lookup_hash.py): seconds, tokens of a chunk, tokens of the input, types and shapes of the tensors
//! of a chunk, and the hashes of the chunks of the input.
//!
//! Only whole chunks are cached. The tokens behind the last whole chunk are counted.

use serde::Deserialize;
use wordline_kernel::{Bytes, counted};

use super::super::field::parse_decimal;
use super::super::input::{ParseError, quoted};
use super::super::options::Options;
use super::kv_cache::{Dialect, Lookup};
use super::places::object_id;

type Parsed<T> = std::result::Result<T, ParseError>;

const WANTED: &str = "a line such as {\"timestamp\": 1.5, \"chunk_size\": 256, \"seq_len\": 600, \"dtypes\": [\"bfloat16\"], \
                      \"shapes\": [[2, 32, 256, 1024]], \"chunk_hashes\": [\"0x1f\", \"0x2e\"]}";

/// Types of numbers and their bytes, as PyTorch names them.
const TYPES: [(&str, u64); 9] = [
    ("bfloat16", 2),
    ("float16", 2),
    ("float8_e4m3fn", 1),
    ("float8_e5m2", 1),
    ("uint8", 1),
    ("int8", 1),
    ("float32", 4),
    ("int32", 4),
    ("int64", 8),
];

/// Largest chunk accepted. Chosen: far above the chunks of any model.
const MAX_CHUNK: u64 = 1 << 40;

/// Fields of a line that are used.
#[derive(Deserialize)]
struct Line {
    timestamp: serde_json::Number,
    chunk_size: u64,
    seq_len: u64,
    #[serde(default)]
    dtypes: Vec<String>,
    #[serde(default)]
    shapes: Vec<Vec<u64>>,
    chunk_hashes: Vec<String>,
}

/// Whether a line is one of such a log.
pub(super) fn is_lookup(line: &str) -> bool {
    line.starts_with('{') && line.contains("\"chunk_hashes\"")
}

/// Whether the content is a storage-level trace (`.lct`): frames of MessagePack, the first with `LMCT`
/// (lmcache/v1/mp_observability/trace/format.py).
pub(super) fn is_storage_trace(prefix: &[u8]) -> bool {
    prefix.get(4..64).is_some_and(|frame| frame.windows(4).any(|bytes| bytes == b"LMCT"))
}

/// Parses the lines.
pub(super) struct Lmcache {
    token: Option<Bytes>,
    /// Bytes of the smallest and the largest chunk.
    chunks: Option<(u64, u64)>,
    tail_tokens: u64,
}

impl Lmcache {
    pub(super) fn new(options: &Options) -> Self {
        Self { token: options.token_bytes, chunks: None, tail_tokens: 0 }
    }

    /// Bytes of a chunk: of its tensors, or of its tokens if the option `token_bytes` is set.
    fn chunk(&self, line: &Line) -> Parsed<u64> {
        let tokens = line.chunk_size;
        let bytes = match self.token {
            Some(token) => tokens.checked_mul(token.0),
            None if line.shapes.is_empty() || line.shapes.len() != line.dtypes.len() => {
                return Err(ParseError {
                    found: format!(
                        "{} and {}",
                        counted(line.shapes.len() as u64, "shape"),
                        counted(line.dtypes.len() as u64, "dtype")
                    ),
                    wanted: "a shape and a dtype for each tensor of a chunk, or the option token_bytes"
                        .into(),
                });
            }
            None => {
                let mut sum = Some(0_u64);
                for (shape, name) in line.shapes.iter().zip(&line.dtypes) {
                    let bytes = shape
                        .iter()
                        .try_fold(number_bytes(name)?, |bytes, extent| bytes.checked_mul(*extent));
                    sum = sum.zip(bytes).and_then(|(sum, bytes)| sum.checked_add(bytes));
                }
                sum
            }
        };
        bytes.filter(|bytes| (1..=MAX_CHUNK).contains(bytes)).ok_or_else(|| ParseError {
            found: format!("shapes {:?} of {tokens} tokens", line.shapes),
            wanted: "chunks of 1 B to 1 TiB".into(),
        })
    }
}

/// Bytes of a number of this type.
fn number_bytes(name: &str) -> Parsed<u64> {
    let short = name.strip_prefix("torch.").unwrap_or(name);
    TYPES.iter().find(|(known, _)| *known == short).map(|(_, bytes)| *bytes).ok_or_else(|| ParseError {
        found: format!("dtype {}", quoted(name)),
        wanted: format!("one of {}, or the option token_bytes", TYPES.map(|(known, _)| known).join(", ")),
    })
}

impl Dialect for Lmcache {
    fn parse(&mut self, text: &str) -> Parsed<Lookup> {
        let line: Line = serde_json::from_str(text).map_err(|reason| ParseError {
            found: format!("{} ({reason})", quoted(text)),
            wanted: WANTED.into(),
        })?;
        let time = parse_decimal(&line.timestamp.to_string(), 1_000_000_000_000, "timestamp")?;
        let blocks: Vec<u64> = line.chunk_hashes.iter().map(|hash| object_id(hash)).collect();
        // A line without whole chunks may have no tensors, either.
        let size = if blocks.is_empty() { 0 } else { self.chunk(&line)? };
        if !blocks.is_empty() {
            let (least, most) = self.chunks.unwrap_or((size, size));
            self.chunks = Some((least.min(size), most.max(size)));
        }
        let whole = (blocks.len() as u64).saturating_mul(line.chunk_size);
        self.tail_tokens = self.tail_tokens.saturating_add(line.seq_len.saturating_sub(whole));
        Ok(Lookup { time, blocks, size })
    }

    fn notes(&self, requests: u64, blocks: u64) -> Vec<String> {
        let of = match self.chunks {
            Some((least, most)) if least == most => format!(" of {}", Bytes(most)),
            Some((least, most)) => format!(" of {} to {}", Bytes(least), Bytes(most)),
            None => String::new(),
        };
        let layout = format!(
            "lookups of LMCache: {} use {}{of}; the first use writes a chunk, later ones read it; chunks are in the order of \
             first use",
            counted(requests, "request"),
            counted(blocks, "chunk"),
        );
        let tail = (self.tail_tokens > 0).then(|| {
            let tokens = counted(self.tail_tokens, "token");
            format!("left out: {tokens} behind the last whole chunk of their request, which LMCache does not cache")
        });
        [Some(layout), tail].into_iter().flatten().collect()
    }
}
