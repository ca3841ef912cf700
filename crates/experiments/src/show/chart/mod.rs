//! Charts of an experiment: the paper's values and ours, as Vega-Lite specifications.

use std::slice::from_ref;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::experiment::{Experiment, Kind};
use crate::judge::outcome::{Measured, Outcome, Row, Value};
use crate::judge::settings;
use crate::nand::NandSweep;
use crate::sweep::axes::check_along;
pub use wordline_lab::report::Chart;
use wordline_lab::report::SCHEMA;

mod axis;
mod label;
mod paper;
mod points;

pub use axis::KeyAxis;
pub use label::label;

/// A chart of an experiment as the file has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartFile {
    /// Name of the chart and of its file.
    pub name: String,
    /// Title.
    pub title: String,
    /// Caption.
    pub caption: String,
    /// Shape.
    pub shape: Shape,
    /// Values of varied keys that select the points, for charts of points. Empty: all points.
    #[serde(default)]
    pub at: toml::Table,
}

/// Shape of a chart.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Shape {
    /// The paper's values as a line and ours as points, over a varied key.
    Line {
        /// Varied key.
        along: String,
    },
    /// Our value divided by the paper's. Each statistic is a point, each volume a line.
    Ratio {},
    /// Our values at every point of a sweep, with a line for each value of another varied key.
    Curves {
        /// Column.
        column: String,
        /// Unit of the column.
        unit: String,
        /// Varied key of the horizontal axis.
        along: String,
        /// Varied key that distinguishes the lines.
        by: Option<String>,
        /// Varied key with a panel for each value.
        panel: Option<String>,
        /// Values of varied keys that select a baseline point. Each point is divided by the baseline point.
        #[serde(default)]
        per: toml::Table,
    },
    /// Several columns, stacked in a bar for each value of a varied key.
    Stacked {
        /// Columns.
        columns: Vec<String>,
        /// Unit of the columns.
        unit: String,
        /// Varied key with a bar for each value.
        along: String,
        /// Varied key with a panel for each value.
        panel: Option<String>,
    },
    /// Durations of all stages in order of their beginnings, with a panel for each value of a varied key.
    /// Only for logical units.
    Trace {
        /// Varied key with a panel for each value.
        panel: Option<String>,
    },
}

impl ChartFile {
    /// Faults of the chart for experiments of this kind: key, value found, and value wanted.
    pub(crate) fn complaints(&self, kind: &Kind) -> Vec<(&'static str, String, String)> {
        let keys: Vec<&String> = match &self.shape {
            Shape::Line { along } => vec![along],
            Shape::Ratio {} => Vec::new(),
            Shape::Curves { along, by, panel, per, .. } => {
                [Some(along), by.as_ref(), panel.as_ref()].into_iter().flatten().chain(per.keys()).collect()
            }
            Shape::Stacked { along, panel, .. } => {
                [Some(along), panel.as_ref()].into_iter().flatten().collect()
            }
            Shape::Trace { panel } => panel.iter().collect(),
        };
        let keys = keys.into_iter().filter_map(|key| check_along(key, &kind.axes()));
        let keys = keys.chain(self.at.keys().filter_map(|key| check_along(key, &kind.axes())));
        let mut all: Vec<_> = keys.map(|(found, wanted)| ("chart.shape", found, wanted)).collect();
        let unknown =
            self.columns().iter().filter_map(|column| Some((column, kind.unknown_column(column, false)?)));
        all.extend(unknown.map(|(column, wanted)| ("chart.shape", format!("`{column}`"), wanted)));
        let of_points = matches!(self.shape, Shape::Curves { .. } | Shape::Stacked { .. });
        let of_stages = matches!(self.shape, Shape::Trace { .. });
        let traced = |sweep: &NandSweep| sweep.trace || !of_stages;
        match kind {
            Kind::Nand(sweep) if traced(sweep) => {}
            Kind::Sweep(_) | Kind::Cells(_) if !of_stages => {}
            _ if !of_points && !of_stages => {}
            Kind::Nand(_) => all.push((
                "chart.shape",
                "a chart of stages".into(),
                "`kind.nand.trace = true` beside it: no stages are recorded".into(),
            )),
            Kind::Sweep(_) | Kind::Cells(_) => all.push((
                "chart.shape",
                "a chart of stages".into(),
                "a chart of columns: no stages of devices are recorded".into(),
            )),
            _ => all.push(("chart.shape", "a chart of points".into(), "`line` or `ratio`".into())),
        }
        all
    }

    /// Columns that the chart shows.
    pub(crate) fn columns(&self) -> &[String] {
        match &self.shape {
            Shape::Curves { column, .. } => from_ref(column),
            Shape::Stacked { columns, .. } => columns,
            Shape::Line { .. } | Shape::Ratio {} | Shape::Trace { .. } => &[],
        }
    }
}

/// The charts of an outcome. If no chart of the experiment shows the paper's values, charts that compare them
/// with ours are added.
pub fn charts(experiment: &Experiment, outcome: &Outcome) -> Vec<Chart> {
    let draw = |file: &ChartFile| {
        let wanted = settings(&file.at);
        let lies = |at: &[(String, Value)]| wanted.iter().all(|value| at.contains(value));
        let points: Vec<&Measured> = outcome.points.iter().filter(|point| lies(&point.at)).collect();
        let mut spec = match &file.shape {
            Shape::Line { along } => paper::along(&outcome.rows, along),
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
