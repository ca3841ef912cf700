//! The mutants of `tests/mutants`: each patch applies to the code as it is, and names the tests that find it.

use crate::{File, Offence, assert_none, files, subjects};

/// Where the patches are.
const PATCHES: &str = "tests/mutations/";

/// Lines that a patch wants to find one after another in a file.
struct Hunk<'a> {
    path: &'a str,
    wanted: String,
}

/// Lines that `patch`, a unified diff, replaces.
fn hunks(patch: &str) -> Vec<Hunk<'_>> {
    let (mut path, mut hunks) = ("", Vec::<Hunk<'_>>::new());
    for line in patch.lines() {
        let old = line.strip_prefix(' ').or_else(|| line.strip_prefix('-'));
        if let Some(name) = line.strip_prefix("--- a/") {
            path = name;
        } else if line.starts_with("@@ ") {
            hunks.push(Hunk { path, wanted: "\n".into() });
        } else if let (Some(hunk), Some(old)) = (hunks.last_mut(), old) {
            hunk.wanted += old;
            hunk.wanted.push('\n');
        }
    }
    hunks
}

/// Why `patch` is of no use on these files.
fn useless(patch: &File, files: &[File]) -> Vec<Offence> {
    let hunks = hunks(&patch.text);
    let mut offences = Vec::new();
    if hunks.is_empty() || !patch.text.lines().any(|line| line.starts_with("Tests: ")) {
        offences.push(Offence::new(
            &patch.path,
            "wanted a line `Tests: ` with arguments of cargo test, and a diff",
        ));
    }
    for Hunk { path, wanted } in hunks {
        let text = files.iter().find(|file| file.path == path).map(|file| format!("\n{}", file.text));
        let places = text.map_or(0, |text| text.matches(&wanted).count());
        if places != 1 {
            let complaint =
                format!("found its lines in {places} places of {path}, wanted one: make the fault anew");
            offences.push(Offence::new(&patch.path, complaint));
        }
    }
    offences
}

#[test]
fn every_mutant_can_be_made_of_the_code_as_it_is() {
    let files = files();
    let patches = subjects(&files, 10, |file| file.path.starts_with(PATCHES));
    assert_none(&patches.into_iter().flat_map(|patch| useless(patch, &files)).collect::<Vec<_>>());
}

#[test]
fn a_mutant_of_code_that_has_changed_is_caught() {
    let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
    let files = [file("crates/a.rs", "one\ntwo\nthree\ntwo\n")];
    let patch = |head: &str, hunk: &str| {
        file(
            "tests/mutations/x.patch",
            &format!("{head}\n--- a/crates/a.rs\n+++ b/crates/a.rs\n@@ -1,2 +1,2 @@\n{hunk}"),
        )
    };
    let count = |head: &str, hunk: &str| useless(&patch(head, hunk), &files).len();
    assert_eq!(count("Tests: -p a", " one\n-two\n+2\n"), 0);
    assert_eq!(count("", " one\n-two\n+2\n"), 1, "no tests");
    assert_eq!(count("Tests: -p a", "-four\n+4\n"), 1, "no such line");
    assert_eq!(count("Tests: -p a", "-two\n+2\n"), 1, "two such lines");
    assert_eq!(count("Tests: -p a", " ne\n-two\n+2\n"), 1, "part of a line");
    assert_eq!(useless(&file("tests/mutations/y.patch", "Tests: -p a\n"), &files).len(), 1, "no diff");
}
