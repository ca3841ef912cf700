//! Tests `wordline sweep`.

use serde_json::Value;

use crate::{Folder, wordline};

/// A sweep of a small device.
const SWEEP: [&str; 12] = [
    "sweep",
    "--preset",
    "tiny",
    "--workload",
    "randwrite-4k-steady",
    "--requests",
    "2000",
    "--no-progress",
    "--column",
    "write_amplification",
    "--vary",
    "ftl.over_provisioning=0.2..0.4/3",
];

#[test]
fn means_over_seeds_are_printed_for_each_combination() {
    let out =
        wordline(&[&SWEEP[..], &["--vary", "ftl.gc.victim.policy=greedy,fifo", "--seeds", "3"]].concat())
            .success();
    let lines: Vec<&str> = out.lines().collect();
    assert!(
        lines[0].starts_with("ftl.over_provisioning") && lines[0].contains("write_amplification"),
        "{out}"
    );
    assert_eq!(lines.iter().filter(|line| line.contains("greedy")).count(), 3, "{out}");
    assert!(out.contains("18 runs\n") && out.contains('±'), "{out}");
}

#[test]
fn runs_are_kept_and_written_in_all_forms() {
    let folder = Folder::new();
    let text_of = |name: &str| std::fs::read_to_string(folder.path(name)).expect("it was just written");
    let store = folder.path("runs");
    let in_store = [&SWEEP[..], &["--store", &store]].concat();
    let plan = wordline(&[&in_store[..], &["--plan"]].concat()).success();
    assert!(
        plan.starts_with(
            "3 runs, 0 done, 3 left: how long they take is known when one is done\na run takes up to about "
        ),
        "{plan}"
    );
    let (csv, json, report) = (folder.path("runs.csv"), folder.path("table.json"), folder.path("report"));
    wordline(&[&in_store[..], &["--runs", &csv, "--json", &json, "--report", &report]].concat()).success();
    assert_eq!(text_of("runs.csv").lines().count(), 4);
    let table: Value = serde_json::from_str(&text_of("table.json")).expect("it is JSON");
    assert_eq!(table["rows"].as_array().map(Vec::len), Some(3));
    assert!(table["provenance"]["version"].is_string());
    let in_report: Value = serde_json::from_str(&text_of("report/table.json")).expect("it is JSON");
    assert_eq!(in_report, table, "the program that made it, too");
    let page = text_of("report/report.html");
    assert!(page.contains("write_amplification") && page.contains("<table>"));
    assert!(text_of("report/charts/write_amplification.vl.json").contains("ftl.over_provisioning"));
    let plan = wordline(&[&in_store[..], &["--plan"]].concat()).success();
    assert!(plan.starts_with("3 runs, 3 done, 0 left"), "{plan}");
}

#[test]
fn a_study_is_a_file() {
    let folder = Folder::new();
    let text = "preset = \"tiny\"\nworkload = { name = \"randwrite-4k\", requests = 500 }\n\
        [[vary]]\nkey = \"workload.named.queue_depth\"\nvalues = [1, 8]\n";
    let file = folder.with("study.toml", text);
    let out = wordline(&["sweep", &file, "--no-progress"]).success();
    assert!(out.contains("host.iops") && out.contains("2 runs"), "{out}");
    let wrong = wordline(&["sweep", &file, "--preset", "tiny"]).refusal();
    assert!(wrong.contains("cannot be used with"), "{wrong}");
}

#[test]
fn a_plan_counts_the_seeds_that_may_be_added() {
    let folder = Folder::new();
    let text = "preset = \"tiny\"\nworkload = { name = \"randwrite-4k\", requests = 200 }\n\
        repeat = { seeds = 2, until = { column = \"host.iops\", half_width = \"1 %\", at_most = 9 } }\n\
        [[vary]]\nkey = \"workload.named.queue_depth\"\nvalues = [1, 8]\n";
    let plan = wordline(&["sweep", &folder.with("study.toml", text), "--plan"]).success();
    assert!(plan.starts_with("4 runs, 0 done, 4 left: "), "{plan}");
    assert!(plan.contains("\nrepeat.until may add up to 14 runs\n"), "{plan}");
}

#[test]
fn what_is_wrong_is_told_with_the_key() {
    let with = |more: &[&str], told: &str| {
        let wrong = wordline(&[&SWEEP[..], more].concat()).refusal();
        assert!(wrong.contains(told), "{more:?}: {wrong}");
    };
    with(
        &["--vary", "ftl.over_provisionin=1,2"],
        "error: --vary ftl.over_provisionin: found an unknown key, wanted over_prov",
    );
    with(
        &["--vary", "ftl.gc.victim.policy=gredy"],
        "error: --vary ftl.gc.victim.policy: found \"gredy\", wanted greedy, or",
    );
    with(&["--vary", "ftl.gc.stop_at_free_blocks=4..9"], "ftl.gc.stop_at_free_blocks=4..9/STEPS");
    with(&["--vary", "ftl.gc.victim.policy"], "KEY=VALUE");
    with(&["--vary", "ftl.gc.victim.policy=greedy,greedy"], "twice");
    with(&["--column", "waf"], "error: --column: found `waf`");
    with(&["--runs", "runs.txt"], ".csv or .parquet");
    with(&["--memory", "1MiB"], "error: --memory: found 1MiB, wanted at least");
    with(
        &["--against", "ftl.over_provisioning=0.9"],
        "error: --against ftl.over_provisioning: found 0.9, wanted one of 0.2",
    );
    with(&["--against", "seed"], "KEY=VALUE");
    with(
        &["--cluster", "tcp://localhost:1", "--python", "no-such-python"],
        "pip install 'wordline[cluster]'",
    );
    with(&["--cluster", "tcp://localhost:1", "--threads", "2"], "cannot be used with");
    let folder = Folder::new();
    folder.with("thesis.tex", "years of work");
    with(&["--store", &folder.path("")], "a folder with other files");
}

/// A program in place of Python, which prints these lines.
#[cfg(unix)]
fn saying(folder: &Folder, lines: &[&str]) -> String {
    use std::os::unix::fs::PermissionsExt;
    let says: String = lines.iter().map(|line| format!("echo '{line}'\n")).collect();
    let path = folder.with("python", format!("#!/bin/sh\n{says}read all\n"));
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("it is ours");
    path
}

#[cfg(unix)]
#[test]
fn what_a_cluster_says_is_told() {
    let folder = Folder::new();
    let version = wordline(&["--version"]).success();
    let own = format!("{{\"program\": \"{}\"}}", version.trim());
    let told = |lines: &[&str], wanted: &str| {
        let python = saying(&folder, lines);
        let cluster = ["--cluster", "tcp://localhost:1", "--python", &python];
        let wrong = wordline(&[&SWEEP[..], &cluster].concat()).refusal();
        assert!(wrong.contains(wanted), "{lines:?}: {wrong}");
    };
    told(&["{\"program\": \"wordline 0.0.1\"}"], "found wordline 0.0.1, wanted wordline");
    told(&["{\"refused\": \"no scheduler there\"}"], "--cluster: found no scheduler there");
    told(&["Welcome!"], "found the line `Welcome!`");
    told(&[&own, "{\"failed\": {\"name\": \"another\", \"error\": \"\"}}"], "found the name another");
}

#[cfg(unix)]
#[test]
fn a_run_that_ends_its_workers_is_a_failed_run() {
    let folder = Folder::new();
    let version = wordline(&["--version"]).success();
    let own = format!("{{\"program\": \"{}\"}}", version.trim());
    let store = folder.path("runs");
    // The program reads its requests, and reports that all of them failed.
    let python = saying(&folder, &[&own]);
    let script = std::fs::read_to_string(&python).expect("it was just written")
        + "echo \"$all\" | grep -o '\"name\":\"[0-9a-f]*\"' | while read run; do\n\
           echo \"{\\\"failed\\\": {$run, \\\"error\\\": \\\"four workers\\\"}}\"\ndone\necho '{\"over\": {}}'\n";
    std::fs::write(&python, script).expect("it is ours");
    let cluster = ["--cluster", "tcp://localhost:1", "--python", &python, "--store", &store];
    let out = wordline(&[&SWEEP[..], &cluster].concat());
    assert_eq!(out.code, Some(1), "{}{}", out.out, out.err);
    assert!(out.out.contains("3 runs, 3 failed") && out.out.contains("four workers"), "{}", out.out);
}

/// The files of a store by name, without wall-clock times.
#[cfg(unix)]
fn files_of(store: &str) -> std::collections::BTreeMap<String, Value> {
    let mut all = std::collections::BTreeMap::new();
    for folder in ["runs", "windows"] {
        let entries = std::fs::read_dir(std::path::Path::new(store).join(folder)).expect("it is a store");
        for entry in entries.map(|entry| entry.expect("an entry")) {
            let name = format!("{folder}/{}", entry.file_name().display());
            // A run that was killed during a write leaves a file that does not belong to the store.
            if name.contains(".unfinished-") {
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).expect("it can be read");
            let mut value: Value = serde_json::from_str(&text).expect("each file is whole");
            // The digest is left out, because it covers wall-clock times.
            value.as_object_mut().and_then(|members| members.remove("digest"));
            if let Some(summary) = value.get_mut("summary").and_then(Value::as_object_mut) {
                summary.remove("simulator");
            }
            all.insert(name, value);
        }
    }
    all
}

/// Kills a study of sixty runs three times. With `WORDLINE_LONG` it kills a study of a thousand runs ten
/// times.
#[cfg(unix)]
#[test]
fn a_study_that_was_killed_goes_on_as_if_it_had_not_been() {
    let (seeds, kills) = if std::env::var_os("WORDLINE_LONG").is_some() { ("500", 10) } else { ("30", 3) };
    let folder = Folder::new();
    let [killed, whole] = ["killed", "whole"].map(|name| folder.path(name));
    let sweep = [&SWEEP[..10], &["--vary", "ftl.gc.victim.policy=greedy,fifo", "--seeds", seeds]].concat();
    let in_store = |store: &str| {
        [&sweep[..], &["--store", store]].concat().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let count = |store: &str| std::fs::read_dir(format!("{store}/runs")).map_or(0, Iterator::count);
    let began = std::time::Instant::now();
    let expected = wordline(&in_store(&whole).iter().map(String::as_str).collect::<Vec<_>>()).success();
    println!("{} runs took {:?}", 2 * seeds.parse::<u32>().expect("a number"), began.elapsed());
    let all = count(&whole);
    // Knuth's generator makes each kill happen at the same number of runs. The exact moments differ.
    let mut random: u64 = 1;
    for kill in 1..=kills {
        let arguments = in_store(&killed);
        let mut child = crate::program(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("the program was built with this test");
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let wanted =
            all * (kill - 1) / (kills + 1) + (random >> 33) as usize % (all / (kills + 1)).max(1) + 1;
        while count(&killed) < wanted {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        child.kill().expect("it is running");
        child.wait().expect("it ends");
    }
    assert!(count(&killed) < all + kills, "the last kill came too late");
    let found = wordline(&in_store(&killed).iter().map(String::as_str).collect::<Vec<_>>()).success();
    assert_eq!(found, expected);
    assert_eq!(files_of(&killed), files_of(&whole));
}

#[test]
fn parts_of_a_study_in_one_store_or_in_merged_ones_make_the_same_table() {
    let folder = Folder::new();
    let [alone, shared, merged] = ["alone", "shared", "merged"].map(|name| folder.path(name));
    let sweep = [&SWEEP[..], &["--seeds", "2", "--store"]].concat();
    let expected = wordline(&[&sweep[..], &[&alone]].concat()).success();
    let parts = ["1/4", "2/4", "3/4", "4/4"];
    let own: Vec<String> = parts.map(|part| folder.path(&part.replace('/', "-"))).to_vec();
    for (part, own) in parts.iter().zip(&own) {
        let out = wordline(&[&sweep[..], &[own, "--shard", part]].concat()).success();
        let runs = if *part <= "2/4" { 2 } else { 1 };
        assert!(out.contains(&format!("{runs} runs, {} not done", 6 - runs)), "{out}");
        wordline(&[&sweep[..], &[&shared, "--shard", part]].concat()).success();
    }
    let from: Vec<&str> = own.iter().map(String::as_str).collect();
    let merge = [&["store", "merge", &merged], &from[..]].concat();
    assert_eq!(wordline(&merge).success(), format!("6 runs copied, 0 known, 6 in {merged}\n"));
    assert_eq!(wordline(&merge).success(), format!("0 runs copied, 6 known, 6 in {merged}\n"));
    for store in [&shared, &merged] {
        let plan = wordline(&[&sweep[..], &[store, "--plan"]].concat()).success();
        assert!(plan.starts_with("6 runs, 6 done, 0 left"), "{plan}");
        assert_eq!(wordline(&[&sweep[..], &[store]].concat()).success(), expected);
        #[cfg(unix)]
        assert_eq!(files_of(store), files_of(&alone));
    }
    assert_eq!(wordline(&["store", "check", &merged]).success(), "6 runs as written, 0 files damaged\n");
}

#[test]
fn parts_add_the_seeds_that_precision_requires_once_the_store_has_the_first() {
    let folder = Folder::new();
    let until = "{ column = \"host.iops\", half_width = \"0.001 %\", at_most = 4 }";
    let study = format!(
        "preset = \"tiny\"\nworkload = {{ name = \"randwrite-4k\", requests = 200 }}\ncolumns = [\"host.iops\"]\n\
         repeat = {{ seeds = 2, until = {until} }}\nvary = [{{ key = \"ftl.over_provisioning\", values = [0.2, 0.3, 0.4] }}]\n"
    );
    let file = folder.with("study.toml", &study);
    let [alone, shared] = ["alone", "shared"].map(|name| folder.path(name));
    let expected = wordline(&["sweep", &file, "--no-progress", "--store", &alone]).success();
    // The two runs of one of the combinations agree, so that it needs no others.
    assert!(expected.contains("10 runs"), "{expected}");
    for _ in 0..3 {
        for part in ["1/2", "2/2"] {
            wordline(&["sweep", &file, "--no-progress", "--store", &shared, "--shard", part]).success();
        }
    }
    let plan = wordline(&["sweep", &file, "--store", &shared, "--plan"]).success();
    assert!(plan.starts_with("10 runs, 10 done, 0 left"), "{plan}");
    assert_eq!(wordline(&["sweep", &file, "--no-progress", "--store", &shared]).success(), expected);
}

#[test]
fn a_configuration_that_runs_is_swept() {
    let folder = Folder::new();
    let shown = folder.with("shown.toml", wordline(&["config", "show", "--preset", "tiny"]).success());
    let load = [
        "--workload",
        "randread-4k",
        "--requests",
        "300",
        "--vary",
        "ftl.over_provisioning=0.2,0.3",
        "--json",
    ];
    let alone = wordline(&[&["sweep", "--config", &shown][..], &load].concat()).json();
    assert_eq!(alone["rows"].as_array().map(Vec::len), Some(2), "{alone}");
    let named =
        folder.with("named.toml", "name = \"mine\"\ndescription = \"d\"\n[buffer]\nsize = \"1MiB\"\n");
    let changed = wordline(&[&["sweep", "--preset", "tiny", "--config", &named][..], &load].concat()).json();
    assert_eq!(changed["rows"].as_array().map(Vec::len), Some(2), "{changed}");
    let wrong = folder.with("wrong.toml", "preset = \"tiny\"\n[ftl]\nover_provisionin = 0.3\n");
    let refusal = wordline(&[&["sweep", "--config", &wrong][..], &load].concat()).refusal();
    assert!(refusal.contains("wrong.toml:3: ftl.over_provisionin: found an unknown key"), "{refusal}");
}

#[test]
fn a_part_that_there_is_not_is_refused() {
    let folder = Folder::new();
    let store = folder.path("runs");
    for (part, found) in [("3/2", "found part 3 of 2"), ("0/2", "found part 0 of 2"), ("half", "found half")]
    {
        let refusal = wordline(&[&SWEEP[..], &["--store", &store, "--shard", part]].concat()).refusal();
        assert!(
            refusal.contains("--shard") && refusal.contains(found) && refusal.contains("2/8"),
            "{refusal}"
        );
    }
    let refusal = wordline(&[&SWEEP[..], &["--shard", "1/2"]].concat()).refusal();
    assert!(refusal.contains("--store"), "{refusal}");
    assert!(folder.names().is_empty());
}

#[test]
fn the_time_of_a_rebuild_is_a_number_of_runs_and_of_sweeps() {
    let array = [
        "--preset",
        "raid5-tiny",
        "--set",
        "array.failures=[{ member = 1, after = \"0s\" }]",
        "--workload",
        "none",
        "--until",
        "rebuilt",
        "--no-progress",
    ];
    let run = wordline(&[&["run", "--json", "-"], &array[..]].concat()).json();
    let seconds = run["rebuild"]["seconds"].as_f64().expect("a time");
    assert_eq!((&run["raid5"]["rebuilt"], &run["host"]["requests"]), (&768.into(), &0.into()));
    let table = wordline(&[&["run"], &array[..]].concat()).success();
    assert!(table.contains("Rebuilt   in "), "{table}");
    let varied = ["--vary", "array.sync_slowest=100KiB,1MiB", "--column", "rebuild.seconds", "--json", "-"];
    let table = wordline(&[&["sweep"], &array[..], &varied].concat()).json();
    let of_rows = table["rows"].as_array().expect("rows").iter();
    let cells: Vec<f64> =
        of_rows.filter_map(|row| row["columns"]["rebuild.seconds"]["mean"].as_f64()).collect();
    assert_eq!(cells.len(), 2, "{table}");
    assert!(cells.iter().all(|cell| (cell / seconds - 1.0).abs() < 0.2), "{seconds}: {cells:?}");
    let folder = Folder::new();
    let study = "preset = \"raid5-tiny\"\nworkload = \"none\"\nuntil = \"rebuilt\"\ncolumns = [\"rebuild.seconds\"]\n\
                 device.array.failures = [{ member = 1, after = \"0s\" }]\n[[vary]]\nkey = \"spares\"\nvalues = [1]\n";
    let out = wordline(&["sweep", &folder.with("study.toml", study), "--no-progress"]).success();
    assert!(out.contains("rebuild.seconds") && out.contains("1 runs\n"), "{out}");
    let wrong = folder.with("wrong.toml", study.replace("\"rebuilt\"", "\"p99\""));
    let refusal = wordline(&["sweep", &wrong]).refusal();
    assert!(refusal.contains("until: found") && refusal.contains("or rebuilt"), "{refusal}");
}
