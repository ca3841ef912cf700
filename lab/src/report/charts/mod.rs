//! The charts of a report as Vega-Lite specifications: made here once, for the page and for everything else that
//! draws Vega-Lite. They carry their data and no colours of their own, so that a page or a paper may theme them.

mod latency;
mod over_time;
mod parts;
mod wear;

use serde_json::{Map, Value, json};

use super::results;
use crate::summary::Summary;

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Its name, also that of its file.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// The Vega-Lite specification, with data.
    pub spec: Value,
}

/// The version of Vega-Lite that the specifications are written for.
const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v6.json";

/// All charts of the runs that have something to show, in the order of a report.
pub fn charts(runs: &[Summary]) -> Vec<Chart> {
    let runs = Runs::new(runs);
    let mut all = vec![
        latency::distribution(&runs),
        latency::tail(&runs),
        over_time::throughput(&runs),
        over_time::requests(&runs),
        over_time::latency(&runs),
        over_time::worst(&runs),
        over_time::amplification(&runs),
        parts::time(&runs),
        parts::channels(&runs),
        parts::dies(&runs),
        wear::distribution(&runs),
    ];
    all.extend((0..runs.all.len()).map(|index| wear::map(&runs, index)));
    all.into_iter().flatten().collect()
}

/// Runs with the names that tell them apart.
struct Runs<'a> {
    all: &'a [Summary],
    labels: Vec<String>,
}

impl<'a> Runs<'a> {
    fn new(all: &'a [Summary]) -> Self {
        Self { all, labels: results::labels(all) }
    }

    fn iter(&self) -> impl Iterator<Item = (&'a Summary, &str)> {
        self.all.iter().zip(self.labels.iter().map(String::as_str))
    }

    fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// The run in front of a part of it, where there are several.
    fn prefixed(&self, label: &str, part: &str) -> String {
        if self.are_several() { format!("{label} · {part}") } else { part.to_owned() }
    }

    /// Colours by kind of request in one run; by run, with dashes by kind, in several. `kinds` in fixed order.
    fn add_series(&self, encoding: &mut Value, kinds: &[&str]) {
        let kind = json!({ "field": "kind", "type": "nominal", "title": null, "sort": kinds,
            "scale": { "domain": kinds } });
        if self.are_several() {
            encoding["color"] = json!({ "field": "run", "type": "nominal", "title": null,
                "scale": { "domain": self.labels } });
            if kinds.len() > 1 {
                encoding["strokeDash"] = kind;
            }
        } else {
            encoding["color"] = kind;
        }
    }
}

/// A specification: what is common to all charts, and what `parts` says. `None` when there are no data.
fn chart(name: &str, title: &str, caption: &str, data: Vec<Value>, parts: Value) -> Option<Chart> {
    if data.is_empty() {
        return None;
    }
    let mut spec = Map::new();
    spec.insert("$schema".to_owned(), json!(SCHEMA));
    spec.insert("title".to_owned(), json!(title));
    spec.insert("description".to_owned(), json!(caption));
    spec.insert("width".to_owned(), json!("container"));
    spec.insert("height".to_owned(), json!(260));
    spec.insert("data".to_owned(), json!({ "values": data }));
    if let Value::Object(parts) = parts {
        spec.extend(parts);
    }
    let (name, title, caption) = (name.to_owned(), title.to_owned(), caption.to_owned());
    Some(Chart { name, title, caption, spec: Value::Object(spec) })
}

/// A Vega expression that writes the microseconds of an axis in a unit that suits them.
const LATENCY_LABELS: &str = "datum.value >= 1e6 ? format(datum.value / 1e6, ',~g') + ' s' : \
     datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' ms' : \
     datum.value >= 1 || datum.value == 0 ? format(datum.value, '~g') + ' µs' : \
     format(datum.value * 1e3, '~g') + ' ns'";

/// The same for the field of a tooltip.
fn latency_text(field: &str) -> String {
    LATENCY_LABELS.replace("datum.value", &format!("datum['{field}']")).replace("'~g'", "'.3~g'")
}

/// A logarithmic axis of latency, with labels at the powers of ten.
fn latency_axis(title: &str) -> Value {
    json!({ "title": title, "labelExpr": LATENCY_LABELS, "labelOverlap": true, "tickCount": 8 })
}

/// A number for a chart: four digits are more than a screen shows, and keep the page small. `null` if not finite.
fn shown(number: f64) -> Value {
    if number == 0.0 || !number.is_finite() {
        return if number == 0.0 { json!(0) } else { Value::Null };
    }
    let digits = 3 - libm::log10(number.abs()).floor() as i32;
    let scale = libm::pow(10.0, f64::from(digits.clamp(0, 15)));
    json!((number * scale).round() / scale)
}
