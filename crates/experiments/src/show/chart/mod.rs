//! Charts of an experiment: the paper's values and ours, as Vega-Lite specifications.

use serde_json::{Value as Json, json};

use crate::chart::{ChartFile, Shape};
use crate::experiment::Experiment;
use crate::judge::outcome::{Measured, Outcome, Row, Value};
use crate::judge::settings;
pub use wordline_lab::report::Chart;
use wordline_lab::report::SCHEMA;

mod axis;
mod label;
mod paper;
mod points;

pub use axis::KeyAxis;
pub use label::label;

/// The charts of an outcome. If no chart of the experiment shows the paper's values, charts that compare them
/// with ours are added.
pub fn charts(experiment: &Experiment, outcome: &Outcome) -> Vec<Chart> {
    let draw = |file: &ChartFile| {
        let wanted = settings(&file.at);
        let lies = |at: &[(String, Value)]| wanted.iter().all(|value| at.contains(value));
        let points: Vec<&Measured> = outcome.points.iter().filter(|point| lies(&point.at)).collect();
        let mut spec = match &file.shape {
            Shape::Line { along, rows } => {
                let begins = |row: &&Row| rows.as_ref().is_none_or(|begin| row.what.starts_with(begin));
                let rows: Vec<Row> = outcome.rows.iter().filter(begins).cloned().collect();
                paper::along(&rows, along)
            }
            Shape::Ratio {} => ratio(&outcome.rows),
            Shape::Curves { column, unit, along, by, panel, per } => {
                let value = |point: &Measured| points::value(point, column, &settings(per), &outcome.points);
                points::curves(&points, value, unit, along, by.as_deref(), panel.as_deref())
            }
            Shape::Stacked { columns, unit, along, panel } => {
                points::stacked(&points, columns, unit, along, panel.as_deref())
            }
            Shape::Trace { panel } => points::trace(&outcome.traces, panel.as_deref()),
        };
        let (name, title, caption) = (file.name.clone(), file.title.clone(), file.caption.clone());
        spec["title"] = title.as_str().into();
        spec["description"] = caption.as_str().into();
        Chart { name, title, caption, spec, sums: Vec::new() }
    };
    let mut all: Vec<Chart> = experiment.charts.iter().map(draw).collect();
    let shows_paper =
        experiment.charts.iter().any(|chart| matches!(chart.shape, Shape::Line { .. } | Shape::Ratio {}));
    if !shows_paper {
        all.extend(paper::beside(&outcome.rows));
    }
    all
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
