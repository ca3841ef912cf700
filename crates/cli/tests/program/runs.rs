//! Tests `wordline run` and `wordline compare`.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Folder, program, wordline};

const SMALL: [&str; 7] = ["run", "--preset", "tiny", "--workload", "mixed-70-30", "--requests", "5000"];

/// Arguments of a short run, followed by further arguments.
fn small<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SMALL[..], more].concat()
}

#[test]
fn a_run_without_arguments_replays_the_embedded_trace_on_the_usual_drive() {
    let run = wordline(&["run", "--json", "-"]).json();
    assert_eq!((&run["device"], &run["workload"]["kind"]), (&"nvme-tlc".into(), &"real_trace".into()));
    assert_eq!(run["outcome"], "complete");
    assert!(run["host"]["requests"].as_u64().is_some_and(|count| count > 100_000), "{}", run["host"]);
}

#[test]
fn the_json_of_a_run_has_every_documented_number() {
    let run = wordline(&small(&["--json"])).json();
    assert!(run.get("requests_per_second").is_none(), "the speed of the simulator stands by itself");
    for key in ["wall_seconds", "requests_per_second"] {
        let of = &run["simulator"][key];
        assert!(of.as_f64().is_some_and(|number| number > 0.0), "{key}: {of}");
    }
    for key in ["simulated_seconds", "energy_joules", "write_amplification"] {
        assert!(run[key].as_f64().is_some_and(|number| number > 0.0), "{key}: {}", run[key]);
    }
    for key in ["requests", "reads", "writes", "iops"] {
        assert!(run["host"][key].as_f64().is_some_and(|number| number > 0.0), "{key}: {}", run["host"]);
    }
    for latency in ["read_latency_us", "write_latency_us"] {
        let of = |key: &str| run["host"][latency][key].as_f64().expect(key);
        assert!(of("p50") <= of("p99") && of("p99") <= of("max") && of("mean") <= of("max"), "{latency}");
        // Fewer than ten of 5,000 requests lie beyond p99.9.
        assert!(run["host"][latency]["p999"].is_null(), "{latency}");
        let named = format!("host.{latency}.p999");
        let unknown = run["unknown"].as_array().expect("a list");
        assert!(unknown.iter().any(|one| one["metric"] == named.as_str()), "{unknown:?}");
    }
    for key in ["reads", "programs", "erases"] {
        assert!(run["flash"][key].is_u64(), "{key}: {}", run["flash"]);
    }
    assert_eq!(run["host"]["requests"], 5_000);
    assert_eq!(run["digest"].as_str().map(str::len), Some(16));
}

/// Two processes must give equal results, and another seed a different result.
#[test]
fn the_digest_depends_on_configuration_and_seed() {
    let digest = |more: &[&str]| wordline(&small(&[&["--json"], more].concat())).json()["digest"].clone();
    assert_eq!(digest(&[]), digest(&[]));
    assert_ne!(digest(&[]), digest(&["--seed", "1"]));
    assert_ne!(digest(&[]), digest(&["--set", "ftl.over_provisioning=0.3"]));
}

#[test]
fn a_run_gives_a_table_a_file_a_page_and_a_log() {
    let folder = Folder::new();
    let (json, report, log) = (folder.path("run.json"), folder.path("report"), folder.path("run.parquet"));
    let finished = wordline(&small(&["--json", &json, "--report", &report, "--log", &log]));
    assert_eq!(finished.err, "", "no progress bar where there is no terminal");
    let table = finished.success();
    assert!(table.contains("tiny") && table.contains("mixed-70-30 (synthetic)"), "{table}");
    assert_eq!(folder.names(), ["report", "run.json", "run.parquet"]);
    let text = std::fs::read_to_string(json).expect("the file was written");
    assert!(serde_json::from_str::<Value>(&text).is_ok_and(|run| run["device"] == "tiny"));
    let page = std::fs::read_to_string(folder.path("report/report.html")).expect("the page was written");
    assert!(page.contains("wordline") || page.contains("Wordline"));
    assert!(std::fs::read(log).expect("the log was written").starts_with(b"PAR1"));
}

#[test]
fn what_failed_stands_in_the_table() {
    let rule = "faults=[{fails = \"program\", every = 50}]";
    let table = wordline(&small(&["--set", rule])).success();
    assert!(table.contains("failed programs"), "{table}");
    assert!(!wordline(&small(&[])).success().contains("failed programs"));
}

#[test]
fn a_trace_that_lies_beyond_the_device_is_wrapped_or_refused() {
    let folder = Folder::new();
    let far = folder.with("far.csv", "t_ns,op,offset_bytes,size_bytes\n0,W,0,4096\n9,R,1099511627776,4096\n");
    let run = |fit| ["run", "--preset", "tiny", "--trace", &far, "--fit", fit, "--json"].map(String::from);
    let call = |fit| wordline(&run(fit).each_ref().map(String::as_str));
    let wrapped = call("wrap").json();
    let notes = wrapped["notes"].as_array().expect("a list");
    assert!(
        notes.iter().any(|note| note.as_str().is_some_and(|text| text.contains("1 request wrapped"))),
        "{notes:?}"
    );
    let refusal = call("refuse").refusal();
    assert!(refusal.contains("far.csv:3: ") && refusal.contains("wrap or scale"), "{refusal}");
}

#[test]
fn a_profile_says_that_it_is_no_recorded_trace() {
    let run = wordline(&["run", "--workload", "centaur/usr_1", "--requests", "2000", "--json"]).json();
    assert_eq!(run["workload"]["kind"], "profile");
    assert!(run["notes"].to_string().contains("not a recorded trace"), "{}", run["notes"]);
}

#[test]
fn devices_are_compared_side_by_side() {
    let same = ["--workload", "mixed-70-30", "--requests", "2000"];
    let table = wordline(&[&["compare", "tiny", "tiny-tlc"], &same[..]].concat()).success();
    assert!(table.lines().any(|line| line.contains("tiny") && line.contains("tiny-tlc")), "{table}");
    let runs = wordline(&[&["compare", "tiny", "tiny-tlc", "--json"], &same[..]].concat()).json();
    let devices: Vec<&Value> = runs.as_array().expect("a list").iter().map(|run| &run["device"]).collect();
    assert_eq!(devices, ["tiny", "tiny-tlc"]);
}

#[test]
fn a_setting_that_does_not_fit_the_pace_is_refused() {
    let refusal = wordline(&small(&["--time-scale", "0.5"])).refusal();
    assert_eq!(
        refusal,
        "error: --time-scale: found 0.5, wanted none: in a closed loop requests have no times to scale\n"
    );
}

#[test]
fn results_that_cannot_be_written_are_an_error_that_names_the_file() {
    let folder = Folder::new();
    let file = folder.with("file", "");
    for target in ["--json", "--report", "--log", "--save-snapshot"] {
        let path = format!("{file}/below");
        let refusal = wordline(&small(&[target, &path])).refusal();
        assert!(refusal.starts_with(&format!("error: {path}")), "{target}: {refusal}");
        assert_eq!(folder.names(), ["file"], "{target}");
    }
}

/// Linux has a device on which every write fails as on a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut command: Command = program(&["presets", "list"]);
    let output = command.stdout(Stdio::from(full)).output().expect("the program was built with this test");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("error: standard output: cannot write: No space left"), "{said}");
}

#[test]
fn a_workload_of_the_users_is_read_from_its_file() {
    let folder = Folder::new();
    let shown = wordline(&["workloads", "show", "randwrite-4k"]).success();
    let path = folder.with("mine.toml", shown.replace("requests = 1000000", "requests = 300"));
    let run = wordline(&["run", "--preset", "tiny", "--workload", &path, "--json"]).json();
    assert_eq!(run["host"]["writes"], 300);
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("it was just written");
    writeln!(file, "colour = \"red\"").expect("it can be written");
    let refusal = wordline(&["run", "--preset", "tiny", "--workload", &path]).refusal();
    assert!(refusal.starts_with(&format!("error: {path}")) && refusal.contains("colour"), "{refusal}");
}

#[test]
fn an_application_runs_on_any_device_and_from_a_file_with_a_page_cache_of_the_users() {
    for name in ["mail", "web", "proxy", "oltp", "rocks", "mongo"] {
        let run =
            wordline(&["run", "--preset", "tiny", "--workload", name, "--requests", "2000", "--json"]).json();
        assert_eq!((&run["workload"]["name"], &run["outcome"]), (&name.into(), &"complete".into()), "{name}");
    }
    let folder = Folder::new();
    let shown = wordline(&["workloads", "show", "oltp"]).success();
    let reads = |share: &str| {
        let path = folder.with("mine.toml", shown.replace("page_cache = 0.25", share));
        let run = ["run", "--preset", "tiny", "--workload", &path, "--requests", "5000", "--json"];
        wordline(&run).json()["host"]["reads"].as_u64().expect("a number")
    };
    assert!(reads("page_cache = 0.0") > reads("page_cache = 0.8"));
}

#[test]
fn a_closed_loop_in_bursts_takes_about_twice_as_long_and_recorded_times_are_those_of_the_trace() {
    let base = ["run", "--preset", "tiny", "--workload", "mail", "--requests", "5000", "--json"];
    let seconds = |more: &[&str]| {
        wordline(&[&base[..], more].concat()).json()["simulated_seconds"].as_f64().expect("a number")
    };
    let (closed, bursts) = (seconds(&[]), seconds(&["--bursts", "100ms"]));
    // Requests that are in progress when a pause begins complete during the pause.
    assert!((1.3..2.2).contains(&(bursts / closed)), "{bursts} s with pauses, {closed} s without");
    let recorded = seconds(&["--times-of", "embedded"]);
    assert!(recorded > closed, "{recorded} s at the times of the trace, {closed} s without");
}

#[test]
fn a_device_that_is_run_to_death_says_how_much_it_took() {
    let worn = ["--preset", "tiny", "--set", "part.endurance=20", "--workload", "randwrite-4k-steady"];
    let new = ["run", "--requests", "100000", "--json", "--warm-up", "none"];
    let run = wordline(&[&new[..], &worn[..]].concat()).json();
    assert_eq!(run["outcome"], "read_only");
    let of = |value: &serde_json::Value| value.as_f64().expect("a number");
    let wear = &run["wear"];
    let written = of(&run["host"]["written_bytes"]);
    assert_eq!(of(&wear["terabytes_written"]), written / 1e12);
    // 16 MiB that endure 20 erases, divided by the write amplification. Some blocks have erases left.
    let most = 16.0 * 1_048_576.0 * 20.0 / of(&run["write_amplification"]);
    assert!((0.85..1.05).contains(&(written / most)), "{written} of {most} bytes");
    assert!(of(&wear["bad_blocks"]) > 0.0 && of(&wear["variation"]) < 0.2, "{wear}");
    assert_eq!(wear["dies"].as_array().map(Vec::len), Some(2));
    let note = run["notes"].to_string();
    assert!(note.contains("refuses writes: the host wrote ") && note.contains(" MB, "), "{note}");
}

#[test]
fn a_run_says_what_was_left_out_and_how_well_a_column_is_known() {
    let left_out =
        |warm_up: &str| wordline(&small(&["--json", "--warm-up", warm_up])).json()["warm_up"].clone();
    assert_eq!(left_out("1000")["requests"], 1_000);
    assert_eq!(left_out("none"), Value::Null);
    let table = wordline(&small(&["--until", "iops:0.001%"])).success();
    let table = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(table.contains("left out, until the load was steady by MSER-5"), "{table}");
    assert!(table.contains("Precision") && table.contains("not reached when the requests ended"), "{table}");
    let refused = wordline(&small(&["--warm-up", "twice"])).refusal();
    assert!(
        refused.contains("wanted none, rule, failure, a number of requests, or a time such as 20ms"),
        "{refused}"
    );
}

#[test]
fn a_comparison_says_once_what_holds_for_several_devices() {
    let few = ["--workload", "mixed-70-30", "--precondition", "empty", "--requests", "300"];
    let out = wordline(&[&["compare", "tiny", "tiny-tlc"], &few[..]].concat()).success();
    assert!(out.contains("Unknown of tiny, tiny-tlc:  write_amplification"), "{out}");
    assert!(
        out.lines().any(|line| line.contains("write amplification") && line.contains("unknown")),
        "{out}"
    );
}
