//! The charts of an experiment as its file has them.

use std::slice::from_ref;

use serde::Deserialize;

use crate::kind::Kind;
use crate::nand::NandSweep;
use crate::sweep::axes::check_along;

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
        /// Beginning of the descriptions of the rows. Default: all rows that have the key.
        rows: Option<String>,
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
            Shape::Line { along, .. } => vec![along],
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
