//! Charts and their common parts: labels of runs, time axes, and numbers for JSON.

use serde_json::{Map, Value, json};

use super::sums::Sum;
use crate::report::results;
use crate::summary::Summary;

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Name of the chart and of its file.
    pub name: String,
    /// Title.
    pub title: String,
    /// Explanation of how to read the chart.
    pub caption: String,
    /// Vega-Lite specification, including the data.
    pub spec: Value,
    /// Counters that equal sums over the data. Every chart of a report has at least one.
    pub sums: Vec<Sum>,
}

impl Chart {
    /// Sets the sums of the chart.
    pub(super) fn with_sums(self, sums: Vec<Sum>) -> Self {
        Self { sums, ..self }
    }
}

/// Width of a chart outside of a page; a page stretches its charts. Chosen: about twice the height.
const WIDTH: u32 = 560;

/// The version of Vega-Lite that the specifications are written for.
pub const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v6.json";

/// Runs, each with a label of its own.
pub(super) struct Runs<'a> {
    pub(super) all: &'a [Summary],
    pub(super) labels: Vec<String>,
}

impl<'a> Runs<'a> {
    pub(super) fn new(all: &'a [Summary]) -> Self {
        Self { all, labels: results::labels(all) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a Summary, &str)> {
        self.all.iter().zip(self.labels.iter().map(String::as_str))
    }

    pub(super) fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// The label of a part of a run. It includes the run if there are several.
    pub(super) fn prefixed(&self, label: &str, part: &str) -> String {
        if self.are_several() {
            format!("{} · {part}", results::shortened(label, 22)) // chosen: leaves a chart most of its width
        } else {
            part.to_owned()
        }
    }

    /// The axis for [prefixed](Self::prefixed) labels, with the run in a line above its part.
    pub(super) fn part_labels(&self) -> Value {
        if self.are_several() {
            json!({ "labelExpr": "split(datum.label, ' · ')", "labelLineHeight": 11, "labelOffset": -5.5 })
        } else {
            json!({})
        }
    }

    /// Colours by run. The legend has as many columns as fit, and is read row by row.
    pub(super) fn colour(&self) -> Value {
        let longest = self.labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let columns = (60 / longest.max(1)).clamp(1, 4); // chosen: half a page has room for some 60 characters
        json!({ "field": "run", "type": "nominal", "title": null, "legend": { "columns": columns, "direction": "horizontal" },
            "scale": { "domain": self.labels } })
    }

    /// Sets the colours and dashes of the lines. For one run, colours show the kind of request. For several
    /// runs, colours show the run, and dashes the kind. Each of `kinds` keeps its colour or dash; the legend
    /// lists the kinds that have rows.
    pub(super) fn add_series(&self, encoding: &mut Value, kinds: &[&str], rows: &[Value]) {
        let present: Vec<&&str> =
            kinds.iter().filter(|kind| rows.iter().any(|row| row["kind"] == **kind)).collect();
        let kind = json!({ "field": "kind", "type": "nominal", "title": null, "sort": kinds,
            "scale": { "domain": kinds }, "legend": { "values": present, "symbolType": "stroke" } });
        if self.are_several() {
            encoding["color"] = self.colour();
            // The legend shows lines, because circles have no dashes.
            encoding["color"]["legend"]["symbolType"] = "stroke".into();
            encoding["color"]["legend"]["symbolOpacity"] = 1.into();
            if kinds.len() > 1 {
                encoding["strokeDash"] = kind;
                encoding["strokeDash"]["legend"]["symbolStrokeColor"] = "#888888".into();
            }
        } else {
            encoding["color"] = kind;
        }
    }
}

/// A specification from `parts` and the properties that all charts share. Returns `None` without data.
pub(super) fn chart(name: &str, title: &str, caption: &str, data: Vec<Value>, parts: Value) -> Option<Chart> {
    if data.is_empty() {
        return None;
    }
    let mut spec = Map::new();
    spec.insert("$schema".to_owned(), json!(SCHEMA));
    spec.insert("title".to_owned(), json!(title));
    spec.insert("description".to_owned(), json!(caption));
    spec.insert("width".to_owned(), json!(WIDTH));
    spec.insert("height".to_owned(), json!(260));
    spec.insert("data".to_owned(), json!({ "values": data }));
    if let Value::Object(parts) = parts {
        spec.extend(parts);
    }
    let (name, title, caption) = (name.to_owned(), title.to_owned(), caption.to_owned());
    Some(Chart { name, title, caption, spec: Value::Object(spec), sums: Vec::new() })
}

/// A Vega expression that formats microseconds on an axis, in a suitable unit.
pub const LATENCY_LABELS: &str = "datum.value >= 1e6 ? format(datum.value / 1e6, ',~g') + ' s' : \
     datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' ms' : \
     datum.value >= 1 || datum.value == 0 ? format(datum.value, '~g') + ' µs' : \
     format(datum.value * 1e3, '~g') + ' ns'";

/// A Vega expression that formats microseconds in a tooltip, in a suitable unit.
pub(super) fn latency_text(field: &str) -> String {
    LATENCY_LABELS.replace("datum.value", &format!("datum['{field}']")).replace("'~g'", "'.3~g'")
}

/// The encoding of a latency in microseconds on a logarithmic axis. The axis ends at round times outside of
/// the data.
pub fn latency_channel(rows: &[Value], field: &str, title: &str) -> Value {
    let values = || rows.iter().filter_map(|row| row[field].as_f64());
    let least = values().fold(f64::INFINITY, f64::min);
    let most = values().fold(0.0, f64::max).max(least);
    let ticks = round_times(least, most);
    json!({
        "field": field, "type": "quantitative",
        "scale": { "type": "log", "nice": false, "domain": [ticks.first(), ticks.last()] },
        // `parity` drops every second label, so the remaining labels have equal distances.
        "axis": { "title": title, "labelExpr": LATENCY_LABELS, "labelOverlap": "parity", "values": ticks },
    })
}

/// Round times in microseconds for an axis. They reach from below `least`, so that it is not drawn on the
/// edge, to above `most`. An axis of two decades or more has only powers of ten.
pub(super) fn round_times(least: f64, most: f64) -> Vec<f64> {
    // Chosen: about eight labels at most.
    let steps: &[f64] = if most / least < 100.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    // From picoseconds to thirty years, which exceeds any run.
    let all: Vec<f64> = (-6..15)
        .flat_map(|decade| {
            steps.iter().map(move |step| shown_number(step * libm::pow(10.0, f64::from(decade))))
        })
        .collect();
    let from = all.iter().rposition(|tick| *tick < least).unwrap_or(0);
    let to = all.iter().position(|tick| *tick > most).unwrap_or(all.len() - 1);
    all[from..=to.max(from)].to_vec()
}

/// A number for a chart, with four digits. Chosen: more than a screen can show, and the page stays small.
/// `null` if the number is not finite.
pub(super) fn shown(number: f64) -> Value {
    if number.is_finite() { json!(shown_number(number)) } else { Value::Null }
}

pub(super) fn shown_number(number: f64) -> f64 {
    if number == 0.0 {
        return 0.0;
    }
    let digits = 3 - libm::log10(number.abs()).floor() as i32;
    let scale = libm::pow(10.0, f64::from(digits.clamp(0, 15)));
    (number * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_of_latency_has_a_few_round_times_around_its_values() {
        assert_eq!(round_times(60.0, 450.0), [50.0, 100.0, 200.0, 500.0]);
        assert_eq!(round_times(0.5, 20_000.0), [0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5], "labels at decades");
        assert_eq!(round_times(1.0, 1e6), [0.1, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7]);
        assert_eq!(round_times(100.0, 100.0), [50.0, 100.0, 200.0]);
    }

    #[test]
    fn numbers_in_charts_have_four_digits() {
        assert_eq!(shown(123_456.7), json!(123_457.0));
        assert_eq!(shown(0.000_123_456), json!(0.000_123_5));
        assert_eq!(shown(f64::NAN), Value::Null);
    }
}
