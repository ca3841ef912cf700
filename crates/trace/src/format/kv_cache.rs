//! Traces of a KV cache for the inference of language models, as JSON lines: each request names the blocks of its
//! input. Two requests that name the same block have it, and all blocks before it, in common, so its keys and values
//! can be reused. The first request that names a block writes it, later ones read it.

use std::collections::VecDeque;

use super::super::Op;
use super::super::input::{Lines, ParseError};
use super::super::row::{Reader, Row};
use super::places::Places;
use crate::error::Result;

/// The blocks of a request.
pub(super) struct Lookup {
    /// Picoseconds from the origin of the trace's clock.
    pub(super) time: i128,
    /// Numbers of the blocks, in the order of the input.
    pub(super) blocks: Vec<u64>,
    /// Bytes of each block.
    pub(super) size: u64,
}

/// The lines of a kind of trace.
pub(super) trait Dialect: Send {
    /// Parses a line.
    fn parse(&mut self, line: &str) -> std::result::Result<Lookup, ParseError>;

    /// Notes for the user on `requests` with `blocks` different blocks.
    fn notes(&self, requests: u64, blocks: u64) -> Vec<String>;
}

/// Reads the lines.
pub(super) struct KvCache<'a, D> {
    lines: Lines<'a>,
    dialect: D,
    places: Places,
    requests: u64,
    /// Requests of the last line that are not delivered yet.
    pending: VecDeque<Row>,
}

impl<'a, D: Dialect> KvCache<'a, D> {
    pub(super) fn new(lines: Lines<'a>, dialect: D) -> Self {
        Self { lines, dialect, places: Places::default(), requests: 0, pending: VecDeque::new() }
    }
}

impl<D: Dialect> Reader for KvCache<'_, D> {
    fn next(&mut self) -> Result<Option<Row>> {
        while self.pending.is_empty() {
            let Some(lookup) = self.lines.first(|line| self.dialect.parse(line).map(Some))? else {
                return Ok(None);
            };
            let Lookup { time, blocks, size } = lookup;
            let line = self.lines.number();
            self.requests += 1;
            for id in blocks {
                let row = self.places.find(id, size).and_then(|(address, is_new)| {
                    Row::new(time, if is_new { Op::Write } else { Op::Read }, 0, address, size)
                });
                self.pending.push_back(Row { line, ..row.map_err(|bad| self.lines.wrong(bad))? });
            }
        }
        Ok(self.pending.pop_front())
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.dialect.notes(self.requests, self.places.count());
        notes.extend(self.places.note());
        notes.extend(self.lines.unended_note());
        notes
    }
}
