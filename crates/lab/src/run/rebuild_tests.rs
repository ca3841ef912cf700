//! Tests of runs that end when an array is rebuilt.

use wordline_kernel::Duration;

use crate::observer::{Observer, REBUILDING};
use crate::summary::{Summary, WarmUpEnd};
use crate::until::Until;
use crate::{Device, Error, RunOptions, Selection, Unobserved, WarmUp, Workload, run};

fn array(set: &[&str]) -> Device {
    let set = set.iter().map(|text| (*text).to_owned()).collect();
    Device::load(&Selection { preset: Some("raid5-tiny".into()), file: None, set }).expect("a preset")
}

fn failing(after: &str) -> Device {
    array(&[&format!("array.failures=[{{ member = 1, after = \"{after}\" }}]")])
}

fn rebuilt() -> RunOptions {
    RunOptions { until: Some(Until::Rebuilt), ..RunOptions::seed(3) }
}

fn run_on(device: &Device, load: &Workload) -> Result<Summary, Error> {
    run(device, load, &rebuilt(), &mut Unobserved)
}

fn seconds(run: &Summary) -> f64 {
    let rebuild = run.rebuild.as_ref().expect("it was waited for");
    assert_eq!(rebuild.share, 1.0);
    rebuild.seconds
}

/// A member has 12 MiB in rows of 16 KiB.
const ROWS: u64 = 768;

#[test]
fn a_load_goes_on_until_the_array_is_rebuilt() {
    let run = run_on(&failing("0s"), &Workload::named("mixed-70-30")).expect("it runs");
    // The failure itself, and the first rows, which begin at its instant, are measured.
    let counts = ["raid5.rebuilt", "raid5.failures"].map(|name| run.metrics.count(name));
    assert_eq!(counts, [ROWS, 1]);
    assert!(run.warm_up.is_none(), "the member fails at once: {:?}", run.warm_up);
    // The array is degraded from the failure to the end of the rebuild.
    let degraded = run.metrics.count("raid5.degraded_us") as f64 / 1e6;
    assert!((seconds(&run) - degraded).abs() < 2e-6, "{} s, degraded for {degraded} s", seconds(&run));
    assert!(run.simulated_seconds >= seconds(&run) && run.simulated_seconds < 1.1 * seconds(&run));
    assert!(
        run.host.requests > 100 && run.metrics.count("raid5.degraded_reads") > 0,
        "{}",
        run.host.requests
    );
    assert!(!run.notes.iter().any(|note| note.contains("rebuild")), "{:?}", run.notes);
    let again = run_on(&failing("0s"), &Workload::named("mixed-70-30")).expect("it runs");
    assert_eq!((run.digest, run.rebuild), (again.digest, again.rebuild));
}

#[test]
fn what_comes_before_the_failure_is_left_out() {
    let run = run_on(&failing("5ms"), &Workload::named("mixed-70-30")).expect("it runs");
    let left_out = run.warm_up.as_ref().expect("some requests");
    assert!(left_out.requests > 0 && left_out.end == WarmUpEnd::Failure, "{left_out:?}");
    assert!((left_out.seconds - 0.005).abs() < 1e-9, "{left_out:?}");
    assert_eq!(run.metrics.count("raid5.degraded"), 0, "no fraction");
    assert_eq!(run.metrics.count("raid5.failures"), 1);
    let options = RunOptions { warm_up: Some(WarmUp::None), ..rebuilt() };
    let load = Workload::named("mixed-70-30");
    let whole = crate::run(&failing("5ms"), &load, &options, &mut Unobserved).expect("it runs");
    assert_eq!((&whole.digest, &whole.rebuild), (&run.digest, &run.rebuild), "the same happens");
    assert_eq!(whole.host.requests, run.host.requests + left_out.requests);
}

#[test]
fn an_idle_array_is_rebuilt_faster_and_limited_requests_end_before() {
    let none = run_on(&failing("1ms"), &Workload::named("none")).expect("it runs");
    assert_eq!((none.host.requests, none.metrics.count("raid5.rebuilt")), (0, ROWS));
    // Each row is read on the other members and written to the spare; a flush ends the rebuild.
    assert_eq!(none.metrics.count("raid5.member_commands"), 4 * ROWS + 1);
    let few = Workload { requests: Some(20), ..Workload::named("mixed-70-30") };
    let few = run_on(&failing("0s"), &few).expect("it runs");
    assert_eq!((few.host.requests, few.metrics.count("raid5.rebuilt")), (20, ROWS));
    assert!(
        few.notes.iter().any(|note| note.contains("the requests ended before the rebuild")),
        "{:?}",
        few.notes
    );
    let busy = run_on(&failing("0s"), &Workload::named("mixed-70-30")).expect("it runs");
    assert!(seconds(&none) < seconds(&busy), "{} s, {} s busy", seconds(&none), seconds(&busy));
    assert!(seconds(&few) < seconds(&busy), "{} s, {} s busy", seconds(&few), seconds(&busy));
}

#[test]
fn a_rebuild_that_began_in_the_warm_up_has_a_note_and_one_that_ended_there_is_an_error() {
    let warm = |warm_up, workload: &str| {
        let options = RunOptions { warm_up: Some(warm_up), ..rebuilt() };
        run(&failing("0s"), &Workload::named(workload), &options, &mut Unobserved)
    };
    let begun = warm(WarmUp::Time(Duration::from_ms(100)), "mixed-70-30").expect("it runs");
    assert!(
        begun.notes.iter().any(|note| note.contains("a member failed before measuring")),
        "{:?}",
        begun.notes
    );
    let idle = warm(WarmUp::Requests(5), "none").expect("it runs");
    assert_eq!(idle.metrics.count("raid5.rebuilt"), ROWS, "the requests of the warm-up never come");
    let error = warm(WarmUp::Time(Duration::from_ms(30_000)), "mixed-70-30").expect_err("it is rebuilt");
    assert_eq!(
        error.to_string(),
        "--until rebuilt: found an array that was rebuilt before measuring began, wanted a failure later, by `after` of \
         array.failures, or another --warm-up or snapshot"
    );
}

#[test]
fn windows_last_until_the_end_of_the_rebuild() {
    let few = Workload { requests: Some(20), ..Workload::named("mixed-70-30") };
    let run = run_on(&failing("0s"), &few).expect("it runs");
    let shown = run.windows.windows.len() as f64 * run.windows.width_seconds;
    assert!(shown >= run.simulated_seconds, "{shown} s of {} s", run.simulated_seconds);
    assert!(shown - run.windows.width_seconds < run.simulated_seconds);
}

#[test]
fn two_failures_are_two_rebuilds() {
    let two = "array.failures=[{ member = 1, after = \"0s\" }, { member = 2, after = \"2s\" }]";
    let run = run_on(&array(&[two, "spares=2"]), &Workload::named("none")).expect("it runs");
    assert_eq!(run.metrics.count("raid5.rebuilt"), 2 * ROWS);
    assert!(seconds(&run) > 2.0, "from the first failure to the end of the second rebuild");
}

#[test]
fn arrays_that_are_never_rebuilt_are_refused() {
    let load = Workload::named("none");
    let error = |device: &Device| run_on(device, &load).expect_err("no rebuild").to_string();
    assert_eq!(
        error(&array(&[])),
        "--until rebuilt, --warm-up failure: found an array of which no member fails, wanted a failure, such as \
         array.failures = [{ member = 1, after = \"0s\" }]"
    );
    let alone = array(&["array.failures=[{ member = 1, after = \"0s\" }]", "spares=0"]);
    assert_eq!(
        error(&alone),
        "--until rebuilt: found a failed member without a spare, wanted a spare for each failure (spares)"
    );
    let two = "array.failures=[{ member = 1, after = \"0s\" }, { member = 2, after = \"100ms\" }]";
    assert_eq!(
        error(&array(&[two, "spares=2"])),
        "--until rebuilt: found a member that failed while another one was missing or being rebuilt, so that data are lost, wanted each \
         failure after the rebuild of the member before (`after`)"
    );
    let tiny =
        Device::load(&Selection { preset: Some("tiny".into()), ..Selection::default() }).expect("a preset");
    assert_eq!(
        error(&tiny),
        "--until rebuilt, --warm-up failure: found tiny, wanted an array, with `device = \"raid5\"`"
    );
    let options = RunOptions::seed(3);
    let error = run(&failing("0s"), &load, &options, &mut Unobserved).expect_err("nothing to wait for");
    assert!(
        error.to_string().contains("workload: found none, wanted a workload, or the end of a rebuild"),
        "{error}"
    );
}

/// Notes the progress of the rebuild, and stops it after a number of reports.
#[derive(Default)]
struct Seen {
    total: Option<u64>,
    rows: Vec<u64>,
    most: usize,
}

impl Observer for Seen {
    fn phase(&mut self, name: &'static str, total: Option<u64>) {
        if name == REBUILDING {
            self.total = total;
        }
    }

    fn phase_progress(&mut self, done: u64) -> bool {
        self.rows.extend(self.total.map(|_| done));
        self.most == 0 || self.rows.len() < self.most
    }
}

#[test]
fn progress_is_the_number_of_rebuilt_rows() {
    let mut seen = Seen::default();
    let load = Workload::named("randread-4k");
    run(&failing("0s"), &load, &rebuilt(), &mut seen).expect("it runs");
    assert_eq!(seen.total, Some(ROWS));
    assert!(seen.rows.is_sorted() && seen.rows.iter().all(|rows| *rows <= ROWS), "{:?}", seen.rows);
    assert!(seen.rows.iter().any(|rows| *rows > 0), "{:?}", seen.rows);
    let mut stops = Seen { most: 1, ..Seen::default() };
    let stopped = run(&failing("0s"), &load, &rebuilt(), &mut stops).expect("a result so far");
    let rebuild = stopped.rebuild.expect("it was begun");
    assert!(rebuild.share < 1.0 && rebuild.seconds > 0.0, "{rebuild:?}");
}

#[test]
fn an_array_explains_what_it_does_not_use_of_a_member() {
    let line = |set: &[&str], of: &str| {
        let text = array(set).explain();
        let line = text.lines().find(|line| line.contains(of)).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{of} in {text}"))
    };
    let log = "array.parity_log=128KiB";
    assert!(line(&[log], "partial parity log").contains("128 KiB a member"));
    assert!(line(&[log], "not used of a member").ends_with(" 0 B"));
    let two = "member.namespaces=[{size=\"4MiB\"},{size=\"8MiB\"}]";
    let (one, both) = (line(&["member.namespaces=[{size=\"4MiB\"}]"], "not used"), line(&[two], "not used"));
    assert!(one.ends_with(" 0 B") && both.contains(" 8") && both.ends_with("MiB"), "{one}, {both}");
}

#[test]
fn a_failure_before_the_measurement_has_a_note() {
    let notes = |warm_up| {
        let options = RunOptions { warm_up: Some(warm_up), ..RunOptions::seed(3) };
        let few = Workload { requests: Some(200), ..Workload::named("mixed-70-30") };
        let run = run(&failing("1ms"), &few, &options, &mut Unobserved).expect("it runs");
        run.notes.iter().filter(|note| note.contains("a member failed before measuring began")).count()
    };
    assert_eq!([WarmUp::Requests(100), WarmUp::None, WarmUp::Failure].map(notes), [1, 0, 0]);
}
