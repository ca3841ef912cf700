//! Grids of dies: a row for each die or group of neighbouring dies, and a shade for each cell.

use serde_json::{Value, json};

use super::chart::shown_number;

/// The columns of a grid.
pub(super) struct GridColumns<'a> {
    /// Field with the number or name of a column.
    pub field: &'a str,
    /// Step of [`field`](Self::field) from one column to the next.
    pub step: f64,
    /// Title of the axis.
    pub title: &'a str,
    /// Tooltip entry of the column.
    pub tooltip: Value,
}

/// The shades of a grid.
pub(super) struct GridShade<'a> {
    /// Title of the legend.
    pub title: &'a str,
    /// Value of the darkest shade.
    pub most: Value,
    /// Tooltip entry of the value.
    pub tooltip: Value,
}

/// A grid with this many columns and rows. The data of the chart are its cells, row by row. Each cell extends
/// under the next one, because light lines between cells would look like data.
pub(super) fn die_grid(
    columns: usize,
    rows: usize,
    dies_a_row: u64,
    across: GridColumns<'_>,
    shade: GridShade<'_>,
) -> Value {
    let GridColumns { field, step, title, tooltip } = across;
    let end = shown_number(columns as f64 * step);
    json!({
        "height": (rows * 6).clamp(60, 400),
        "transform": [
            { "window": [{ "op": "row_number", "as": "number" }] },
            { "calculate": "datum.number - 1", "as": "index" },
            { "calculate": format!("datum.index % {columns}"), "as": "column" },
            { "calculate": format!("floor(datum.index / {columns})"), "as": "row" },
            { "calculate": format!("datum.column * {step}"), "as": field },
            { "calculate": format!("(datum.column + 1.5) * {step}"), "as": "until" },
            { "calculate": format!("datum.row * {dies_a_row}"), "as": "die" },
        ],
        "mark": { "type": "rect", "tooltip": true, "clip": true },
        "encoding": {
            "x": { "field": field, "type": "quantitative", "title": title, "scale": { "domain": [0, end], "nice": false },
                "axis": { "grid": false, "tickCount": 8, "tickMinStep": if step.fract() == 0.0 { 1 } else { 0 }, "labelOverlap": true } },
            "x2": { "field": "until" },
            "y": { "field": "die", "type": "ordinal", "title": "Die",
                "axis": { "labelOverlap": true, "labelSeparation": 6, "ticks": false,
                    "labelExpr": "format(datum.value, ',')" } },
            "color": { "field": "data", "type": "quantitative", "title": shade.title,
                "scale": { "domain": [0, shade.most] } },
            "tooltip": [{ "field": "die", "title": "die, from" }, tooltip, shade.tooltip],
        },
        "config": { "view": { "stroke": null } },
    })
}
