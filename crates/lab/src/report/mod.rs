//! Reports of runs: tables on the terminal, JSON, and an HTML page.

mod aligned;
mod charts;
#[cfg(test)]
mod colours;
#[cfg(test)]
pub(crate) mod drawn;
#[cfg(test)]
mod drawn_tests;
mod figures;
mod frame;
mod hardware;
mod markup;
mod numbers;
mod page;
mod print;
mod results;
#[cfg(test)]
pub(crate) use wordline_run::sample;
mod sheet;
mod statistics;
#[cfg(test)]
mod structure;
#[cfg(test)]
mod structure_tests;
mod style;
#[cfg(test)]
mod sums_tests;
mod tail;
mod terminal;
#[cfg(test)]
mod tests;
mod told;
mod words;

use crate::error::Result;
use crate::output::ReportFolder;
use crate::summary::Summary;

pub use aligned::aligned;
pub(crate) use aligned::{lines_of, plain};
pub use charts::{Chart, LATENCY_LABELS, SCHEMA, charts, latency_channel, stage_scale};
pub use frame::{Report, Reproduction, list, made_by};
pub use hardware::{
    hardware, list_of_hardware, of_configuration as hardware_of, of_device as hardware_of_device,
};
pub use markup::{Section, add, escaped};
pub use page::{Origin, html};
pub use print::{Width, for_a_page, printed};
pub use sheet::{Sheet, SheetCell, of_tables};
pub use statistics::statistics;
pub use terminal::{comparison, table};
pub use wordline_run::quantity::{Quantity, three_digits};

/// A run as indented JSON. A number that is not finite is `null`.
pub fn json(run: &Summary) -> String {
    pretty(run)
}

/// Several runs as a JSON list. Its items have the form of [`json`].
pub fn json_list(runs: &[Summary]) -> String {
    pretty(&runs)
}

/// The JSON Schema of [`json`], with the meaning of each field.
pub fn schema() -> String {
    pretty(&schemars::schema_for!(Summary))
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("keys are text and nothing refuses to be serialised") + "\n"
}

/// Writes a report to a folder, and replaces the report there: `report.html`, `summary.json` and
/// `charts/NAME.vl.json`. `summary` is the JSON of the runs.
pub fn write(folder: ReportFolder, runs: &[Summary], summary: &str, origin: Origin<'_>) -> Result<()> {
    let chart =
        |chart: Chart| (format!("charts/{}.vl.json", chart.name), chart.spec.to_string().into_bytes());
    let mut files: Vec<_> = charts(runs).into_iter().map(chart).collect();
    files.push(("summary.json".into(), summary.as_bytes().to_vec()));
    files.push(("report.html".into(), html(runs, origin).into_bytes()));
    folder.write(&files)
}
