//! Charts of the latency distribution.

use serde_json::{Value, json};

use super::chart::{Chart, Runs, chart, latency_channel, latency_text, shown, shown_number};
use super::sums::{Sum, Weights};
use crate::percentiles::PERCENTILES;
use crate::summary::Latency;

const KINDS: [&str; 2] = ["reads", "writes"];

/// Least value on the logarithmic axis, in microseconds: one nanosecond. A latency of 0 is drawn there.
const LEAST_US: f64 = 1e-3;

/// Chart of the cumulative distribution.
pub fn distribution(runs: &Runs<'_>) -> Option<Chart> {
    let share = |below: f64, _| json!({ "percent": shown(below * 100.0) });
    let data = points(runs, share);
    let mut encoding = json!({
        "x": latency_channel(&data, "us", "Latency"),
        "y": { "field": "percent", "type": "quantitative", "title": "Requests at most that slow (%)",
            "scale": { "domain": [0, 100] } },
    });
    runs.add_series(&mut encoding, &KINDS, &data);
    let tooltip = tooltip(runs, json!({ "field": "percent", "title": "at most that slow (%)" }));
    encoding["tooltip"] = tooltip;
    chart(
        "latency-distribution",
        "Latency of reads and writes: cumulative distribution",
        "How many percent of the requests completed within the time on the axis below. Further left is faster; \
         a steep line is a predictable device.",
        data,
        json!({ "transform": [{ "calculate": latency_text("us"), "as": "latency" }],
            "mark": { "type": "line", "interpolate": "step-after", "clip": true, "strokeWidth": 2 }, "encoding": encoding }),
    )
    .map(|chart| chart.with_sums(means(runs, "percent")))
}

/// Chart of the slowest requests.
pub fn tail(runs: &Runs<'_>) -> Option<Chart> {
    // No request is slower than the slowest one, so the line ends at the share of one request.
    let share =
        |below: f64, requests: u64| json!({ "slower": shown((1.0 - below).max(1.0 / requests as f64)) });
    let data = points(runs, share);
    let mut encoding = json!({
        "x": latency_channel(&data, "us", "Latency"),
        "y": rarity(&data),
    });
    runs.add_series(&mut encoding, &KINDS, &data);
    encoding["tooltip"] =
        tooltip(runs, json!({ "field": "slower", "title": "share slower", "format": ".3~g" }));
    chart(
        "latency-tail",
        "Latency of reads and writes: the slowest requests",
        "The share of requests that took longer than the time on the axis below, each line further down being ten times \
         rarer: 1 % of them at p99, 0.1 % at p99.9. A curve ends with the slowest request.",
        data,
        json!({ "transform": [{ "calculate": latency_text("us"), "as": "latency" }],
            "mark": { "type": "line", "interpolate": "step-after", "clip": true, "strokeWidth": 2 }, "encoding": encoding }),
    )
    .map(|chart| chart.with_sums(means(runs, "slower")))
}

/// The encoding of the share of slower requests. The axis has a line for each power of ten of the
/// percentiles, independent of the number of requests.
fn rarity(rows: &[Value]) -> Value {
    let steps: Vec<_> = PERCENTILES.iter().filter(|percentile| percentile.is_step).collect();
    let slower: Vec<f64> = steps.iter().map(|step| shown_number(1.0 - step.fraction)).collect();
    let least = rows.iter().filter_map(|row| row["slower"].as_f64()).filter(|share| *share > 0.0);
    let least = least.chain(slower.last().copied()).fold(1.0, f64::min);
    // Labels are chosen by thresholds half-way between the lines, so that rounding does not matter.
    let halves = steps
        .iter()
        .zip(&slower)
        .map(|(step, slower)| format!("datum.value > {} ? '{}' : ", shown_number(slower / 2.0), step.name));
    let labels = halves.collect::<String>() + "''";
    json!({ "field": "slower", "type": "quantitative",
        "scale": { "type": "log", "domain": [least, 1], "nice": false },
        "axis": { "title": "Percentile", "values": slower, "labelExpr": labels, "labelOverlap": false } })
}

/// Greatest relative error of the mean after [thinning](thinned). Chosen: 2 % of the slower requests, plus
/// the width of histogram buckets.
const THINNED: f64 = 0.03;

/// The mean latency equals the area beside the distribution.
fn means(runs: &Runs<'_>, share: &'static str) -> Vec<Sum> {
    let mut sums = Vec::new();
    for (n, (run, label)) in runs.iter().enumerate() {
        for (requests, kind) in [(run.host.reads, KINDS[0]), (run.host.writes, KINDS[1])] {
            if requests > 0 {
                let mean = format!("/host/{}_latency_us/mean", kind.trim_end_matches('s'));
                let sum = Sum::of(n, "us", &[("run", label), ("kind", kind)]);
                sums.push(Sum {
                    within: THINNED,
                    ..sum.with_weights(Weights::Increase(share)).equal_to([mean])
                });
            }
        }
    }
    sums
}

fn tooltip(runs: &Runs<'_>, share: Value) -> Value {
    let mut fields = vec![
        json!({ "field": "kind", "title": "requests" }),
        json!({ "field": "latency", "type": "nominal" }),
        share,
    ];
    if runs.are_several() {
        fields.insert(0, json!({ "field": "run" }));
    }
    json!(fields)
}

/// A row for each point of each distribution that has requests. `share` gets the fraction of requests that
/// are at most this slow, and the number of requests. Each distribution begins with share 0 at its fastest
/// request, so that a constant latency is visible as a line.
fn points(runs: &Runs<'_>, share: impl Fn(f64, u64) -> Value) -> Vec<Value> {
    let mut rows = Vec::new();
    for (run, label) in runs.iter() {
        let host = &run.host;
        let both = [(host.reads, &host.read_latency_us), (host.writes, &host.write_latency_us)];
        for ((requests, latency), kind) in both.into_iter().zip(KINDS) {
            if requests == 0 {
                continue;
            }
            let all = thinned(latency);
            let first = all.first().map(|(us, _)| (*us, 0.0));
            for (us, below) in first.into_iter().chain(all) {
                let mut row = share(below, requests);
                row["us"] = shown(us.max(LEAST_US));
                row["kind"] = json!(kind);
                row["run"] = json!(label);
                rows.push(row);
            }
        }
    }
    rows
}

/// The points that a screen can tell apart: steps of 0.3 % of all requests, or of 2 % of the slower requests.
fn thinned(latency: &Latency) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let last = latency.cumulative.len().saturating_sub(1);
    for (index, &(us, below)) in latency.cumulative.iter().enumerate() {
        let far = kept
            .last()
            .is_none_or(|(_, before)| below - before >= 0.003 || (1.0 - below) <= 0.98 * (1.0 - before));
        if far || index == last || latency.cumulative[index + 1].1 >= 1.0 {
            kept.push((us, below));
        }
    }
    kept
}
