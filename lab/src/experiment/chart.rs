//! Charts of an experiment: the paper's values beside ours, as Vega-Lite specifications, and the report with them.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::file::Experiment;
use super::outcome::{Outcome, Row, Value};
use crate::error::Result;
use crate::output::write_atomically;
pub use crate::report::Chart;
use crate::report::{SCHEMA, document, escaped};

/// A chart as an experiment names it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartFile {
    /// Its name, also that of its file.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// Its shape.
    pub shape: Shape,
}

/// The shape of a chart.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Shape {
    /// The paper's values as a line and ours as points over a varied key.
    Line {
        /// The varied key.
        along: String,
    },
    /// Ours divided by the paper's: a point a statistic, a line a volume.
    Ratio {},
}

impl ChartFile {
    /// The varied key that the chart is drawn over.
    pub fn along(&self) -> Option<&str> {
        match &self.shape {
            Shape::Line { along } => Some(along),
            Shape::Ratio {} => None,
        }
    }
}

/// The charts of an outcome, with its data.
pub fn charts(experiment: &Experiment, outcome: &Outcome) -> Vec<Chart> {
    let draw = |file: &ChartFile| {
        let spec = match &file.shape {
            Shape::Line { along } => line(&outcome.rows, along),
            Shape::Ratio {} => ratio(&outcome.rows),
        };
        let (name, title, caption) = (file.name.clone(), file.title.clone(), file.caption.clone());
        Chart { name, title, caption, spec }
    };
    experiment.charts.iter().map(draw).collect()
}

fn numbers(row: &Row) -> Option<(f64, f64)> {
    match (&row.paper, &row.ours) {
        (Value::Number(paper), Value::Number(ours)) => Some((*paper, *ours)),
        _ => None,
    }
}

fn place<'a>(row: &'a Row, key: &str) -> Option<&'a Value> {
    row.at.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

fn line(rows: &[Row], along: &str) -> Json {
    let mut data = Vec::new();
    let mut unit = String::new();
    // Other varied keys make a line each.
    let mut several = false;
    for row in rows {
        if let (Some((paper, ours)), Some(x)) = (numbers(row), place(row, along)) {
            unit.clone_from(&row.unit);
            let others = row.at.iter().filter(|(key, _)| key != along);
            let series: Vec<String> = others.map(|(_, value)| value.to_string()).collect();
            several |= !series.is_empty();
            for (value, whose) in [(paper, "paper"), (ours, "ours")] {
                data.push(json!({ "x": x, "value": value, "whose": whose, "at": series.join(", ") }));
            }
        }
    }
    let whose = json!({ "field": "whose", "type": "nominal", "title": null, "sort": ["paper", "ours"] });
    json!({
        "$schema": SCHEMA,
        "data": { "values": data },
        "width": "container",
        "mark": { "type": "line", "point": true, "tooltip": true },
        "encoding": {
            "x": { "field": "x", "type": "quantitative", "title": along, "scale": { "zero": false } },
            "y": { "field": "value", "type": "quantitative", "title": unit },
            "color": if several { json!({ "field": "at", "type": "nominal", "title": null }) } else { whose.clone() },
            "strokeDash": whose,
        }
    })
}

fn ratio(rows: &[Row]) -> Json {
    let point = |row: &Row| {
        let (paper, ours) = numbers(row).filter(|(paper, _)| *paper != 0.0)?;
        Some(json!({
            "volume": place(row, "volume")?, "statistic": place(row, "statistic")?,
            "ratio": ours / paper, "verdict": row.verdict,
        }))
    };
    json!({
        "$schema": SCHEMA,
        "data": { "values": rows.iter().filter_map(point).collect::<Vec<_>>() },
        "width": "container",
        "mark": { "type": "point", "filled": true, "tooltip": true },
        "encoding": {
            "x": { "field": "ratio", "type": "quantitative", "title": "ours / paper", "scale": { "zero": false } },
            "y": { "field": "volume", "type": "nominal", "title": null },
            "color": { "field": "statistic", "type": "nominal", "title": null },
            "shape": { "field": "verdict", "type": "nominal", "title": null },
        }
    })
}

/// Writes a report into a directory: `report.html`, one page that needs no network, `outcome.json` and
/// `charts/NAME.vl.json`. Each file is written whole or not at all.
pub fn write_report(directory: &Path, experiment: &Experiment, outcome: &Outcome) -> Result<()> {
    let charts = charts(experiment, outcome);
    for chart in &charts {
        let path = directory.join("charts").join(format!("{}.vl.json", chart.name));
        write_atomically(&path, pretty(&chart.spec).as_bytes())?;
    }
    write_atomically(&directory.join("outcome.json"), pretty(outcome).as_bytes())?;
    let page = document(&experiment.title, &header(experiment), &body(experiment, outcome), &charts);
    write_atomically(&directory.join("report.html"), page.as_bytes())
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).expect("keys are text and nothing refuses to be serialised") + "\n"
}

fn header(experiment: &Experiment) -> String {
    format!(
        "<p><code>{}</code> <span class=\"soft\">{}</span></p>\n",
        escaped(&experiment.id),
        escaped(&experiment.source)
    )
}

fn body(experiment: &Experiment, outcome: &Outcome) -> String {
    let mut out = String::new();
    let notes: Vec<&String> = outcome.notes.iter().chain(&experiment.left_open).collect();
    if !notes.is_empty() {
        out += "<section class=\"notes\" aria-label=\"Notes\"><ul>";
        notes.iter().for_each(|note| out += &format!("<li>{}</li>", escaped(note)));
        out += "</ul></section>\n";
    }
    let heads = ["claim", "what", "paper", "ours", "unit", "band", "verdict", "source"];
    let heads: String = heads.iter().map(|head| format!("<th scope=\"col\">{head}</th>")).collect();
    out += &format!("<div class=\"wide\"><table><thead><tr>{heads}</tr></thead><tbody>\n");
    for row in &outcome.rows {
        let note = if row.note.is_empty() { String::new() } else { format!(" ({})", row.note) };
        let cells = [
            row.claim.clone().unwrap_or_default(),
            row.what.clone() + &note,
            row.paper.to_string(),
            row.ours.to_string(),
            row.unit.clone(),
            row.band.clone(),
            row.verdict.to_string(),
            row.source.clone(),
        ];
        let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
        out += &format!("<tr>{cells}</tr>\n");
    }
    out + "</tbody></table></div>\n"
}
