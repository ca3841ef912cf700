//! The results of a script, statement by statement.

use std::fmt;

use wordline_kernel::{Duration, Instant};

use crate::onfi::{BusyPeriod, Failure, Status};
use crate::{EnergyReport, Span};

/// A result that differs from the expectation of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The expectation of the script.
    pub expected: String,
    /// The result.
    pub found: String,
}

impl Mismatch {
    /// A mismatch between an expectation and a result.
    pub fn new(expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        Self { expected: expected.to_string(), found: found.to_string() }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "expected {}, found {}", self.expected, self.found)
    }
}

/// The results of a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Line number in the script.
    pub line: u32,
    /// Text of the statement.
    pub text: String,
    /// Begin of the statement.
    pub begin: Instant,
    /// End of its last cycle or wait.
    pub end: Instant,
    /// Cycles on the bus; a burst of data counts as one.
    pub cycles: u64,
    /// Data read.
    pub data: Vec<u8>,
    /// Status read.
    pub status: Option<Status>,
    /// The rejection, if it was rejected.
    pub failure: Option<Failure>,
    /// The mismatch with the script's expectation, if there is one.
    pub mismatch: Option<Mismatch>,
}

/// The results of a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// One entry for each executed statement, including repetitions.
    pub entries: Vec<Entry>,
    /// Spans of the bus and the arrays, ordered by their begin.
    pub spans: Vec<Span>,
    /// Times in which the LUNs were busy.
    pub busy: Vec<BusyPeriod>,
    /// The energy of all LUNs until all arrays are idle.
    pub energy: EnergyReport,
    /// Whether the last statement was reached: an unexpected rejection ends a script.
    pub complete: bool,
}

impl Transcript {
    /// The entries with mismatches.
    pub fn mismatches(&self) -> impl Iterator<Item = (&Entry, &Mismatch)> {
        self.entries.iter().filter_map(|entry| entry.mismatch.as_ref().map(|mismatch| (entry, mismatch)))
    }

    /// Whether the script completed without mismatches.
    pub fn holds(&self) -> bool {
        self.complete && self.mismatches().next().is_none()
    }
}

/// Maximum bytes shown: as many as fill a line of a terminal beside the other columns.
const SHOWN: usize = 16;

impl Entry {
    /// The result, as text.
    pub fn result(&self) -> String {
        let status = self.status.map(|status| status.to_string());
        let data = (!self.data.is_empty()).then(|| {
            let more = self.data.len().saturating_sub(SHOWN);
            let shown = hex(&self.data[..self.data.len() - more]);
            if more > 0 { format!("{shown} and {more} more") } else { shown }
        });
        let refused = self.failure.as_ref().map(|failure| format!("refused: {failure}"));
        let wrong = self.mismatch.as_ref().map(|mismatch| format!("WRONG: {mismatch}"));
        [status.or(data), refused, wrong].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// Bytes as two hexadecimal digits each.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(" ")
}

/// Formats aligned columns, with times in microseconds to the picosecond: begin, duration, line, statement
/// and result.
impl fmt::Display for Transcript {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["begin us", "took us", "line", "statement", "result"].map(str::to_string);
        let rows = self.entries.iter().map(|entry| {
            let (begin, took) = (entry.begin.since(Instant::ZERO), entry.end.since(entry.begin));
            let text = shortened(&entry.text);
            [micros(begin), micros(took), entry.line.to_string(), text, entry.result()]
        });
        let rows: Vec<[String; 5]> = [head].into_iter().chain(rows).collect();
        let width = |n: usize| rows.iter().map(|row| row[n].chars().count()).max().unwrap_or(0);
        let [a, b, c, d] = [0, 1, 2, 3].map(width);
        for row in &rows {
            let [begin, took, line, text, result] = row;
            let text = format!("{begin:>a$}  {took:>b$}  {line:>c$}  {text:d$}  {result}");
            writeln!(out, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

fn micros(time: Duration) -> String {
    const PS: u64 = Duration::from_us(1).ps();
    format!("{}.{:06}", time.ps() / PS, time.ps() % PS)
}

/// Maximum letters of a statement shown, so that the table fits a terminal.
const MAX_STATEMENT_LETTERS: usize = 48;

fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_STATEMENT_LETTERS {
        return text.into();
    }
    text.chars().take(MAX_STATEMENT_LETTERS - 3).chain("...".chars()).collect()
}
