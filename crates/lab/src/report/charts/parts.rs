//! Charts of channel and die utilisation, and of the latency breakdown.

use serde_json::{Value, json};
use wordline_run::stage::stage;

use super::chart::{Chart, LATENCY_LABELS, Runs, chart, latency_text, shown};
use super::stages::stage_scale;
use super::sums::{DIGITS, Sum};
use crate::summary::Summary;

/// Chart of the latency breakdown.
pub fn time(runs: &Runs<'_>) -> Option<Chart> {
    let mut rows = Vec::new();
    // The legend leaves out stages in which no request spent time.
    let shares = || runs.all.iter().flat_map(|run| &run.time);
    let is_spent: Vec<&str> = shares()
        .filter(|share| share.read_us > 0.0 || share.write_us > 0.0)
        .map(|share| share.name.as_str())
        .collect();
    let mut stages: Vec<(String, String)> = Vec::new();
    let mut bars: Vec<String> = Vec::new();
    let mut sums = Vec::new();
    for (n, (run, label)) in runs.iter().enumerate() {
        for (kind, requests) in [("reads", run.host.reads), ("writes", run.host.writes)] {
            if requests == 0 {
                continue;
            }
            let bar = runs.prefixed(label, kind);
            for share in run.time.iter().filter(|share| is_spent.contains(&share.name.as_str())) {
                let stage = stage(&share.name);
                let us = if kind == "reads" { share.read_us } else { share.write_us };
                let order = stages.iter().position(|(known, _)| *known == share.name).unwrap_or_else(|| {
                    stages.push((share.name.clone(), stage.clone()));
                    stages.len() - 1
                });
                rows.push(json!({ "bar": bar, "stage": stage, "us": shown(us), "order": order }));
            }
            let mean = format!("/host/{}_latency_us/mean", kind.trim_end_matches('s'));
            if !run.time.is_empty() {
                sums.push(Sum { within: DIGITS, ..Sum::of(n, "us", &[("bar", &bar)]).equal_to([mean]) });
            }
            bars.push(bar);
        }
    }
    let (colours, numbers) = stage_scale(&stages).expect("the time of a request is by stage");
    chart(
        "time",
        "Latency breakdown",
        "Mean time that a request spent in each stage, one after the other; the length of a bar is the mean latency.",
        rows,
        json!({
            "height": { "step": (200 / bars.len().max(1)).clamp(26, 80) },
            "transform": [{ "calculate": latency_text("us"), "as": "time" }],
            "usermeta": numbers,
            "mark": "bar",
            "encoding": {
                "y": { "field": "bar", "type": "nominal", "title": null, "sort": bars, "axis": runs.part_labels() },
                "x": { "field": "us", "type": "quantitative", "stack": "zero",
                    "axis": { "title": "Mean time a request", "labelExpr": LATENCY_LABELS, "tickCount": 6,
                        "labelOverlap": true } },
                "color": { "field": "stage", "type": "nominal", "title": null, "scale": colours,
                    "legend": { "direction": "horizontal", "columns": if runs.are_several() { 3 } else { 4 } } },
                "order": { "field": "order", "type": "quantitative" },
                "tooltip": [{ "field": "bar", "title": "of" }, { "field": "stage" },
                    { "field": "time", "type": "nominal" }],
            },
        }),
    )
    .map(|chart| chart.with_sums(sums))
}

/// The utilisation of all parts of a run adds up to the sum in its result.
fn busy_sums(runs: &Runs<'_>, counter: &str) -> Vec<Sum> {
    let of_run = |(n, (_, label)): (usize, (&Summary, &str))| {
        Sum::of(n, "busy", &[("run", label)]).equal_to([counter])
    };
    runs.iter().enumerate().map(of_run).collect()
}

/// The greatest utilisation in all runs, for an axis from zero; 1 if nothing was busy.
fn greatest(runs: &Runs<'_>, of: impl Fn(&Summary) -> &Vec<f64>) -> Value {
    let most = runs.all.iter().flat_map(|run| of(run).iter().copied()).fold(0.0, f64::max);
    if most > 0.0 { shown(most) } else { json!(1) }
}

/// Chart of the utilisation of each channel.
pub fn channels(runs: &Runs<'_>) -> Option<Chart> {
    let bars = Bars {
        name: "channels",
        title: "Utilisation of the channels",
        caption: "Part of the run during which each channel's bus moved commands or data.",
        counter: "/channel_utilisation",
        part: "Channel",
        busy: "Time with a busy bus",
    };
    bars.of(runs, |run| &run.channel_utilisation)
}

/// A chart with a bar for each part of a device.
struct Bars {
    name: &'static str,
    title: &'static str,
    caption: &'static str,
    counter: &'static str,
    part: &'static str,
    busy: &'static str,
}

impl Bars {
    fn of(&self, runs: &Runs<'_>, of: impl Fn(&Summary) -> &Vec<f64>) -> Option<Chart> {
        let mut rows = Vec::new();
        for (run, label) in runs.iter() {
            let parts = of(run).iter().enumerate();
            rows.extend(
                parts.map(|(part, busy)| json!({ "run": label, "part": part, "busy": shown(*busy) })),
            );
        }
        let mut encoding = json!({
            "x": { "field": "part", "type": "ordinal", "title": self.part,
                "axis": { "labelAngle": 0, "labelOverlap": true } },
            "y": { "field": "busy", "type": "quantitative", "title": self.busy,
                "scale": { "domain": [0, greatest(runs, of)], "nice": true }, "axis": { "format": ".3~p" } },
            "tooltip": [{ "field": "run" }, { "field": "part", "title": self.part.to_lowercase() },
                { "field": "busy", "type": "quantitative", "format": ".3~p" }],
        });
        if runs.are_several() {
            encoding["xOffset"] = json!({ "field": "run", "type": "nominal", "sort": runs.labels });
            encoding["color"] = runs.colour();
        }
        // A single bar must not fill the whole chart.
        let mark = json!({ "type": "bar", "width": { "band": 0.8 } });
        chart(self.name, self.title, self.caption, rows, json!({ "mark": mark, "encoding": encoding }))
            .map(|chart| chart.with_sums(busy_sums(runs, self.counter)))
    }
}

/// Greatest number of rows of dies for a run.
const MOST_ROWS: usize = 32; // chosen: what a page shows without scrolling

/// Greatest number of dies that are drawn as bars. More dies are drawn as cells of a map.
const MOST_BARS: usize = 8; // chosen: a map of so few cells has nothing to compare a shade with

/// Chart of the utilisation of each die: a map with a row for each channel, or bars if there are few dies.
pub fn dies(runs: &Runs<'_>) -> Option<Chart> {
    if runs.all.iter().all(|run| run.die_utilisation.len() <= MOST_BARS) {
        let bars = Bars {
            name: "dies",
            title: "Utilisation of the dies",
            caption: "Part of the run during which each die's array read, programmed or erased.",
            counter: "/die_utilisation",
            part: "Die",
            busy: "Time with a busy array",
        };
        return bars.of(runs, |run| &run.die_utilisation);
    }
    let (rows, order) = cells(runs);
    let most = greatest(runs, |run| &run.die_utilisation);
    let step = if runs.are_several() || order.len() <= 16 { 22 } else { 14 };
    chart(
        "dies",
        "Utilisation of the dies",
        "Part of the run during which each die's array read, programmed or erased. A row is a channel, or a pool or a device of an array where there are several, a cell a die.",
        rows,
        json!({
            "height": { "step": step },
            "mark": "rect",
            "encoding": {
                "x": { "field": "column", "type": "ordinal", "title": "Die of the row",
                    "axis": { "labelAngle": 0, "labelOverlap": true } },
                "y": { "field": "row", "type": "nominal", "title": null, "sort": order, "axis": runs.part_labels() },
                "color": { "field": "busy", "type": "quantitative", "title": "Time busy",
                    "scale": { "domain": [0, most] }, "legend": { "format": ".3~p" } },
                "tooltip": [{ "field": "row", "title": "of" }, { "field": "die" },
                    { "field": "busy", "type": "quantitative", "format": ".3~p" }],
            },
        }),
    )
    .map(|chart| chart.with_sums(busy_sums(runs, "/die_utilisation")))
}

/// The dies as cells of a map, and the names of its rows in order. A row is a channel. With several pools a
/// row is a pool, because pools share channels.
fn cells(runs: &Runs<'_>) -> (Vec<Value>, Vec<String>) {
    let (mut cells, mut order) = (Vec::new(), Vec::new());
    for (run, label) in runs.iter() {
        let mut first = 0;
        for (n, pool) in run.pools.iter().enumerate() {
            let row = runs.prefixed(label, &part_of(run, n));
            let dies = run.die_utilisation.iter().enumerate().skip(first).take(pool.dies as usize);
            cells.extend(dies.map(
                |(die, busy)| json!({ "run": label, "row": row, "column": die - first, "die": die, "busy": shown(*busy) }),
            ));
            first += pool.dies as usize;
            order.push(row);
        }
        if first > 0 {
            continue;
        }
        let by_channel = dies_by_channel(run);
        for (channel, dies) in run.die_utilisation.chunks(by_channel.max(1)).enumerate() {
            let part = if by_channel == run.die_utilisation.len() {
                "all channels".to_owned()
            } else {
                format!("channel {channel}")
            };
            let row = runs.prefixed(label, &part);
            cells.extend(dies.iter().enumerate().map(|(die, busy)| {
                let number = channel * by_channel + die;
                json!({ "run": label, "row": row, "column": die, "die": number, "busy": shown(*busy) })
            }));
            order.push(row);
        }
    }
    (cells, order)
}

/// The name of a pool. In an array whose devices have one pool each, the name of the device.
pub(super) fn part_of(run: &Summary, n: usize) -> String {
    match run.members.len() == run.pools.len() {
        true => format!("device {n}"),
        false => format!("pool {}", n + 1),
    }
}

/// Number of dies per channel. If the dies do not divide evenly, the number of all dies, so that they form
/// one row.
fn dies_by_channel(run: &Summary) -> usize {
    let (dies, channels) = (run.die_utilisation.len(), run.channel_utilisation.len());
    let even = channels > 0 && dies.is_multiple_of(channels) && channels <= MOST_ROWS;
    if even { dies / channels } else { dies }
}
