//! Traces of a KV cache for the inference of language models, as JSON lines of Mooncake (Qin et al., FAST 2025) and of
//! those who follow it: `{"timestamp": ms, "input_length": .., "output_length": .., "hash_ids": [..]}`.
//!
//! Each hash ID is a block of tokens of the input. Two requests with the same ID have the same block, and all blocks
//! before it, so its keys and values can be reused. The first request with an ID writes the block, later ones read it.

use std::collections::VecDeque;

use serde::Deserialize;
use wordline_kernel::{Bytes, counted};

use super::super::Op;
use super::super::field::parse_decimal;
use super::super::formats::TimeUnit;
use super::super::input::{Lines, ParseError, quoted};
use super::super::options::Options;
use super::super::row::{Reader, Row};
use super::places::Places;
use crate::error::Result;

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

/// Reads the lines.
pub(super) struct Mooncake<'a> {
    lines: Lines<'a>,
    time: TimeUnit,
    token: Bytes,
    tokens: u32,
    places: Places,
    requests: u64,
    /// Requests of the last line that are not delivered yet.
    pending: VecDeque<Row>,
}

impl<'a> Mooncake<'a> {
    pub(super) fn new(lines: Lines<'a>, time: TimeUnit, options: &Options) -> Self {
        Self {
            lines,
            time,
            token: options.token_bytes.unwrap_or(TOKEN),
            tokens: options.block_tokens.unwrap_or(BLOCK_TOKENS),
            places: Places::default(),
            requests: 0,
            pending: VecDeque::new(),
        }
    }

    fn block(&self) -> Bytes {
        self.token * u64::from(self.tokens)
    }
}

/// Parses a line.
fn parse(line: &str, unit: TimeUnit) -> std::result::Result<(i128, Vec<u64>), ParseError> {
    let Line { timestamp, hash_ids } = serde_json::from_str(line).map_err(|reason| ParseError {
        found: format!("{} ({reason})", quoted(line)),
        wanted: WANTED.into(),
    })?;
    Ok((parse_decimal(&timestamp.to_string(), unit.ps(), "timestamp")?, hash_ids))
}

impl Reader for Mooncake<'_> {
    fn next(&mut self) -> Result<Option<Row>> {
        let size = self.block().0;
        while self.pending.is_empty() {
            let Some((time, ids)) = self.lines.first(|line| parse(line, self.time).map(Some))? else {
                return Ok(None);
            };
            let line = self.lines.number();
            self.requests += 1;
            for id in ids {
                let row = self.places.find(id, size).and_then(|(address, is_new)| {
                    Row::new(time, if is_new { Op::Write } else { Op::Read }, 0, address, size)
                });
                self.pending.push_back(Row { line, ..row.map_err(|bad| self.lines.wrong(bad))? });
            }
        }
        Ok(self.pending.pop_front())
    }

    fn notes(&self) -> Vec<String> {
        let blocks = format!(
            "a trace of a KV cache: {} of inference use {} of {} tokens with {} each, {} in all (options token_bytes and \
             block_tokens); the first use writes a block, later ones read it; blocks are in the order of first use",
            counted(self.requests, "request"),
            counted(self.places.count(), "block"),
            self.tokens,
            self.token,
            self.block(),
        );
        [Some(blocks), self.lines.unended_note()].into_iter().flatten().collect()
    }
}
