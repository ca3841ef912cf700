use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use wordline_kernel::Instant;
use wordline_run::timeline::HOST;

use super::*;
use crate::{Device, RunOptions, Session, StepTarget, StopReason, Unobserved, Workload, run};

/// A field in microseconds, converted to picoseconds.
fn ps(event: &Value, field: &str) -> u64 {
    (event[field].as_f64().expect("a number") * 1e6).round() as u64
}

fn events(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("it was written");
    let mut all: Value = serde_json::from_str(&text).expect("it is JSON");
    match all["traceEvents"].take() {
        Value::Array(events) => events,
        other => panic!("{other}"),
    }
}

fn slices(events: &[Value]) -> impl Iterator<Item = &Value> {
    events.iter().filter(|event| event["ph"] == "X")
}

fn load() -> Workload {
    Workload { requests: Some(3_000), queue_depth: Some(8), ..Workload::named("mixed-70-30") }
}

fn with(path: &Path, window: Window) -> RunOptions {
    let timeline = Some(Timeline { path: path.to_owned(), window });
    let (precondition, warm_up) = (Some(crate::Precondition::Filled(1.0)), Some(crate::WarmUp::None));
    RunOptions { timeline, precondition, warm_up, ..RunOptions::default() }
}

#[test]
fn a_time_line_has_the_requests_that_were_answered_in_its_window_and_no_track_holds_two_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("line.json");
    let [from, to] = [5, 12].map(Duration::from_ms);
    let device = Device::preset("tiny").expect("it is there");
    let options = with(&path, Window::Between(from, to));
    let mut session = Session::open(&device, &load(), &options).expect("it begins");
    let mut completions = Vec::new();
    while session.advance(StepTarget::Completions(500)).expect("it goes on") == StopReason::Target {
        completions.extend(session.completions());
    }
    completions.extend(session.completions());
    let digest = session.finish().expect("it ends").digest;

    let events = events(&path);
    let mut found: Vec<(u64, u64)> = slices(&events)
        .filter(|slice| slice["pid"] == HOST)
        .map(|slice| (ps(slice, "ts"), ps(slice, "dur")))
        .collect();
    found.sort_unstable();
    let window = Instant::ZERO + from..Instant::ZERO + to;
    let in_window = completions.iter().filter(|completion| window.contains(&completion.time));
    let mut wanted: Vec<(u64, u64)> = in_window
        .map(|completion| ((completion.time.ps() - completion.latency.ps()), completion.latency.ps()))
        .collect();
    wanted.sort_unstable();
    assert!(wanted.len() > 50, "{}", wanted.len());
    assert_eq!(found, wanted);

    let mut tracks: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
    for slice in slices(&events) {
        let track = [&slice["pid"], &slice["tid"]].map(|number| number.as_u64().expect("a number"));
        let from = ps(slice, "ts");
        tracks.entry(track.into()).or_default().push((from, from + ps(slice, "dur")));
    }
    assert!(tracks.len() > 8, "requests, buses, dies: {}", tracks.len());
    for (track, mut slices) in tracks {
        slices.sort_unstable();
        let overlap = slices.windows(2).find(|pair| pair[1].0 < pair[0].1);
        assert_eq!(overlap, None, "two slices of track {track:?} at once");
    }

    let arrows = |phase: &str| -> Vec<u64> {
        let ends = events.iter().filter(|event| event["ph"] == phase);
        ends.map(|event| event["id"].as_u64().expect("a number")).collect()
    };
    let numbers: BTreeSet<u64> = arrows("s").into_iter().collect();
    assert!(numbers.len() > 50 && numbers.len() == arrows("s").len(), "each arrow has a number of its own");
    assert_eq!(arrows("s"), arrows("f"));

    let plain = RunOptions { timeline: None, ..options };
    let plain = run(&device, &load(), &plain, &mut Unobserved).expect("a run");
    assert_eq!(plain.digest, digest, "nothing depends on the time line");
}

#[test]
fn the_window_of_the_slowest_request_holds_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("slowest.json");
    let device = Device::preset("tiny").expect("it is there");
    let options = RunOptions { slowest: Some(10), ..with(&path, Window::Slowest) };
    let summary = run(&device, &load(), &options, &mut Unobserved).expect("two runs");
    let slowest = &summary.tail.expect("it explains").requests[0];
    let latency = (slowest.latency_us * 1e6).round() as u64;
    let events = events(&path);
    assert!(
        slices(&events).any(|slice| slice["pid"] == HOST && ps(slice, "dur") == latency),
        "{slowest:?} is among them"
    );
}

/// Small devices that are not plain SSDs.
fn others() -> [(&'static str, Device); 4] {
    ["raid5-tiny", "pblk", "bench-zns", "ft-passd-open-channel"]
        .map(|name| (name, Device::preset(name).expect("it is there")))
}

#[test]
fn arrays_and_hosts_above_devices_without_an_ftl_have_a_time_line() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, device) in others() {
        let path = folder.path().join(format!("{name}.json"));
        let options = RunOptions {
            precondition: Some(crate::Precondition::Filled(0.01)),
            ..with(&path, Window::Between(Duration::ZERO, Duration::from_ms(20)))
        };
        let load = Workload { requests: Some(400), ..load() };
        let summary = run(&device, &load, &options, &mut Unobserved).expect("a run");
        let events = events(&path);
        let on = |of_host: bool| slices(&events).filter(|slice| (slice["pid"] == HOST) == of_host).count();
        assert!(on(true) > 10 && on(false) > 50, "{name}: {} of the host, {} of dies", on(true), on(false));
        let named = |start: &str| {
            events
                .iter()
                .filter_map(|event| event["args"]["name"].as_str())
                .any(|name| name.starts_with(start))
        };
        assert_eq!(named("device 1 channel 0"), name == "raid5-tiny", "{name}");
        let plain = RunOptions { timeline: None, ..options };
        let plain = run(&device, &load, &plain, &mut Unobserved).expect("a run");
        assert_eq!(plain.digest, summary.digest, "nothing depends on the time line of {name}");
    }
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("none.json");
    let device = Device::preset("fixed-latency").expect("it is there");
    let options = RunOptions {
        precondition: Some(crate::Precondition::Empty),
        ..with(&path, Window::Between(Duration::ZERO, Duration::from_ms(1)))
    };
    let error = run(&device, &load(), &options, &mut Unobserved).expect_err("no flash").to_string();
    assert!(error.contains("a device whose work is not recorded"), "{error}");
    assert!(!path.exists(), "nothing half-written stays");

    let late = with(&path, Window::Between(Duration::from_ms(90_000), Duration::from_ms(90_001)));
    let summary =
        run(&Device::preset("tiny").expect("it is there"), &load(), &late, &mut Unobserved).expect("a run");
    assert!(
        summary.notes.iter().any(|note| note.ends_with("the run ended before its window")),
        "{:?}",
        summary.notes
    );

    for wrong in ["", "1s", "2s..1s", "1s..1s", "x..y", "slow"] {
        assert!(wrong.parse::<Window>().expect_err(wrong).contains("wanted two times"), "{wrong}");
    }
    assert_eq!("1ms..2ms".parse(), Ok(Window::Between(Duration::from_ms(1), Duration::from_ms(2))));
}
