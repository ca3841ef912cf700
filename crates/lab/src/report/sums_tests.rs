//! Tests that charts equal the counters of their runs, and that they draw every value.

use serde_json::{Value, json};

use super::{Chart, charts, sample};
use crate::summary::{Summary, Window};
use crate::{Device, Precondition, RunOptions, Selection, Unobserved, WarmUp, Workload, run};

/// A run of the workload `load` on a preset; the drive is filled first.
fn measured(preset: &str, load: &str, requests: u64) -> Summary {
    let device = Device::preset(preset).expect("the preset is embedded");
    let load = Workload { requests: Some(requests), ..Workload::named(load) };
    let options = RunOptions {
        precondition: Some(Precondition::Filled(1.0)),
        slowest: Some(100),
        ..RunOptions::default()
    };
    run(&device, &load, &options, &mut Unobserved).expect("a run")
}

/// Small devices whose FTL or driver is in the host: pblk on an open-channel device, pblk on zones, and a
/// host without an FTL.
fn under_a_host() -> [(&'static str, Device); 3] {
    let small = |preset: &str, set: &[&str]| {
        let set = set.iter().map(|one| format!("open_channel.part.geometry.{one}")).collect::<Vec<_>>();
        let more = match preset {
            "pblk" => vec!["over_provisioning=0.4"],
            "bench-zns" => {
                vec!["zones.capacity=9MiB", "open_channel.failures.reserve=0.2", "over_provisioning=0.5"]
            }
            _ => Vec::new(),
        };
        let set = set.into_iter().chain(more.into_iter().map(String::from)).collect();
        let selection = Selection { preset: Some(preset.into()), set, ..Selection::default() };
        Device::load(&selection).unwrap_or_else(|error| panic!("{error}"))
    };
    [
        ("pblk", small("pblk", &["blocks_per_plane=16", "pages_per_block=12"])),
        ("zones", small("bench-zns", &["blocks_per_plane=40", "pages_per_block=48", "layers=4"])),
        ("open channel", small("ft-passd-open-channel", &["blocks_per_plane=24", "pages_per_block=12"])),
    ]
}

fn rows(chart: &Chart) -> &[Value] {
    chart.spec["data"]["values"].as_array().expect("a chart carries its data")
}

/// Checks every chart of a report against the counters that the chart declares.
fn hold(runs: &[Summary]) {
    let summaries: Vec<Value> =
        runs.iter().map(|run| serde_json::to_value(run).expect("a summary is JSON")).collect();
    for chart in charts(runs) {
        assert!(!chart.sums.is_empty(), "{} declares no counter that it adds up to", chart.name);
        for sum in &chart.sums {
            let (drawn, counted) = (sum.sum_of_data(rows(&chart)), sum.counted(&summaries[sum.run]));
            let difference = (drawn - counted).abs();
            assert!(
                difference <= sum.within * counted.abs().max(1e-9),
                "{}: {drawn} is drawn and {counted} counted of {sum:?}",
                chart.name
            );
        }
    }
}

/// The test takes a second. The runs are long enough for GC, on each kind of device that has charts of its
/// own.
#[test]
fn every_chart_of_every_report_adds_up_to_its_counter() {
    let mixed = measured("tiny", "mixed-70-30", 40_000);
    assert!(mixed.metrics.count("flash.gc_victim_valid_pages") > 1_000, "it collects garbage");
    hold(std::slice::from_ref(&mixed));
    hold(&[mixed, measured("tiny", "randwrite-4k", 5_000)]);
    hold(&[measured("tiny", "randread-4k", 5_000)]);
    hold(&[measured("raid5-tiny", "mixed-70-30", 3_000)]);
}

/// The test takes seconds. Three devices run until their host has collected lines.
#[test]
fn devices_under_a_host_have_charts_over_time_and_name_what_their_requests_waited_for() {
    for (name, device) in under_a_host() {
        let load = Workload { requests: Some(4_000), ..Workload::named("mixed-70-30") };
        // Requests that are outstanding when the measurement begins have no attribution, so there is no
        // warm-up.
        let options = RunOptions {
            precondition: Some(Precondition::Filled(1.0)),
            slowest: Some(100),
            warm_up: Some(WarmUp::None),
            ..RunOptions::default()
        };
        let run = run(&device, &load, &options, &mut Unobserved).expect("a run");
        // The windows of this run are shorter than a program.
        hold(std::slice::from_ref(&run));
        let course = &run.windows.course;
        assert!(
            !course.free.is_empty() && course.free.iter().any(|free| *free < 1.0),
            "{name}: {:?}",
            course.free
        );
        assert_eq!(course.dies.busy_percent.len(), run.die_utilisation.len(), "{name}");
        assert!(run.die_utilisation.iter().all(|busy| *busy <= 1.0), "{name}: {:?}", run.die_utilisation);
        let names: Vec<String> =
            charts(std::slice::from_ref(&run)).into_iter().map(|chart| chart.name).collect();
        for chart in ["free-blocks", "die-map", "time", "tail-parts"] {
            assert!(names.iter().any(|name| name == chart), "{name}: no {chart}: {names:?}");
        }
        let tail = run.tail.as_ref().unwrap_or_else(|| panic!("{name} explains its requests"));
        for slow in &tail.requests {
            let sum: f64 = slow.time.iter().map(|part| part.us).sum();
            assert!((sum - slow.latency_us).abs() < 1e-6 * slow.latency_us, "{name}: {sum} of {slow:?}");
        }
        let part = |operation: &str, name: &str| -> f64 {
            let ranges = tail.ranges.iter().filter(|range| range.operation == operation);
            let parts = ranges.flat_map(|range| range.time.iter().map(|part| (range.requests as f64, part)));
            parts.filter(|(_, part)| part.name == name).map(|(requests, part)| requests * part.us).sum()
        };
        for operation in ["read", "write"] {
            assert_eq!(part(operation, "queue"), 0.0, "{name}: all of the time of a {operation} is named");
        }
        assert!(part("read", "array") > 0.0, "{name}: reads wait for the flash");
        if name == "pblk" {
            let victims = course.victim_pages.iter().sum::<u64>();
            assert!(victims > 0, "lines are collected");
            assert!(part("write", "rate_limiter") > 0.0, "writes are held for the collector");
        } else {
            let named = ["buffer", "array", "line_wait", "controller"].map(|it| part("write", it));
            assert!(named.iter().sum::<f64>() > 0.0, "{name}: {:?}", tail.ranges);
        }
    }
}

#[test]
fn explaining_changes_nothing_of_a_device_under_a_host() {
    for (name, device) in under_a_host() {
        let digest = |slowest: Option<u32>| {
            let load = Workload { requests: Some(500), ..Workload::named("mixed-70-30") };
            let options = RunOptions {
                precondition: Some(Precondition::Filled(1.0)),
                slowest,
                ..RunOptions::default()
            };
            run(&device, &load, &options, &mut Unobserved).expect("a run").digest
        };
        assert_eq!(digest(Some(100)), digest(None), "{name}");
    }
}

#[test]
fn victims_hold_at_least_the_pages_that_are_moved_out_of_them() {
    let run = measured("tiny", "mixed-70-30", 40_000);
    let [valid, pages, moved] = ["flash.gc_victim_valid_pages", "flash.gc_victim_pages", "flash.gc_programs"]
        .map(|name| run.metrics.count(name));
    assert!(valid <= pages && moved > 0, "{valid} of {pages}");
    // The counters may differ in both directions. Pages that the host overwrites before their relocation are
    // not relocated. Pages of victims that are not erased yet are not counted as valid.
    let block = pages / run.metrics.count("flash.block_set_erases").max(1);
    assert!(moved <= valid + 16 * block && 10 * moved > 7 * valid, "{moved} moved of {valid} valid ones");
}

/// A mixed run with this many bytes programmed in each window, and host writes in every second window.
fn with_gaps(programmed: u64) -> Summary {
    let mut run = sample::mixed();
    for (n, window) in run.windows.windows.iter_mut().enumerate() {
        let written_bytes = if n % 2 == 0 { 4_096 } else { 0 };
        *window = Window { written_bytes, programmed_bytes: programmed, ..window.clone() };
    }
    run
}

fn drawn(runs: &[Summary], name: &str) -> Chart {
    charts(runs).into_iter().find(|chart| chart.name == name).unwrap_or_else(|| panic!("no chart {name}"))
}

#[test]
fn a_window_between_two_gaps_is_drawn_as_a_point() {
    let chart = drawn(&[with_gaps(4_096)], "write-amplification");
    let isolated = rows(&chart).iter().filter(|row| row["isolated"] == true).count();
    assert_eq!(isolated, 150, "each second one of 300");
    assert_eq!(chart.spec["layer"][1]["transform"], json!([{ "filter": "datum.isolated" }]));
    let several = drawn(&[with_gaps(4_096), sample::mixed()], "write-amplification");
    assert_eq!(
        several.spec["layer"][0]["encoding"]["strokeDash"]["field"], "kind",
        "lines alone have dashes"
    );
    assert!(several.spec["encoding"]["strokeDash"].is_null());
    let whole = drawn(&[sample::mixed()], "throughput");
    assert!(whole.spec["mark"].is_object() && rows(&whole).iter().all(|row| row["isolated"].is_null()));
}

#[test]
fn what_is_programmed_in_windows_without_writes_counts_in_the_next_one_with_writes() {
    let chart = drawn(&[with_gaps(4_096)], "write-amplification");
    let values: Vec<f64> = rows(&chart)
        .iter()
        .filter(|row| row["kind"] == "in each window")
        .filter_map(|row| row["value"].as_f64())
        .collect();
    assert_eq!((values[0], values[1], values[149]), (1.0, 2.0, 3.0), "the last one has what comes after it");
}

#[test]
fn one_great_ratio_makes_the_axis_logarithmic_and_it_says_so() {
    let y = |run| drawn(&[run], "write-amplification").spec["encoding"]["y"].clone();
    assert_eq!(y(sample::mixed())["scale"], json!({ "zero": true }));
    let mut peak = sample::mixed();
    peak.windows.windows[200].programmed_bytes = 1_100 * peak.windows.windows[200].written_bytes;
    let y = y(peak);
    assert_eq!(y["axis"]["title"], "Write amplification (logarithmic)");
    assert_eq!(y["scale"]["domain"], json!([0, 10_000.0]), "up to what is drawn, and from none");
}

#[test]
fn the_tail_has_a_line_at_each_percentile_whatever_the_range() {
    let mut short = sample::mixed();
    short.host.read_latency_us.cumulative = vec![(50.0, 0.5), (60.0, 1.0)];
    for run in [sample::mixed(), short] {
        let y = drawn(&[run], "latency-tail").spec["encoding"]["y"].clone();
        assert_eq!(y["axis"]["values"], json!([0.5, 0.1, 0.01, 0.001, 0.000_1, 0.000_01]));
        assert!(y["scale"]["domain"][0].as_f64().is_some_and(|least| least <= 0.000_01), "{y}");
        for name in ["p50", "p90", "p99", "p99.9", "p99.99", "p99.999"] {
            assert!(y["axis"]["labelExpr"].as_str().is_some_and(|text| text.contains(&format!("'{name}'"))));
        }
    }
}
