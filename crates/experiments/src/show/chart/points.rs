//! Charts of the measured values at all points.

use serde_json::{Value as Json, json};

use crate::judge::column::follow;
use crate::judge::outcome::{Measured, Trace, Value};
use crate::show::chart::axis::KeyAxis;
use crate::show::chart::label::of_text;
use wordline_lab::report::{SCHEMA, stage_scale};

fn place<'a>(at: &'a [(String, Value)], key: &str) -> Option<&'a Value> {
    at.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// A value of a varied key in the form of charts.
fn displayed_value(value: &Value) -> Value {
    match value {
        Value::Number(_) => value.clone(),
        Value::Text(text) => Value::Text(of_text(text)),
    }
}

/// The different values of a varied key in the form of charts, in the order of the experiment.
fn values(points: &[&Measured], key: &str) -> Vec<Value> {
    let mut all = Vec::new();
    for value in points.iter().filter_map(|point| place(&point.at, key)).map(displayed_value) {
        if !all.contains(&value) {
            all.push(value);
        }
    }
    all
}

/// Greatest number of characters of names side by side on a narrow screen. Chosen: 300 pixels have room for them.
const SIDE_BY_SIDE: usize = 42;

/// Greatest number of slanted names. Chosen: more names overlap on a narrow screen unless they are upright.
const SLANTED: usize = 8;

/// An axis with the values of a varied key side by side, in the order of the experiment. All names are shown, but
/// only as many numbers as fit.
fn axis(field: &str, title: &str, values: &[Value]) -> Json {
    let longest = values.iter().map(|value| value.to_string().len()).max().unwrap_or_default();
    let are_names = values.iter().any(|value| matches!(value, Value::Text(_)));
    let angle = match are_names {
        true if longest * values.len() > SIDE_BY_SIDE && values.len() > SLANTED => -90,
        true if longest * values.len() > SIDE_BY_SIDE => -30,
        false if longest > 6 => -30,
        _ => 0,
    };
    json!({
        "field": field, "type": "ordinal", "title": title, "sort": values,
        "axis": { "labelAngle": angle, "labelLimit": 200, "labelOverlap": !are_names, "labelSeparation": 4,
            "labelExpr": "isNumber(datum.value) ? format(datum.value, ',.4~r') : datum.value" },
    })
}

/// Repeats `spec` as a panel for each of these values of the field `panel`.
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
            // Each panel has its own scale, because writes and reads differ by a factor of ten.
            object.insert("resolve".into(), json!({ "scale": { "y": "independent" } }));
            spec["width"] = PANEL_WIDTH.into();
            object.insert("spec".into(), spec);
        }
    }
    whole
}

/// Width of a panel in pixels. Two panels fit side by side on a page.
const PANEL_WIDTH: u32 = 460;

/// A column at a point, divided by its value at the baseline point, which has the values `per`. `None` if
/// there is no baseline point.
pub(crate) fn value(
    point: &Measured,
    column: &str,
    per: &[(String, Value)],
    all: &[Measured],
) -> Option<f64> {
    let own = number(point, column)?;
    if per.is_empty() {
        return Some(own);
    }
    let other: Vec<(String, Value)> =
        point.at.iter().map(|(key, value)| (key.clone(), place(per, key).unwrap_or(value).clone())).collect();
    let base = number(all.iter().find(|point| point.at == other)?, column)?;
    (base != 0.0).then(|| own / base)
}

/// A column at a point. Values are stored under full names, or as nested objects.
fn number(point: &Measured, column: &str) -> Option<f64> {
    point.values.get(column).or_else(|| follow(&point.values, column))?.as_f64()
}

/// Chart with a value of every point, over `along`.
pub(crate) fn curves(
    points: &[&Measured],
    value: impl Fn(&Measured) -> Option<f64>,
    unit: &str,
    along: &str,
    by: Option<&str>,
    panel: Option<&str>,
) -> Json {
    let of =
        |point: &Measured, key: Option<&str>| key.and_then(|key| place(&point.at, key)).map(displayed_value);
    let places = values(points, along);
    let amounts = KeyAxis::of(&places);
    let row = |point: &&Measured| {
        let value = value(point)?;
        let at = of(point, Some(along));
        let place = amounts.as_ref().and_then(|axis| axis.place(at.as_ref()?)).map(Value::Number);
        Some(json!({
            "x": place.or(at), "by": of(point, by), "panel": of(point, panel), "value": value,
        }))
    };
    let mark = match amounts {
        Some(_) => json!({ "type": "line", "point": true, "tooltip": true }),
        None => json!({ "type": "bar", "tooltip": true }),
    };
    let x = amounts.as_ref().map_or_else(|| axis("x", along, &places), |amounts| amounts.channel("x", along));
    let mut spec = json!({
        "mark": mark,
        "encoding": {
            "x": x,
            "y": { "field": "value", "type": "quantitative", "title": unit },
        }
    });
    if let Some(by) = by {
        let colour = json!({ "field": "by", "type": "nominal", "title": by, "sort": values(points, by) });
        spec["encoding"]["color"] = colour;
        if amounts.is_none() {
            spec["encoding"]["xOffset"] = json!({ "field": "by", "sort": values(points, by) });
        }
    }
    let panel = panel.map(|key| (key, values(points, key)));
    panels(spec, panel, points.iter().filter_map(row).collect())
}

/// Chart of stacked columns at every point, with a bar for each value of `along`.
pub(crate) fn stacked(
    points: &[&Measured],
    columns: &[String],
    unit: &str,
    along: &str,
    panel: Option<&str>,
) -> Json {
    let of =
        |point: &Measured, key: Option<&str>| key.and_then(|key| place(&point.at, key)).map(displayed_value);
    let row = |point: &Measured, (order, column): (usize, &String)| {
        let value = number(point, column)?;
        Some(json!({
            "x": of(point, Some(along)), "panel": of(point, panel), "stage": distinguishing_stage(column, columns),
            "order": order, "value": value,
        }))
    };
    let data: Vec<Json> = points
        .iter()
        .flat_map(|point| columns.iter().enumerate().filter_map(move |column| row(point, column)))
        .collect();
    let mut spec = json!({
        "mark": { "type": "bar", "tooltip": true },
        "encoding": {
            "x": axis("x", along, &values(points, along)),
            "y": { "field": "value", "type": "quantitative", "title": unit, "scale": { "nice": false } },
            "color": { "field": "stage", "type": "nominal", "title": null, "sort": null },
            "order": { "field": "order" },
        }
    });
    let stages: Vec<(String, String)> = columns
        .iter()
        .map(|column| (part_of(column, columns).to_owned(), distinguishing_stage(column, columns)))
        .collect();
    let colours = stage_scale(&stages);
    if let Some((scale, _)) = &colours {
        spec["encoding"]["color"]["scale"] = scale.clone();
    }
    let mut whole = panels(spec, panel.map(|key| (key, values(points, key))), data);
    if let Some((_, numbers)) = colours {
        whole["usermeta"] = numbers;
    }
    whole
}

/// The part of a column's name that distinguishes it, in the spelling of a stage.
fn distinguishing_stage(column: &str, all: &[String]) -> String {
    part_of(column, all).replace('_', " ").to_uppercase()
}

/// The part of a column's name that distinguishes it from the other columns.
fn part_of<'a>(column: &'a str, all: &[String]) -> &'a str {
    let parts = || column.split('.').enumerate();
    let differs = |(n, part): &(usize, &str)| all.iter().any(|other| other.split('.').nth(*n) != Some(*part));
    let part = parts().find(differs).or(parts().last()).map_or(column, |(_, part)| part);
    part.trim_end_matches("_us")
}

/// Chart of the duration of every stage, one after another.
pub(crate) fn trace(traces: &[Trace], panel: Option<&str>) -> Json {
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
    // Logarithmic from ten cycles on: commands take about fifty cycles, programs about a million.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn point(ssd: &str, volume: &str, values: Json) -> Measured {
        let text = |text: &str| Value::Text(text.to_owned());
        let at = vec![("ssd".to_owned(), text(ssd)), ("volume".to_owned(), text(volume))];
        Measured { at, values }
    }

    #[test]
    fn a_point_is_divided_by_the_one_of_the_same_volume() {
        let column = "host.iops";
        let all = [
            point("a", "v", json!({ "host.iops": 8.0 })),
            point("b", "v", json!({ "host": { "iops": 4.0 } })),
            point("a", "w", json!({ "host.iops": 3.0 })),
            point("b", "x", json!({})),
        ];
        let per = [("ssd".to_owned(), Value::Text("b".into()))];
        let found = all.each_ref().map(|point| value(point, column, &per, &all));
        assert_eq!(found, [Some(2.0), Some(1.0), None, None], "w has no other SSD, x no such column");
        let points: Vec<&Measured> = all.iter().collect();
        let spec =
            curves(&points, |point| value(point, column, &per, &all), "times", "volume", Some("ssd"), None);
        assert_eq!(
            spec["data"]["values"].as_array().map(Vec::len),
            Some(2),
            "what is not there is not drawn"
        );
        assert_eq!(spec["encoding"]["x"]["sort"], json!(["v", "w", "x"]));
    }

    #[test]
    fn every_name_has_its_label_and_numbers_only_as_far_as_they_fit() {
        let text = |text: String| Value::Text(text);
        let of = |values: &[Value]| {
            let axis = &axis("x", "x", values)["axis"];
            (axis["labelAngle"].as_i64().unwrap_or(1), axis["labelOverlap"].as_bool().unwrap_or(true))
        };
        let names = |count: usize| (0..count).map(|n| text(format!("workload {n}"))).collect::<Vec<_>>();
        assert_eq!([of(&names(10)), of(&names(5)), of(&names(2))], [(-90, false), (-30, false), (0, false)]);
        let numbers: Vec<Value> = (0..100).map(|n| Value::Number(f64::from(n))).collect();
        assert_eq!(of(&numbers), (0, true));
    }

    #[test]
    fn stacked_columns_are_named_by_what_tells_them_apart() {
        let names = |all: &[&str]| {
            let all: Vec<String> = all.iter().map(|&name| name.to_owned()).collect();
            all.iter().map(|name| distinguishing_stage(name, &all)).collect::<Vec<_>>()
        };
        assert_eq!(names(&["time.bus.read_us", "time.gc_wait.read_us"]), ["BUS", "GC WAIT"]);
        assert_eq!(names(&["share_percent.cle", "share_percent.tin"]), ["CLE", "TIN"]);
        assert_eq!(names(&["host.iops"]), ["IOPS"]);
    }
}
