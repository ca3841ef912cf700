//! Tests `wordline trace` and `wordline workloads`.

use serde_json::Value;

use crate::{Folder, recorded, wordline};

const CSV: &str =
    "t_ns,op,offset_bytes,size_bytes\n0,W,0,4096\n1000,R,0,4096\n2000,W,0,8192\n9000,W,65536,4096\n";

#[test]
fn the_statistics_of_a_trace_are_counts_and_shares() {
    let folder = Folder::new();
    let path = folder.with("a.csv", CSV);
    let info = wordline(&["trace", "info", &path, "--json"]).json();
    let statistics = &info["statistics"];
    assert_eq!((&statistics["requests"], &statistics["writes"]), (&Value::from(4), &Value::from(3)));
    assert_eq!(statistics["write_share"], Value::from(0.75));
    assert_eq!(statistics["written_bytes"], Value::from(16384));
    assert_eq!(info["format"], "csv");
    let table = wordline(&["trace", "info", &path]).success();
    assert!(table.contains("Write share") && table.contains("75"), "{table}");
}

#[test]
fn a_converted_trace_has_the_same_statistics() {
    let folder = Folder::new();
    let from = folder.with("a.csv", CSV);
    for (name, format) in
        [("b.csv.zst", "csv"), ("b.msr.gz", "msr"), ("b.txt", "mqsim"), ("b.log", "fio-iolog")]
    {
        let to = folder.path(name);
        let said = wordline(&["trace", "convert", &from, &to, "--to-format", format]).success();
        assert!(said.contains("4 requests written as "), "{said}");
        let statistics = |path: &str, format: &str| {
            let info = wordline(&["trace", "info", path, "--format", format, "--json"]).json();
            ["writes", "written_bytes", "footprint", "update_requests"]
                .map(|key| info["statistics"][key].clone())
        };
        assert_eq!(statistics(&to, format), statistics(&from, "csv"), "{format}");
    }
}

/// The addresses and devices of a CSV that was written.
fn places(path: &str) -> Vec<[String; 2]> {
    let text = std::fs::read_to_string(path).expect("it was written");
    let rows = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    rows.map(|row| [row[2].into(), row[4].into()]).collect()
}

#[test]
fn a_trace_that_is_converted_again_keeps_its_devices_and_addresses() {
    let folder = Folder::new();
    let rows = "t_us,op,offset,size,dev\n0,W,0,4096,0\n1,W,0,4096,1\n2,W,0,4096,2\n";
    let from = folder.with("d.csv", rows);
    let kept = [["0", "0"], ["0", "1"], ["0", "2"]];
    for format in ["csv", "msr", "spc", "disksim", "mqsim", "fio-iolog"] {
        let (one, two) = (folder.path(&format!("{format}.1")), folder.path(&format!("{format}.2")));
        wordline(&["trace", "convert", &from, &one, "--to-format", format]).success();
        wordline(&["trace", "convert", &one, &two, "--format", format]).success();
        assert_eq!(places(&two), kept, "{format}");
        let info = wordline(&["trace", "info", &one, "--format", format, "--json"]).json();
        assert_eq!(info["statistics"]["highest_byte"], Value::from((2 << 20) + 4096), "{format}");
    }
    let (stacked, again) = (folder.path("s.csv"), folder.path("s2.csv"));
    wordline(&["trace", "convert", &from, &stacked, "--trace-option", "devices=stack"]).success();
    wordline(&["trace", "convert", &stacked, &again, "--trace-option", "devices=stack"]).success();
    for path in [&stacked, &again] {
        assert_eq!(places(path), [["0", "0"], ["1048576", "0"], ["2097152", "0"]], "{path}");
    }
}

#[test]
fn figures_that_need_the_address_of_an_append_are_without_it() {
    let folder = Folder::new();
    let appends: String = (0..4).map(|n| format!("{n},ZA,0,8192\n")).collect();
    let path = folder.with("za.csv", format!("t_us,op,offset,size\n{appends}"));
    let info = wordline(&["trace", "info", &path, "--json"]).json();
    let statistics = &info["statistics"];
    assert_eq!((&statistics["writes"], &statistics["written_bytes"]), (&4.into(), &32_768.into()));
    assert_eq!((&statistics["footprint_written"], &statistics["update_requests"]), (&0.into(), &0.into()));
    assert!(info["notes"].to_string().contains("without 4 zone appends"), "{}", info["notes"]);
}

#[test]
fn a_generated_trace_has_the_streams_of_its_workload() {
    let folder = Folder::new();
    let workload = "requests = 40\nread_share = 0.5\nstream = 3\nprecondition = \"empty\"\n\
                    arrival = { kind = \"closed\", queue_depth = 1 }\npattern = { kind = \"uniform\" }\n\
                    sizes = [{ size = \"4KiB\", weight = 1 }]\n";
    let job = "[a]\nfilename=x\nrw=randrw\nbs=4k\nnumber_ios=40\nfdp=1\nplids=2\n";
    for (name, text) in [("st.toml", workload), ("st.fio", job)] {
        let (from, to) = (folder.with(name, text), folder.path(&format!("{name}.csv")));
        wordline(&["trace", "gen", &from, &to, "--preset", "tiny"]).success();
        let csv = std::fs::read_to_string(&to).expect("it was written");
        let mut lines = csv.lines().skip(1);
        assert!(lines.next().is_some_and(|header| header.ends_with(",cpu,stream")), "{csv}");
        assert!(csv.contains(",W,"), "{csv}");
        assert!(lines.all(|line| line.ends_with(",3") == line.contains(",W,")), "{csv}");
    }
}

#[test]
fn a_generated_trace_depends_on_its_seed_alone() {
    let folder = Folder::new();
    let make = |name: &str, seed: &str| {
        let path = folder.path(name);
        wordline(&["trace", "gen", "mixed-70-30", &path, "--requests", "500", "--seed", seed]).success();
        std::fs::read(path).expect("the trace was written")
    };
    let first = make("a.csv", "7");
    assert_eq!(first, make("b.csv", "7"));
    assert_ne!(first, make("c.csv", "8"));
}

/// Runs a shell command with this many KiB of address space. `$WORDLINE` is the program.
///
/// The allocator has one arena: for each further one it reserves 64 to 128 MiB of addresses, and how many
/// threads want their own depends on the moment.
#[cfg(target_os = "linux")]
fn within(kib: u64, command: &str) -> std::process::Output {
    let script = format!("ulimit -v {kib}; {command}");
    let program = env!("CARGO_BIN_EXE_wordline");
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .envs([("WORDLINE", program), ("MALLOC_ARENA_MAX", "1"), ("MIMALLOC_ARENA_RESERVE", "0")])
        .output();
    output.expect("there is a shell")
}

#[cfg(target_os = "linux")]
#[test]
fn a_trace_longer_than_the_memory_is_made_and_read() {
    let folder = Folder::new();
    let path = folder.path("long.csv.zst");
    // In memory, two million requests would take 110 MB as requests and 130 MB as rows. The allocators reserve
    // no arenas, so that a window of requests, the program and its threads take less than 200 MB of addresses.
    for command in [
        format!("$WORDLINE trace gen randwrite-4k {path} --requests 2000000 --preset tiny"),
        format!("$WORDLINE trace info {path}"),
        format!("$WORDLINE trace convert {path} {path}.log"),
    ] {
        let output = within(280_000, &command);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_reads_only_as_much_of_a_trace_as_it_needs() {
    let rows = "awk 'BEGIN { print \"t_ns,op,offset,size\"; while (1) print n++ \"000,R,0,4096\" }'";
    let command =
        format!("{rows} | $WORDLINE run --preset tiny --trace /dev/stdin --requests 10 --no-progress --json");
    let output = within(2_000_000, &command);
    let summary: Value = serde_json::from_slice(&output.stdout).expect("a summary");
    assert_eq!(summary["host"]["requests"], 10);
}

#[test]
fn a_file_that_is_read_is_not_written() {
    let folder = Folder::new();
    let (path, other) = (folder.with("a.csv", CSV), folder.path("./a.csv"));
    for arguments in [
        &["trace", "convert", &path, &other][..],
        &["run", "--preset", "tiny", "--trace", &path, "--log", &other],
        &["run", "--preset", "tiny", "--trace", &path, &format!("--json={other}")],
        &["why", "--preset", "tiny", "--trace", &path, &format!("--json={other}")],
        &["compare", "tiny", "tiny-tlc", "--trace", &path, &format!("--json={other}")],
    ] {
        let refusal = wordline(arguments).refusal();
        assert!(refusal.contains("a.csv, which is read, wanted another file"), "{refusal}");
    }
    assert_eq!(std::fs::read_to_string(&path).expect("the trace"), CSV);
}

#[test]
fn every_format_is_listed_with_its_meaning() {
    let formats = wordline(&["trace", "formats", "--json"]).json();
    for (list, name) in [("read", "msr"), ("read", "blktrace"), ("write", "csv"), ("options", "time_unit")] {
        let rows = formats[list].as_array().expect("a list");
        let row = rows.iter().find(|row| row["name"] == name).expect(name);
        assert!(row["meaning"].as_str().is_some_and(|meaning| !meaning.is_empty()), "{name}");
    }
}

#[test]
fn workloads_and_profiles_are_listed_and_shown() {
    let list = wordline(&["workloads", "list", "--json"]).json();
    let rows = list.as_array().expect("a list");
    for (name, kind) in [("randread-4k", "synthetic"), ("centaur/usr_1", "profile")] {
        assert!(rows.iter().any(|row| row["name"] == name && row["kind"] == kind), "{name}");
    }
    let shown = wordline(&["workloads", "show", "randread-4k"]).success();
    assert!(shown.contains("read_share"), "{shown}");
    let refusal = wordline(&["workloads", "show", "randread"]).refusal();
    assert!(refusal.contains("`randread`") && refusal.contains("randread-4k"), "{refusal}");
}

#[test]
fn a_recorded_trace_is_measured_and_its_notes_go_to_standard_error() {
    let Some(path) = recorded("android/Nexus5.Booting_log176.txt.zst") else { return };
    let finished = wordline(&["trace", "info", &path.to_string_lossy(), "--json"]);
    assert!(finished.err.lines().all(|line| line.starts_with("note: ")), "{}", finished.err);
    assert_eq!(finished.json()["statistics"]["requests"], 18_417);
}

#[test]
fn a_papers_numbers_stand_beside_those_of_a_trace() {
    let folder = Folder::new();
    let path = folder.with("a.csv", CSV);
    let info = wordline(&["trace", "info", &path, "--profile", "centaur/hm_1", "--json"]).json();
    let rows = info["published"].as_array().expect("a list");
    let reads = rows.iter().find(|row| row["statistic"] == "read_requests").expect("the paper counts reads");
    assert_eq!((&reads["unit"], &reads["verdict"]), (&"million".into(), &"outside".into()));
    assert_eq!(reads["ours"], 1e-6);
    let refusal = wordline(&["trace", "info", &path, "--profile", "centaur/hm_7"]).refusal();
    assert!(refusal.contains("`centaur/hm_7`") && refusal.contains("centaur/hm_1"), "{refusal}");
}

#[test]
fn a_generated_trace_is_never_called_a_recording() {
    let folder = Folder::new();
    for (name, kind, mark) in [
        ("centaur/usr_1", "profile", "profile centaur/usr_1"),
        ("mixed-70-30", "synthetic", "workload mixed-70-30"),
    ] {
        let path = folder.path("made.csv.zst");
        let log = folder.path("made.log");
        let copy = folder.path("copy.csv");
        wordline(&["trace", "gen", name, &path, "--requests", "300", "--seed", "3"]).success();
        wordline(&["trace", "convert", &path, &copy]).success();
        let text = std::fs::read_to_string(&copy).expect("it was just written");
        assert_eq!(text.lines().next(), Some(&*format!("# generated by wordline: {mark}, seed 3")));
        let run = wordline(&["run", "--preset", "tiny", "--trace", &copy, "--json"]).json();
        assert_eq!(run["workload"], serde_json::json!({ "name": name, "kind": kind }));
        assert!(run["notes"].to_string().contains("not a recorded trace"), "{}", run["notes"]);
        let info = wordline(&["trace", "info", &copy, "--json"]).json();
        assert_eq!((&info["source"], &info["name"]), (&run["workload"], &"copy.csv".into()));
        let lost = wordline(&["trace", "convert", &copy, &log, "--to-format", "fio-iolog"]);
        assert!(lost.err.contains("format fio-iolog cannot record that"), "{}", lost.err);
    }
}

#[test]
fn a_trace_without_the_mark_is_not_said_to_be_recorded() {
    let folder = Folder::new();
    let path = folder.with("a.csv", format!("# generated by hand\n#\n{CSV}"));
    let info = wordline(&["trace", "info", &path, "--json"]).json();
    assert_eq!(info["source"], serde_json::json!({ "name": "a.csv", "kind": "trace" }));
    assert!(wordline(&["trace", "info", &path]).success().starts_with("a.csv (csv, trace)\n"));
    let run = |more: &[&str]| {
        wordline(&[&["run", "--preset", "tiny", "--requests", "50", "--json"], more].concat()).json()["workload"]["kind"].clone()
    };
    let log = folder.path("job.csv");
    assert_eq!(run(&["--workload", "mixed-70-30", "--log", &log]), "synthetic");
    assert_eq!((run(&["--trace", &log]), run(&[])), ("trace".into(), "real_trace".into()));
}
