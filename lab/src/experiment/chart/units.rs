//! Charts of experiments on logical units: what was measured at every point.

use serde_json::{Value as Json, json};

use crate::experiment::judge::follow;
use crate::experiment::outcome::{Measured, Trace, Value};
use crate::report::SCHEMA;

fn place<'a>(at: &'a [(String, Value)], key: &str) -> Option<&'a Value> {
    at.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// A field of varied values: quantities where they are numbers, else words in the order of the experiment.
fn axis(field: &str, title: &str, values: &[Option<&Value>]) -> Json {
    let numbers = values.iter().flatten().all(|value| matches!(value, Value::Number(_)));
    if numbers {
        // Values such as 1, 2, 4 and 8 stand at equal distances.
        return json!({ "field": field, "type": "ordinal", "title": title, "axis": { "labelAngle": 0 } });
    }
    json!({ "field": field, "type": "nominal", "title": title, "sort": null, "axis": { "labelAngle": 0 } })
}

/// `spec`, once for each value of the field `panel`.
fn panels(spec: Json, panel: Option<&str>, data: Vec<Json>) -> Json {
    let mut whole = json!({ "$schema": SCHEMA, "data": { "values": data } });
    let object = whole.as_object_mut().expect("it was just made one");
    match panel {
        None => {
            object.insert("width".into(), "container".into());
            object.extend(spec.as_object().expect("a chart is an object").clone());
        }
        Some(title) => {
            object.insert(
                "facet".into(),
                json!({ "field": "panel", "type": "nominal", "title": title, "sort": null }),
            );
            object.insert("columns".into(), 2.into());
            object.insert("spec".into(), spec);
        }
    }
    whole
}

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
    let values: Vec<_> = points.iter().map(|point| place(&point.at, along)).collect();
    let mut spec = json!({
        "mark": { "type": "line", "point": true, "tooltip": true },
        "encoding": {
            "x": axis("x", along, &values),
            "y": { "field": "value", "type": "quantitative", "title": unit },
        }
    });
    if let Some(by) = by {
        let colour = json!({ "field": "by", "type": "nominal", "title": by, "sort": null });
        spec["encoding"]["color"] = colour;
    }
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
    let values: Vec<_> = points.iter().map(|point| place(&point.at, along)).collect();
    let spec = json!({
        "mark": { "type": "bar", "tooltip": true },
        "encoding": {
            "x": axis("x", along, &values),
            "y": { "field": "value", "type": "quantitative", "title": unit },
            "color": { "field": "stage", "type": "nominal", "title": null, "sort": null },
            "order": { "field": "order" },
        }
    });
    panels(spec, panel, data)
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
    // Logarithmic: commands take some ten cycles, programs some million.
    let spec = json!({
        "mark": { "type": "bar", "tooltip": true },
        "encoding": {
            "x": { "field": "n", "type": "quantitative", "title": "stages in the order of their beginning" },
            "y": { "field": "cycles", "type": "quantitative", "title": "cycles of 1 ns", "scale": { "type": "log" } },
            "color": { "field": "stage", "type": "nominal", "title": null },
        }
    });
    panels(spec, panel, data)
}
