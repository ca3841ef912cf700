//! Tests of the charts of studies.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use serde_json::{Value as Json, json};
use wordline_lab::devices::Registry;
use wordline_lab::report::{Chart, for_a_page};
use wordline_lab::sweep::SweepOptions;

use super::charts;
use crate::{Progress, Record, State, Store, Study, Table, run};

#[path = "../../../lab/src/report/drawn.rs"]
mod drawn;
use drawn::{WIDTHS, layout, wrong};

/// The charts of a study on preset `tiny`. `text` has its columns, repetitions and varied keys.
fn drawn(text: &str) -> Vec<Chart> {
    let head =
        "preset = \"tiny\"\nworkload = { name = \"randwrite-4k\", requests = 300 }\nwarm_up = \"none\"\n";
    let study = Study::parse(&Registry::default(), Path::new("study.toml"), &format!("{head}{text}"));
    let study = study.unwrap_or_else(|error| panic!("{error}"));
    let stop = AtomicBool::new(false);
    let conduct = SweepOptions { threads: 2, stop: &stop, progress: &|_, _| () };
    let progress = Progress { conduct, again: false, elsewhere: None, shard: None };
    let table =
        run(&study, &Store::in_memory(), "program", &progress).unwrap_or_else(|error| panic!("{error}"));
    charts(&study, &table)
}

fn vary(key: &str, values: &str) -> String {
    format!("[[vary]]\nkey = \"{key}\"\nvalues = {values}\n")
}

fn rows(chart: &Chart) -> &[Json] {
    chart.spec["data"]["values"].as_array().expect("a chart carries its data")
}

/// The layers of a chart whose marks have this type.
fn layers<'a>(spec: &'a Json, mark: &str) -> Vec<&'a Json> {
    let all = spec["layer"].as_array().expect("layers");
    all.iter().filter(|layer| layer["mark"]["type"] == mark || layer["mark"] == mark).collect()
}

const SEEDS: &str = "precondition = \"steady-state\"\nrepeat = { seeds = 3 }\ncolumns = [\"host.iops\"]\n";

#[test]
fn a_key_of_numbers_has_an_axis_of_numbers_and_intervals() {
    let charts = drawn(&(SEEDS.to_owned() + &vary("workload.named.queue_depth", "[1, 2, 16]")));
    let [chart] = &charts[..] else { panic!("one column") };
    let x = &chart.spec["encoding"]["x"];
    assert_eq!((&x["type"], &x["scale"]["type"]), (&json!("quantitative"), &json!("log")));
    assert_eq!(x["axis"]["values"], json!([1.0, 2.0, 16.0]), "not 0, 1 and 2");
    assert_eq!(layers(&chart.spec, "errorbar").len(), 1);
    for row in rows(chart) {
        let [value, low, high] = ["value", "low", "high"].map(|field| row[field].as_f64().expect("a number"));
        assert!(
            low < value && value < high && row["text"].as_str().is_some_and(|text| text.contains('±')),
            "{row}"
        );
    }
    assert_eq!(chart.title, "IOPS by queue depth: tiny, randwrite-4k, steady state");
    assert!(chart.caption.contains("Means over 3 seeds with the 95 % interval"), "{}", chart.caption);
    assert!(chart.caption.contains("host.iops over workload.named.queue_depth"), "{}", chart.caption);
}

#[test]
fn many_values_have_a_band_and_words_have_bars() {
    let many = vary("workload.named.requests", "{ from = 20, to = 69, steps = 26 }");
    let charts = drawn(&(SEEDS.to_owned() + &many));
    assert_eq!(layers(&charts[0].spec, "errorband").len(), 1);
    let words = vary("ftl.gc.victim.policy", "[\"greedy\", \"fifo\"]");
    let chart = &drawn(&(SEEDS.to_owned() + &words))[0];
    assert_eq!(chart.spec["encoding"]["x"]["type"], "ordinal");
    assert_eq!((layers(&chart.spec, "bar").len(), layers(&chart.spec, "errorbar").len()), (1, 1));
    assert_eq!(chart.spec["encoding"]["x"]["title"], "victim policy");
}

#[test]
fn a_cell_that_is_unknown_has_a_sign_and_its_line_a_gap() {
    let text = "precondition = \"empty\"\ncolumns = [\"write_amplification\"]\n".to_owned()
        + &vary("workload.named.requests", "[300, 400, 20000]");
    let chart = &drawn(&text)[0];
    let states: Vec<&Json> = rows(chart).iter().map(|row| &row["state"]).collect();
    assert_eq!(states, ["unknown", "unknown", "known"]);
    assert!(rows(chart)[0]["value"].is_null() && rows(chart)[0]["sign"] == "?");
    let signs = layers(&chart.spec, "text");
    assert_eq!((signs.len(), &signs[0]["encoding"]["y"]["field"]), (1, &json!("base")));
    assert_eq!(rows(chart)[0]["base"], 0.0, "just above the axis");
    assert!(chart.caption.contains("A question mark marks unknown values"), "{}", chart.caption);
    assert!(chart.caption.contains("One seed: no interval."), "{}", chart.caption);
    // If no value is known, there is no chart, rather than an empty axis.
    let none = "precondition = \"empty\"\ncolumns = [\"write_amplification\"]\n".to_owned()
        + &vary("workload.named.requests", "[300, 400]");
    assert_eq!(drawn(&none).len(), 0);
}

#[test]
fn two_keys_of_amounts_are_a_heat_map() {
    let text = "precondition = \"steady-state\"\ncolumns = [\"host.iops\", \"host.write_latency_us.mean\"]\n"
        .to_owned()
        + &vary("ftl.over_provisioning", "[0.2, 0.25, 0.3, 0.4]")
        + &vary("workload.named.queue_depth", "[1, 4, 16, 64]");
    let charts = drawn(&text);
    let [iops, latency] = &charts[..] else { panic!("two columns") };
    assert_eq!(iops.title, "IOPS by over-provisioning and queue depth: tiny, randwrite-4k, steady state");
    let [map] = layers(&iops.spec, "rect")[..1] else { panic!("a map") };
    assert_eq!(
        (&map["encoding"]["x2"]["field"], &map["encoding"]["y2"]["field"]),
        (&json!("x1"), &json!("y1"))
    );
    let close = |row: &Json, ends: [f64; 4]| {
        ["x0", "x1", "y0", "y1"]
            .iter()
            .zip(ends)
            .all(|(field, end)| (row[*field].as_f64().unwrap_or(f64::NAN) - end).abs() < 1e-9)
    };
    assert_eq!(rows(iops).len(), 16);
    assert!(close(&rows(iops)[1], [0.175, 0.225, 2.0, 8.0]), "0.2 and 4: {}", rows(iops)[1]);
    assert_eq!(iops.spec["encoding"]["y"]["scale"]["type"], "log");
    assert!(
        rows(latency)[0]["number"].as_str().is_some_and(|text| text.ends_with('s')),
        "{}",
        rows(latency)[0]
    );
}

#[test]
fn a_second_key_has_panels_with_one_axis_and_a_third_one_lines() {
    let two = SEEDS.to_owned()
        + &vary("ftl.gc.victim.policy", "[\"greedy\", \"fifo\"]")
        + &vary("workload.named.queue_depth", "[1, 8]");
    let chart = &drawn(&two)[0];
    assert_eq!(
        (&chart.spec["facet"]["title"], &chart.spec["facet"]["sort"]),
        (&json!("victim policy"), &json!(["greedy", "fifo"]))
    );
    assert_eq!(chart.spec["spec"]["encoding"]["x"]["title"], "queue depth", "the amount is on the axis");
    assert!(chart.spec["resolve"].is_null(), "panels can be compared");
    let three = two + &vary("ftl.over_provisioning", "[0.3, 0.4]");
    let chart = &drawn(&three)[0];
    assert_eq!(chart.spec["spec"]["encoding"]["color"]["title"], "queue depth");
    assert_eq!(chart.spec["facet"]["title"], "over-provisioning");
}

/// The charts of a study without runs. `value` returns the mean of a row by its index, and `None` for an
/// unknown value.
fn made_up(keys: &str, value: impl Fn(usize) -> Option<f64>) -> Vec<Chart> {
    let text = "preset = \"tiny\"\nworkload = { name = \"randwrite-4k\", requests = 300 }\nprecondition = \"steady-state\"\n\
                repeat = { seeds = 3 }\ncolumns = [\"host.write_latency_us.p99\"]\n";
    let study = Study::parse(&Registry::default(), Path::new("study.toml"), &(text.to_owned() + keys));
    let study = study.unwrap_or_else(|error| panic!("{error}"));
    let mut table = Table::new(&study);
    let of_seed = |seed| study.points(seed).unwrap_or_else(|error| panic!("{error}"));
    let mut rows: Vec<toml::Table> = Vec::new();
    for point in (0..3).flat_map(of_seed) {
        let n = rows.iter().position(|at| *at == point.settings).unwrap_or_else(|| {
            rows.push(point.settings.clone());
            rows.len() - 1
        });
        let metric = "host.write_latency_us.p99";
        let summary = match value(n) {
            Some(value) => {
                json!({ "host": { "writes": 9, "write_latency_us": { "p99": value * (1.0 + 0.05 * point.seed as f64) } } })
            }
            None => json!({ "unknown": [{ "metric": metric, "reason": "few" }] }),
        };
        let record = Record {
            program: "program".into(),
            at: point.settings.clone(),
            seed: point.seed,
            state: State::Done,
            error: None,
            summary: Some(summary),
        };
        table.add("name", &point.settings, record);
    }
    charts(&study, &table)
}

/// The test uses one width; with `WORDLINE_LONG` it uses three.
#[test]
fn texts_of_charts_of_studies_are_whole_and_apart_at_each_width_and_range() {
    let depth = vary("workload.named.queue_depth", "[1, 2, 4, 8, 16, 32, 64]");
    let spare = vary("ftl.over_provisioning", "[0.2, 0.22, 0.25, 0.28, 0.3, 0.35]");
    let policy = vary("ftl.gc.victim.policy", "[\"greedy\", \"fifo\", \"random\"]");
    let narrow = |n: usize| (n != 2).then_some(100.0 + n as f64);
    let wide = |n: usize| (n != 2).then_some(libm::pow(3.0, n as f64));
    let few = vary("ftl.over_provisioning", "[0.2, 0.3]");
    let all = [
        ("a line", made_up(&depth, narrow)),
        ("a line over decades", made_up(&depth, wide)),
        ("bars", made_up(&policy, narrow)),
        ("a map", made_up(&(spare.clone() + &depth), narrow)),
        ("panels", made_up(&(depth.clone() + &policy), narrow)),
        ("lines in panels", made_up(&(depth + &policy + &few), narrow)),
    ];
    let widths = if std::env::var_os("WORDLINE_LONG").is_some() { &WIDTHS[..] } else { &WIDTHS[..1] };
    for (name, charts) in all {
        for width in widths {
            let Some(layout) = layout(&charts, *width) else { return };
            assert_eq!(wrong(&layout), Vec::<&str>::new(), "{name} at {width}:\n{layout}");
            assert!(layout.contains("?"), "what is unknown has a sign: {name}\n{layout}");
        }
    }
}
