//! The store of results. `data/results/PAPER/NAME.json` has the records of an experiment, by size and seeds.
//! The tests of the experiments write the store. They also read it with this file.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::show::record::{Key, Record, digest};

/// The folder of the store.
const STORE: &str = "data/results";

/// Digests of the program's results for devices with every feature. They change with the behaviour of the
/// program.
const PROGRAM: &str = "crates/lab/tests/golden/digests.toml";

/// Keys of an experiment's file that are only text for the reader.
const WORDS: [&str; 4] = ["chart", "left_open", "note", "source"];

/// The records of all experiments. For each experiment the largest size with the most seeds is
/// first; a part of an experiment comes after the whole.
///
/// # Errors
/// A file that is not well formed, or a record whose rows do not match its digest.
pub fn stored(root: &Path) -> Result<BTreeMap<String, Vec<Record>>, String> {
    let mut all = BTreeMap::new();
    for (id, path) in by_id(&root.join(STORE))? {
        let place = path.display();
        let mut records: Vec<Record> =
            serde_json::from_str(&text(&path)?).map_err(|error| format!("{place}: {error}"))?;
        records.sort_by_key(|Record { key, .. }| (key.quick, !key.only.is_empty(), Reverse(key.seeds)));
        if records.iter().any(|record| record.digest != record.rows_digest()) {
            return Err(format!("{place}: the rows were changed by hand"));
        }
        all.insert(id, records);
    }
    Ok(all)
}

/// The key of an experiment's record, with the present digests of the program and of the experiment's file.
///
/// # Errors
/// A file that cannot be read.
pub fn now(root: &Path, id: &str, key: &Key) -> Result<Key, String> {
    let mut files = Vec::new();
    let mut next = Some(id.to_owned());
    while let Some(id) = next {
        let mut file = experiment(root, &id)?;
        next = like(&file);
        without_words(&mut file);
        files.push(file.to_string());
    }
    let program = digest(&text(&root.join(PROGRAM))?);
    Ok(Key { program, experiment: digest(&files.concat()), ..key.clone() })
}

/// The file of an experiment.
///
/// # Errors
/// A file that cannot be read, or is not TOML.
pub fn experiment(root: &Path, id: &str) -> Result<toml::Value, String> {
    let path = root.join("data/experiments").join(id).join("experiment.toml");
    let table: Result<toml::Table, _> = text(&path)?.parse();
    table.map(toml::Value::Table).map_err(|error| format!("{}: {error}", path.display()))
}

/// The experiment whose runs this experiment reuses.
fn like(file: &toml::Value) -> Option<String> {
    file.get("kind")?.get("like")?.get("experiment")?.as_str().map(str::to_owned)
}

fn without_words(value: &mut toml::Value) {
    match value {
        toml::Value::Table(table) => {
            table.retain(|key, _| !WORDS.contains(&key));
            table.iter_mut().for_each(|(_, value)| without_words(value));
        }
        toml::Value::Array(values) => values.iter_mut().for_each(without_words),
        _ => {}
    }
}

/// The entries of all subfolders of a folder, each with its name `PAPER/NAME`.
///
/// # Errors
/// A folder that cannot be read.
pub fn by_id(folder: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let mut all = Vec::new();
    for path in entries(folder)?.iter().filter(|path| path.is_dir()) {
        let named = |path: PathBuf| {
            let id = path.strip_prefix(folder).unwrap_or(&path).with_extension("");
            (id.to_string_lossy().replace('\\', "/"), path)
        };
        all.extend(entries(path)?.into_iter().map(named));
    }
    Ok(all)
}

/// The sorted entries of a folder.
///
/// # Errors
/// A folder that cannot be read.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(wrong)?;
    let mut paths =
        entries.map(|entry| Ok(entry.map_err(wrong)?.path())).collect::<Result<Vec<_>, String>>()?;
    paths.sort_unstable();
    Ok(paths)
}

/// The text of a file.
///
/// # Errors
/// A file that cannot be read.
pub fn text(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[test]
fn words_for_the_reader_are_no_part_of_an_experiment() {
    let of = |text: &str| {
        let mut file = toml::Value::Table(text.parse().expect("TOML"));
        without_words(&mut file);
        file.to_string()
    };
    let file = "title = \"T\"\n[[expect]]\nvalue = 2\n";
    assert_eq!(of(&format!("source = \"S\"\n{file}note = \"N\"\n")), of(file));
    assert_ne!(of(&file.replace('2', "3")), of(file));
}
