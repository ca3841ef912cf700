//! `wordline sweep`, as a user calls it.

use serde_json::Value;

use crate::{Folder, wordline};

/// A sweep of a small device.
const SWEEP: [&str; 12] = [
    "sweep",
    "--preset",
    "tiny",
    "--workload",
    "randwrite-4k",
    "--requests",
    "2000",
    "--no-progress",
    "--column",
    "write_amplification",
    "--vary",
    "ftl.over_provisioning=0.2..0.4/3",
];

#[test]
fn means_over_seeds_are_printed_for_each_combination() {
    let out =
        wordline(&[&SWEEP[..], &["--vary", "ftl.gc.victim.policy=greedy,fifo", "--seeds", "3"]].concat())
            .success();
    let lines: Vec<&str> = out.lines().collect();
    assert!(
        lines[0].starts_with("ftl.over_provisioning") && lines[0].contains("write_amplification"),
        "{out}"
    );
    assert_eq!(lines.iter().filter(|line| line.contains("greedy")).count(), 3, "{out}");
    assert!(out.contains("18 runs\n") && out.contains('±'), "{out}");
}

#[test]
fn runs_are_kept_and_written_in_all_forms() {
    let folder = Folder::new();
    let text_of = |name: &str| std::fs::read_to_string(folder.path(name)).expect("it was just written");
    let store = folder.path("runs");
    let in_store = [&SWEEP[..], &["--store", &store]].concat();
    let plan = wordline(&[&in_store[..], &["--plan"]].concat()).success();
    assert_eq!(plan, "3 runs, 0 are over, 3 are left: how long they take is known when one is over\n");
    let (csv, json, report) = (folder.path("runs.csv"), folder.path("table.json"), folder.path("report"));
    wordline(&[&in_store[..], &["--runs", &csv, "--json", &json, "--report", &report]].concat()).success();
    assert_eq!(text_of("runs.csv").lines().count(), 4);
    let table: Value = serde_json::from_str(&text_of("table.json")).expect("it is JSON");
    assert_eq!(table["rows"].as_array().map(Vec::len), Some(3));
    assert!(table["provenance"]["version"].is_string());
    let page = text_of("report/report.html");
    assert!(page.contains("write_amplification") && page.contains("<table>"));
    assert!(text_of("report/charts/write_amplification.vl.json").contains("ftl.over_provisioning"));
    let plan = wordline(&[&in_store[..], &["--plan"]].concat()).success();
    assert!(plan.starts_with("3 runs, 3 are over, 0 are left"), "{plan}");
}

#[test]
fn a_study_is_a_file() {
    let folder = Folder::new();
    let text = "preset = \"tiny\"\nworkload = { name = \"randwrite-4k\", requests = 500 }\n\
        [[vary]]\nkey = \"workload.named.queue_depth\"\nvalues = [1, 8]\n";
    let file = folder.with("study.toml", text);
    let out = wordline(&["sweep", &file, "--no-progress"]).success();
    assert!(out.contains("host.iops") && out.contains("2 runs"), "{out}");
    let wrong = wordline(&["sweep", &file, "--preset", "tiny"]).refusal();
    assert!(wrong.contains("cannot be used with"), "{wrong}");
}

#[test]
fn what_is_wrong_is_told_with_the_key() {
    let with = |more: &[&str], told: &str| {
        let wrong = wordline(&[&SWEEP[..], more].concat()).refusal();
        assert!(wrong.contains(told), "{more:?}: {wrong}");
    };
    with(&["--vary", "ftl.over_provisionin=1,2"], "over_provisioning, or another of");
    with(&["--vary", "ftl.gc.victim.policy"], "KEY=VALUE");
    with(&["--vary", "ftl.gc.victim.policy=greedy,greedy"], "twice");
    with(&["--column", "waf"], "columns");
    with(&["--runs", "runs.txt"], ".csv or .parquet");
    let folder = Folder::new();
    folder.with("thesis.tex", "years of work");
    with(&["--store", &folder.path("")], "a folder with other files");
}
