//! The mutants of `tests/mutants`: each of them can be made from the present code.

#[path = "../mutants/list.rs"]
#[allow(dead_code, reason = "the program makes the mutants, and the test asks whether it can")]
mod list;

use std::collections::BTreeMap;

use list::{Mutant, mutants, with_faults};

use crate::{File, Offence, assert_none, files, subjects};

/// The folder of the lists.
const LISTS: &str = "tests/mutations/";

/// The reasons why mutants of these lists cannot be made from these files.
fn broken_mutants(lists: &[&File], files: &[File]) -> Vec<Offence> {
    let named = lists.iter().filter_map(|file| {
        let of = file.path.strip_prefix(LISTS)?.strip_suffix(".toml")?;
        Some((of, file.text.as_str()))
    });
    let all = match mutants(named) {
        Ok(all) => all,
        Err(error) => return vec![Offence::new(LISTS, error)],
    };
    let mut by_file: BTreeMap<String, Vec<&Mutant>> = BTreeMap::new();
    for mutant in &all {
        by_file.entry(mutant.path()).or_default().push(mutant);
    }
    let wrong = by_file.into_iter().filter_map(|(path, mutants)| {
        let file = files.iter().find(|file| file.path == path);
        let made = file.ok_or_else(|| format!("found no such file, wanted that of {}", mutants[0].name));
        let error = made.and_then(|file| with_faults(&file.text, &mutants)).err()?;
        Some(Offence::new(path, format!("{error}: make the fault anew")))
    });
    wrong.collect()
}

#[test]
fn every_mutant_can_be_made_of_the_code_as_it_is() {
    let files = files();
    let lists = subjects(&files, 6, |file| file.path.starts_with(LISTS) && file.path.ends_with(".toml"));
    assert_none(&broken_mutants(&lists, &files));
}

#[test]
fn a_mutant_of_code_that_has_changed_is_caught() {
    let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
    let files = [file("crates/a/src/lib.rs", "fn f() { g(x < y) }\nfn h() { g(x < y); z += 1; }\n")];
    let count = |keys: &str| {
        let list = file("tests/mutations/a.toml", &format!("[[mutant]]\nfile = \"src/lib.rs\"\n{keys}\n"));
        broken_mutants(&[&list], &files).len()
    };
    let replaced = "wrong = \"x > y\"";
    assert_eq!(count(&format!("after = \"fn h\"\nright = \"x < y\"\n{replaced}")), 0);
    assert_eq!(count("right = \"z += 1;\"\nwrong = \"\""), 0, "a statement is left out");
    assert_eq!(count(&format!("right = \"x < y\"\n{replaced}")), 1, "two such places");
    assert_eq!(count(&format!("after = \"fn i\"\nright = \"x < y\"\n{replaced}")), 1, "nothing before it");
    assert_eq!(count(&format!("right = \"x << y\"\n{replaced}")), 1, "no such code");
    assert_eq!(count("right = \"z += 1;\"\nwrong = \"z\""), 1, "a statement and an expression");
    assert_eq!(count(&format!("right = \"x < y\"\nwhy = \"no\"\n{replaced}")), 1, "an unknown key");
    assert_eq!(count("right = \"g(x < y); z\"\nwrong = \"g(z\""), 1, "half a bracket");
    assert_eq!(count("right = \"z += 1; }\"\nwrong = \"\""), 1, "another half");
    let twice = "[[mutant]]\nfile = \"src/lib.rs\"\nright = \"z += 1;\"\nwrong = \"\"\n";
    let list = file("tests/mutations/a.toml", &twice.repeat(2));
    assert_eq!(broken_mutants(&[&list], &files).len(), 1, "two mutants of the same code");
}
