//! Checks that the records in `data/results` equal the output of `wordline repro`, and checks the marks of
//! their tables in the documents.
//!
//! `<!-- repro: PAPER/NAME -->` marks the position of a table in a document. A record has the cells of the
//! table, the digest of its rows, and the digest of the rows of the first seed. `UPDATE_DOCS=1` rewrites the
//! records.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value as Json;

use super::bands::{is_long, is_update, outcomes};
use super::*;
use crate::show::record::{Key, Record};
use crate::show::table::record;

#[path = "../../../../tests/tables/store.rs"]
mod store;
use store::{entries, now, text};

/// Mark of a table in a document; the experiment follows.
const MARK: &str = "<!-- repro: ";

/// Experiments on recorded traces. Without the traces they have no rows, and so no table.
const WITHOUT_ROWS: [&str; 2] = ["centaur/recorded", "peers/mqsim-traces"];

/// Environment variable that names the records to rerun.
const NAMED: &str = "WORDLINE_RESULTS";

/// Root folder of the repository.
pub(super) fn root() -> &'static Path {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.find(|folder| folder.join("docs/VALIDATION.md").is_file()).expect("there are documents")
}

/// The records of each experiment. Records at full scale, of the whole experiment, with the most seeds come first.
pub(super) fn stored() -> BTreeMap<String, Vec<Record>> {
    store::stored(root()).expect("the store is well formed")
}

/// The documents that can contain tables.
fn documents() -> Vec<String> {
    let paths = entries(&root().join("docs/validation")).expect("there are documents");
    paths.iter().map(|path| text(path).expect("a document is text")).collect()
}

/// The options with which a record was made.
fn options(record: &Record) -> Options {
    let Key { quick, seed, seeds, ref only, .. } = record.key;
    Options { quick, seed, seeds, only: only.clone(), ..Options::default() }
}

/// The outcome of an experiment that the band tests have already run: scaled down, with the default seed.
fn known(id: &str, options: &Options) -> Option<&'static Outcome> {
    let is_usual = options.quick && options.only.is_empty() && options.seed == Options::default().seed;
    outcomes().iter().filter(|_| is_usual).find(|outcome| outcome.experiment == id)
}

/// Whether a record must be rerun, because it is named or all are.
fn is_wanted(id: &str, old: &Record) -> bool {
    let Ok(named) = std::env::var(NAMED) else { return true };
    let is_old = || now(root(), id, &old.key).expect("an experiment") != old.key;
    let is_named = |one: &str| id == one || id.split('/').next() == Some(one);
    named.split_whitespace().any(|one| match (one, one.strip_suffix(":quick")) {
        ("full", _) => !old.key.quick,
        ("old", _) => is_old(),
        (_, Some(scaled)) => old.key.quick && is_named(scaled),
        (one, None) => is_named(one),
    })
}

/// The present record of the program, in place of `old`. `None` unless the outcome is known, the record is
/// wanted, or `WORDLINE_LONG` is set.
fn found(id: &str, old: &Record, lab: &Lab, library: &Library) -> Option<Record> {
    let options = options(old);
    let long = std::env::var_os("WORDLINE_LONG").is_some();
    let is_known = if long { options.seeds == SEEDS } else { options.seeds == 1 && is_update() };
    let is_named = std::env::var_os(NAMED).is_some();
    if !is_named
        && is_known
        && let Some(known) = known(id, &options)
    {
        return Some(record(known, &options));
    }
    if !(is_named || long || is_update() && options.quick && !is_long(id)) {
        return None;
    }
    let experiment = library.iter().find(|experiment| experiment.id == id)?;
    let stop = AtomicBool::new(false);
    let conduct = SweepOptions { threads: 0, stop: &stop, progress: &|_, _| () };
    println!("{}", old.key.command(id));
    let outcome = run(experiment, &options, lab, &conduct).expect("it runs");
    outcome.surprises.iter().for_each(|surprise| println!("  {surprise}"));
    Some(record(&outcome, &options))
}

/// Whether a record differs from the output of the program. All cells are compared, or only the rows of the
/// first seed if more would take too long.
fn differs(id: &str, old: &Record, new: Option<&Record>) -> bool {
    let options = options(old);
    match new {
        Some(new) => Record { key: old.key.clone(), ..new.clone() } != *old,
        None => known(id, &options)
            .is_some_and(|outcome| old.first_digest != record(outcome, &options).first_digest),
    }
}

/// In `make test`, scaled-down records must match the digest of their first seed, except those of long
/// experiments. In `make long`, all cells of every record must match.
#[test]
fn every_record_of_the_store_is_what_repro_gives() {
    let (lab, library) = (Lab::default(), Library::open(None).expect("well formed"));
    let (mut stored, mut stale) = (stored(), Vec::new());
    let ids = library.iter().map(|experiment| experiment.id.as_str());
    for id in ids.filter(|id| !WITHOUT_ROWS.contains(id)) {
        let key = Key { quick: true, seeds: 1, ..Key::default() };
        let mut records = stored.remove(id).unwrap_or_else(|| vec![Record { key, ..Record::default() }]);
        for at in (0..records.len()).filter(|at| is_wanted(id, &records[*at])).collect::<Vec<_>>() {
            let new = found(id, &records[at], &lab, &library);
            if differs(id, &records[at], new.as_ref()) {
                stale.push(records[at].key.command(id));
            }
            if let Some(new) = new.filter(|_| is_update()) {
                let key = now(root(), id, &new.key).expect("an experiment");
                records[at] = Record { key, ..new };
                let json = serde_json::to_value(&records).expect("keys are text");
                let path = root().join(format!("data/results/{id}.json"));
                fs::create_dir_all(path.parent().expect("a folder")).expect("room for a folder");
                fs::write(path, lines(&json, 0) + "\n").expect("a record can be written");
            }
        }
    }
    assert!(
        is_update() || stale.is_empty(),
        "not what repro gives, UPDATE_DOCS=1 writes: {}",
        stale.join(", ")
    );
}

/// JSON with each innermost list or table (a row) on a line of its own.
fn lines(value: &Json, depth: usize) -> String {
    let is_deep = |value: &Json| value.is_array() || value.is_object();
    let text = |value: &Json| lines(value, depth + 1);
    let named = |(key, value): (&String, &Json)| format!("{}: {}", Json::from(key.as_str()), text(value));
    let (begin, items, end, is_deep): (_, Vec<String>, _, _) = match value {
        Json::Array(all) => ("[", all.iter().map(text).collect(), "]", all.iter().any(is_deep)),
        Json::Object(all) => ("{", all.iter().map(named).collect(), "}", all.values().any(is_deep)),
        other => return other.to_string(),
    };
    let line = format!("\n{}", " ".repeat(depth));
    match is_deep {
        true => format!("{begin}{line} {}{line}{end}", items.join(&format!(",{line} "))),
        false => format!("{begin}{}{end}", items.join(", ")),
    }
}

#[test]
fn every_experiment_has_its_records_and_its_table_in_a_document_once() {
    let documents = documents();
    let marks = documents.iter().flat_map(|text| text.lines().filter_map(|line| line.strip_prefix(MARK)));
    let mut marks: Vec<&str> = marks.filter_map(|mark| mark.strip_suffix(" -->")).collect();
    marks.sort_unstable();
    let (stored, library) = (stored(), Library::open(None).expect("well formed"));
    assert_eq!(marks, stored.keys().collect::<Vec<_>>(), "marks and records");
    assert!(stored.values().all(|records| !records.is_empty()), "{stored:#?}");
    let all = library.iter().map(|experiment| experiment.id.as_str());
    assert_eq!(
        marks,
        all.filter(|id| !WITHOUT_ROWS.contains(id)).collect::<Vec<_>>(),
        "marks and experiments"
    );
}

/// Documents get our values from `repro`, not by hand, because a table written by hand goes out of date
/// unnoticed.
#[test]
fn no_table_in_the_documents_has_our_values_typed_by_hand() {
    let is_typed = |line: &&str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        line.starts_with('|') && cells.contains(&"ours") && cells.contains(&"paper")
    };
    for text in documents() {
        let typed: Vec<&str> = text.lines().filter(is_typed).collect();
        assert!(typed.is_empty(), "{typed:?}");
    }
}

#[test]
fn a_row_of_a_record_has_a_line_of_its_own() {
    let json = serde_json::json!([{"rows": [["a", "b"], ["c"]], "seed": 1}]);
    assert_eq!(
        lines(&json, 0),
        "[\n {\n  \"rows\": [\n   [\"a\", \"b\"],\n   [\"c\"]\n  ],\n  \"seed\": 1\n }\n]"
    );
}
