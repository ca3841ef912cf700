//! Charts of the flash over simulated time: die utilisation, free blocks, and valid pages of GC victims.

use serde_json::{Value, json};
use wordline_run::course::Course;

use super::chart::{Chart, Runs, chart, shown, shown_number};
use super::die_grid::{GridColumns, GridShade, die_grid};
use super::over_time::{Axis, Clock, LineData, Scale, length, line, time_unit};
use super::sums::{Counter, DIGITS, Sum, Weights};
use crate::summary::Summary;

/// Chart of free blocks.
pub fn free(runs: &Runs<'_>) -> Option<Chart> {
    const KINDS: [&str; 1] = ["free"];
    let values = |run: &Summary| run.windows.course.free.iter().map(|free| (Some(*free), 1.0)).collect();
    let lines = lines(runs, KINDS[0], |_| "/windows/course/free", values);
    line(
        runs,
        "free-blocks",
        "Free blocks over time",
        "Block sets that are erased and not in use, as a part of the good ones, at the beginning of each window.",
        lines,
        &Axis { title: "Free block sets (part)", kinds: &KINDS, scale: Scale::Linear },
    )
}

/// Chart of the valid pages of GC victims.
pub fn victims(runs: &Runs<'_>) -> Option<Chart> {
    const KINDS: [&str; 1] = ["valid"];
    let values = |run: &Summary| {
        let Course { victim_pages, victim_valid_pages, .. } = &run.windows.course;
        let both = victim_pages.iter().zip(victim_valid_pages);
        both.map(|(all, valid)| ((*all > 0).then(|| *valid as f64 / *all as f64), *all as f64)).collect()
    };
    let counter = |run: &Summary| match run.metrics.get("pblk.victim_valid_pages") {
        Some(_) => "/pblk/victim_valid_pages",
        None => "/flash/gc_victim_valid_pages",
    };
    let lines = lines(runs, KINDS[0], counter, values);
    line(
        runs,
        "victims-valid",
        "Valid pages of victims over time",
        "Of the pages of the victims that were erased in the window, of a host FTL those that it selected, the part that was valid when garbage \
         collection selected them. The fewer, the less a free block costs. A gap is a window without a victim.",
        lines,
        &Axis { title: "Valid pages (part)", kinds: &KINDS, scale: Scale::Linear },
    )
}

/// The rows of a chart: one for each window, with its value. The sums weigh each value, so that the total
/// equals a counter of the run. A run without values has no rows.
fn lines(
    runs: &Runs<'_>,
    kind: &'static str,
    counter: impl Fn(&Summary) -> &'static str,
    values: impl Fn(&Summary) -> Vec<(Option<f64>, f64)>,
) -> LineData {
    let clock = Clock::of(runs);
    let (mut rows, mut sums) = (Vec::new(), Vec::new());
    for (n, (run, label)) in runs.iter().enumerate() {
        let (values, weights): (Vec<Option<f64>>, Vec<f64>) = values(run).into_iter().unzip();
        if values.iter().all(Option::is_none) {
            continue;
        }
        let width = run.windows.width_seconds;
        rows.extend(values.into_iter().enumerate().map(|(n, value)| {
            json!({ "run": label, "kind": kind, "time": shown(clock.place(run, n as f64 * width)),
                "value": value.map_or(Value::Null, shown) })
        }));
        sums.push(
            Sum::of(n, "value", &[("run", label)])
                .with_weights(Weights::Rows(weights))
                .equal_to([counter(run)]),
        );
    }
    LineData { rows, sums }
}

/// Chart of die utilisation of a run: a map of dies over time.
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
    let sum = busy_time(index, run);
    let cells: Vec<Value> = map.busy_percent.iter().flatten().map(|busy| json!(busy)).collect();
    let axis = format!("Simulated time ({unit})");
    let across = GridColumns {
        field: "time",
        step: shown_number(column),
        title: &axis,
        tooltip: json!({ "field": "time", "type": "quantitative", "title": format!("from ({unit})"), "format": ",.4~g" }),
    };
    let shade = GridShade {
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
    .map(|chart| chart.with_sums(vec![sum]))
}

/// The busy time of all cells equals the busy time of the dies. A cell has a whole per cent of the time
/// between two readings.
fn busy_time(index: usize, run: &Summary) -> Sum {
    let map = &run.windows.course.dies;
    let column = run.windows.width_seconds * map.windows_a_column as f64;
    let dies = run.die_utilisation.len() as u64;
    let of_cell = |row: usize, n: usize| {
        let dies = map.dies_a_row.min(dies.saturating_sub(row as u64 * map.dies_a_row));
        dies as f64 / 100.0 * column.min(run.simulated_seconds - n as f64 * column).max(0.0)
    };
    let cells = map.busy_percent.iter().enumerate();
    let weights = cells.flat_map(|(row, cells)| (0..cells.len()).map(move |n| (row, n)));
    let weights = weights.map(|(row, n)| of_cell(row, n)).collect();
    let busy: f64 = run.die_utilisation.iter().sum();
    // The tolerance is half a per cent of each die's time, and a window of it for each gap without a completion:
    // the interval of the gap begins and ends with a completion, not with a window.
    let windows = &run.windows.windows;
    let gaps = windows.windows(2).filter(|pair| pair[0].requests > 0 && pair[1].requests == 0).count();
    let of_gaps = gaps as f64 / windows.len().max(1) as f64;
    let within = ((0.01 + of_gaps) * dies as f64 / busy.max(1e-9)).max(DIGITS);
    let counted = Counter::Product(vec!["/die_utilisation".into(), "/simulated_seconds".into()]);
    Sum { run: index, rows: Vec::new(), field: None, weights: Weights::Rows(weights), counted, within }
}
