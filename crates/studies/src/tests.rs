//! Tests of studies on a small device, in memory and with a store.

mod errors;
mod further;
mod own;
mod size;
mod store;
mod unknown;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use wordline_lab::Precondition;
use wordline_lab::devices::Registry;
use wordline_lab::error::Error;
use wordline_lab::provenance::Provenance;
use wordline_lab::sweep::SweepOptions;

use crate::{
    LoadArguments, Progress, Repeat, RunExecutor, RunNames, RunOutcome, State, Store, Study, StudyArguments,
    Table, Task, axis_of, carry_out, charts, plan, run,
};

#[path = "../../lab/src/report/structure.rs"]
mod structure;
use structure::assert_sound;

const STUDY: &str = "\
preset = \"tiny\"
workload = { name = \"randwrite-4k-steady\", requests = 2000 }
repeat = { seeds = 2 }
columns = [\"write_amplification\", \"host.write_latency_us.mean\"]

[[vary]]
key = \"ftl.over_provisioning\"
values = { from = 0.2, to = 0.4, steps = 3 }

[[vary]]
key = \"ftl.gc.victim.policy\"
values = [\"greedy\", \"fifo\"]
";

fn study(text: &str) -> Study {
    Study::parse(&Registry::default(), Path::new("study.toml"), text)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A flag that stops nothing.
static NEVER: AtomicBool = AtomicBool::new(false);

fn progress(stop: &AtomicBool) -> Progress<'_> {
    Progress {
        conduct: SweepOptions { threads: 2, stop, progress: &|_, _| () },
        again: false,
        elsewhere: None,
        shard: None,
    }
}

fn done(study: &Study, store: &Store) -> Table {
    run(study, store, "program", &progress(&AtomicBool::new(false))).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn each_combination_is_run_with_each_seed() {
    let table = done(&study(STUDY), &Store::in_memory());
    assert_eq!((table.rows.len(), table.runs(), table.failed(), table.missing), (6, 12, 0, 0));
    let means: Vec<f64> = table.rows.iter().filter_map(|row| row.cell("write_amplification").mean).collect();
    assert!(means[0] > means[2] && means[2] > means[4], "more spare room, fewer moves: {means:?}");
    assert!(table.rows.iter().all(|row| row.cell("write_amplification").half.is_some()));
}

#[test]
fn a_study_in_a_store_does_only_what_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("runs");
    let study = study(STUDY);
    let store = Store::open(&path).expect("a new folder");
    let before = plan(&study, &store, "program").expect("a plan");
    assert_eq!((before.runs, before.done, before.seconds_left), (12, 0, None));
    let first = done(&study, &store);
    // Opening the store again finds every run finished, and does not change the files.
    let files = |folder: &str| {
        let files = std::fs::read_dir(path.join(folder)).expect("a folder");
        let about = files.map(|file| {
            let file = file.expect("a file");
            (file.file_name(), file.metadata().expect("it is there").modified().expect("it has a time"))
        });
        let mut all: Vec<_> = about.collect();
        all.sort();
        all
    };
    let were = files("runs");
    assert_eq!((were.len(), files("windows").len()), (12, 12));
    let store = Store::open(&path).expect("a store");
    let after = plan(&study, &store, "program").expect("a plan");
    assert!(after.done == 12 && after.seconds_left == Some(0.0));
    assert_eq!(done(&study, &store).json(), first.json());
    assert_eq!(files("runs"), were);
    // One more seed adds three runs for each policy. Another program repeats all runs.
    let mut longer = study.clone();
    longer.repeat.seeds = 3;
    assert_eq!(plan(&longer, &store, "program").expect("a plan").done, 12);
    assert_eq!(done(&longer, &store).runs(), 18);
    assert_eq!(plan(&study, &store, "another program").expect("a plan").done, 0);
}

#[test]
fn a_study_that_was_stopped_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).expect("an empty folder");
    let study = study(STUDY);
    let stop = AtomicBool::new(false);
    let stopping = Progress {
        conduct: SweepOptions {
            threads: 1,
            stop: &stop,
            progress: &|done, _| stop.store(done == 5, std::sync::atomic::Ordering::Relaxed),
        },
        again: false,
        elsewhere: None,
        shard: None,
    };
    let part = run(&study, &store, "program", &stopping).expect("it is stopped");
    assert_eq!((part.runs(), part.missing), (5, 7));
    assert_eq!(done(&study, &store).json(), done(&study, &Store::in_memory()).json());
}

#[test]
fn a_run_that_fails_is_kept_with_its_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let line =
        |n: u64| format!("{},proj,0,Write,{},4096,100\n", 128_166_372_000_000_000 + n * 10_000, n * 4096);
    let good: String = (0..100).map(line).collect();
    for (name, text) in [("good.csv", good.clone()), ("bad.csv", format!("{good}this is no request\n"))] {
        std::fs::write(folder.path().join(name), text).expect("it can be written");
    }
    let text = "preset = \"tiny\"\nworkload = { replayed = { trace = \"good.csv\" } }\ncolumns = [\"host.iops\"]\n\
        [[vary]]\nkey = \"workload.replayed.trace\"\nvalues = [\"bad.csv\", \"good.csv\"]\n";
    let study = Study { traces: Some(folder.path().to_owned()), ..study(text) };
    let store = Store::open(&folder.path().join("runs")).expect("a new folder");
    let table = done(&study, &store);
    assert_eq!((table.runs(), table.failed()), (2, 1));
    let errors: Vec<&str> = table.rows[0].errors().collect();
    assert!(errors.len() == 1 && errors[0].contains("bad.csv"), "{errors:?}");
    assert_eq!((table.rows[0].cell("host.iops").mean, table.rows[1].of("host.iops").len()), (None, 1));
    // The failed run is repeated only on request. The content of the trace is part of the run's name.
    let stop = AtomicBool::new(false);
    assert_eq!(
        run(&study, &store, "program", &Progress { again: true, ..progress(&stop) })
            .expect("it runs")
            .failed(),
        1
    );
    std::fs::write(folder.path().join("bad.csv"), good).expect("it can be written");
    assert_eq!(done(&study, &store).failed(), 0);
}

#[test]
fn runs_are_written_as_csv_and_parquet() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = done(&study(STUDY), &Store::in_memory());
    let csv = folder.path().join("runs.csv");
    table.write_runs(&csv).expect("it can be written");
    let mut reader = csv::Reader::from_path(&csv).expect("it was just written");
    let heads = reader.headers().expect("there are some").clone();
    assert_eq!(
        heads.iter().take(5).collect::<Vec<_>>(),
        ["ftl.over_provisioning", "ftl.gc.victim.policy", "seed", "state", "run"]
    );
    let at = heads.iter().position(|head| head == "write_amplification").expect("it is a column");
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    let of_rows: Vec<f64> = rows.iter().map(|row| row[at].parse().expect("a number")).collect();
    let of_table: Vec<f64> = table.rows.iter().flat_map(|row| row.of("write_amplification")).collect();
    assert_eq!(of_rows, of_table);

    let parquet = folder.path().join("runs.parquet");
    table.write_runs(&parquet).expect("it can be written");
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let file = std::fs::File::open(&parquet).expect("it was just written");
    let reader = SerializedFileReader::new(file).expect("it is Parquet");
    let meta = reader.metadata().file_metadata();
    assert_eq!((meta.num_rows(), meta.schema_descr().num_columns()), (12, heads.len()));
    let refused = table.write_runs(&folder.path().join("runs.txt")).expect_err("another ending");
    assert!(refused.to_string().contains(".csv or .parquet"), "{refused}");
}

#[test]
fn what_is_wrong_with_a_study_is_told_with_its_key() {
    let wrong = |from: &str, to: &str| {
        let text = STUDY.replace(from, to);
        assert_ne!(text, STUDY);
        let study = Study::parse(&Registry::default(), Path::new("study.toml"), &text);
        let error = study.and_then(|study| study.points(0).map(drop)).expect_err("it is wrong");
        assert!(matches!(error, Error::Config(_)), "{error:?}");
        error.to_string()
    };
    for (from, to, told) in [
        ("preset = \"tiny\"", "preset = \"tinny\"", "study.toml:1: preset"),
        ("preset", "presett", "study.toml:1: presett"),
        ("randwrite-4k", "randwrit", "named.name"),
        ("steps = 3", "steps = 1", "study.toml:6: vary.values"),
        ("seeds = 2", "seeds = 0", "study.toml:3: repeat.seeds"),
        ("write_amplification", "waf", "study.toml:4: columns"),
        (
            "columns = [",
            "columns = [\"host.write_latency_us.mean\", ",
            "study.toml:4: columns: found `host.write_latency_us.mean` twice, wanted each column once",
        ),
        ("write_amplification", "write_amplificatio", "wanted write_amplification, or another of"),
        (
            "seeds = 2",
            "seeds = 2, until = { column = \"host.iops\", half_width = 1, at_most = 4 }",
            "study.toml:3: half_width: found 1",
        ),
        (
            "\"fifo\"",
            "\"fivo\"",
            "study.toml:10: vary ftl.gc.victim.policy: found \"fivo\", wanted fifo, or another of",
        ),
        ("ftl.over_provisioning", "ftl.gc.victim.policy", "study.toml:11: vary.key"),
        (
            "ftl.over_provisioning",
            "ftl.overprovisioning",
            "study.toml:6: vary ftl.overprovisioning: found an unknown key, wanted over_provisioning",
        ),
        ("from = 0.2", "from = -3.0", "study.toml:6: vary ftl.over_provisioning: found -3"),
    ] {
        let found = wrong(from, to);
        assert!(found.contains(told), "{to}: {found}");
    }
}

#[test]
fn a_folder_with_other_files_is_no_store() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("thesis.tex"), "years of work").expect("it can be written");
    let refused = Store::open(folder.path()).map(drop).expect_err("there is something in it");
    assert!(refused.to_string().contains("a folder with other files"), "{refused}");
    assert!(!folder.path().join("store.json").exists());
}

#[test]
fn the_first_writer_of_a_run_wins() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, other] = [(); 2].map(|()| Store::open(folder.path()).expect("a store"));
    let record = |seed| crate::Record {
        program: "program".into(),
        at: toml::Table::new(),
        seed,
        state: State::Done,
        error: None,
        summary: None,
    };
    one.put("name", record(1)).expect("it can be written");
    other.put("name", record(2)).expect("it is there");
    let third = Store::open(folder.path()).expect("a store");
    assert_eq!(third.get("name").expect("it can be read"), Some(record(1)));
}

/// An executor that executes tasks one after another, from their texts alone.
struct Beside {
    program: &'static str,
}

impl RunExecutor for Beside {
    fn carry_out(
        &self,
        runs: Vec<Task>,
        over: &mut dyn FnMut(&str, RunOutcome) -> wordline_lab::error::Result<()>,
    ) -> wordline_lab::error::Result<()> {
        let mut names = RunNames::default();
        for task in runs {
            over(
                &task.name,
                RunOutcome::Files(carry_out(&task.text, self.program, (None, None), &mut names, &NEVER)?),
            )?;
        }
        Ok(())
    }
}

/// The files of a store, without wall-clock times.
fn files_of(path: &Path) -> Vec<(String, serde_json::Value)> {
    let mut all = Vec::new();
    for folder in ["runs", "windows"] {
        for file in std::fs::read_dir(path.join(folder)).expect("a folder") {
            let file = file.expect("a file");
            let text = std::fs::read_to_string(file.path()).expect("it can be read");
            let mut value: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
            // The digest is left out, because it covers wall-clock times.
            value.as_object_mut().and_then(|members| members.remove("digest"));
            if let Some(summary) = value.get_mut("summary").and_then(serde_json::Value::as_object_mut) {
                summary.remove("simulator");
            }
            all.push((format!("{folder}/{}", file.file_name().display()), value));
        }
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

#[test]
fn runs_that_are_done_elsewhere_are_the_same_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let line =
        |n: u64| format!("{},proj,0,Write,{},4096,100\n", 128_166_372_000_000_000 + n * 10_000, n * 4096);
    std::fs::write(folder.path().join("a.csv"), (0..100).map(line).collect::<String>())
        .expect("it is written");
    std::fs::write(folder.path().join("bad.csv"), "this is no request\n").expect("it is written");
    let replayed = "preset = \"tiny\"\nworkload = { replayed = { trace = \"a.csv\" } }\ncolumns = [\"host.iops\"]\n\
        [[vary]]\nkey = \"workload.replayed.trace\"\nvalues = [\"bad.csv\", \"a.csv\"]\n";
    let odd = "repeat = { seeds = 2 }\nprecondition = \"filled:0.3333333333333333\"";
    for text in [STUDY.replace("repeat = { seeds = 2 }", odd), replayed.to_owned()] {
        let study = Study { traces: Some(folder.path().to_owned()), ..study(&text) };
        let [here, there] =
            ["here", "there"].map(|name| folder.path().join(name).join(study.columns[0].as_str()));
        let stores = [&here, &there].map(|path| Store::open(path).expect("a new folder"));
        let stop = AtomicBool::new(false);
        done(&study, &stores[0]);
        let elsewhere = Progress { elsewhere: Some(&Beside { program: "program" }), ..progress(&stop) };
        let table = run(&study, &stores[1], "program", &elsewhere).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(table.missing, 0);
        assert_eq!(files_of(&here), files_of(&there));
    }
}

#[test]
fn a_worker_of_another_program_or_with_another_trace_is_refused() {
    let refused = |study: &Study, program| {
        let stop = AtomicBool::new(false);
        let elsewhere = Progress { elsewhere: Some(&Beside { program }), ..progress(&stop) };
        run(study, &Store::in_memory(), "program", &elsewhere).expect_err("it is another").to_string()
    };
    let told = refused(&study(STUDY), "older program");
    assert!(told.contains("the program of a worker: found older program, wanted program"), "{told}");
    // An executor that rewrites the trace before the task is executed.
    struct Rewriting(std::path::PathBuf);
    impl RunExecutor for Rewriting {
        fn carry_out(
            &self,
            runs: Vec<Task>,
            _: &mut dyn FnMut(&str, RunOutcome) -> wordline_lab::error::Result<()>,
        ) -> wordline_lab::error::Result<()> {
            std::fs::write(&self.0, "another\n").expect("it is written");
            carry_out(&runs[0].text, "program", (None, None), &mut RunNames::default(), &NEVER).map(drop)
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("a.csv");
    std::fs::write(&trace, "128166372000000000,proj,0,Write,0,4096,100\n").expect("it is written");
    let text = "preset = \"tiny\"\nworkload = { replayed = { trace = \"a.csv\" } }\n";
    let study = Study { traces: Some(folder.path().to_owned()), ..study(text) };
    let stop = AtomicBool::new(false);
    let elsewhere = Progress { elsewhere: Some(&Rewriting(trace)), ..progress(&stop) };
    let told =
        run(&study, &Store::in_memory(), "program", &elsewhere).expect_err("it is another").to_string();
    assert!(told.contains("of a worker: found 8 bytes") && told.contains("as where the study is"), "{told}");
}

#[test]
fn rows_are_compared_seed_by_seed() {
    let text = format!("against = {{ \"ftl.gc.victim.policy\" = \"greedy\" }}\n{STUDY}");
    let table = done(&study(&text), &Store::in_memory());
    for pair in table.rows.chunks(2) {
        let [greedy, fifo] = pair else { panic!("two policies") };
        assert_eq!(table.difference(greedy, "write_amplification"), None, "it is the one compared with");
        let found = table.difference(fifo, "write_amplification").expect("it is compared");
        let (own, other) = (fifo.of("write_amplification"), greedy.of("write_amplification"));
        assert_eq!(found.values, [own[0] - other[0], own[1] - other[1]]);
    }
    let shown = crate::text(&table, 160);
    assert!(shown.contains("difference to greedy: ") && shown.contains("seed by seed"), "{shown}");
    assert!(table.json()["rows"][1]["differences"]["write_amplification"]["mean"].is_number());
    assert!(table.json()["rows"][0].get("differences").is_none());
}

#[test]
fn a_study_keeps_to_its_memory() {
    let with = |memory: &str| study(&format!("budget = {{ memory = \"{memory}\" }}\n{STUDY}"));
    let plan = plan(&with("1GiB"), &Store::in_memory(), "program").expect("a plan");
    assert!(plan.memory.0 > 16 << 20 && plan.at_once == Some((1 << 30) / plan.memory.0), "{plan:?}");
    assert_eq!(done(&with("20MiB"), &Store::in_memory()).runs(), 12);
    let stop = AtomicBool::new(false);
    let told =
        run(&with("1MiB"), &Store::in_memory(), "program", &progress(&stop)).expect_err("it is too little");
    assert!(told.to_string().contains("budget.memory: found 1MiB, wanted at least"), "{told}");
}

#[test]
fn snapshots_and_designs_can_be_varied() {
    let folder = tempfile::tempdir().expect("a folder");
    let device = wordline_lab::Device::preset("tiny").expect("a preset");
    let load = |requests| wordline_lab::Workload {
        requests: Some(requests),
        ..wordline_lab::Workload::named("randwrite-4k")
    };
    let paths = ["young", "old"].map(|name| folder.path().join(name));
    for (path, requests) in paths.iter().zip([100, 5000]) {
        let options = wordline_lab::RunOptions {
            save_snapshot: Some(path.clone()),
            ..wordline_lab::RunOptions::seed(1)
        };
        wordline_lab::run(&device, &load(requests), &options, &mut wordline_lab::Unobserved)
            .expect("it runs");
    }
    let values = format!("{:?}", paths.each_ref().map(|path| path.display().to_string()));
    let text = format!(
        "preset = \"tiny\"\nworkload = {{ name = \"randwrite-4k-steady\", requests = 2000 }}\ncolumns = [\"write_amplification\"]\n\
        [[vary]]\nkey = \"from_snapshot\"\nvalues = {values}\n"
    );
    let store = Store::in_memory();
    let table = done(&study(&text), &store);
    let means = table.rows.iter().filter_map(|row| row.cell("write_amplification").mean).collect::<Vec<_>>();
    assert!(means.len() == 2 && means[0] < means[1], "the older one moves more: {means:?}");
    // A snapshot with another state makes another run, even under the same file name.
    std::fs::copy(&paths[1], &paths[0]).expect("it is there");
    let after = done(&study(&text), &store);
    assert_eq!(after.rows[0].cell("write_amplification").mean, Some(means[1]));
    let both = text.replace("columns", "precondition = \"filled\"\ncolumns");
    let told = study(&both).points(0).map(drop).expect_err("two states").to_string();
    assert!(told.contains("from_snapshot: found a state before beside it, wanted one of them"), "{told}");
    let gone = text
        .replace("[[vary]]", "from_snapshot = \"no-such.snap\"\n[[vary]]")
        .split("[[vary]]")
        .next()
        .map(str::to_owned);
    let told = run(&study(&gone.expect("a part")), &store, "program", &progress(&AtomicBool::new(false)));
    assert!(told.expect_err("no file").to_string().contains("no-such.snap"));
}

#[test]
fn zones_are_empty_before_a_study_that_does_not_fill_them() {
    let text = |more: &str| {
        let jobs = "workload = { name = \"randwrite-4k\", requests = 50 }";
        format!(
            "preset = \"zns-tlc-raw\"\n{jobs}\n{more}columns = [\"host.iops\"]\n[[vary]]\nkey = \"zones.max_open\"\nvalues = [14]\n"
        )
    };
    let states = |more: &str| {
        let study = study(&text(more));
        let words = study.sweep.state_in_words(&study.path, &study.options(0)).expect("one state");
        (study.points(0).expect("it is sound")[0].precondition, words)
    };
    assert_eq!(states(""), (Precondition::Empty, "empty".into()));
    assert_eq!(states("precondition = \"filled\"\n"), (Precondition::Filled(1.0), "filled once".into()));
}

#[test]
fn a_study_can_begin_with_devices_that_the_workload_aged() {
    let text = |state: &str| {
        let jobs = "workload = { name = \"randwrite-4k\", requests = 50 }";
        format!(
            "preset = \"tiny\"\n{jobs}\nprecondition = \"{state}\"\ncolumns = [\"host.iops\"]\n[[vary]]\nkey = \"ftl.over_provisioning\"\nvalues = [0.3]\n"
        )
    };
    let state = |text: String| study(&text).points(0).expect("it is sound")[0].precondition;
    assert_eq!(state(text("workload")), Precondition::Workload(None));
    assert_eq!(state(text("workload:0.5")), Precondition::Workload(Some(0.5)));
    let as_number = text("0.5").replace("\"0.5\"", "0.5");
    for filled in [text("filled:0.5"), text("0.5"), as_number] {
        assert_eq!(state(filled), Precondition::Filled(0.5));
    }
    let table = done(&study(&text("workload:0.5")), &Store::in_memory());
    assert!(table.rows[0].of("host.iops")[0] > 0.0);
    for wrong in ["workload:x", "filled:x", "workload:-1"] {
        let told = Study::parse(&Registry::default(), Path::new("study.toml"), &text(wrong)).err();
        let told = told.map(|error| error.to_string()).unwrap_or_default();
        assert!(told.contains("precondition"), "{wrong}: {told}");
    }
}

/// The arguments of a study of the smallest preset.
fn of_tiny() -> StudyArguments<'static> {
    StudyArguments {
        preset: Some("tiny".into()),
        load: LoadArguments::default(),
        precondition: None,
        warm_up: None,
        until: None,
        vary: Vec::new(),
        repeat: Repeat::default(),
        columns: Vec::new(),
        config: None,
    }
}

#[test]
fn arguments_are_told_as_a_file_that_asks_for_the_same() {
    let axis = |text: &str| axis_of(text).expect("values");
    let asked = StudyArguments {
        load: LoadArguments {
            requests: Some(500),
            queue_depth: Some(4),
            ..LoadArguments::named("randwrite-4k")
        },
        precondition: Some("steady-state:0.5"),
        vary: vec![axis("ftl.over_provisioning=0.2..0.4/3"), axis("ftl.gc.victim.policy=greedy,fifo")],
        repeat: Repeat { first: 3, seeds: 2, until: None },
        columns: vec!["host.iops".into()],
        ..of_tiny()
    };
    let device = toml::from_str("[part]\nendurance = 50\n").expect("it is TOML");
    let made =
        Study::from_arguments(&Registry::default(), device, asked).unwrap_or_else(|error| panic!("{error}"));
    let again = study(&made.text);
    assert_eq!((&again.repeat, &again.columns), (&made.repeat, &made.columns), "{}", made.text);
    let points = |study: &Study| format!("{:?}", study.points(3).unwrap_or_else(|error| panic!("{error}")));
    assert_eq!(points(&again).replace("study.toml", "sweep"), points(&made).replace("study.toml", "sweep"));
}

#[test]
fn a_report_says_what_was_found_and_how_to_repeat_it() {
    let study = study(STUDY);
    let table = done(&study, &Store::in_memory());
    let provenance = Provenance::of(None, ["wordline", "sweep", "study.toml"].map(String::from).to_vec());
    let page = crate::show::page(&study, &table, &provenance, &charts(&study, &table));
    assert!(page.contains("12 runs of 6 combinations of ftl.over_provisioning, ftl.gc.victim.policy."));
    let least = table.rows[4].cell("write_amplification").text();
    let told = format!(
        "write_amplification: least {least}, with ftl.over_provisioning = 0.4, ftl.gc.victim.policy = greedy; "
    );
    assert!(page.contains(&told), "{}", page.split("id=\"verdict\"").nth(1).map_or("", |rest| &rest[..900]));
    let again = page.split("id=\"again\"").nth(1).expect("it is there");
    for part in ["Seeds 0 to 1.", "wordline sweep study.toml", "randwrite-4k", "Made by wordline"] {
        assert!(again.contains(part), "{part}");
    }
    assert!(page.contains("data-half=\""), "intervals are copied too");
    assert_sound(&page);
}

#[test]
fn a_device_is_named_by_its_preset_or_file() {
    let load = "workload = { name = \"randread-4k\", requests = 20 }\ncolumns = [\"host.iops\"]\n";
    let presets = "[[vary]]\nkey = \"preset\"\nvalues = [\"tiny\", \"raid5-tiny\"]\n";
    let table = done(&study(&format!("{load}{presets}")), &Store::in_memory());
    assert_eq!(table.devices().map(|(name, _)| name).collect::<Vec<_>>(), ["tiny", "raid5-tiny"]);
    let depths = "[[vary]]\nkey = \"workload.named.queue_depth\"\nvalues = [1]\n";
    let of_file = study(&format!("preset = \"tiny\"\n{load}{depths}"));
    let of_file = Study { config: Some(("folder/mine.toml".into(), String::new())), ..of_file };
    let table = done(&of_file, &Store::in_memory());
    assert_eq!(table.devices().map(|(name, _)| name).collect::<Vec<_>>(), ["mine"]);
}

#[test]
fn a_profile_is_a_workload_by_its_name() {
    let text = "preset = \"tiny\"\nworkload = { name = \"centaur/hm_1\", requests = 50 }\ncolumns = [\"host.requests\"]\n";
    let table = done(&study(text), &Store::in_memory());
    assert_eq!(table.rows[0].of("host.requests"), [50.0]);
    let asked = |load| StudyArguments { load, ..of_tiny() };
    let profile = LoadArguments { requests: Some(50), ..LoadArguments::named("centaur/hm_1") };
    let made = |load| Study::from_arguments(&Registry::default(), toml::Table::new(), asked(load));
    assert!(made(profile).is_ok_and(|study| study.points(0).is_ok()));
    let thinking = LoadArguments { think_time: Some("1us".parse().expect("a time")), ..profile };
    let refused = made(thinking).expect_err("no closed loop").to_string();
    assert!(refused.contains("--think-time: found it with the workload centaur/hm_1"), "{refused}");
}
