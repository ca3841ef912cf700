//! Tables of results in the documents, which must equal the output of `wordline repro --markdown`.
//!
//! Such a table stands between `<!-- repro: PAPER/NAME -->` and `<!-- /repro -->`, in which the options of
//! the command may follow the name: `--quick`, `--seed N`, `--seeds N`. Above its rows are the command, the
//! digest of the rows and that of the rows of the first seed alone. `UPDATE_DOCS=1` rewrites them.

use std::collections::BTreeSet;
use std::fs;

use super::bands::{is_long, is_update, outcomes};
use super::*;

#[path = "../../../../tests/results/tables.rs"]
mod tables;
use tables::{BEGIN, with_tables};
pub(super) use tables::{Part, parts};

/// Root folder of the repository.
pub(super) fn root() -> &'static Path {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.find(|folder| folder.join("docs/VALIDATION.md").is_file()).expect("there are documents")
}

/// Documents that may have tables.
pub(super) fn documents() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs/validation")).expect("there are documents");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder can be read").path()).collect();
    paths.sort_unstable();
    paths
}

/// The experiment of a mark, with its options.
pub(super) fn asked(words: &str) -> (&str, Options) {
    let (id, rest) = words.split_once(' ').unwrap_or((words, ""));
    let mut options = Options::default();
    let mut rest = rest.split_whitespace();
    while let Some(word) = rest.next() {
        match word {
            "--quick" => options.quick = true,
            "--seed" => options.seed = rest.next().and_then(|seed| seed.parse().ok()).expect(words),
            "--seeds" => options.seeds = rest.next().and_then(|seeds| seeds.parse().ok()).expect(words),
            other => panic!("{words}: {other} is none of --quick, --seed and --seeds"),
        }
    }
    (id, options)
}

/// Digest after `name` above the rows of a table.
fn said<'a>(table: &'a str, name: &str) -> Option<&'a str> {
    table.split_once(&format!("{name} `"))?.1.split('`').next()
}

/// Outcome of the mark's experiment, scaled down, with its own first seed, if the tests of bands run it.
fn known(id: &str, options: &Options) -> Option<&'static Outcome> {
    let is_usual = options.quick && options.seed == Options::default().seed;
    outcomes().iter().filter(|_| is_usual).find(|outcome| outcome.experiment == id)
}

/// Table that `wordline repro --markdown` prints for a mark, if it is known or `WORDLINE_LONG` is set.
fn printed(id: &str, options: &Options, lab: &Lab, library: &Library) -> Option<String> {
    let long = std::env::var_os("WORDLINE_LONG").is_some();
    let is_known = if long { options.seeds == SEEDS } else { options.seeds == 1 && is_update() };
    if let Some(known) = known(id, options).filter(|_| is_known) {
        return Some(markdown(known, options));
    }
    let experiment = library.iter().find(|experiment| experiment.id == id)?;
    let stop = AtomicBool::new(false);
    let conduct = SweepOptions { threads: 0, stop: &stop, progress: &|_, _| () };
    (long || is_update() && options.quick && !is_long(id))
        .then(|| markdown(&run(experiment, options, lab, &conduct).expect("it runs"), options))
}

/// Difference between a table and the output of the program: of the whole table, or of the rows of the first
/// seed if it takes too long.
fn differs(id: &str, options: &Options, text: &str, whole: Option<&String>) -> bool {
    match (whole, known(id, options)) {
        (Some(whole), _) => whole != text,
        (None, Some(outcome)) => said(text, "of the first seed") != Some(&*first_digest(outcome)),
        (None, None) => false,
    }
}

/// In `make test` scaled-down tables are compared by the digest of their first seed, except those of long
/// experiments; in `make long` the whole text of each table is compared.
#[test]
fn every_table_of_results_in_the_documents_is_what_repro_prints() {
    let (lab, library) = (Lab::default(), Library::open(None).expect("well formed"));
    let update = is_update();
    let (mut stale, mut seen) = (Vec::new(), 0);
    for path in documents() {
        let text = fs::read_to_string(&path).expect("a document is text");
        let new = with_tables(&text, |words, text| {
            seen += 1;
            let (id, options) = asked(words);
            let table = printed(id, &options, &lab, &library);
            if differs(id, &options, text, table.as_ref()) {
                stale.push(format!("{}: {words}", path.display()));
            }
            table.unwrap_or_else(|| text.to_owned())
        });
        let new = new.unwrap_or_else(|wrong| panic!("{}: {wrong}", path.display()));
        if update && new != text {
            fs::write(&path, new).expect("a document can be written");
        }
    }
    assert!(seen > 0, "no document has a table");
    assert!(update || stale.is_empty(), "not what repro prints, UPDATE_DOCS=1 writes: {}", stale.join(", "));
}

/// A table states how it was made, and its digest is that of its rows: manual changes are found without a
/// run.
#[test]
fn every_table_of_results_carries_its_command_and_the_digest_of_its_rows() {
    for path in documents() {
        let text = fs::read_to_string(&path).expect("a document is text");
        for part in parts(&text).expect("marks are paired") {
            let Part::Table { words, text } = part else { continue };
            let (id, options) = asked(words);
            let place = format!("{}: {words}", path.display());
            assert!(text.starts_with(&format!("**{id}**: `{}`", options.command(id))), "{place}");
            let rows: String =
                text.lines().filter(|line| line.starts_with('|')).map(|line| format!("{line}\n")).collect();
            assert_eq!(said(text, "rows"), Some(&*digest(&rows)), "{place}: UPDATE_DOCS=1 writes it anew");
        }
    }
}

/// Experiments on recorded traces, which have no rows without them, and no table.
const WITHOUT_ROWS: [&str; 2] = ["centaur/recorded", "peers/mqsim-traces"];

#[test]
fn every_experiment_has_its_table_in_a_document() {
    let texts: Vec<String> =
        documents().iter().map(|path| fs::read_to_string(path).expect("a document is text")).collect();
    let mut there = BTreeSet::from(WITHOUT_ROWS);
    for part in texts.iter().flat_map(|text| parts(text).expect("marks are paired")) {
        if let Part::Table { words, .. } = part {
            there.insert(asked(words).0);
        }
    }
    let library = Library::open(None).expect("well formed");
    let all: BTreeSet<&str> = library.iter().map(|experiment| experiment.id.as_str()).collect();
    assert_eq!(there, all);
}

/// Our values next to published ones are printed by `repro`, never typed: a typed table becomes outdated
/// silently.
#[test]
fn no_table_in_the_documents_has_our_values_typed_by_hand() {
    let is_typed = |line: &&str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        line.starts_with('|') && cells.contains(&"ours") && cells.contains(&"paper")
    };
    for path in documents() {
        let text = fs::read_to_string(&path).expect("a document is text");
        for part in parts(&text).expect("marks are paired") {
            if let Part::Text(text) = part {
                let typed: Vec<&str> = text.lines().filter(is_typed).collect();
                assert!(typed.is_empty(), "{}: {typed:?}", path.display());
            }
        }
    }
}

#[test]
fn a_document_is_taken_apart_at_its_marks_and_unpaired_ones_are_refused() {
    let text = "A\n<!-- repro: a/b --quick -->\n\n**a/b**\n<!-- /repro -->\nZ\n";
    let table = Part::Table { words: "a/b --quick", text: "**a/b**\n" };
    assert_eq!(parts(text), Ok(vec![Part::Text("A\n"), table, Part::Text("Z\n")]));
    for spoilt in [
        text.replace("<!-- /repro -->\n", ""),
        text.replace(" -->\n\n", " -->\n"),
        text.replacen("**a/b**", BEGIN, 1),
    ] {
        assert!(parts(&spoilt).is_err(), "{spoilt}");
    }
    let (id, options) = asked("a/b --quick --seed 7 --seeds 3");
    assert_eq!((id, options.quick, options.seed, options.seeds), ("a/b", true, 7, 3));
    assert_eq!(options.command(id), "wordline repro a/b --quick --seed 7 --seeds 3 --markdown");
    assert_eq!(asked("a/b").1.command("a/b"), "wordline repro a/b --markdown");
}
