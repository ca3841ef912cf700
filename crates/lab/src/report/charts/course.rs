//! The flash over simulated time: its dies, its free blocks, and what victims held.

use serde_json::{Value, json};

use super::chart::{Chart, Runs, chart, shown};
use super::die_grid::{Across, Shade, die_grid};
use super::over_time::{Axis, Clock, length, line, time_unit};
use crate::summary::Summary;

/// Free blocks.
pub fn free(runs: &Runs<'_>) -> Option<Chart> {
    const KINDS: [&str; 1] = ["free"];
    let rows = rows(runs, KINDS[0], |run| run.windows.course.free.iter().map(|free| Some(*free)).collect());
    line(
        runs,
        "free-blocks",
        "Free blocks over time",
        "Block sets that are erased and not in use, as a part of the good ones, at the beginning of each window.",
        rows,
        &Axis { title: "Free block sets (part)", kinds: &KINDS, latency: false },
    )
}

/// Valid pages of victims.
pub fn victims(runs: &Runs<'_>) -> Option<Chart> {
    const KINDS: [&str; 1] = ["valid"];
    let rows = rows(runs, KINDS[0], |run| run.windows.course.victims_valid.clone());
    line(
        runs,
        "victims-valid",
        "Valid pages of victims over time",
        "Valid pages that garbage collection moved, as a part of the pages of the block sets that were erased in the window. The fewer, \
         the less a free block costs. A gap is a window without an erase.",
        rows,
        &Axis { title: "Valid pages (part)", kinds: &KINDS, latency: false },
    )
}

/// A row for each window with the value that a run has for it; none for a run without any.
fn rows(runs: &Runs<'_>, kind: &str, values: impl Fn(&Summary) -> Vec<Option<f64>>) -> Vec<Value> {
    let clock = Clock::of(runs);
    let of_run = |(run, label): (&Summary, &str)| {
        let values = values(run);
        let width = run.windows.width_seconds;
        let has_any = values.iter().any(Option::is_some);
        let rows = values.into_iter().enumerate().filter(|_| has_any).map(|(n, value)| {
            json!({ "run": label, "kind": kind, "time": shown(clock.place(run, n as f64 * width)),
                "value": value.map_or(Value::Null, shown) })
        });
        rows.collect::<Vec<_>>()
    };
    runs.iter().flat_map(of_run).collect()
}

/// How busy the dies of a run were: a map of dies by time.
pub fn dies(runs: &Runs<'_>, index: usize) -> Option<Chart> {
    let (run, label) = (&runs.all[index], &runs.labels[index]);
    let map = &run.windows.course.dies;
    let columns = map.busy_percent.first().map_or(0, Vec::len);
    if columns < 2 {
        return None;
    }
    let (divisor, unit) = time_unit(length(run));
    let column = run.windows.width_seconds * map.windows_a_column as f64 / divisor;
    let (of_name, of_title) = if runs.are_several() {
        (format!("-{}", index + 1), format!(" of {label}"))
    } else {
        (String::new(), String::new())
    };
    let row =
        if map.dies_a_row == 1 { "die".to_owned() } else { format!("group of {} dies", map.dies_a_row) };
    let cells: Vec<Value> = map.busy_percent.iter().flatten().map(|busy| json!(busy)).collect();
    let axis = format!("Simulated time ({unit})");
    let across = Across {
        field: "time",
        step: shown(column),
        title: &axis,
        format: ",.3~g",
        tooltip: json!({ "field": "time", "type": "quantitative", "title": format!("from ({unit})"), "format": ",.4~g" }),
    };
    let shade = Shade {
        title: "Busy (%)",
        most: json!(100),
        tooltip: json!({ "field": "data", "type": "quantitative", "title": "busy (%)" }),
    };
    chart(
        &format!("die-map{of_name}"),
        &format!("Dies over time{of_title}"),
        &format!(
            "How busy the array of each {row} was, in per cent of the time. Columns that are dark from top to bottom are times when all \
             dies worked; rows that stay dark are dies that the others wait for."
        ),
        cells,
        die_grid(columns, map.busy_percent.len(), map.dies_a_row, across, shade),
    )
}
