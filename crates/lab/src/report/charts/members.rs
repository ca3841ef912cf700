//! Charts of the devices of an array.

use serde_json::{Value, json};

use super::chart::{Chart, Runs, chart, shown};
use super::sums::{Sum, Weights};
use crate::summary::{MemberUse, Summary};

/// Bytes of a mebibyte.
const MIB: f64 = (1 << 20) as f64;

/// The rows of a chart with a bar for each device, and the labels of the bars in order.
fn rows(runs: &Runs<'_>, of: impl Fn(&MemberUse) -> Vec<Value>) -> (Vec<Value>, Vec<String>) {
    let (mut rows, mut bars) = (Vec::new(), Vec::new());
    for (run, label) in runs.iter() {
        for (n, member) in run.members.iter().enumerate() {
            let bar = runs.prefixed(label, &format!("device {n}"));
            for mut row in of(member) {
                (row["bar"], row["role"]) = (json!(bar), json!(member.role));
                rows.push(row);
            }
            bars.push(bar);
        }
    }
    (rows, bars)
}

/// Chart of data and parity written to each device.
pub fn written(runs: &Runs<'_>) -> Option<Chart> {
    let (rows, bars) = rows(runs, |member| {
        let data = member.written_bytes - member.parity_bytes;
        let row = |kind: &str, bytes: u64| json!({ "kind": kind, "size": shown(bytes as f64 / MIB) });
        vec![row("data", data), row("parity", member.parity_bytes)]
    });
    chart(
        "members-written",
        "Written to each device of the array",
        "Bytes that the array sent to each of its devices, by what they are.",
        rows,
        json!({
            "height": { "step": step(runs, bars.len()) },
            "mark": "bar",
            "encoding": {
                "y": { "field": "bar", "type": "nominal", "title": null, "sort": bars, "axis": runs.part_labels() },
                "x": { "field": "size", "type": "quantitative", "stack": "zero", "title": "Written, in MiB" },
                "color": { "field": "kind", "type": "nominal", "title": null,
                    "scale": { "domain": ["data", "parity"] } },
                "tooltip": [{ "field": "bar", "title": "of" }, { "field": "role" }, { "field": "kind" },
                    { "field": "size", "type": "quantitative", "title": "MiB", "format": ",.4~g" }],
            },
        }),
    )
    .map(|chart| chart.with_sums(sums(runs, "size", MIB, "written_bytes")))
}

/// Chart of the wear of each device.
pub fn worn(runs: &Runs<'_>) -> Option<Chart> {
    let (rows, bars) = rows(runs, |member| {
        vec![json!({ "erases": shown(member.erases_per_block), "most": member.most_worn })]
    });
    chart(
        "members-worn",
        "Wear of each device of the array",
        "Mean erases of a block of each device in the run. Bars of one length are even wear.",
        rows,
        json!({
            "height": { "step": step(runs, bars.len()) },
            "mark": "bar",
            "encoding": {
                "y": { "field": "bar", "type": "nominal", "title": null, "sort": bars, "axis": runs.part_labels() },
                "x": { "field": "erases", "type": "quantitative", "title": "Erases of a block in the run" },
                "tooltip": [{ "field": "bar", "title": "of" }, { "field": "role" },
                    { "field": "erases", "type": "quantitative", "format": ",.4~g" },
                    { "field": "most", "type": "quantitative", "title": "most of a block, ever" }],
            },
        }),
    )
    .map(|chart| chart.with_sums(sums(runs, "erases", 1.0, "erases_per_block")))
}

/// Each bar equals a counter of its device.
fn sums(runs: &Runs<'_>, field: &'static str, weight: f64, counter: &str) -> Vec<Sum> {
    let of_run = |(index, (run, label)): (usize, (&Summary, &str))| {
        let one = |n: usize| {
            let bar = runs.prefixed(label, &format!("device {n}"));
            let sum = Sum::of(index, field, &[("bar", &bar)]).with_weights(Weights::Each(weight));
            sum.equal_to([format!("/members/{n}/{counter}")])
        };
        (0..run.members.len()).map(one).collect::<Vec<_>>()
    };
    runs.iter().enumerate().flat_map(of_run).collect()
}

/// Height of a bar. Chosen: as for bars of times, and less if there are many bars. Labels of several runs
/// need two lines.
fn step(runs: &Runs<'_>, bars: usize) -> usize {
    (200 / bars.max(1)).clamp(if runs.are_several() { 28 } else { 14 }, 40)
}
