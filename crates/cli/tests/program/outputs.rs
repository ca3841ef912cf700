//! Tests the destinations of results: files, pipes, devices, standard output and report folders. Also tests
//! standard input.

use std::fs;

use serde_json::Value;

use crate::{Folder, fed, wordline};

const RUN: [&str; 7] = ["run", "--preset", "tiny", "--workload", "mixed-70-30", "--requests", "500"];
const CSV: &str = "t_ns,op,offset_bytes,size_bytes\n0,W,0,4096\n9000,R,0,4096\n";

fn run<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&RUN[..], more].concat()
}

#[test]
fn json_means_the_same_in_every_command() {
    let folder = Folder::new();
    let (trace, snapshot, copy) = (folder.with("a.csv", CSV), folder.path("a.snap"), folder.path("copy.csv"));
    wordline(&["snapshot", "make", &snapshot, "--preset", "tiny", "--precondition", "empty"]).success();
    let commands: [&[&str]; 17] = [
        &RUN,
        &["compare", "tiny", "tiny-tlc", "--workload", "randread-4k", "--requests", "100"],
        &["repro", "validation/dftl-writes", "--quick", "--seeds", "1"],
        &["repro", "list"],
        &["policies", "greedy"],
        &["presets", "list"],
        &["presets", "show", "tiny"],
        &["workloads", "list"],
        &["workloads", "show", "randread-4k"],
        &["trace", "info", &trace],
        &["trace", "convert", &trace, &copy],
        &["trace", "gen", "randread-4k", &copy, "--requests", "10"],
        &["trace", "formats"],
        &["snapshot", "show", &snapshot],
        &["nand", "ops", "--part", "mqsim-mlc"],
        &["cells", "show", "cubeftl-tlc"],
        &["nand", "timeline", "--part", "mqsim-mlc", "read"],
    ];
    let file = folder.path("result.json");
    for command in commands {
        for more in [&["--json"][..], &["--json", "-"]] {
            let finished = wordline(&[command, more].concat());
            serde_json::from_str::<Value>(&finished.out).expect("standard output is JSON and nothing else");
        }
        let finished = wordline(&[command, &["--json", &file]].concat());
        assert!(finished.out.lines().count() > 0, "{command:?}: the table stays on standard output");
        assert!(serde_json::from_str::<Value>(&finished.out).is_err(), "{command:?}: {}", finished.out);
        let text = fs::read(&file).expect("the file was written");
        serde_json::from_slice::<Value>(&text).expect("the file is JSON");
        fs::remove_file(&file).expect("it was just written");
    }
}

#[test]
fn two_outputs_are_never_one_place() {
    let folder = Folder::new();
    let file = folder.path("out");
    for (first, second) in [("--json", "--log"), ("--log", "--save-snapshot")] {
        for place in ["-", &file] {
            let refusal = wordline(&run(&[first, place, second, place])).refusal();
            assert!(refusal.contains(&format!("which {first} is for")), "{refusal}");
        }
    }
    let trace = folder.with("a.csv", CSV);
    wordline(&["trace", "convert", &trace, "-", "--json", "-"]).refusal();
    wordline(&["nand", "timeline", "--part", "mqsim-mlc", "read", "--svg", "-", "--output", "-"]).refusal();
    assert_eq!(folder.names(), ["a.csv"]);
}

/// The run would take hours.
#[test]
fn what_cannot_be_written_is_said_before_the_run() {
    let folder = Folder::new();
    fs::create_dir(folder.path("out")).expect("a temporary folder can be written");
    folder.with("out/thesis.tex", "mine");
    for option in ["--json", "--report", "--log", "--save-snapshot"] {
        let path = if option == "--report" { folder.path("out") } else { folder.path("out/thesis.tex/x") };
        let long = ["run", "--preset", "tiny", "--workload", "randread-4k", "--requests", "10000000000"];
        let refusal = wordline(&[&long, &[option, &path][..]].concat()).refusal();
        assert!(refusal.starts_with(&format!("error: {path}: ")), "{refusal}");
    }
    assert_eq!(fs::read(folder.path("out/thesis.tex")).expect("it stays"), b"mine");
}

#[test]
fn a_report_takes_the_place_of_the_one_before() {
    let folder = Folder::new();
    let report = folder.path("report");
    let writes = ["run", "--preset", "tiny", "--workload", "randwrite-4k", "--requests", "500"];
    wordline(&[&writes, &["--report", &report][..]].concat()).success();
    let chart = folder.path("report/charts/write-latency.vl.json");
    let old = fs::read_dir(folder.path("report/charts")).expect("charts").count();
    let reads = ["run", "--preset", "tiny", "--workload", "randread-4k", "--requests", "500"];
    let finished = wordline(&[&reads, &["--report", &report][..]].concat());
    assert!(finished.err.contains("replaces the report there"), "{}", finished.err);
    finished.success();
    let new = fs::read_dir(folder.path("report/charts")).expect("charts").count();
    assert!(new < old, "{chart}: a run without writes has fewer charts");
}

#[test]
fn inputs_come_from_standard_input_too() {
    let info = fed(&["trace", "info", "-", "--json"], CSV.as_bytes()).json();
    assert_eq!((&info["name"], &info["statistics"]["requests"]), (&"standard input".into(), &2.into()));
    let replayed = fed(&["run", "--preset", "tiny", "--trace", "-", "--json"], CSV.as_bytes()).json();
    assert_eq!(replayed["host"]["requests"], 2);
    let sound = fed(&["config", "check", "--config", "-"], b"preset = \"tiny\"\n").success();
    assert!(sound.contains("standard input: sound"), "{sound}");
    let workload = wordline(&["workloads", "show", "randread-4k"]).success();
    let asked = ["run", "--preset", "tiny", "--workload", "-", "--requests", "10", "--json"];
    assert_eq!(fed(&asked, workload.as_bytes()).json()["workload"]["name"], "standard input");
    let refusal = fed(&["compare", "tiny", "tiny-tlc", "--trace", "-"], CSV.as_bytes()).refusal();
    assert!(refusal.contains("each device reads it"), "{refusal}");
    let folder = Folder::new();
    let snapshot = folder.path("a.snap");
    wordline(&["snapshot", "make", &snapshot, "--preset", "tiny", "--precondition", "empty"]).success();
    let bytes = fs::read(&snapshot).expect("it was just made");
    let shown = fed(&["snapshot", "show", "-", "--json"], &bytes).json();
    assert_eq!(shown["size"]["file_bytes"], bytes.len());
}

#[test]
fn a_trace_goes_through_pipes() {
    let folder = Folder::new();
    let converted = fed(&["trace", "convert", "-", "-", "--to-format", "mqsim"], CSV.as_bytes());
    assert!(converted.err.contains("standard output: 2 requests written"), "{}", converted.err);
    assert_eq!(converted.success(), "0 0 0 8 0\n9000 0 0 8 1\n");
    let refusal =
        wordline(&["trace", "convert", &folder.with("a.csv", CSV), &folder.path("b.csv.xz")]).refusal();
    assert!(refusal.contains("found a name that ends in .xz"), "{refusal}");
    assert_eq!(folder.names(), ["a.csv"]);
}

#[cfg(unix)]
mod special {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    use std::process::Command;

    use super::*;

    /// Calls the program with a pipe as an output. Returns the bytes from the pipe, and whether it is still a
    /// pipe.
    #[track_caller]
    fn through_a_pipe(arguments: &dyn Fn(&str) -> Vec<String>) -> Vec<u8> {
        let folder = Folder::new();
        let (pipe, link) = (folder.path("pipe"), folder.path("link"));
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("POSIX has mkfifo").success());
        symlink("pipe", &link).expect("a temporary folder can be written");
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || fs::read(pipe).expect("a pipe can be read"))
        };
        let arguments = arguments(&link);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        wordline(&arguments).success();
        assert!(fs::symlink_metadata(&pipe).expect("it is there").file_type().is_fifo(), "{arguments:?}");
        assert!(fs::symlink_metadata(&link).expect("it is there").is_symlink(), "{arguments:?}");
        assert_eq!(folder.names(), ["link", "pipe"], "{arguments:?}");
        reader.join().expect("the reader read")
    }

    #[test]
    fn every_output_may_be_a_pipe() {
        let folder = Folder::new();
        let trace = folder.with("a.csv", CSV);
        let line = ["nand", "timeline", "--part", "mqsim-mlc", "read"];
        let script = folder.with("a.onfi", "cmd FF\nwait ready\n");
        let cases: [(&[&str], &[u8]); 10] = [
            (&run(&["--json"]), b"{"),
            (&run(&["--log"]), b"PAR1"),
            (&run(&["--save-snapshot"]), b"wordline-state"),
            (&["snapshot", "make", "--preset", "tiny", "--precondition", "empty"], b"wordline-state"),
            (&["trace", "convert", &trace], b"t_ps"),
            (&["trace", "gen", "randread-4k", "--requests", "10"], b"# generated"),
            (&[&line[..], &["--output"]].concat(), b"{"),
            (&[&line[..], &["--svg"]].concat(), b"<svg"),
            (&["nand", "exec", &script, "--part", "mqsim-mlc", "--timeline"], b"{"),
            (&["presets", "list", "--json"], b"["),
        ];
        for (command, begin) in cases {
            let all = |to: &str| command.iter().chain([&to]).map(|text| (*text).to_owned()).collect();
            let bytes = through_a_pipe(&all);
            let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
            assert!(bytes.starts_with(begin), "{command:?}: {shown}");
        }
    }

    #[test]
    fn a_linked_file_keeps_its_link_and_its_permissions() {
        let folder = Folder::new();
        let (file, link) = (folder.with("file", "old"), folder.path("link"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");
        symlink("file", &link).expect("a temporary folder can be written");
        wordline(&run(&["--json", &link])).success();
        assert!(fs::read(&file).expect("it is there").starts_with(b"{"));
        assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
        assert!(fs::symlink_metadata(&link).expect("it is there").is_symlink());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).expect("it is ours");
        let refusal = wordline(&run(&["--json", &link])).refusal();
        assert!(refusal.contains("the file is read-only"), "{refusal}");
    }

    /// A run may have taken hours. The output is a symbolic link to a device on which every write fails.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_result_that_cannot_be_written_is_printed_all_the_same() {
        let folder = Folder::new();
        let link = folder.path("link");
        symlink("/dev/full", &link).expect("a temporary folder can be written");
        let finished = wordline(&run(&["--json", &link]));
        assert_eq!(finished.code, Some(2), "{}", finished.err);
        assert!(finished.err.contains("cannot write: No space left"), "{}", finished.err);
        assert!(finished.out.contains("digest"), "{}", finished.out);
        assert!(fs::metadata(&link).expect("it is there").file_type().is_char_device());
        assert_eq!(folder.names(), ["link"]);
    }
}

/// The output is the version, followed by the commit in brackets if it is known.
#[test]
fn results_say_which_program_made_them_of_what() {
    let version = wordline(&["--version"]).success();
    assert!(version.starts_with(concat!("wordline ", env!("CARGO_PKG_VERSION"))), "{version}");
    let folder = Folder::new();
    let trace = folder.with("a.csv", CSV);
    let (log, report) = (folder.path("a.parquet"), folder.path("report"));
    let call = ["run", "--preset", "tiny", "--trace", &trace, "--seed", "7", "--json", "-"];
    let result = wordline(&[&call[..], &["--log", &log, "--report", &report]].concat()).json();
    let provenance = &result["provenance"];
    assert_eq!(provenance["version"], env!("CARGO_PKG_VERSION"));
    let commit = provenance["commit"].as_str();
    assert_eq!(version.contains('('), commit.is_some(), "{version}");
    assert!(version.contains(commit.unwrap_or_default()), "{version}");
    assert!(provenance["schema"].is_u64() && provenance["command"][1] == "run", "{provenance}");
    assert!(
        result["configuration"].as_str().is_some_and(|text| text.contains("over_provisioning")),
        "{result}"
    );
    assert_eq!((&result["seed"], &result["trace_file"]["bytes"]), (&7.into(), &CSV.len().into()));
    let hash = result["trace_file"]["sha256"].as_str().expect("a hash");
    let logged = String::from_utf8_lossy(&fs::read(log).expect("it was written")).into_owned();
    let page = fs::read_to_string(folder.path("report/report.html")).expect("it was written");
    for text in [&logged, &page] {
        assert!(text.contains(hash) && text.contains("over_provisioning") && text.contains("--seed"));
    }
    for call in [
        &["repro", "validation/dftl-writes", "--quick", "--seeds", "1", "--json"][..],
        &["trace", "info", &trace, "--json"],
        &["nand", "ops", "--part", "mqsim-mlc", "--json"],
    ] {
        let result: Value = serde_json::from_str(&wordline(call).out).expect("standard output is JSON");
        assert_eq!(result["provenance"]["version"], env!("CARGO_PKG_VERSION"), "{call:?}");
        assert!(
            result["provenance"]["command"].as_array().is_some_and(|words| words.len() == call.len() + 1)
        );
    }
    assert_eq!(wordline(&run(&["--json"])).json()["trace_file"], Value::Null);
}
