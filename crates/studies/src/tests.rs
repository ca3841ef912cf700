//! Studies of a small device, in memory and in a store.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use wordline_lab::devices::Registry;
use wordline_lab::error::Error;
use wordline_lab::sweep::Conduct;

use crate::{Progress, State, Store, Study, Table, plan, run};

const STUDY: &str = "\
preset = \"tiny\"
workload = { name = \"randwrite-4k\", requests = 2000 }
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

fn progress(stop: &AtomicBool) -> Progress<'_> {
    Progress { conduct: Conduct { threads: 2, stop, progress: &|_, _| () }, again: false }
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
    // Another program opens it: every run is over, and their files stay as they are.
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
    // Another seed is three more runs for each policy; another program does everything anew.
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
        conduct: Conduct {
            threads: 1,
            stop: &stop,
            progress: &|done, _| stop.store(done == 5, std::sync::atomic::Ordering::Relaxed),
        },
        again: false,
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
    // It is done again where the user asks for that alone; what is in the trace is part of its name.
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
fn seeds_are_added_until_a_column_is_known_well_enough() {
    let text = STUDY.replace(
        "repeat = { seeds = 2 }",
        "repeat = { seeds = 2, until = { column = \"write_amplification\", half_width = \"0.0001 %\", at_most = 4 } }",
    );
    let table = done(&study(&text), &Store::in_memory());
    assert!(table.rows.iter().all(|row| row.seeds() == 4), "no mean is known as well as that");
    let loose = text.replace("0.0001 %", "1000 %");
    assert!(done(&study(&loose), &Store::in_memory()).rows.iter().all(|row| row.seeds() == 2));
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
        ("preset = \"tiny\"", "preset = \"tinny\"", "study.toml: preset"),
        ("preset", "presett", "study.toml:1: presett"),
        ("randwrite-4k", "randwrit", "named.name"),
        ("steps = 3", "steps = 1", "study.toml:6: vary.values"),
        ("seeds = 2", "seeds = 0", "study.toml: repeat.seeds"),
        ("write_amplification", "waf", "study.toml: columns"),
        ("\"fifo\"", "\"fivo\"", "fifo, or another of"),
        ("ftl.over_provisioning", "ftl.gc.victim.policy", "vary.key"),
        ("from = 0.2", "from = -3.0", "ftl.over_provisioning"),
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
