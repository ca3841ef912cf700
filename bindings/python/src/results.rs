//! Results of runs, presets and workloads as JSON, which the package converts to dataclasses.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use wordline_lab as lab;
use wordline_lab::output::ReportFolder;
use wordline_lab::report::{self as reports, Origin};
use wordline_lab::workload::Generated;
use wordline_lab::{Registry, config};

use crate::errors::run_error;
use crate::provenance;

/// Result of a run.
#[pyclass(frozen, module = "wordline._native")]
pub struct Summary(pub lab::Summary);

#[pymethods]
impl Summary {
    /// Reads a result from its JSON. `name` is its file or another name for messages.
    #[staticmethod]
    fn read(name: &str, text: &str) -> PyResult<Self> {
        reports::read(&Registry::default(), name, text).map(Self).map_err(crate::errors::device_error)
    }

    /// The result as JSON on one line.
    fn json(&self) -> String {
        text(&self.0)
    }

    /// The result as indented JSON, in the form of the command line.
    fn json_indented(&self) -> String {
        reports::json(&self.0)
    }

    /// The result as a table for a terminal.
    fn table(&self, columns: u16) -> String {
        reports::table(&self.0, columns)
    }
}

fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("it has string keys")
}

fn all(runs: &[PyRef<'_, Summary>]) -> Vec<lab::Summary> {
    runs.iter().map(|run| run.0.clone()).collect()
}

/// Several results side by side, as a table for a terminal.
#[pyfunction]
pub fn comparison(runs: Vec<PyRef<'_, Summary>>, columns: u16) -> String {
    reports::comparison(&all(&runs), columns)
}

/// The key results of one run, or of several side by side, as HTML for a notebook.
#[pyfunction]
pub fn embedded(runs: Vec<PyRef<'_, Summary>>) -> String {
    reports::embedded(&all(&runs))
}

/// A table of texts as HTML, with the titles of its columns.
#[pyfunction]
pub fn sheet(name: String, heads: Vec<String>, rows: Vec<Vec<String>>) -> String {
    of_texts(name, heads, rows).html()
}

fn of_texts(name: String, heads: Vec<String>, rows: Vec<Vec<String>>) -> reports::Sheet {
    let row = |row: Vec<String>| row.into_iter().map(reports::SheetCell::of_text).collect();
    reports::Sheet { name, heads, rows: rows.into_iter().map(row).collect() }
}

/// The charts of results, as a JSON list.
#[pyfunction]
pub fn charts(runs: Vec<PyRef<'_, Summary>>) -> String {
    let one = |chart: reports::Chart| {
        let reports::Chart { name, title, caption, spec, .. } = chart;
        json!({ "name": name, "title": title, "caption": caption, "spec": spec })
    };
    text(&reports::charts(&all(&runs)).into_iter().map(one).collect::<Vec<Value>>())
}

/// Writes the report of results to a folder.
#[pyfunction]
pub fn report(runs: Vec<PyRef<'_, Summary>>, folder: PathBuf) -> PyResult<()> {
    let runs = all(&runs);
    let json = if let [run] = &runs[..] { reports::json(run) } else { reports::json_list(&runs) };
    let texts: Vec<&str> = runs.iter().map(|run| run.configuration.as_str()).collect();
    let command = runs.first().map(|run| run.provenance.command_line()).unwrap_or_default();
    let origin = Origin { config: &texts.join("\n"), command: &command };
    let written =
        ReportFolder::claim(&folder).and_then(|folder| reports::write(folder, &runs, &json, origin));
    written.map_err(|error| run_error(error, &[Some(&folder)]))
}

/// A chart scaled to a size in points, for a page of a paper. Argument and result are JSON.
#[pyfunction]
pub fn for_a_page(spec: &str, width: f64, height: Option<f64>) -> PyResult<String> {
    let spec: Value = serde_json::from_str(spec)
        .map_err(|error| crate::errors::refused("spec", error, "a specification in JSON"))?;
    let mut page = reports::for_a_page(&spec, width, height);
    // Altair validates charts by a schema that lacks the layout of legends, although Vega supports it.
    if let Some(legend) = page["config"]["legend"].as_object_mut() {
        legend.remove("layout");
    }
    Ok(text(&page))
}

/// Widths of a column and of a page of a paper, in points.
#[pyfunction]
pub fn widths() -> (f64, f64) {
    (reports::Width::Column.points(), reports::Width::Page.points())
}

/// Writes a report page to a folder. It has a verdict, charts (a JSON list), a table, and the means to
/// reproduce the result: the call, the seed and the configuration.
#[pyfunction]
pub fn page(
    folder: PathBuf,
    title: &str,
    verdict: &str,
    table: (Vec<String>, Vec<Vec<String>>),
    charts: &str,
    again: (String, u64, String),
) -> PyResult<()> {
    #[derive(Deserialize)]
    struct Given {
        name: String,
        title: String,
        caption: String,
        spec: Value,
    }
    let given: Vec<Given> = serde_json::from_str(charts)
        .map_err(|error| crate::errors::refused("charts", error, "a list of charts in JSON"))?;
    let of = |Given { name, title, caption, spec }| reports::Chart {
        name,
        title,
        caption,
        spec,
        sums: Vec::new(),
    };
    let charts: Vec<reports::Chart> = given.into_iter().map(of).collect();
    let (heads, rows) = table;
    let name = "All trials";
    let sheet = of_texts(name.into(), heads, rows);
    let (call, seed, configuration) = again;
    let sentences =
        vec![reports::made_by(&provenance::without_command()), format!("Seed {seed} of the search.")];
    let report = reports::Report {
        title,
        verdict: vec![verdict.to_owned()],
        charts: &charts,
        tables: vec![reports::Section::new("rows", name, sheet.html())],
        again: reports::Reproduction { sentences, command: &call, configuration: &configuration },
        ..reports::Report::default()
    };
    let mut files: Vec<(String, Vec<u8>)> = charts
        .iter()
        .map(|chart| (format!("charts/{}.vl.json", chart.name), chart.spec.to_string().into_bytes()))
        .collect();
    files.push(("report.html".into(), report.html().into_bytes()));
    let written = ReportFolder::claim(&folder).and_then(|folder| folder.write(&files));
    written.map_err(|error| run_error(error, &[Some(&folder)]))
}

/// JSON Schema of the result of a run.
#[pyfunction]
pub fn schema_of_results() -> String {
    reports::schema()
}

/// JSON Schema of a device description.
#[pyfunction]
pub fn schema_of_devices() -> String {
    config::schema(&Registry::default())
}

/// All presets, as a JSON list.
#[pyfunction]
pub fn presets() -> PyResult<String> {
    let found = config::presets(&Registry::default()).map_err(crate::errors::device_error)?;
    Ok(text(&found))
}

/// All named workloads, as a JSON list.
#[pyfunction]
pub fn workloads() -> String {
    let one = |name: String| {
        let generated = Generated::named(&name)?;
        let (description, kind) = generated.description();
        Some(json!({ "name": name, "description": description, "kind": kind }))
    };
    text(&Generated::names().into_iter().filter_map(one).collect::<Vec<Value>>())
}
