//! The program of a crate outside the workspace: the complete `wordline`, with an additional design.

mod page;

use std::process::Command;

use serde_json::Value;

/// Exit code and output of a call of the program.
fn call(arguments: &[&str]) -> (Option<i32>, String, String) {
    let program = env!("CARGO_BIN_EXE_shortest-queue");
    let output = Command::new(program).args(arguments).output().expect("it was built");
    let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn json(arguments: &[&str]) -> Value {
    let (code, out, err) = call(arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {err}");
    serde_json::from_str(&out).expect("it is JSON")
}

fn refusal(arguments: &[&str]) -> String {
    let (code, out, err) = call(arguments);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
    err
}

/// Reads make the queue lengths of the dies differ, so that writes have a choice.
const WORK: [&str; 6] = ["--workload", "mixed-70-30", "--requests", "5000", "--warm-up", "none"];
const FILLED: [&str; 2] = ["--precondition", "filled"];

#[test]
fn what_the_page_says_of_it_is_so() {
    page::check("shortest-queue", env!("CARGO_BIN_EXE_shortest-queue"), [1, 0]);
}

#[test]
fn the_design_runs_beside_built_in_devices_with_its_own_metric() {
    let runs = json(&[&["compare", "shortest-queue", "tiny", "--json"][..], &WORK, &FILLED].concat());
    let [own, tiny] = [0, 1].map(|n| &runs[n]);
    assert!(own["shortest_queue"]["passed"].as_u64() > Some(0), "{}", own["shortest_queue"]);
    assert!(tiny["shortest_queue"].is_null(), "an SSD has no such metric");
    assert_ne!(own["digest"], tiny["digest"], "it places elsewhere");
    let again = json(&[&["run", "--preset", "shortest-queue", "--json"][..], &WORK, &FILLED].concat());
    assert_eq!(again["digest"], own["digest"]);
}

#[test]
fn a_report_has_the_charts_that_it_draws() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let report = folder.path().join("report").to_string_lossy().into_owned();
    let run = ["run", "--preset", "shortest-queue", "--report", &report, "--json"];
    let run = json(&[&run[..], &WORK, &FILLED].concat());
    let points = |n: usize| run["charts"][n]["points"].as_array().expect("a list of points");
    let programs: f64 = points(0).iter().filter_map(|point| point[1].as_f64()).sum();
    assert!(programs > 100.0 && points(0).len() > 1 && points(1).len() > 1, "{}", run["charts"]);
    for name in ["queues", "queues-over-time"] {
        let chart = folder.path().join(format!("report/charts/shortest-queue-{name}.vl.json"));
        let chart = std::fs::read(&chart).unwrap_or_else(|wrong| panic!("{}: {wrong}", chart.display()));
        let chart: Value = serde_json::from_slice(&chart).expect("it is JSON");
        assert!(
            chart["title"].as_str().is_some_and(|title| title.starts_with("Tasks ")),
            "{}",
            chart["title"]
        );
    }
}

#[test]
fn its_settings_and_those_of_the_ssd_are_checked_key_by_key() {
    let check = |set: &str| refusal(&["config", "check", "--preset", "shortest-queue", "--set", set]);
    let wrong = check("design.shortest-queue.tasks_of_erase=2000");
    let wanted = "--set design.shortest-queue.tasks_of_erase: found 2000, wanted from 0 to 1000";
    assert!(wrong.contains(wanted), "{wrong}");
    let wrong = check("design.shortest-queue.tasks_of_erse=2");
    assert!(wrong.contains("wanted tasks_of_erase"), "{wrong}");
    let wrong = check("design.shortest.tasks_of_erase=2");
    assert!(wrong.contains("wanted shortest-queue, or another of centaur, cubeftl, ressd"), "{wrong}");
    let wrong = check("ftl.placement={policy='fixed',order='CWDP'}");
    assert!(wrong.contains("ftl.placement.policy") && wrong.contains("beside the design"), "{wrong}");
    let wrong = refusal(&["config", "check", "--preset", "tiny", "--set", "designs=['shortest-queu']"]);
    assert!(wrong.contains("designs[0]") && wrong.contains("shortest-queue, or another of"), "{wrong}");
}

#[test]
fn it_is_listed_with_its_settings_and_stands_in_the_schema() {
    let all = json(&["policies", "design", "--json"]);
    let own = all.as_array().and_then(|all| all.iter().find(|one| one["policy"] == "shortest-queue"));
    let own = own.unwrap_or_else(|| panic!("{all}"));
    assert_eq!((&own["key"], &own["settings"]), (&"designs".into(), &serde_json::json!(["tasks_of_erase"])));
    let schema = json(&["config", "schema"]);
    let settings = &schema["$defs"]["SettingsOfDesigns"]["anyOf"][1]["properties"]["shortest-queue"];
    assert!(settings["properties"]["tasks_of_erase"].is_object(), "{settings}");
    let metrics = json(&["metrics", "shortest_queue", "--json"]);
    assert_eq!(metrics[0]["name"], "shortest_queue.passed", "{metrics}");
}

#[test]
fn a_snapshot_is_restored_under_its_own_name_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let saved = folder.path().join("saved.wls").to_string_lossy().into_owned();
    let made = ["snapshot", "make", &saved, "--preset", "shortest-queue", "--precondition", "filled"];
    let (code, _, err) = call(&made);
    assert_eq!(code, Some(0), "{err}");
    let from = [&["run", "--from-snapshot", &saved, "--json"][..], &WORK].concat();
    let anew = ["run", "--preset", "shortest-queue", "--precondition", "filled", "--json"];
    assert_eq!(json(&from)["digest"], json(&[&anew[..], &WORK].concat())["digest"]);
    let wrong = refusal(&[&from[..], &["--preset", "tiny"]].concat());
    assert!(wrong.contains("shortest-queue") && wrong.contains("or no device beside a snapshot"), "{wrong}");
}
