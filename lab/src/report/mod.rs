//! Reports: the table on the terminal, JSON, and one self-contained HTML page.

mod charts;
mod page;
mod quantity;
mod results;
#[cfg(test)]
pub(crate) mod sample;
mod statistics;
mod terminal;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::error::Result;
use crate::output::write_atomically;
use crate::summary::Summary;

pub(crate) use charts::SCHEMA;
pub use charts::{Chart, charts};
pub use page::html;
pub(crate) use page::{document, escaped};
pub use quantity::{Quantity, three_digits};
pub use statistics::statistics;
pub use terminal::{comparison, table};

/// What a reader needs to repeat the runs of a report.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The configuration of the runs, as TOML.
    pub config: &'a str,
    /// The command line.
    pub command: &'a str,
}

/// A run as JSON, indented. What is not finite is `null`.
pub fn json(run: &Summary) -> String {
    pretty(run)
}

/// Several runs as a JSON list, each as [`json`] gives it.
pub fn json_list(runs: &[Summary]) -> String {
    pretty(&runs)
}

/// The JSON Schema of what [`json`] gives, with the meaning of each field.
pub fn schema() -> String {
    pretty(&schemars::schema_for!(Summary))
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("keys are text and nothing refuses to be serialised") + "\n"
}

/// Writes a report into a directory: `report.html`, `summary.json` (an object for one run, a list for several) and
/// `charts/NAME.vl.json`. Each file is written whole or not at all.
pub fn write(directory: &Path, runs: &[Summary], origin: Origin<'_>) -> Result<()> {
    for chart in charts(runs) {
        let path = directory.join("charts").join(format!("{}.vl.json", chart.name));
        write_atomically(&path, chart.spec.to_string().as_bytes())?;
    }
    let summary = if let [run] = runs { json(run) } else { json_list(runs) };
    write_atomically(&directory.join("summary.json"), summary.as_bytes())?;
    write_atomically(&directory.join("report.html"), html(runs, origin).as_bytes())
}
