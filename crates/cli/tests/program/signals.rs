//! Tests Ctrl-C and SIGTERM. The program must end at once with exit code 130, print partial results in their
//! usual form, and leave no incomplete files.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Finished, Folder, program};

/// Longest time that the program may take to end. It usually takes less than a second, but other work may
/// slow the machine down. The interrupted work would take much longer than this.
const SOON: Duration = Duration::from_secs(6);

/// Calls the program, sends it a signal after a while, and waits for its end. Its standard input is open and
/// empty.
#[track_caller]
fn signalled(arguments: &[&str], after: Duration, signal: &str) -> Finished {
    let mut command = program(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program was built with this test");
    let _open = child.stdin.take();
    std::thread::sleep(after);
    let id = child.id().to_string();
    let sent = Instant::now();
    assert!(Command::new("kill").args(["-s", signal, &id]).status().expect("POSIX has kill").success());
    let finished = Finished::of(child.wait_with_output().expect("the program ends"));
    assert!(sent.elapsed() < SOON, "{arguments:?} took {:?}", sent.elapsed());
    finished
}

/// Calls the program with work that takes longer than `SOON`, and sends it a signal after a while.
#[track_caller]
fn stopped(arguments: &[&str], after: Duration, signal: &str) -> Finished {
    let finished = signalled(arguments, after, signal);
    assert_eq!(finished.code, Some(130), "{arguments:?}: {}{}", finished.out, finished.err);
    finished
}

/// Repeats a call with later and later signals until `wanted` is true, because the speed of the machine is
/// unknown.
#[track_caller]
fn stopped_once(arguments: &[&str], signal: &str, wanted: impl Fn(&Finished) -> bool) -> Finished {
    for after in [150, 300, 450, 600, 800, 1_000, 1_500, 2_000, 3_000, 5_000, 8_000, 16_000] {
        let finished = signalled(arguments, Duration::from_millis(after), signal);
        if finished.code == Some(130) && wanted(&finished) {
            return finished;
        }
    }
    panic!("{arguments:?} did not come so far");
}

const NONE: &str = "stopped: there is no result yet\n";
/// A time that is much shorter than the program's work before the signal.
const MOMENT: Duration = Duration::from_millis(700);

/// The run has far more requests than can complete before the signal.
#[test]
fn a_run_prints_what_was_reached() {
    let folder = Folder::new();
    let log = folder.path("run.parquet");
    let arguments =
        ["run", "--preset", "tiny", "--workload", "randread-4k", "--requests", "1000000000", "--json", "-"];
    for signal in ["INT", "TERM"] {
        let call = [&arguments[..], &["--log", &log]].concat();
        let finished = stopped_once(&call, signal, |finished| !finished.out.is_empty());
        let run: Value = serde_json::from_str(&finished.out).expect("standard output is JSON");
        assert_eq!(run["outcome"], "interrupted");
        assert!(run["host"]["requests"].as_u64().is_some_and(|count| count > 0));
        assert_eq!(folder.names(), ["run.parquet"]);
    }
}

#[test]
fn what_has_no_result_yet_ends_at_once_and_leaves_nothing() {
    let folder = Folder::new();
    let [json, report, log, made] = ["a.json", "report", "a.parquet", "made"].map(|name| folder.path(name));
    let steady = ["--preset", "nvme-tlc-1t", "--precondition", "steady-state"];
    let run = [&["run", "--workload", "randread-4k"][..], &steady].concat();
    let outputs = ["--json", &json, "--report", &report, "--log", &log, "--save-snapshot", &made];
    let swept = ["--vary", "workload.queue_depth=1,2", "--json", &json, "--report", &report];
    let calls: [&[&str]; 8] = [
        &[&run[..], &outputs].concat(),
        &[&["sweep", "--workload", "randread-4k"][..], &steady, &swept].concat(),
        &[&["snapshot", "make", &made][..], &steady].concat(),
        &["trace", "gen", "randwrite-4k", &made, "--requests", "1000000000"],
        &["trace", "convert", "-", &made],
        &["trace", "info", "-", "--json"],
        &["nand", "exec", "-", "--svg", &made],
        &["config", "check", "--config", "-"],
    ];
    for call in calls {
        let finished = stopped(call, MOMENT, "TERM");
        assert_eq!((finished.err.as_str(), finished.out.as_str()), (NONE, ""), "{call:?}");
        assert_eq!(folder.names(), [""; 0], "{call:?}");
    }
}

/// The second device takes long to prepare.
#[test]
fn a_comparison_keeps_the_runs_before_the_one_that_is_prepared() {
    let folder = Folder::new();
    let report = folder.path("report");
    let few = ["--workload", "randwrite-4k-steady", "--requests", "100", "--json", "--report", &report];
    let call = [&["compare", "tiny", "nvme-tlc-1t"][..], &few].concat();
    let finished = stopped_once(&call, "INT", |finished| !finished.out.is_empty());
    let runs: Value = serde_json::from_str(&finished.out).expect("standard output is JSON");
    let devices: Vec<&Value> = runs.as_array().expect("a list").iter().map(|run| &run["device"]).collect();
    assert_eq!(devices, ["tiny"]);
    assert!(
        std::fs::read_to_string(folder.path("report/report.html")).is_ok_and(|page| page.contains("tiny"))
    );
}

#[test]
fn a_comparison_stays_a_list_when_its_first_run_is_stopped() {
    let many = ["--workload", "randread-4k", "--requests", "1000000000", "--json"];
    let call = [&["compare", "tiny", "tiny-tlc"][..], &many].concat();
    let finished = stopped_once(&call, "TERM", |finished| !finished.out.is_empty());
    let runs: Value = serde_json::from_str(&finished.out).expect("standard output is JSON");
    assert_eq!(runs.as_array().map(Vec::len), Some(1));
    assert_eq!(runs[0]["outcome"], "interrupted");
}

#[test]
fn experiments_stay_a_list_while_their_devices_are_prepared() {
    let call = ["repro", "validation/dftl-writes", "peers/mqsim-write", "--threads", "1", "--json"];
    let finished = stopped_once(&call, "INT", |finished| !finished.out.is_empty());
    let outcomes: Value = serde_json::from_str(&finished.out).expect("standard output is JSON");
    assert!(outcomes.is_array(), "{outcomes}");
}
