//! Test programs: if a crate lists its programs in `Cargo.toml`, each file in its folder `tests` must belong
//! to one.

use crate::{File, Offence, assert_none, files, subjects};

/// The test file that includes the other test files of a crate as modules.
const ALL: &str = "tests/all.rs";

/// The path relative to the folder `tests` of a crate, if cargo would make a test program of `path`.
fn test_of(path: &str) -> Option<&str> {
    match path.strip_suffix(".rs")?.split_once('/') {
        None => Some(path),
        Some((_, rest)) => (rest == "main").then_some(path),
    }
}

/// Test files of the crate of `manifest` that belong to no program.
fn not_run(manifest: &File, files: &[File]) -> Vec<Offence> {
    let table: toml::Table = match manifest.text.parse() {
        Ok(table) => table,
        Err(error) => return vec![Offence::new(&manifest.path, error.to_string())],
    };
    let automatic = table.get("package").and_then(|package| package.get("autotests")?.as_bool());
    let root = manifest.path.strip_suffix("Cargo.toml").unwrap_or_default();
    if automatic != Some(false) || !root.starts_with(crate::CRATES) {
        return Vec::new();
    }
    let programs = table.get("test").and_then(toml::Value::as_array).into_iter().flatten();
    let programs: Vec<&str> = programs.filter_map(|test| test.get("path")?.as_str()).collect();
    let all = files.iter().find(|file| file.path.strip_prefix(root) == Some(ALL));
    let modules: Vec<&str> = all.iter().flat_map(|all| all.text.lines()).filter_map(module).collect();
    let folder = format!("{root}tests/");
    let tests = files.iter().filter_map(|file| Some((file, test_of(file.path.strip_prefix(&folder)?)?)));
    let missing = tests.filter(|(_, test)| {
        let name = test.strip_suffix(".rs").unwrap_or(test);
        !programs.contains(&format!("tests/{test}").as_str()) && !modules.contains(&name)
    });
    missing
        .map(|(file, _)| {
            Offence::new(&file.path, format!("is part of no test program: name it in {root}{ALL}"))
        })
        .collect()
}

/// The module that `line` declares.
fn module(line: &str) -> Option<&str> {
    line.trim().strip_prefix("mod ")?.strip_suffix(';')
}

/// Files of a library with unit tests or examples, though its manifest says that it has none, so that nobody
/// compiles it for them.
fn left_out(manifest: &File, files: &[File]) -> Vec<Offence> {
    let table: toml::Table = manifest.text.parse().unwrap_or_default();
    let is_off = |kind: &str| table.get("lib").and_then(|lib| lib.get(kind)?.as_bool()) == Some(false);
    let root = manifest.path.strip_suffix("Cargo.toml").unwrap_or_default();
    let sources = format!("{root}src/");
    let mut offences = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with(&sources) && file.path.ends_with(".rs")) {
        if is_off("test") && file.text.contains("#[cfg(test)]") {
            offences.push(Offence::new(
                &file.path,
                "has tests, and `test = false` in Cargo.toml leaves them out",
            ));
        }
        if is_off("doctest") && has_example(&file.text) {
            offences.push(Offence::new(
                &file.path,
                "has an example in its documentation, and `doctest = false` in Cargo.toml leaves it out",
            ));
        }
    }
    offences
}

/// Whether the documentation has a block of Rust. Opening and closing fences alternate.
fn has_example(text: &str) -> bool {
    let fences = text.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("/// ```").or_else(|| line.strip_prefix("//! ```"))
    });
    fences.step_by(2).any(|info| info.is_empty() || info.starts_with("rust") || info.contains("no_run"))
}

/// Checks that no manifest of the repository has offences.
fn check_manifests(offences: fn(&File, &[File]) -> Vec<Offence>) {
    let files = files();
    let manifests = subjects(&files, 15, |file| file.path.ends_with("/Cargo.toml"));
    assert_none(&manifests.into_iter().flat_map(|manifest| offences(manifest, &files)).collect::<Vec<_>>());
}

fn file(path: &str, text: &str) -> File {
    File { path: path.into(), text: text.into() }
}

#[test]
fn no_test_or_example_is_left_out_by_a_manifest() {
    check_manifests(left_out);
}

#[test]
fn a_test_that_a_manifest_leaves_out_is_caught() {
    let files = [
        file("crates/a/src/lib.rs", "/// ```text\n/// a\n/// ```\n#[cfg(test)]\nmod tests;\n"),
        file("crates/a/src/b.rs", "/// ```\n/// assert!(true);\n/// ```\n"),
    ];
    let of = |lib: &str| left_out(&file("crates/a/Cargo.toml", lib), &files).len();
    assert_eq!([of("[lib]\ntest = false\n"), of("[lib]\ndoctest = false\n"), of("")], [1, 1, 0]);
}

#[test]
fn every_test_is_part_of_a_program() {
    check_manifests(not_run);
}

#[test]
fn a_test_in_no_program_is_caught() {
    let manifest = |autotests: bool| {
        let programs = "[[test]]\nname = 'all'\npath = 'tests/all.rs'\n[[test]]\nname = 'big'\npath = 'tests/big/main.rs'\n";
        file("crates/ssd/Cargo.toml", &format!("{programs}[package]\nautotests = {autotests}\n"))
    };
    let files = [
        file("crates/ssd/tests/all.rs", "mod faults;\nmod rig;\n"),
        file("crates/ssd/tests/big/main.rs", "mod part;\n"),
        file("crates/ssd/tests/big/part.rs", ""),
        file("crates/ssd/tests/faults.rs", ""),
        file("crates/ssd/tests/pools.rs", ""),
        file("crates/ssd/tests/cuts/main.rs", ""),
        file("crates/nand/tests/other.rs", ""),
    ];
    let places: Vec<String> =
        not_run(&manifest(false), &files).into_iter().map(|offence| offence.place).collect();
    assert_eq!(places, ["crates/ssd/tests/pools.rs", "crates/ssd/tests/cuts/main.rs"]);
    assert_eq!(not_run(&manifest(true), &files), []);
}
