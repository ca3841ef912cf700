//! Chart of the tail attribution: the latency breakdown by percentile.

use serde_json::{Value, json};

use super::chart::{Chart, Runs, chart, latency_text, shown};
use super::stages::{OTHERS, stage_scale};
use super::sums::Sum;
use crate::report::tail;
use crate::report::words::capitalised;
use crate::tail::{TailPart, part_names};

/// Greatest number of classes of a chart. Chosen: nobody reads longer legends.
const CLASSES: usize = 20;

/// Chart with a bar for each range of percentiles, divided into the parts of its mean latency. All bars have
/// the same length, because the latencies of the ranges differ by powers of ten.
pub fn by_percentile(runs: &Runs<'_>) -> Option<Chart> {
    let (mut rows, mut bars) = (Vec::new(), Vec::new());
    let (mut captions, mut sums) = (Vec::new(), Vec::new());
    for (n, (run, label)) in runs.iter().enumerate() {
        let Some(told) = &run.tail else { continue };
        for (place, range) in told.ranges.iter().enumerate() {
            let bar = runs.prefixed(
                label,
                &format!("{}s, p{}–p{}", range.operation, range.from_percentile, range.to_percentile),
            );
            let mean = format!("/tail/ranges/{place}/latency_us");
            sums.push(Sum::of(n, "us", &[("bar", &bar)]).equal_to([mean]));
            rows.extend(cells(&bar, &range.time));
            bars.push(bar);
        }
        if let Some(slowest) = &told.slowest {
            let bar = runs.prefixed(label, &format!("the {} slowest", slowest.requests));
            rows.extend(cells(&bar, &slowest.time));
            bars.push(bar);
        }
        captions.extend(tail::sentences(run).iter().map(|text| runs.prefixed(label, &capitalised(text))));
    }
    let present = parts_of(&mut rows);
    let (colours, numbers) = stage_scale(&present).expect("parts of a tail are stages");
    let caption = "Of requests by percentile of their latency, the parts of their mean time; what the die worked on while they waited for it is \
                   a part each.";
    let caption = std::iter::once(caption.to_owned()).chain(captions.into_iter().map(|text| text + "."));
    chart(
        "tail-parts",
        "Latency breakdown by percentile",
        &caption.collect::<Vec<_>>().join(" "),
        rows,
        json!({
            "height": { "step": if runs.are_several() { 32 } else { 24 } },
            "transform": [{ "calculate": latency_text("us"), "as": "time" }],
            "usermeta": numbers,
            "mark": "bar",
            "encoding": {
                "y": { "field": "bar", "type": "nominal", "title": null, "sort": bars, "axis": runs.part_labels() },
                "x": { "field": "us", "type": "quantitative", "stack": "normalize",
                    "axis": { "title": "Part of the time of a request", "format": "%", "tickCount": 6 } },
                "color": { "field": "part", "type": "nominal", "title": null, "scale": colours,
                    "legend": { "direction": "horizontal", "columns": if runs.are_several() { 2 } else { 3 }, "labelLimit": 260 } },
                "order": { "field": "order", "type": "quantitative" },
                "tooltip": [{ "field": "bar", "title": "of" }, { "field": "part" },
                    { "field": "time", "type": "nominal", "title": "mean" }],
            },
        }),
    )
    .map(|chart| chart.with_sums(sums))
}

/// The parts in these cells, in order, each with its name and its words. If there are more parts than
/// classes, the smallest parts are merged into one.
fn parts_of(rows: &mut [Value]) -> Vec<(String, String)> {
    let of_part = |rows: &[Value], part: &str| -> f64 {
        let own = rows.iter().filter(|row| row["part"] == *part);
        own.filter_map(|row| row["us"].as_f64()).sum()
    };
    let names = part_names().map(|(name, _)| (name.clone(), tail::part(&name)));
    let mut present: Vec<(String, String)> =
        names.filter(|(_, part)| rows.iter().any(|row| row["part"] == **part)).collect();
    if present.len() > CLASSES {
        let mut by_time = present.clone();
        by_time.sort_by(|(_, a), (_, b)| of_part(rows, b).total_cmp(&of_part(rows, a)));
        let small = by_time.split_off(CLASSES - 1);
        for row in rows.iter_mut().filter(|row| small.iter().any(|(_, part)| row["part"] == **part)) {
            row["part"] = json!(OTHERS);
            row["order"] = json!(part_names().count());
        }
        present.retain(|part| !small.contains(part));
        present.push((OTHERS.into(), OTHERS.into()));
    }
    present
}

fn cells<'a>(bar: &'a str, time: &'a [TailPart]) -> impl Iterator<Item = Value> + 'a {
    time.iter().map(move |one| {
        let order = part_names().position(|(name, _)| name == one.name);
        json!({ "bar": bar, "part": tail::part(&one.name), "us": shown(one.us), "order": order })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_parts_are_one_where_there_are_more_than_classes() {
        let row = |part: usize| {
            let name = tail::part(&part_names().nth(part).expect("a part").0);
            json!({ "part": name, "us": part + 1, "order": part })
        };
        let mut few: Vec<Value> = (0..20).map(row).collect();
        assert_eq!(parts_of(&mut few).len(), 20);
        let mut many: Vec<Value> = (0..23).map(row).collect();
        let parts = parts_of(&mut many);
        assert_eq!((parts.len(), parts[19].0.as_str()), (20, OTHERS));
        let others: u64 =
            many.iter().filter(|row| row["part"] == OTHERS).filter_map(|row| row["us"].as_u64()).sum();
        assert_eq!(others, 1 + 2 + 3 + 4, "the four smallest of 23");
    }
}
