//! The program of a crate outside the workspace: the complete `wordline`, with an additional device type.

use std::process::Command;

use serde_json::Value;

fn call(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_host-ftl")).args(arguments).output().expect("it was built");
    let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn success(arguments: &[&str]) -> String {
    let (code, out, err) = call(arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {err}");
    out
}

#[path = "../../shortest-queue/tests/page/mod.rs"]
mod page;

#[test]
fn what_the_page_says_of_it_is_so() {
    page::check("host-ftl", env!("CARGO_BIN_EXE_host-ftl"), [1, 0]);
}

#[test]
fn a_workload_runs_on_the_preset_with_the_metrics_of_the_ftl_and_the_device() {
    let run = ["run", "--preset", "host-ftl", "--workload", "randwrite-4k", "--requests", "20000", "--json"];
    let result: Value = serde_json::from_str(&success(&[&run[..], &["--precondition", "filled"]].concat()))
        .expect("it is JSON");
    let number = |section: &str, word: &str| result[section][word].as_u64().expect("it is counted");
    assert!(number("ftl", "moved_pages") > 0 && number("vector", "chunks_reset") > 0);
    let written = result["write_amplification"].as_f64().expect("something was written");
    let pages = number("ftl", "host_pages") + number("ftl", "moved_pages") + number("ftl", "padding");
    assert_eq!(number("flash", "programmed_bytes"), pages * 4096);
    assert!(written > 1.05, "{written}");
    let steady = success(&[&run[..], &["--precondition", "steady-state"]].concat());
    assert!(steady.contains("\"moved_pages\""));
}

#[test]
fn a_workload_ages_the_ftl_and_the_device_below() {
    let run = |precondition: &str| {
        let run =
            ["run", "--preset", "host-ftl", "--workload", "randwrite-4k", "--requests", "20000", "--json"];
        let out = success(&[&run[..], &["--precondition", precondition]].concat());
        let result: Value = serde_json::from_str(&out).expect("it is JSON");
        (out, result["write_amplification"].as_f64().expect("something was written"))
    };
    let ((_, filled), (told, aged), (_, steady)) = (run("filled"), run("workload"), run("steady-state"));
    assert!(told.contains("aged with the workload itself: "), "{told}");
    assert!(aged > filled, "lines are as random writes leave them: {aged} after {filled}");
    assert!((0.9..1.1).contains(&(aged / steady)), "uniform writes lead to one state: {aged} and {steady}");
}

#[test]
fn keys_are_checked_by_name() {
    let check = |set: &str| {
        let (code, _, err) = call(&["config", "check", "--preset", "host-ftl", "--set", set]);
        assert_eq!(code, Some(2), "{set}");
        err
    };
    for (set, wanted) in [
        ("open_channel.mw_cunits=4", "open_channel.mw_cunits: found 4, wanted 0"),
        ("over_provisioning=0.01", "over_provisioning: found 0.01, wanted at least"),
        ("open_channel.logical_block=3KiB", "open_channel.logical_block: found 3KiB, wanted"),
        ("open_channel.schedulling.max_suspends=1", "scheduling, or another of"),
        ("buffer=1KiB", "buffer: found 1KiB, wanted from"),
    ] {
        let found = check(set);
        assert!(found.contains(wanted), "{set}: {found}");
    }
    assert!(success(&["devices", "host-ftl"]).contains("`[open_channel]`"));
}
