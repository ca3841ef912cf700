//! The tables of results in the documents, which are those that `wordline repro --markdown` prints.
//!
//! Such a table stands between `<!-- repro: PAPER/NAME -->` and `<!-- /repro -->`, in which the options of the command
//! may follow the name: `--quick`, `--seed N`. `UPDATE_DOCS=1` writes them anew.

use std::collections::BTreeSet;
use std::fs;

use super::bands::{is_long, outcomes};
use super::*;

const BEGIN: &str = "<!-- repro: ";
const END: &str = "<!-- /repro -->\n";

/// The options of the runs that the bands are held by, whose outcomes are there in any case.
const AS_THE_BANDS: &str = "--quick --seed 1";

/// The folder of the repository.
fn root() -> &'static Path {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    above.find(|folder| folder.join("docs/VALIDATION.md").is_file()).expect("there are documents")
}

/// The documents that may have tables.
fn documents() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs/validation")).expect("there are documents");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder can be read").path()).collect();
    paths.sort_unstable();
    paths
}

/// A document in parts: what stands between tables, and the tables, each with the words of its mark.
#[derive(Debug, PartialEq)]
enum Part<'a> {
    Text(&'a str),
    Table { words: &'a str, text: &'a str },
}

/// The parts of a document, or what is wrong with its marks.
fn parts(mut text: &str) -> std::result::Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    while let Some(start) = text.find(BEGIN) {
        let (before, rest) = text.split_at(start);
        let mark = rest[BEGIN.len()..].split_once(" -->\n\n");
        let (words, rest) = mark.ok_or("a mark ends with ` -->` and an empty line")?;
        let (table, rest) = rest.split_once(END).ok_or(format!("{words}: no {}", END.trim()))?;
        if words.contains('\n') || table.contains(BEGIN) {
            return Err(format!("{words}: a table within a table"));
        }
        parts.extend([Part::Text(before), Part::Table { words, text: table }]);
        text = rest;
    }
    parts.push(Part::Text(text));
    Ok(parts)
}

/// The experiment of a mark with how it is run.
fn asked(words: &str) -> (&str, Options) {
    let (id, rest) = words.split_once(' ').unwrap_or((words, ""));
    let mut options = Options::default();
    let mut rest = rest.split_whitespace();
    while let Some(word) = rest.next() {
        match word {
            "--quick" => options.quick = true,
            "--seed" => options.seed = rest.next().and_then(|seed| seed.parse().ok()).expect(words),
            other => panic!("{words}: {other} is none of --quick and --seed"),
        }
    }
    (id, options)
}

/// The output of `wordline repro --markdown` for a mark; none for a long experiment unless `WORDLINE_LONG` is set.
fn printed(words: &str, lab: &Lab, library: &Library) -> Option<String> {
    let long = std::env::var_os("WORDLINE_LONG").is_some();
    let (id, options) = asked(words);
    let experiment = *library.find(id).expect(words).first().expect(words);
    assert_eq!(experiment.id, id, "{words}: a table is of one experiment");
    if words.ends_with(AS_THE_BANDS) {
        let known = outcomes().iter().find(|outcome| outcome.experiment == id);
        assert!(known.is_some() || is_long(id), "{words}");
        return known.map(markdown);
    }
    let stop = AtomicBool::new(false);
    let conduct = Conduct { threads: 0, stop: &stop, progress: &|_, _| () };
    long.then(|| markdown(&run(experiment, &options, lab, &conduct).expect("it runs")))
}

/// Tables of experiments that take long, or of such at full size, take their turn where `WORDLINE_LONG` is set.
#[test]
fn every_table_of_results_in_the_documents_is_what_repro_prints() {
    let (lab, library) = (Lab::default(), Library::open(None).expect("well formed"));
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    let (mut stale, mut seen) = (Vec::new(), 0);
    for path in documents() {
        let text = fs::read_to_string(&path).expect("a document is text");
        let mut new = String::new();
        for part in parts(&text).unwrap_or_else(|wrong| panic!("{}: {wrong}", path.display())) {
            match part {
                Part::Text(text) => new += text,
                Part::Table { words, text } => {
                    seen += 1;
                    let table = printed(words, &lab, &library);
                    if table.as_ref().is_some_and(|table| table != text) {
                        stale.push(format!("{}: {words}", path.display()));
                    }
                    new += &format!("{BEGIN}{words} -->\n\n{}{END}", table.as_deref().unwrap_or(text));
                }
            }
        }
        if update && new != text {
            fs::write(&path, new).expect("a document can be written");
        }
    }
    assert!(seen > 0, "no document has a table");
    assert!(update || stale.is_empty(), "not what repro prints, UPDATE_DOCS=1 writes: {}", stale.join(", "));
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

/// Our values beside published ones are printed by `repro`, never typed: a typed table goes out of date in silence.
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
    let (id, options) = asked("a/b --quick --seed 7");
    assert_eq!((id, options.quick, options.seed), ("a/b", true, 7));
}
