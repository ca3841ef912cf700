//! Charts of the measurements that designs report.

use serde_json::{Value, json};

use super::chart::{Chart, Runs, chart, shown};
use super::over_time::{Axis, Clock, LineData, Scale, line};
use super::sums::Sum;
use crate::summary::{DesignChart, Summary};

/// The charts of all runs: one for each name, in the order of the runs.
pub fn all(runs: &Runs<'_>) -> Vec<Chart> {
    let mut kinds: Vec<&DesignChart> = Vec::new();
    for one in runs.all.iter().flat_map(|run| &run.charts) {
        if kinds.iter().all(|known| known.name != one.name) {
            kinds.push(one);
        }
    }
    kinds.into_iter().filter_map(|kind| chart_of(runs, kind)).collect()
}

fn chart_of(runs: &Runs<'_>, kind: &DesignChart) -> Option<Chart> {
    match &kind.over {
        None => over_time(runs, kind),
        Some(title) => over_sizes(runs, kind, title),
    }
}

/// The points of each run that has the chart, with the run and its label.
fn points<'a>(
    runs: &'a Runs<'_>,
    kind: &'a DesignChart,
) -> impl Iterator<Item = (&'a Summary, &'a str, [f64; 2])> {
    runs.iter().flat_map(move |(run, label)| {
        let own = run.charts.iter().filter(|one| one.name == kind.name);
        own.flat_map(|one| &one.points).map(move |point| (run, label, *point))
    })
}

fn over_time(runs: &Runs<'_>, kind: &DesignChart) -> Option<Chart> {
    let clock = Clock::of(runs);
    let row = |(run, label, [time, value]): (&Summary, &str, [f64; 2])| {
        let time = shown(clock.place(run, time));
        json!({ "run": label, "kind": kind.value, "time": time, "value": shown(value) })
    };
    let rows: Vec<Value> = points(runs, kind).map(row).collect();
    let axis = Axis { title: &kind.value, kinds: &[&kind.value], scale: Scale::Linear };
    line(runs, &kind.name, &kind.title, &kind.caption, LineData { rows, sums: sums_of(runs, kind) }, &axis)
}

fn over_sizes(runs: &Runs<'_>, kind: &DesignChart, title: &str) -> Option<Chart> {
    let row = |(_, run, [size, value]): (&Summary, &str, [f64; 2])| json!({ "run": run, "size": size, "value": shown(value) });
    let rows: Vec<Value> = points(runs, kind).map(row).collect();
    let mut encoding = json!({
        "x": { "field": "size", "type": "ordinal", "title": title, "axis": { "labelAngle": 0, "labelOverlap": true } },
        "y": { "field": "value", "type": "quantitative", "title": kind.value, "scale": { "zero": true } },
        "tooltip": [{ "field": "run" }, { "field": "size", "title": title },
            { "field": "value", "type": "quantitative", "title": kind.value, "format": ",.4~g" }],
    });
    if runs.are_several() {
        encoding["color"] = runs.colour();
        encoding["xOffset"] = json!({ "field": "run" });
    }
    chart(&kind.name, &kind.title, &kind.caption, rows, json!({ "mark": "bar", "encoding": encoding }))
        .map(|chart| chart.with_sums(sums_of(runs, kind)))
}

/// The sum of the points of a run equals the sum in its result.
fn sums_of(runs: &Runs<'_>, kind: &DesignChart) -> Vec<Sum> {
    let has = |(n, (run, label)): (usize, (&Summary, &str))| {
        let place = run.charts.iter().position(|one| one.name == kind.name)?;
        Some(Sum::of(n, "value", &[("run", label)]).equal_to([format!("/charts/{place}/points")]))
    };
    runs.iter().enumerate().filter_map(has).collect()
}
