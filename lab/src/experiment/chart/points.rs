//! Charts of experiments on logical units: what was measured at every point.

use serde_json::{Value as Json, json};
use wordline_kernel::Bytes;

use crate::experiment::column::follow;
use crate::experiment::outcome::{Measured, Trace, Value};
use crate::report::SCHEMA;

fn place<'a>(at: &'a [(String, Value)], key: &str) -> Option<&'a Value> {
    at.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// The values of a varied key, each once, in the order of the experiment.
fn values(points: &[&Measured], key: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for value in points.iter().filter_map(|point| place(&point.at, key)) {
        if !all.contains(value) {
            all.push(value.clone());
        }
    }
    all
}

/// Whether values are amounts, so that a line between them says something: numbers and sizes.
fn are_amounts(values: &[Value]) -> bool {
    values.iter().all(|value| match value {
        Value::Number(_) => true,
        Value::Text(text) => text.parse::<Bytes>().is_ok(),
    })
}

/// A field of varied values, at equal distances: amounts such as 1, 2, 4 and 8 double mostly.
fn axis(field: &str, title: &str, values: &[Value]) -> Json {
    let long = values.iter().map(|value| value.to_string().len()).max().unwrap_or_default() > 6;
    let angle = if long { -30 } else { 0 };
    json!({
        "field": field, "type": "ordinal", "title": title, "sort": values,
        "axis": { "labelAngle": angle, "labelLimit": 200 },
    })
}

/// `spec`, once for each value of the field `panel`, whose key and values these are.
fn panels(spec: Json, panel: Option<(&str, Vec<Value>)>, data: Vec<Json>) -> Json {
    let mut whole = json!({ "$schema": SCHEMA, "data": { "values": data } });
    let object = whole.as_object_mut().expect("it was just made one");
    let mut spec = spec;
    match panel {
        None => {
            object.insert("width".into(), "container".into());
            object.extend(spec.as_object().expect("a chart is an object").clone());
        }
        Some((title, values)) => {
            let facet = json!({ "field": "panel", "type": "nominal", "title": title, "sort": values });
            object.insert("facet".into(), facet);
            object.insert("columns".into(), 1.into());
            // Writes and reads differ by ten: each panel has its own scale.
            object.insert("resolve".into(), json!({ "scale": { "y": "independent" } }));
            spec["width"] = PANEL_WIDTH.into();
            object.insert("spec".into(), spec);
        }
    }
    whole
}

/// Pixels of a panel: as wide as a chart beside another one on a page.
const PANEL_WIDTH: u32 = 460;

/// A column at every point, over `along`.
pub(super) fn curves(
    points: &[&Measured],
    column: &str,
    unit: &str,
    along: &str,
    by: Option<&str>,
    panel: Option<&str>,
) -> Json {
    let of = |point: &Measured, key: Option<&str>| key.and_then(|key| place(&point.at, key)).cloned();
    let row = |point: &Measured| {
        json!({
            "x": of(point, Some(along)), "by": of(point, by), "panel": of(point, panel),
            "value": follow(&point.values, column),
        })
    };
    let places = values(points, along);
    let mark = match (are_amounts(&places), by) {
        (true, _) => json!({ "type": "line", "point": true, "tooltip": true }),
        (false, Some(_)) => json!({ "type": "point", "filled": true, "size": 70, "tooltip": true }),
        (false, None) => json!({ "type": "bar", "tooltip": true }),
    };
    let mut spec = json!({
        "mark": mark,
        "encoding": {
            "x": axis("x", along, &places),
            "y": { "field": "value", "type": "quantitative", "title": unit },
        }
    });
    if let Some(by) = by {
        let colour = json!({ "field": "by", "type": "nominal", "title": by, "sort": values(points, by) });
        spec["encoding"]["color"] = colour;
    }
    let panel = panel.map(|key| (key, values(points, key)));
    panels(spec, panel, points.iter().map(|point| row(point)).collect())
}

/// Columns stacked at every point, a bar for each value of `along`.
pub(super) fn stacked(
    points: &[&Measured],
    columns: &[String],
    unit: &str,
    along: &str,
    panel: Option<&str>,
) -> Json {
    let of = |point: &Measured, key: Option<&str>| key.and_then(|key| place(&point.at, key)).cloned();
    let row = |point: &Measured, (order, column): (usize, &String)| {
        let name = column.rsplit('.').next().unwrap_or(column).to_uppercase();
        json!({
            "x": of(point, Some(along)), "panel": of(point, panel), "stage": name, "order": order,
            "value": follow(&point.values, column),
        })
    };
    let data: Vec<Json> = points
        .iter()
        .flat_map(|point| columns.iter().enumerate().map(move |column| row(point, column)))
        .collect();
    let spec = json!({
        "mark": { "type": "bar", "tooltip": true },
        "encoding": {
            "x": axis("x", along, &values(points, along)),
            "y": { "field": "value", "type": "quantitative", "title": unit, "scale": { "nice": false } },
            "color": { "field": "stage", "type": "nominal", "title": null, "sort": null },
            "order": { "field": "order" },
        }
    });
    panels(spec, panel.map(|key| (key, values(points, key))), data)
}

/// The length of every stage, one behind the other.
pub(super) fn trace(traces: &[Trace], panel: Option<&str>) -> Json {
    let mut data = Vec::new();
    for trace in traces {
        let panel = panel.and_then(|key| place(&trace.at, key));
        for (n, span) in trace.spans.iter().enumerate() {
            data.push(json!({
                "n": n, "stage": span.stage.name(), "cycles": span.length.ps() as f64 / 1e3, "panel": panel,
                "command": span.command, "begin": (span.begin - wordline_kernel::Instant::ZERO).ps() as f64 / 1e3,
            }));
        }
    }
    // Logarithmic from ten cycles on: commands take some fifty, programs some million.
    let scale = json!({ "type": "log", "domainMin": 10 });
    let spec = json!({
        "mark": { "type": "bar", "size": 3, "tooltip": true },
        "height": 160,
        "encoding": {
            "x": {
                "field": "n", "type": "quantitative", "title": "stages in the order of their beginning",
                "scale": { "nice": false },
            },
            "y": { "field": "cycles", "type": "quantitative", "title": "cycles of 1 ns", "stack": null, "scale": scale },
            "y2": { "datum": 10 },
            "color": { "field": "stage", "type": "nominal", "title": null },
        }
    });
    let mut order = Vec::new();
    for value in panel.iter().flat_map(|key| traces.iter().filter_map(|trace| place(&trace.at, key))) {
        order.push(value.clone());
    }
    panels(spec, panel.map(|key| (key, order)), data)
}
