use std::fmt::Write;

use super::*;
use crate::observer::Unobserved;
use crate::report::drawn;
use crate::summary::Bound;

static NEVER: AtomicBool = AtomicBool::new(false);

fn load(name: &str, requests: u64, queue_depth: Option<u32>) -> Workload {
    Workload { requests: Some(requests), queue_depth, ..Workload::named(name) }
}

fn ask(device: &Device, workload: &Workload) -> Why {
    let options = RunOptions::seed(1);
    let conduct = SweepOptions { threads: 0, stop: &NEVER, progress: &|_, _| () };
    why(device, workload, &options, &conduct, &mut Unobserved)
        .unwrap_or_else(|error| panic!("{} on {}: {error}", workload_name(workload), device.name))
}

fn workload_name(workload: &Workload) -> String {
    format!("{:?} at depth {:?}", workload.origin, workload.queue_depth)
}

fn preset(name: &str) -> Device {
    Device::preset(name).expect("an embedded preset")
}

/// Bottlenecks of the device that the verdict of a run can name, each with the cause that corresponds to it.
const PARTS: [(Bound, Cause); 3] =
    [(Bound::Arrays, Cause::Arrays), (Bound::Buses, Cause::Buses), (Bound::Link, Cause::Link)];

/// A contradiction within the answer, or between the answer and the verdict of the run.
fn contradiction(why: &Why) -> Option<String> {
    let elasticity = |cause| why.elasticity(cause).unwrap_or(0.0);
    let twice = why.effect(Cause::HostTwice).and_then(|effect| effect.iops);
    let of_host = |who: &str| match twice {
        Some(gain) if gain < 1.2 => Some(format!("{who} names the host, and a doubling brings × {gain:.3}")),
        _ => None,
    };
    if let Some(bound) = why.bound {
        if bound == Cause::Host && twice.is_none_or(|gain| gain < 1.2) {
            return Some(format!("the host is named, and a doubling brings × {twice:?}"));
        }
        let is_greater = |other: &&Cause| {
            let may =
                other.is_candidate() && (**other != Cause::Host || twice.is_some_and(|gain| gain >= 1.2));
            may && elasticity(**other) > elasticity(bound)
        };
        if let Some(other) = Cause::ALL.iter().find(is_greater) {
            return Some(format!("{bound:?} is named, and {other:?} is greater"));
        }
    }
    let line = why.verdict.as_ref().map(|verdict| verdict.bound)?;
    let is_of_array = |cause| matches!(cause, Cause::ReadTime | Cause::ProgramTime | Cause::EraseTime);
    let agrees = |cause: Cause| match line {
        Bound::Arrays => is_of_array(cause) || cause == Cause::GarbageCollection,
        Bound::GarbageCollection => cause == Cause::GarbageCollection,
        Bound::Buses => cause == Cause::Buses,
        Bound::Link => cause == Cause::Link,
        Bound::Host => cause == Cause::Host,
        Bound::Unknown => true,
    };
    if let Some(bound) = why.bound.filter(|bound| !agrees(*bound)) {
        return Some(format!("the run names {line:?}, and it is {bound:?}"));
    }
    match line {
        Bound::Unknown | Bound::GarbageCollection => None,
        Bound::Host => of_host("the run"),
        part => {
            let of =
                |kind| PARTS.iter().find(|(bound, _)| *bound == kind).map_or(0.0, |(_, of)| elasticity(*of));
            let others = PARTS.iter().filter(|(other, _)| *other != part);
            let greater = others.clone().find(|(other, _)| of(*other) > of(part));
            let host = twice.filter(|gain| *gain >= 1.2);
            greater.map(|(other, _)| format!("the run names {part:?}, and {other:?} is greater")).or_else(
                || host.map(|gain| format!("the run names {part:?}, and a doubling brings × {gain:.3}")),
            )
        }
    }
}

#[test]
fn a_run_that_leaves_out_as_many_as_the_rule_did_is_the_same_run() {
    let (device, workload, options) =
        (preset("tiny"), load("mixed-70-30", 2_000, Some(4)), RunOptions::seed(3));
    let asked = Experiment { device: &device, workload: &workload, options: &options };
    let first = asked.first(&mut Unobserved).expect("it runs").sample;
    let warm_up = Some(WarmUp::Requests(first.left_out));
    let job = asked.job(warm_up, Change::default(), &mut Unobserved).expect("a job");
    let again = Sample::take(job, &mut Unobserved).expect("it runs");
    assert!(first.left_out > 0 && first.completions.len() == 2_000);
    assert_eq!(again.left_out, first.left_out);
    let times =
        |sample: &Sample| sample.completions.iter().map(|one| (one.at, one.latency)).collect::<Vec<_>>();
    assert_eq!(times(&again), times(&first));
}

/// A device with all times shortened does the same work in less time, so the changes cover all times of the
/// device.
#[test]
fn the_times_that_are_changed_are_all_that_a_closed_loop_takes() {
    for (name, workload, depth) in [
        ("tiny", "mixed-70-30", 1),
        ("tiny", "randwrite-4k-steady", 16),
        ("tiny-tlc", "randread-4k", 8),
        ("raid5-tiny", "mixed-70-30", 4),
    ] {
        let (device, workload, options) =
            (preset(name), load(workload, 1_500, Some(depth)), RunOptions::seed(1));
        let asked = Experiment { device: &device, workload: &workload, options: &options };
        let first = asked.first(&mut Unobserved).expect("it runs");
        let again = asked
            .run_with_change(Cause::AllTimes, &first, &NEVER)
            .expect("it runs")
            .expect("it can be changed");
        let last = |sample: &Sample| sample.completions.last().expect("requests").at as f64;
        let ratio = last(&again) / last(&first.sample);
        assert!((ratio - 0.9).abs() < 0.002, "{name}: {ratio}");
    }
}

#[test]
fn one_request_at_a_time_is_bound_by_the_host_and_says_what_else_would_bring() {
    // With only two channels, a second request often goes to the same die.
    let device = preset("tiny").with("layout.channels", 16).expect("a larger device");
    let why = ask(&device, &load("randread-4k", 2_000, Some(1)));
    assert_eq!(why.bound, Some(Cause::Host), "{}", why.text);
    let twice = why.effect(Cause::HostTwice).and_then(|effect| effect.iops).expect("it can be doubled");
    assert!(twice > 1.5, "{twice}");
    let times = [Cause::ReadTime, Cause::Buses, Cause::Link, Cause::Controller];
    let sum: f64 = times.iter().filter_map(|cause| why.elasticity(*cause)).sum();
    assert!((sum - 1.0).abs() < 0.02, "the times of a read add up: {sum}");
    assert!(why.elasticity(Cause::EraseTime).is_some_and(|none| none.abs() < 1e-9), "nothing is erased");
    assert_eq!(contradiction(&why), None);
    let table = table(&why, 100);
    for wanted in ["sensing (tR)", "± ", "Bound by", "host", "The run alone says", "1 request outstanding"] {
        assert!(table.contains(wanted), "{wanted}: {table}");
    }
}

#[test]
fn a_full_device_is_bound_by_itself_and_not_by_the_host() {
    let why = ask(&preset("tiny"), &load("randwrite-4k-steady", 3_000, Some(64)));
    let twice = why.effect(Cause::HostTwice).and_then(|effect| effect.iops).expect("it can be doubled");
    assert!(twice < 1.1 && why.bound != Some(Cause::Host), "{twice}: {}", why.text);
    assert!(why.elasticity(Cause::GarbageCollection).is_some_and(|gc| gc > 0.3), "{:?}", why.effects);
    assert_eq!(contradiction(&why), None);
}

#[test]
fn what_a_pair_cannot_answer_is_unknown_with_a_reason() {
    let reason =
        |why: &Why, cause| why.effect(cause).and_then(|effect| effect.unknown.clone()).unwrap_or_default();
    let fixed = ask(&preset("fixed-latency"), &load("randread-4k", 1_000, Some(2)));
    assert!(reason(&fixed, Cause::ReadTime).contains("a latency and nothing else"), "{:?}", fixed.effects);
    assert_eq!((fixed.bound, &fixed.verdict), (None, &None));
    assert!(
        fixed.text.contains("controller or host") || fixed.text.contains("host or controller"),
        "{}",
        fixed.text
    );
    let threads = ask(&preset("tiny"), &load("mail", 1_000, None));
    assert!(reason(&threads, Cause::HostTwice).contains("waits for the completion"), "{:?}", threads.effects);
    assert!(threads.text.contains("not known"), "{}", threads.text);
    let text = table(&threads, 80);
    assert!(text.contains("Not known") && text.contains("each thread"), "{text}");
}

#[test]
fn the_rate_of_an_open_loop_is_what_is_changed_of_its_host() {
    let slow = Workload { time_scale: Some(20.0), ..load("open-read", 2_000, None) };
    let why = ask(&preset("tiny"), &slow);
    assert_eq!((why.bound, why.queue_depth), (Some(Cause::Host), None), "{}", why.text);
    let twice = why.effect(Cause::HostTwice).and_then(|effect| effect.iops).expect("it can be doubled");
    assert!((twice - 2.0).abs() < 0.02, "{twice}");
    assert!(why.elasticity(Cause::AllTimes).is_some_and(|none| none.abs() < 0.05));
    assert_eq!(contradiction(&why), None);
}

#[test]
fn a_stop_ends_it_and_an_input_that_is_read_once_is_refused() {
    let stop = AtomicBool::new(true);
    let conduct = SweepOptions { threads: 1, stop: &stop, progress: &|_, _| () };
    let (device, options) = (preset("tiny"), RunOptions::seed(1));
    let stopped = why(&device, &load("randread-4k", 100, Some(1)), &options, &conduct, &mut Unobserved);
    assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
    let error =
        why(&device, &Workload::trace("-"), &options, &conduct, &mut Unobserved).expect_err("it comes once");
    assert!(error.to_string().contains("read once"), "{error}");
}

/// Devices, workloads and queue depths: 40 combinations.
const PAIRS: &[(&str, &str, &[u32])] = &[
    ("bench-tlc", "mixed-70-30", &[1, 32, 128]),
    ("bench-tlc", "randread-4k", &[1, 32, 256]),
    ("bench-tlc", "seqwrite-128k", &[8, 32]),
    ("bench-tlc", "seqread-128k", &[32]),
    ("bench-qlc", "randwrite-4k-steady", &[32]),
    ("bench-qlc", "mixed-sizes", &[16]),
    ("bench-z-nand", "randread-4k", &[1, 16, 128]),
    ("bench-z-nand", "mixed-70-30", &[32]),
    ("bench-512g", "mixed-70-30", &[8, 32, 128]),
    ("bench-512g", "randread-4k", &[32, 256]),
    ("bench-512g", "seqwrite-128k", &[32]),
    ("bench-512g-4k", "randwrite-4k-steady", &[32]),
    ("mqsim-64g", "mixed-70-30", &[16, 64]),
    ("bench-zns", "mixed-70-30", &[32]),
    ("bench-zns", "randread-4k", &[4, 64]),
    ("pblk", "randwrite-4k", &[32]),
    ("pageftl", "proxy", &[32, 128]),
    ("cubeftl", "mixed-sizes", &[32]),
    ("ssdsim-64g", "randread-4k", &[8]),
    ("centaur", "hotcold-write", &[32]),
    ("ressd", "zipf-read-write", &[32]),
    ("ft-passd", "randwrite-4k", &[16]),
    ("raid5-tiny", "mixed-70-30", &[4, 32]),
    ("tiny", "mixed-70-30", &[1, 8, 64]),
];

/// Tests the small devices with few requests. With `WORDLINE_LONG` it tests all of them with 100,000 requests
/// each, and prints the table of docs/why.md.
#[test]
fn what_is_named_brings_most_and_the_line_of_a_run_is_never_contradicted() {
    let is_long = std::env::var_os("WORDLINE_LONG").is_some();
    let (requests, is_small) = (if is_long { REQUESTS } else { 2_000 }, |name: &str| name.contains("tiny"));
    let (mut wrong, mut rows) = (Vec::new(), String::new());
    for (name, workload, depths) in PAIRS.iter().filter(|(name, ..)| is_long || is_small(name)) {
        let device = preset(name);
        for depth in *depths {
            let why = ask(&device, &load(workload, requests, Some(*depth)));
            let found = contradiction(&why);
            let _ = writeln!(rows, "{}", row(&why, *depth));
            wrong.extend(found.map(|found| format!("{workload} on {name} at depth {depth}: {found}")));
        }
    }
    println!("{rows}");
    assert!(wrong.is_empty(), "{wrong:#?}\n{rows}");
}

/// A row of the table in docs/why.md.
fn row(why: &Why, depth: u32) -> String {
    let shown = |cause| why.elasticity(cause).map_or("–".into(), |value| format!("{value:.2}"));
    let causes = Cause::ALL.into_iter().filter(|cause| cause.is_candidate()).map(shown);
    let twice = why.effect(Cause::HostTwice).and_then(|effect| effect.iops);
    let twice = twice.map_or_else(|| "–".to_owned(), |gain| format!("{gain:.2}"));
    let bound = why.bound.map_or("not known", Cause::name);
    let line = why.verdict.as_ref().map_or("–", |verdict| verdict.bound.in_words());
    format!(
        "| `{}` | `{}` | {depth} | {:.0} | {} | {twice} | {bound} | {} |",
        why.device,
        why.workload.name,
        why.iops,
        causes.collect::<Vec<_>>().join(" | "),
        line,
    )
}

/// An answer with an effect of each kind: known with an interval, known without an interval, and unknown.
fn sample() -> Why {
    let known = |value| Some(Elasticity { value, half: Some(0.04) });
    let effect = |(n, cause): (usize, &Cause)| Effect {
        cause: *cause,
        factor: 0.9,
        iops: (n != 4).then_some(1.02),
        elasticity: known(0.1 * n as f64 - 0.05).filter(|_| n != 4),
        read_p99: known(0.3).filter(|_| n % 2 == 0),
        write_p99: Some(Elasticity { value: -0.1, half: None }),
        unknown: (n == 4).then(|| "the device has no host link".into()),
    };
    let source = crate::report::sample::mixed().workload;
    Why {
        device: "tiny".into(),
        workload: source,
        seed: 1,
        queue_depth: Some(8),
        left_out: 1_000,
        requests: 9_984,
        batches: 20,
        iops: 4_029.0,
        read_p99_us: Some(9_000.0),
        write_p99_us: None,
        bound: Some(Cause::ProgramTime),
        text: "programming (tPROG)".into(),
        effects: Cause::ALL.iter().enumerate().map(effect).collect(),
        verdict: None,
    }
}

#[test]
fn the_chart_has_a_point_for_each_elasticity_that_is_known_and_its_texts_are_whole() {
    let chart = chart(&sample());
    let rows = chart.spec["data"]["values"].as_array().expect("it carries its data");
    assert_eq!(rows.len(), 10 + 6 + 11, "{rows:?}");
    let first = &rows[0];
    assert_eq!((first["quantity"].as_str(), first["value"].as_f64()), (Some("IOPS"), Some(-0.05)));
    assert_eq!((first["low"].as_f64(), first["high"].as_f64()), (Some(-0.09), Some(-0.05 + 0.04)));
    for width in drawn::WIDTHS {
        let Some(layout) = drawn::layout(std::slice::from_ref(&chart), width) else { return };
        assert_eq!(drawn::wrong(&layout), Vec::<&str>::new(), "at {width}:\n{layout}");
    }
}
