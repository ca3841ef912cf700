//! The table of a study, with means over the seeds and a row for each combination of the varied keys. Also
//! writes a row for each run with all its numbers, as CSV or Parquet.

mod columns;
mod statements;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wordline_experiments::Mean;
use wordline_lab::error::{Error, Result};
use wordline_lab::output::{Output, is_standard};
use wordline_lab::summary::Unknown;

use crate::file::Study;
use crate::flat::{number, numbers};
use crate::store::{Record, State};
use crate::values::plain;

pub use columns::{ColumnValues, TableColumn};
pub use statements::Statement;
use statements::distinct;

/// A column of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Mean over the seeds; null if no run has a value.
    pub mean: Option<f64>,
    /// Half-width of the 95 % confidence interval of the mean; null with a single seed.
    pub half: Option<f64>,
    /// Values by seed, for the runs that have one.
    pub values: Vec<f64>,
    /// The different reasons why the cell is unknown; empty if it is known. One run without a value makes the
    /// cell unknown. A mean of the other runs would only cover the runs that progressed further.
    #[serde(skip)]
    pub unknown: Vec<String>,
}

impl Cell {
    fn of(values: Vec<f64>, unknown: Vec<String>) -> Self {
        if values.is_empty() || !unknown.is_empty() {
            return Self { mean: None, half: None, values, unknown };
        }
        let Mean { mean, half } = Mean::of(&values);
        Self { mean: Some(mean), half, values, unknown }
    }

    /// Whether any run has no value for the cell.
    pub fn is_unknown(&self) -> bool {
        !self.unknown.is_empty()
    }

    /// Formats the cell with its interval.
    pub(crate) fn text(&self) -> String {
        match (self.mean, self.half) {
            (None, _) if self.is_unknown() => "unknown".to_owned(),
            (None, _) => "-".to_owned(),
            (Some(mean), Some(half)) if half > 0.0 => {
                format!("{} ± {}", digits(mean, Some(half)), digits(half, Some(half)))
            }
            (Some(mean), _) => digits(mean, None),
        }
    }
}

/// Formats a number with as many digits as its interval justifies, or with four digits without an interval. Whole
/// numbers without an interval are mostly counts, and have no decimals.
fn digits(value: f64, half: Option<f64>) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    if half.is_none() && value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    let size = |value: f64| libm::log10(value.abs()).floor() as i32;
    let last = match half.filter(|half| *half > 0.0) {
        Some(half) => (size(half) - 1).max(size(value) - 5),
        None => size(value) - 3,
    };
    let places = usize::try_from(-last).unwrap_or(0).min(12);
    format!("{value:.places$}")
}

/// A run.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    name: String,
    record: Record,
}

/// A combination of the varied keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Values of the varied keys.
    pub at: toml::Table,
    runs: Vec<Run>,
}

impl Row {
    /// Values of a column, for the runs that have one.
    pub fn of(&self, column: &str) -> Vec<f64> {
        let summaries = self.runs.iter().filter_map(|run| run.record.summary.as_ref());
        summaries.filter_map(|summary| number(summary, column)).collect()
    }

    /// Values of a column by seed, for the runs that have one.
    fn by_seed(&self, column: &str) -> BTreeMap<u64, f64> {
        let value = |run: &Run| Some((run.record.seed, number(run.record.summary.as_ref()?, column)?));
        self.runs.iter().filter_map(value).collect()
    }

    /// The cell of a column, over the seeds.
    pub fn cell(&self, column: &str) -> Cell {
        let reasons = self.unknown().filter(|unknown| unknown.metric == column).map(|unknown| unknown.reason);
        Cell::of(self.of(column), reasons.collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// The unknown metrics of the runs, run by run.
    pub fn unknown(&self) -> impl Iterator<Item = Unknown> {
        let summaries = self.runs.iter().filter_map(|run| run.record.summary.as_ref());
        let listed = summaries.filter_map(|summary| summary.get("unknown")?.as_array());
        listed.flatten().filter_map(|unknown| Unknown::deserialize(unknown).ok())
    }

    /// The notes of the runs, run by run.
    fn notes(&self) -> impl Iterator<Item = &str> {
        let summaries = self.runs.iter().filter_map(|run| run.record.summary.as_ref());
        let listed = summaries.filter_map(|summary| summary.get("notes")?.as_array());
        listed.flatten().filter_map(Json::as_str)
    }

    /// Number of runs.
    pub fn seeds(&self) -> usize {
        self.runs.len()
    }

    /// Errors of the failed runs.
    pub fn errors(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().filter_map(|run| run.record.error.as_deref())
    }
}

/// The finished runs of a study.
#[derive(Clone, Debug)]
pub struct Table {
    /// Title of the study.
    pub title: String,
    /// Varied keys.
    pub axes: Vec<String>,
    /// Columns.
    pub columns: Vec<String>,
    /// The combinations that have a finished run, in order.
    pub rows: Vec<Row>,
    /// Values of varied keys that select the baseline row of a comparison; empty without comparison.
    pub against: toml::Table,
    /// Number of runs that are not finished.
    pub missing: usize,
    /// Index of each row, by the values of its keys.
    places: BTreeMap<String, usize>,
}

/// A row in JSON.
#[derive(Serialize)]
struct RowJson<'a> {
    at: &'a toml::Table,
    seeds: usize,
    errors: Vec<&'a str>,
    columns: BTreeMap<&'a str, Cell>,
    /// Differences to the baseline row, seed by seed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    differences: BTreeMap<&'a str, Cell>,
    /// Columns that have no value in some of the runs, with reasons.
    unknown: BTreeSet<Unknown>,
}

impl Table {
    /// Creates an empty table.
    pub(crate) fn new(study: &Study) -> Self {
        let axes = study.sweep.vary.iter().map(|axis| axis.key.clone()).collect();
        let (title, columns, against) = (study.title.clone(), study.columns.clone(), study.against.clone());
        Self { title, axes, columns, rows: Vec::new(), against, missing: 0, places: BTreeMap::new() }
    }

    /// The row with these values of the varied keys.
    pub fn row(&self, at: &toml::Table) -> Option<&Row> {
        self.places.get(&at.to_string()).map(|place| &self.rows[*place])
    }

    /// The baseline of a row: the row with the values of [`against`](Self::against) in place of its own.
    fn baseline_row(&self, row: &Row) -> Option<&Row> {
        let mut at = row.at.clone();
        at.extend(self.against.clone());
        if at == row.at { None } else { self.row(&at) }
    }

    /// Difference of a column to the baseline row, over the seeds that both rows have. Runs of equal seeds
    /// have equal requests, so the interval only shows the effect of the varied keys.
    pub fn difference(&self, row: &Row, column: &str) -> Option<Cell> {
        let (own, other) = (row.by_seed(column), self.baseline_row(row)?.by_seed(column));
        let pairs = own.iter().filter_map(|(seed, value)| Some(value - other.get(seed)?));
        let unknown = [row.cell(column).unknown, self.baseline_row(row)?.cell(column).unknown].concat();
        Some(Cell::of(pairs.collect(), unknown))
    }

    /// The notes of all runs. Each kind of note appears once.
    pub fn notes(&self) -> Vec<Statement> {
        distinct(self.rows.iter().flat_map(Row::notes))
    }

    /// Name and configuration of the device of each combination, from its first run with a result.
    pub(crate) fn devices(&self) -> impl Iterator<Item = (&str, &str)> {
        self.rows.iter().filter_map(|row| {
            let summary = row.runs.iter().find_map(|run| run.record.summary.as_ref())?;
            Some((summary.get("device")?.as_str()?, summary.get("configuration")?.as_str()?))
        })
    }

    /// The different texts at a JSON pointer, in the results of all runs.
    pub(crate) fn told(&self, pointer: &str) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let summaries = self.each().filter_map(|run| run.record.summary.as_ref());
        for text in summaries.filter_map(|summary| summary.pointer(pointer)?.as_str()) {
            if all.iter().all(|known| known != text) {
                all.push(text.to_owned());
            }
        }
        all
    }

    /// The reasons for unknown cells. Each pair of column and reason appears once.
    pub fn unknown(&self) -> Vec<Statement> {
        let of_columns = |unknown: &Unknown| self.columns.contains(&unknown.metric);
        let all = self.rows.iter().flat_map(Row::unknown).filter(of_columns);
        let all: Vec<String> = all.map(|Unknown { metric, reason }| format!("{metric}: {reason}")).collect();
        distinct(all.iter().map(String::as_str))
    }

    /// Title of a column of differences; `None` without comparison.
    pub(crate) fn difference_heading(&self) -> Option<String> {
        let values: Vec<String> = self.against.values().map(plain).collect();
        (!values.is_empty()).then(|| format!("difference to {}", values.join(", ")))
    }

    /// Adds a finished run with these values of the varied keys.
    pub(crate) fn add(&mut self, name: &str, at: &toml::Table, record: Record) {
        // Another study may have made the run, with other keys varied.
        let run = Run { name: name.to_owned(), record: Record { at: at.clone(), ..record } };
        match self.places.entry(at.to_string()) {
            Entry::Occupied(place) => self.rows[*place.get()].runs.push(run),
            Entry::Vacant(place) => {
                place.insert(self.rows.len());
                self.rows.push(Row { at: at.clone(), runs: vec![run] });
            }
        }
    }

    /// Number of finished runs.
    pub fn runs(&self) -> usize {
        self.rows.iter().map(Row::seeds).sum()
    }

    /// Number of failed runs.
    pub fn failed(&self) -> usize {
        self.each().filter(|run| run.record.state == State::Failed).count()
    }

    fn each(&self) -> impl Iterator<Item = &Run> {
        self.rows.iter().flat_map(|row| &row.runs)
    }

    /// The table as JSON.
    pub fn json(&self) -> Json {
        let row = |row: &'_ Row| {
            let columns = self.columns.iter().map(|column| (column.as_str(), row.cell(column))).collect();
            let compared = self.columns.iter().filter(|_| !self.against.is_empty());
            let differences = compared
                .filter_map(|column| Some((column.as_str(), self.difference(row, column)?)))
                .collect();
            let errors = row.errors().collect();
            let unknown = row.unknown().filter(|unknown| self.columns.contains(&unknown.metric)).collect();
            let row = RowJson { at: &row.at, seeds: row.seeds(), errors, columns, differences, unknown };
            serde_json::to_value(row).expect("keys are text")
        };
        let rows: Vec<Json> = self.rows.iter().map(row).collect();
        serde_json::json!({
            "title": self.title, "axes": self.axes, "missing": self.missing, "rows": rows, "notes": self.notes(),
        })
    }

    /// A row for each run: varied keys, seed, outcome, and each number of its summary. Numbers that no run
    /// has are left out.
    fn flat(&self) -> (Vec<String>, Vec<BTreeMap<String, f64>>) {
        let all: Vec<BTreeMap<String, f64>> = self.each().map(numbers_of).collect();
        let names: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
        (names.into_iter().cloned().collect(), all)
    }

    /// Writes a row for each run. The file extension `.parquet` or `.csv` selects the format. Standard output
    /// gets CSV.
    ///
    /// # Errors
    /// [`Error::Argument`] for another extension, [`Error::File`] if the file cannot be written.
    pub fn write_runs(&self, path: &Path) -> Result<()> {
        match RunsForm::of(path)? {
            RunsForm::Parquet => self.write_parquet(path),
            RunsForm::Csv => self.write_csv(path),
        }
    }

    fn heads(&self) -> impl Iterator<Item = &str> {
        self.axes.iter().map(String::as_str).chain(["seed", "state", "run"])
    }

    fn write_csv(&self, path: &Path) -> Result<()> {
        let (names, all) = self.flat();
        let failed =
            |reason: csv::Error| Error::File { path: path.into(), action: "write", reason: reason.into() };
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.heads().chain(names.iter().map(String::as_str))).map_err(failed)?;
        for (run, values) in self.each().zip(&all) {
            let own = self.axes.iter().map(|axis| run.record.at.get(axis).map_or_else(String::new, plain));
            let seed = run.record.seed.to_string();
            let own = own.chain([seed, state(run).to_owned(), run.name.clone()]);
            let numbers = names.iter().map(|name| values.get(name).map_or_else(String::new, f64::to_string));
            writer.write_record(own.chain(numbers)).map_err(failed)?;
        }
        let bytes = writer.into_inner().map_err(|error| Error::File {
            path: path.into(),
            action: "write",
            reason: error.into_error(),
        })?;
        Output::open(path)?.give(&bytes)
    }
}

/// Format of a file with a row for each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunsForm {
    /// Comma-separated text.
    Csv,
    /// Parquet.
    Parquet,
}

impl RunsForm {
    /// Returns the format for the extension of a file name.
    ///
    /// # Errors
    /// [`Error::Argument`] for an unknown extension.
    pub fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("parquet") => Ok(Self::Parquet),
            Some("csv") => Ok(Self::Csv),
            None if is_standard(path) => Ok(Self::Csv),
            _ => Err(Error::Argument {
                what: "file of runs".into(),
                found: path.display().to_string(),
                wanted: "a name that ends in .csv or .parquet".into(),
            }),
        }
    }
}

fn numbers_of(run: &Run) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    if let Some(summary) = &run.record.summary {
        numbers(summary, &mut |name, value| {
            all.insert(name, value);
        });
    }
    all.remove("seed");
    all
}

fn state(run: &Run) -> &'static str {
    match run.record.state {
        State::Done => "done",
        State::Failed => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_are_known() {
        assert_eq!(digits(1234.5678, None), "1235");
        assert_eq!(digits(0.0123456, None), "0.01235");
        assert_eq!(digits(2.34567, Some(0.012)), "2.346");
        assert_eq!(digits(0.0, None), "0");
        assert_eq!((digits(88.0, None), digits(88.5, None)), ("88".into(), "88.50".into()));
    }
}
