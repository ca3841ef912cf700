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
mod group;
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

use wordline_kernel::Metric;
use wordline_run::provenance::SCHEMA as LAYOUT;

use crate::devices::Registry;
use crate::error::{Error, Result};
use crate::output::ReportFolder;
use crate::summary::Summary;

pub(crate) use aligned::lines_of;
pub use aligned::{align_right, aligned, folded, underlined};
pub use charts::{Chart, LATENCY_LABELS, SCHEMA, charts, latency_channel, stage_scale};
pub use frame::{Report, Reproduction, list, made_by};
pub use hardware::{
    hardware, list_of_hardware, of_configuration as hardware_of, of_device as hardware_of_device,
};
pub use markup::{Section, add, escaped};
pub use page::{Origin, embedded, html};
pub use print::{Width, for_a_page, printed};
pub use sheet::{Sheet, SheetCell, of_tables};
pub use statistics::statistics;
pub use terminal::{comparison, table};
pub use wordline_run::quantity::{Quantity, three_digits};
pub use words::capitalised;

/// A run as indented JSON. A number that is not finite is `null`.
pub fn json(run: &Summary) -> String {
    pretty(run)
}

/// Several runs as a JSON list. Its items have the form of [`json`].
pub fn json_list(runs: &[Summary]) -> String {
    pretty(&runs)
}

/// Reads a run from the JSON of [`json`]. `name` is its file or another name for messages. Metrics that no
/// device or design of `registry` has keep their values, without unit and meaning.
///
/// # Errors
/// [`Error::Argument`] if the text is not the JSON of a run in the layout of this program.
pub fn read(registry: &Registry, name: &str, text: &str) -> Result<Summary> {
    #[derive(serde::Deserialize)]
    struct Layout {
        provenance: LayoutNumber,
    }
    #[derive(serde::Deserialize)]
    struct LayoutNumber {
        schema: u32,
    }
    let wrong = |found: String| Error::Argument {
        what: name.to_owned(),
        found,
        wanted: format!("the JSON of one run, as `wordline run --json` writes it (layout {LAYOUT})"),
    };
    let no_run = |error: serde_json::Error| wrong(error.to_string());
    let Layout { provenance: LayoutNumber { schema } } = serde_json::from_str(text).map_err(no_run)?;
    if schema != LAYOUT {
        return Err(wrong(format!("layout {schema}")));
    }
    let mut run: Summary = serde_json::from_str(text).map_err(no_run)?;
    let known: Vec<&Metric> = registry.metrics().collect();
    run.metrics = run.metrics.defined(&known);
    for pool in &mut run.pools {
        pool.metrics = std::mem::take(&mut pool.metrics).defined(&known);
    }
    Ok(run)
}

/// The JSON Schema of [`json`], with the meaning of each field.
pub fn schema() -> String {
    pretty(&schemars::schema_for!(Summary))
}

/// A value as JSON, each entry on a line of its own.
pub fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("keys are text and nothing refuses to be serialised") + "\n"
}

/// The specifications of charts as files of a report: `charts/NAME.vl.json`.
pub fn chart_files(charts: &[Chart]) -> Vec<(String, Vec<u8>)> {
    let file = |chart: &Chart| (format!("charts/{}.vl.json", chart.name), pretty(&chart.spec).into_bytes());
    charts.iter().map(file).collect()
}

/// Writes a report to a folder, and replaces the report there: `report.html`, `summary.json` and
/// `charts/NAME.vl.json`. `summary` is the JSON of the runs.
pub fn write(folder: ReportFolder, runs: &[Summary], summary: &str, origin: Origin<'_>) -> Result<()> {
    let mut files = chart_files(&charts(runs));
    files.push(("summary.json".into(), summary.as_bytes().to_vec()));
    files.push(("report.html".into(), html(runs, origin).into_bytes()));
    folder.write(&files)
}
