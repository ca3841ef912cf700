//! Traces of a KV cache as JSON lines of Mooncake (Qin et al., FAST 2025) and of those who follow it: `{"timestamp": ms,
//! "input_length": .., "output_length": .., "hash_ids": [..]}`. Each hash ID is a block of tokens of the input.

use serde::Deserialize;
use wordline_kernel::{Bytes, counted};

use super::super::field::parse_decimal;
use super::super::formats::TimeUnit;
use super::super::input::{ParseError, quoted};
use super::super::options::Options;
use super::kv_cache::{Dialect, Lookup};

/// Bytes of the keys and values of a token: LLaMA2-70B has 80 layers with 8 heads of 128 values each for keys and for
/// values (config.json of the published model: num_hidden_layers, num_key_value_heads, hidden_size divided by
/// num_attention_heads), here with 2 bytes per value. Mooncake's paper uses a model of this architecture (arXiv
/// 2407.00079, section 1).
const TOKEN: Bytes = Bytes(2 * 80 * 8 * 128 * 2);

/// Tokens of a block in Mooncake's traces (their README).
const BLOCK_TOKENS: u32 = 512;

const WANTED: &str =
    "a line such as {\"timestamp\": 0, \"input_length\": 600, \"output_length\": 9, \"hash_ids\": [0, 1]}";

/// Fields of a line that are used.
#[derive(Deserialize)]
struct Line {
    timestamp: serde_json::Number,
    hash_ids: Vec<u64>,
}

/// Whether a line is one of such a trace.
pub(super) fn is_request(line: &str) -> bool {
    line.starts_with('{') && line.contains("\"hash_ids\"")
}

/// Parses the lines.
pub(super) struct Mooncake {
    time: TimeUnit,
    token: Bytes,
    tokens: u32,
}

impl Mooncake {
    pub(super) fn new(time: TimeUnit, options: &Options) -> Self {
        let (token, tokens) = (options.token_bytes, options.block_tokens);
        Self { time, token: token.unwrap_or(TOKEN), tokens: tokens.unwrap_or(BLOCK_TOKENS) }
    }

    fn block(&self) -> Bytes {
        self.token * u64::from(self.tokens)
    }
}

impl Dialect for Mooncake {
    fn parse(&mut self, line: &str) -> Result<Lookup, ParseError> {
        let Line { timestamp, hash_ids } = serde_json::from_str(line).map_err(|reason| ParseError {
            found: format!("{} ({reason})", quoted(line)),
            wanted: WANTED.into(),
        })?;
        let time = parse_decimal(&timestamp.to_string(), self.time.ps(), "timestamp")?;
        Ok(Lookup { time, blocks: hash_ids, size: self.block().0 })
    }

    fn notes(&self, requests: u64, blocks: u64) -> Vec<String> {
        vec![format!(
            "a trace of a KV cache: {} of inference use {} of {} tokens with {} each, {} in all (options token_bytes and \
             block_tokens); the first use writes a block, later ones read it; blocks are in the order of first use",
            counted(requests, "request"),
            counted(blocks, "block"),
            self.tokens,
            self.token,
            self.block(),
        )]
    }
}
