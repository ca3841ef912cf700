//! Tests that a merge tree writes zones without a failed request, and that only a fitting state is accepted.

use std::path::Path;

use wordline_lab::{Device, Precondition, RunOptions, Summary, Unobserved, WarmUp, Workload, run};

use super::zone_reports;

/// Chosen: about thirty flushes, and several passes over the zones of the small device.
const REQUESTS: u64 = 20_000;

fn store(keys: &str) -> Workload {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/loads/store.toml");
    let text = std::fs::read_to_string(path).expect("the file is there");
    let (head, model) = text.split_once("[model]\n").expect("a model");
    let replaced: Vec<&str> = keys.lines().filter_map(|line| line.split(" = ").next()).collect();
    let kept =
        model.lines().filter(|line| !replaced.iter().any(|key| line.starts_with(&format!("{key} = "))));
    let text = format!("{head}[model]\n{}\n{keys}\n", kept.collect::<Vec<_>>().join("\n"));
    let generated = wordline_lab::workload::Generated::from_toml("store", &text).expect("a workload");
    Workload { requests: Some(REQUESTS), ..Workload::generated("store", generated) }
}

fn options() -> RunOptions {
    RunOptions { warm_up: Some(WarmUp::None), ..RunOptions::seed(4) }
}

fn run_on(device: &Device, workload: &Workload, options: &RunOptions) -> Summary {
    run(device, workload, options, &mut Unobserved).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn no_request_of_a_store_fails_and_its_zones_are_reset() {
    let device = zone_reports::device();
    for (keys, depth) in [("", None), ("", Some(8)), ("sync = true", None)] {
        let workload = Workload { queue_depth: depth, ..store(keys) };
        let run = run_on(&device, &workload, &options());
        let zones = run.host.zones.as_ref().expect("requests to zones");
        assert_eq!(run.host.failed, 0, "{keys} {depth:?}: {:?}", run.notes);
        assert!(zones.resets > 10 && zones.appends > 20, "{keys}: {} resets", zones.resets);
        assert_eq!((run.host.discards, run.host.requests), (0, REQUESTS), "{keys}");
    }
}

#[test]
fn the_state_of_the_zones_is_that_of_the_store() {
    let device = zone_reports::device();
    let options = RunOptions { precondition: Some(Precondition::Filled(1.0)), ..options() };
    let run = run_on(&device, &store(""), &options);
    assert_eq!(run.host.failed, 0);
    let told = run.notes.iter().any(|note| note.contains("the precondition has no effect"));
    assert!(told, "{:?}", run.notes);
    let snapshot = RunOptions { from_snapshot: Some("any.snapshot".into()), precondition: None, ..options };
    let error = run_error(&device, &store(""), &snapshot);
    assert!(error.contains("from-snapshot of store: found a snapshot, wanted none"), "{error}");
    let error = run_error(&device, &store("fill = 0.7"), &self::options());
    assert!(error.contains("store: model.fill: found 0.7, wanted levels of at most 0."), "{error}");
}

fn run_error(device: &Device, workload: &Workload, options: &RunOptions) -> String {
    run(device, workload, options, &mut Unobserved).expect_err("it is refused").to_string()
}
