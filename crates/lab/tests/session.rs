//! Tests that a session gives the same result as a run. With the same requests it has the same digest,
//! whatever its steps. It can be measured, saved, and cut from power at any time. Invalid input changes
//! nothing.

use std::path::Path;

use wordline_kernel::{Bytes, Duration, Instant, Metrics};
use wordline_lab::devices::{FixedLatency, Registry};
use wordline_lab::job::Job;
use wordline_lab::run::run_job;
use wordline_lab::summary::Outcome;
use wordline_lab::trace::{Op, Request};
use wordline_lab::{
    Device, PowerCutPoint, Precondition, RunOptions, Selection, Session, StepTarget, StopReason, Summary,
    Unobserved, WarmUp, Workload, run,
};

/// Small devices with different paths from the host to flash: fixed latency, a write buffer and GC, a link
/// with queues, several pools with a design, a map in flash.
const DEVICES: [(&str, &[&str]); 5] = [
    ("tiny", &[]),
    ("tiny", &["front.interface=nvme", "front.nvme.queues=4"]),
    ("tiny-tlc", &["ftl.over_provisioning=0.4"]),
    (
        "centaur",
        &[
            "part.geometry.blocks_per_plane=24",
            "buffer.size=1MiB",
            "ftl.gc.start_below_free_blocks=3",
            "ftl.gc.stop_at_free_blocks=3",
            "ftl.over_provisioning=0.4",
            "pools.0.part.geometry.blocks_per_plane=32",
            "pools.0.start_below_free_blocks=3",
            "pools.0.stop_at_free_blocks=3",
        ],
    ),
    ("fixed-latency", &["capacity=16MiB"]),
];

fn device((preset, set): (&str, &[&str])) -> Device {
    let set = set.iter().map(|text| (*text).to_owned()).collect();
    let selection = Selection { preset: Some(preset.into()), set, ..Selection::default() };
    Device::load(&selection).unwrap_or_else(|error| panic!("{preset}: {error}"))
}

fn filled(seed: u64) -> RunOptions {
    let warm_up = Some(WarmUp::None);
    RunOptions { precondition: Some(Precondition::Filled(1.0)), warm_up, ..RunOptions::seed(seed) }
}

/// The requests of a workload on a device.
fn requests_of(workload: &Workload, device: &Device, options: &RunOptions) -> Vec<Request> {
    let Job { load, .. } = workload.job(device, options, &mut Unobserved).expect("a job");
    load.in_order().map(|request| request.expect("they can all be had")).collect()
}

/// The same requests, submitted to a session one at a time. Each is submitted when the device has accepted
/// the previous one.
fn one_at_a_time(workload: &Workload, device: &Device, options: &RunOptions) -> Summary {
    let given = Workload { origin: wordline_lab::Origin::Submitted, requests: None, ..workload.clone() };
    let mut session = Session::open(device, &given, options).expect("it opens");
    for request in requests_of(workload, device, options) {
        session.submit(&request).expect("the device takes it");
        session.advance(StepTarget::Accepted).expect("it goes on");
        assert_eq!(session.standing().waiting, 0);
    }
    session.finish().expect("it ends")
}

fn json(metrics: &Metrics) -> String {
    serde_json::to_string(metrics).expect("it has string keys")
}

fn assert_alike(session: &Summary, run: &Summary, what: &str) {
    assert_eq!(session.digest, run.digest, "{what}");
    assert_eq!(session.host.requests, run.host.requests, "{what}");
    assert!((session.simulated_seconds - run.simulated_seconds).abs() < 1e-12, "{what}");
    assert_eq!(session.host.read_latency_us.p99, run.host.read_latency_us.p99, "{what}");
    assert_eq!((session.outcome, json(&session.metrics)), (run.outcome, json(&run.metrics)), "{what}");
}

/// Workloads with different paces: the times of a trace in which several requests have one time, jobs at
/// their own pace, and closed loops with and without think time.
fn paces() -> [(&'static str, Workload); 5] {
    let named = |name| Workload { requests: Some(3_000), ..Workload::named(name) };
    [
        ("the embedded trace", Workload { requests: Some(3_000), ..Workload::embedded() }),
        (
            "the same, all at once",
            Workload { requests: Some(500), time_scale: Some(0.0), ..Workload::embedded() },
        ),
        ("a mix at depth 8", Workload { queue_depth: Some(8), ..named("mixed-70-30") }),
        ("writes at depth 1", Workload { queue_depth: Some(1), ..named("randwrite-4k") }),
        (
            "a mix with think time",
            Workload {
                queue_depth: Some(4),
                think_time: Some(Duration::from_us(70)),
                ..named("mixed-sizes")
            },
        ),
    ]
}

#[test]
fn a_session_that_is_fed_one_request_at_a_time_has_the_digest_of_the_run() {
    for named in DEVICES {
        let device = device(named);
        for (what, workload) in paces() {
            let run = run(&device, &workload, &filled(7), &mut Unobserved).expect("it runs");
            let session = one_at_a_time(&workload, &device, &filled(7));
            assert_alike(&session, &run, &format!("{what} on {}", named.0));
        }
    }
}

#[test]
fn a_session_of_a_workload_has_the_digest_of_the_run_whatever_its_steps() {
    let device = device(DEVICES[0]);
    for (what, workload) in paces() {
        let run = run(&device, &workload, &filled(3), &mut Unobserved).expect("it runs");
        let mut session = Session::open(&device, &workload, &filled(3)).expect("it opens");
        let mut completions = 0;
        for step in 0..40_u64 {
            let now = session.now();
            let until = match step % 3 {
                0 => StepTarget::Completions(1 + step),
                1 if step % 2 == 0 => StepTarget::CompletionBy(now + Duration::from_us(step)),
                1 => StepTarget::Time(now + Duration::from_us(step * 13)),
                _ => StepTarget::Completions(1),
            };
            let reached = session.advance(until).expect("it goes on");
            if let (StepTarget::Time(time), StopReason::Target) = (until, reached) {
                assert_eq!(session.now(), time, "{what}");
            }
            let new = session.completions();
            assert!(
                new.is_sorted_by_key(|completion| completion.time)
                    && new.iter().all(|completion| completion.time <= session.now())
            );
            completions += new.len() as u64;
            assert_eq!(session.standing().completed, completions, "{what}");
            assert_eq!(session.host().requests, completions, "{what}");
        }
        let session = session.finish().expect("it ends");
        assert_eq!(session.digest, run.digest, "{what}");
        assert_eq!(session.host.requests, run.host.requests, "{what}");
    }
}

#[test]
fn a_step_to_a_time_to_which_an_earlier_one_did_not_come_stops_there() {
    let device = device(DEVICES[4]);
    let workload = Workload { queue_depth: Some(3), requests: Some(50), ..Workload::named("randread-4k") };
    let mut session = Session::open(&device, &workload, &filled(1)).expect("it opens");
    let [near, far] = [25, 1_000].map(|us| Instant::ZERO + Duration::from_us(us));
    for completions in [1, 1, 1, 1, 1, 1, 0] {
        session.advance(StepTarget::CompletionBy(near)).expect("it goes on");
        assert_eq!(session.completions().len(), completions, "three requests take 10 us");
    }
    assert_eq!(session.now(), near);
    session.advance(StepTarget::Time(far)).expect("it goes on");
    assert_eq!((session.now(), session.completions().len()), (far, 44));
    assert_eq!(session.advance(StepTarget::Idle).expect("it goes on"), StopReason::Idle);
}

#[test]
fn what_is_measured_on_the_way_is_what_a_shorter_run_measures() {
    let device = device(DEVICES[0]);
    let workload = Workload { queue_depth: Some(1), requests: Some(900), ..Workload::named("mixed-70-30") };
    let mut session = Session::open(&device, &workload, &filled(1)).expect("it opens");
    assert_eq!(session.advance(StepTarget::Completions(400)).expect("it goes on"), StopReason::Target);
    let (half, mut metrics) = (session.summary(), session.metrics());
    // No victim was collected, so the summary does not report the cost of GC.
    metrics.set(
        "programs_per_host_program",
        half.metrics.get("programs_per_host_program").expect("it is there"),
    );
    assert_eq!((half.outcome, half.host.requests), (Outcome::Interrupted, 400));
    assert_eq!(json(&metrics), json(&half.metrics));
    assert_eq!(session.advance(StepTarget::Idle).expect("it goes on"), StopReason::Idle);
    assert_eq!(session.summary().outcome, Outcome::Complete);
    let whole = session.finish().expect("it ends");
    assert!(half.host.written_bytes < whole.host.written_bytes);
    // At a depth of 1 the first 400 requests are the same, and no other request is outstanding.
    let first = Workload { requests: Some(400), ..workload };
    let first = run(&device, &first, &filled(1), &mut Unobserved).expect("it runs");
    assert_eq!(first.digest, half.digest);
}

#[test]
fn a_session_is_saved_and_goes_on_unchanged_and_so_does_the_device_of_the_snapshot() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("half.snap");
    let device = device(DEVICES[0]);
    let requests = |seed| {
        let workload = Workload { requests: Some(2_000), ..Workload::named("mixed-70-30") };
        requests_of(&workload, &device, &RunOptions::seed(seed))
    };
    let closed = Workload { queue_depth: Some(4), ..Workload::submitted() };
    let mut session = Session::open(&device, &closed, &filled(1)).expect("it opens");
    for request in requests(1) {
        session.submit(&request).expect("the device takes it");
    }
    session.advance(StepTarget::Completions(1)).expect("it goes on");
    let error = session.save(&path).expect_err("requests are outstanding").to_string();
    assert!(error.contains("outstanding requests, wanted a session at rest"), "{error}");
    assert!(!path.exists());
    session.advance(StepTarget::Idle).expect("it goes on");
    session.save(&path).expect("it is at rest");
    let from = RunOptions { from_snapshot: Some(path), ..RunOptions::seed(1) };
    let mut restored = Session::open(&device, &closed, &from).expect("it was just saved");
    session.completions();
    let later = |session: &mut Session| {
        for request in requests(2) {
            session.submit(&request).expect("the device takes it");
        }
        session.advance(StepTarget::Idle).expect("it goes on");
        session.completions().iter().map(|completion| completion.latency).collect::<Vec<_>>()
    };
    assert_eq!(later(&mut session), later(&mut restored));
    let [session, restored] = [session, restored].map(|session| session.finish().expect("it ends"));
    assert_eq!((session.host.requests, restored.host.requests), (4_000, 2_000));
    let mut unsaved = Session::open(&device, &closed, &filled(1)).expect("it opens");
    for seed in [1, 2] {
        for request in requests(seed) {
            unsaved.submit(&request).expect("the device takes it");
        }
        unsaved.advance(StepTarget::Idle).expect("it goes on");
    }
    assert_eq!(session.digest, unsaved.finish().expect("it ends").digest);
    assert!(restored.notes[0].contains("; then ran submitted requests with seed 1"), "{:?}", restored.notes);
}

#[test]
fn a_power_cut_of_a_session_is_that_of_a_run_at_the_same_time() {
    let device = device(DEVICES[0]);
    let workload =
        Workload { queue_depth: Some(8), requests: Some(3_000), ..Workload::named("randwrite-4k") };
    let at = Duration::from_us(2_345);
    let options = RunOptions { power_cut: Some(PowerCutPoint::Time(at)), ..filled(5) };
    let run = run(&device, &workload, &options, &mut Unobserved).expect("it runs");
    let mut session = Session::open(&device, &workload, &filled(5)).expect("it opens");
    session.advance(StepTarget::Time(Instant::ZERO + at)).expect("it goes on");
    session.cut_power().expect("the power is on");
    let standing = session.standing();
    assert!(standing.recovers && standing.lost > 0 && standing.outstanding == 0, "{standing:?}");
    let error = session.cut_power().expect_err("it recovers").to_string();
    assert!(error.contains("while the device recovers"), "{error}");
    let session = session.finish().expect("it ends");
    assert_eq!((session.power_cuts.len(), &session.power_cuts), (1, &run.power_cuts));
    assert_eq!(session.digest, run.digest);
}

#[test]
fn a_session_may_lose_its_power_again_and_again() {
    let device = device(DEVICES[0]);
    let workload = Workload { requests: Some(3_000), ..Workload::named("mixed-70-30") };
    let mut session = Session::open(&device, &workload, &filled(5)).expect("it opens");
    for _ in 0..3 {
        session.advance(StepTarget::Completions(500)).expect("it goes on");
        session.cut_power().expect("the power is on");
    }
    let summary = session.finish().expect("it ends");
    let lost: u64 = summary.power_cuts.iter().map(|cut| cut.lost_requests).sum();
    assert_eq!((summary.power_cuts.len(), summary.host.requests + lost), (3, 3_000));
    assert_eq!(summary.notes.iter().filter(|note| note.starts_with("the power was cut")).count(), 3);
}

#[test]
fn wrong_input_is_refused_and_changes_nothing() {
    let device = device(DEVICES[0]);
    let mut session = Session::open(&device, &Workload::submitted(), &filled(1)).expect("it opens");
    let read = |us: u64| Request {
        arrival: Instant::from_ps(us * 1_000_000),
        ..Request::new(Op::Read, Bytes(0), Bytes(4096))
    };
    let refused = |session: &mut Session, request: Request| {
        session.submit(&request).expect_err("it is wrong").to_string()
    };
    let beyond = refused(&mut session, Request { offset: Bytes(1 << 40), ..read(0) });
    assert!(beyond.starts_with("request 1 of submitted requests: found bytes"), "{beyond}");
    session.advance(StepTarget::Time(Instant::from_ps(50_000_000))).expect("it goes on");
    let past = refused(&mut session, read(20));
    assert!(past.contains("found an arrival at 20") && past.contains("the present of the session"), "{past}");
    assert_eq!(session.submit(&read(90)).expect("it is to come"), 0);
    let before = refused(&mut session, read(80));
    assert!(before.starts_with("request 2 of") && before.contains("the request before it"), "{before}");
    let error = session.advance(StepTarget::Time(Instant::from_ps(10))).expect_err("it is over").to_string();
    assert!(error.starts_with("the time to go on to: found"), "{error}");
    assert_eq!(session.finish().expect("it ends").host.requests, 1);
    let mut named = Session::open(&device, &Workload::named("randread-4k"), &filled(1)).expect("it opens");
    let error = named.submit(&read(0)).expect_err("it has its requests").to_string();
    assert!(error.contains("one in addition to the requests of randread-4k"), "{error}");
    let counted = Workload { requests: Some(4), ..Workload::submitted() };
    let error = Session::open(&device, &counted, &filled(1)).err().expect("it is wrong").to_string();
    assert!(error.contains("requests: found 4, wanted none: a session submits them"), "{error}");
}

#[test]
fn a_session_is_stopped_by_its_observer_and_goes_on() {
    let device = device(DEVICES[4]);
    let workload = Workload { requests: Some(20_000), ..Workload::named("randread-4k") };
    let mut session = Session::open(&device, &workload, &filled(1)).expect("it opens");
    let mut stop = wordline_lab::observer::ContinueWhile(|| false);
    assert_eq!(
        session.advance_observed(StepTarget::Idle, &mut stop).expect("it goes on"),
        StopReason::Stopped
    );
    assert!(session.standing().completed < 10_000);
    assert_eq!(session.finish().expect("it ends").host.requests, 20_000);
}

#[test]
fn requests_are_given_as_a_list_and_wrap_as_those_of_a_trace_do() {
    let device = device(DEVICES[4]);
    let at = |offset| Request::new(Op::Read, Bytes(offset), Bytes(4096));
    let given = Workload::given("three", [at(0), at(4096), at((16 << 20) + 8192)]);
    let run = run(&device, &given, &filled(1), &mut Unobserved).expect("it runs");
    assert_eq!((run.workload.name.as_str(), run.host.reads), ("three", 3));
    assert!(run.notes.iter().any(|note| note.contains("wrapped")), "{:?}", run.notes);
}

#[test]
fn a_device_of_keys_is_that_of_the_file_and_names_itself_in_complaints() {
    let registry = Registry::of::<FixedLatency>();
    let keys = |text: &str| text.parse::<toml::Table>().expect("it is TOML");
    let table = keys("device = \"fixed-latency\"\nlatency = \"12us\"");
    let device = Device::of_keys(&registry, "mine", table).expect("it is sound");
    assert_eq!((device.name.as_str(), device.get("latency")), ("mine", Some("12us".into())));
    let wrong = Device::of_keys(&registry, "mine", keys("device = \"fixed-latency\"\nlatncy = \"12us\""));
    let findings = wrong.expect_err("it is misspelled").findings();
    assert_eq!((findings[0].file.as_deref(), findings[0].key.as_deref()), (Some("mine"), Some("latncy")));
    let job = |device: &Device| {
        Workload::named("randread-4k").job(device, &filled(1), &mut Unobserved).expect("a job")
    };
    let slower = device.with("latency", "24us").expect("it is sound");
    let [fast, slow] =
        [&device, &slower].map(|device| run_job(job(device), &mut Unobserved).expect("it runs"));
    assert!((slow.host.read_latency_us.mean - 2.0 * fast.host.read_latency_us.mean).abs() < 1e-9);
    assert!(Path::new(&device.text).to_str().is_some_and(|text| text.contains("latency = \"12us\"")));
}

#[test]
fn a_setting_selects_an_item_of_a_list_that_is_a_default() {
    let tiny = Device::preset("tiny").and_then(|tiny| tiny.with("ftl.scheduling.suspend_erases", true));
    let tiny = tiny.expect("a preset");
    let slower = tiny.with("part.timing.suspend.1", "500us").expect("the suspend of an erase");
    assert!(slower.text.contains("suspend = [\"100us\", \"500us\"]"), "{}", slower.text);
    let beyond = tiny.with("part.timing.suspend.3", "500us").expect_err("two items").to_string();
    assert!(beyond.contains("item 3 of a list of 2, wanted an item from 0 to 2"), "{beyond}");
}
