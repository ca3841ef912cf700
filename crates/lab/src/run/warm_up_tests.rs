//! Tests of the warm-up, and of the notes about it in the result.

use std::sync::Arc;

use wordline_kernel::Bytes;

use crate::summary::{Outcome, Summary, WarmUpEnd};
use crate::{
    Device, Precondition, RunOptions, Selection, Session, StepTarget, Unobserved, WarmUp, Workload, run,
};
use wordline_trace::{Op, Request};

fn device(set: &[&str]) -> Device {
    let set = set.iter().map(|text| (*text).to_owned()).collect();
    Device::load(&Selection { preset: Some("tiny".into()), file: None, set }).expect("a preset")
}

fn run_of(workload: &str, requests: u64, options: &RunOptions) -> Summary {
    let load = Workload { requests: Some(requests), ..Workload::named(workload) };
    run(&device(&[]), &load, options, &mut Unobserved).expect("it runs")
}

fn warm(warm_up: WarmUp) -> RunOptions {
    RunOptions { warm_up: Some(warm_up), ..RunOptions::seed(3) }
}

#[test]
fn counters_latencies_and_windows_begin_when_the_warm_up_is_over() {
    let whole = run_of("mixed-70-30", 3_000, &warm(WarmUp::None));
    let first = run_of("mixed-70-30", 1_000, &warm(WarmUp::None));
    let rest = run_of("mixed-70-30", 2_000, &warm(WarmUp::Requests(1_000)));
    assert_eq!(rest.digest, whole.digest, "the same requests happen");
    let left_out = rest.warm_up.as_ref().expect("some are left out");
    assert_eq!((left_out.requests, left_out.end, rest.host.requests), (1_000, WarmUpEnd::Asked, 2_000));
    let of_windows: u64 = rest.windows.windows.iter().map(|window| window.requests).sum();
    let of_latencies = rest.host.reads + rest.host.writes;
    assert_eq!((of_windows, of_latencies), (2_000, 2_000));
    assert!((left_out.seconds + rest.simulated_seconds - whole.simulated_seconds).abs() < 1e-9);
    for name in ["flash.programmed_bytes", "flash.host_reads"] {
        let [all, measured, before] = [&whole, &rest, &first].map(|run| run.metrics.count(name));
        // Requests that were outstanding at the boundary count on both sides.
        let both = (measured + before) as f64 / all as f64;
        assert!((0.9..1.1).contains(&both), "{name}: {all}, {measured}, {before}");
    }
    assert_eq!(rest.wear.terabytes_written, rest.host.written_bytes as f64 / 1e12);
}

/// Requests arrive several times as fast as they complete, so that thousands are outstanding when measuring
/// begins.
#[test]
fn as_many_requests_are_measured_as_wanted_even_if_more_are_outstanding() {
    let options = RunOptions { warm_up: Some(WarmUp::Requests(2_000)), ..RunOptions::seed(3) };
    let run = run_of("bursty-write", 100, &options);
    assert_eq!((run.host.requests, run.outcome), (100, Outcome::Complete));
    let noted =
        |note: &String| note.contains("requests were outstanding when the last of the 100 measured ones");
    assert!(run.notes.iter().any(noted), "{:?}", run.notes);
}

#[test]
fn a_time_is_left_out_as_well_as_requests() {
    let time = wordline_kernel::Duration::from_ms(2);
    let rest = run_of("mixed-70-30", 1_000, &warm(WarmUp::Time(time)));
    let left_out = rest.warm_up.as_ref().expect("some are left out");
    assert_eq!((left_out.seconds, left_out.end), (0.002, WarmUpEnd::Asked));
    assert!(left_out.requests > 0 && rest.host.requests == 1_000, "{left_out:?}");
}

/// The test takes about 0.5 s, because a run of 50,000 requests is the reference for the short run.
#[test]
fn a_short_run_and_a_long_one_amplify_alike() {
    let amplification = |requests: u64| {
        let run = run_of("mixed-70-30", requests, &RunOptions::seed(3));
        let left_out = run.warm_up.as_ref().expect("a warm-up");
        assert_eq!((left_out.end, run.host.requests), (WarmUpEnd::Rule, requests), "{:?}", run.notes);
        run.write_amplification.expect("GC collects")
    };
    let (short, long) = (amplification(5_000), amplification(50_000));
    assert!((short / long - 1.0).abs() < 0.05, "{short} and {long}");
}

/// The same comparison on a whole drive, for 20,000 requests and a million. Without a warm-up, the first
/// 20,000 requests had a write amplification of 12.1, the million 37.7. The bound is 8 % instead of 5 %,
/// because preconditioning leaves work for GC: write amplification is 6 % higher at first, 40.8 against 38.5.
#[test]
fn the_length_of_a_run_does_not_decide_what_a_drive_amplifies() {
    if std::env::var_os("WORDLINE_LONG").is_none() {
        return;
    }
    let drive = Device::preset("bench-tlc").expect("a preset");
    let measured = |requests: u64| {
        let load = Workload { requests: Some(requests), ..Workload::named("mixed-70-30") };
        let run = run(&drive, &load, &RunOptions::seed(1), &mut Unobserved).expect("it runs");
        let left_out = run.warm_up.as_ref().expect("a warm-up");
        println!(
            "{requests}: {:.0} IOPS, {:?}, {left_out:?}, {:?}",
            run.host.iops, run.write_amplification, run.notes
        );
        (run.host.iops, run.write_amplification.expect("GC collects"))
    };
    let (iops, amplification) = measured(1_000_000);
    for requests in [20_000, 50_000, 200_000] {
        let short = measured(requests);
        assert!((short.0 / iops - 1.0).abs() < 0.08, "{} IOPS and {iops}", short.0);
        assert!((short.1 / amplification - 1.0).abs() < 0.08, "{} and {amplification}", short.1);
    }
}

#[test]
fn an_empty_device_recorded_requests_and_a_session_are_measured_from_the_start() {
    let empty = RunOptions { precondition: Some(Precondition::Empty), ..RunOptions::seed(3) };
    assert_eq!(run_of("mixed-70-30", 500, &empty).warm_up, None);
    let reads = (0..500).map(|n| Request::new(Op::Read, Bytes(4_096 * n), Bytes(4_096)));
    let given = run(&device(&[]), &Workload::given("reads", reads), &RunOptions::seed(3), &mut Unobserved);
    assert_eq!(given.expect("it runs").warm_up, None);
    let load = Workload { requests: Some(500), ..Workload::named("mixed-70-30") };
    let session = Session::open(&device(&[]), &load, &RunOptions::seed(3)).expect("a session");
    assert_eq!(session.finish().expect("it runs").warm_up, None);
}

#[test]
fn a_session_counts_from_the_end_of_the_warm_up_it_asks_for() {
    let load = Workload { requests: Some(500), ..Workload::named("mixed-70-30") };
    let mut session = Session::open(&device(&[]), &load, &warm(WarmUp::Requests(200))).expect("a session");
    session.advance(StepTarget::Completions(100)).expect("it goes on");
    let standing = session.standing();
    assert_eq!((standing.completed, standing.lost), (100, 0));
    assert_eq!(standing.submitted, 100 + standing.outstanding);
    assert_eq!(session.completions().len(), 100);
    let summary = session.finish().expect("it runs");
    assert_eq!((summary.host.requests, summary.outcome), (500, Outcome::Complete));
    let submitted = Session::open(&device(&[]), &Workload::submitted(), &warm(WarmUp::Rule));
    let error = submitted.err().expect("nothing to warm up with").to_string();
    assert!(error.contains("warm-up: found rule, wanted none"), "{error}");
}

#[test]
fn what_is_left_out_of_recorded_requests_is_not_measured_and_too_few_are_all_measured() {
    let reads = |count: u64| (0..count).map(|n| Request::new(Op::Read, Bytes(4_096 * n), Bytes(4_096)));
    let measured = |count: u64, warm_up: WarmUp| {
        let load = Workload { queue_depth: Some(4), ..Workload::given("reads", reads(count)) };
        run(&device(&[]), &load, &warm(warm_up), &mut Unobserved).expect("it runs")
    };
    let rest = measured(500, WarmUp::Requests(100));
    assert_eq!((rest.host.requests, rest.warm_up.map(|left_out| left_out.requests)), (400, Some(100)));
    for too_long in [
        WarmUp::Requests(100),
        WarmUp::Requests(50),
        WarmUp::Time(wordline_kernel::Duration::from_ms(100_000)),
    ] {
        let all = measured(50, too_long);
        assert_eq!((all.host.requests, all.warm_up), (50, None), "{too_long:?}");
        assert!(
            all.notes.iter().any(|note| note.starts_with("the requests ended before the warm-up")),
            "{:?}",
            all.notes
        );
    }
}

#[test]
fn a_power_cut_and_the_log_count_from_what_is_measured() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("log.csv");
    let options = RunOptions {
        power_cut: Some(crate::PowerCutPoint::Requests(300)),
        log: Some(path.clone()),
        ..warm(WarmUp::Requests(200))
    };
    let run = run_of("mixed-70-30", 1_000, &options);
    let cut = run.power_cuts.first().expect("a cut");
    assert!(cut.at_seconds > 0.0 && cut.at_seconds < run.simulated_seconds, "{cut:?}");
    let log = std::fs::read_to_string(&path).expect("a log");
    let lines = log.lines().count() as u64;
    // Requests that were outstanding when the measurement began were submitted before the log began.
    assert!(
        lines <= run.host.requests && lines + 33 >= run.host.requests,
        "{lines} of {}",
        run.host.requests
    );
}

#[test]
fn a_run_ends_when_its_column_is_known_well_enough() {
    let until =
        |text: &str| RunOptions { until: Some(text.parse().expect("a precision")), ..warm(WarmUp::None) };
    let run = run_of("mixed-70-30", 200_000, &until("iops:5%"));
    let attained = run.precision.as_ref().expect("it was asked for");
    assert!(attained.is_reached && attained.batches >= 20, "{attained:?}");
    assert!(run.host.requests < 60_000, "{}", run.host.requests);
    let (mean, half) = (attained.mean.expect("a mean"), attained.half_width.expect("an interval"));
    assert!(half <= 0.05 * mean && (mean / run.host.iops - 1.0).abs() < 0.05, "{attained:?}");

    let short = run_of("mixed-70-30", 5_000, &until("iops:0.001%"));
    let attained = short.precision.as_ref().expect("it was asked for");
    assert!(!attained.is_reached && short.host.requests == 5_000, "{attained:?}");
    // The shorter run ends before its first batch.
    for requests in [5_000, 100] {
        let load = Workload { requests: Some(requests), ..Workload::named("mixed-70-30") };
        let error = run_on_tiny(&load, &until("waf:5%")).expect_err("no such column").to_string();
        assert!(error.contains("the metric of --until: found waf"), "{error}");
    }
}

fn run_on_tiny(load: &Workload, options: &RunOptions) -> crate::error::Result<Summary> {
    run(&device(&[]), load, options, &mut Unobserved)
}

#[test]
fn a_run_that_collects_nothing_does_not_know_its_amplification() {
    let options = RunOptions { precondition: Some(Precondition::Empty), ..RunOptions::seed(3) };
    let run = run_of("mixed-70-30", 300, &options);
    assert!(run.host.written_bytes > 0 && run.write_amplification.is_none());
    let json: serde_json::Value = serde_json::from_str(&crate::report::json(&run)).expect("JSON");
    assert!(json["write_amplification"].is_null() && json["host"]["read_latency_us"]["p999"].is_null());
    let listed = json["unknown"].as_array().expect("a list");
    assert!(listed.iter().any(|unknown| unknown["metric"] == "write_amplification"), "{listed:?}");
    let table = crate::report::table(&run, 100);
    let row = table.lines().find(|line| line.contains("write amplification")).expect("a row");
    assert!(row.contains("unknown") && table.contains("no victim was collected"), "{table}");
}

#[test]
fn discards_of_less_than_a_mapping_unit_and_partial_writes_are_told() {
    let unit = 4 * 4_096;
    let device = device(&["part.geometry.page_size=16KiB"]);
    let request = |n: u64| {
        let op = if n.is_multiple_of(2) { Op::Discard } else { Op::Write };
        Request::new(op, Bytes(unit * n), Bytes(4_096))
    };
    let requests: Arc<[Request]> = (0..100).map(request).collect();
    let load = Workload::given("small", requests.iter().copied());
    let run = run(&device, &load, &RunOptions::seed(1), &mut Unobserved).expect("it runs");
    let has = |part: &str| run.notes.iter().any(|note| note.contains(part));
    assert!(has("50 of 50 discards had no effect: they cover no whole unit of 16KiB"), "{:?}", run.notes);
    let filled = run.metrics.count("flash.rmw_reads");
    assert!(filled > 0 && has(&format!("{filled} read-modify-writes (RMW)")), "{:?}", run.notes);
}
