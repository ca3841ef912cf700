//! The page of the last long run: it has the form that `make nightly` writes, and the entry pages link to it.

#[path = "../nightly/page.rs"]
mod page;

use page::{Nightly, PATH, Run};

use crate::{Offence, assert_none, files};

/// The pages that have to link to the page of the last long run.
const FROM: [&str; 3] = ["README.md", "CONTRIBUTING.md", "docs/SUMMARY.md"];

#[test]
fn the_last_long_run_is_on_a_page_that_others_lead_to() {
    let files = files();
    let text = |path: &str| files.iter().find(|file| file.path == path).map_or("", |file| &file.text);
    let read = Nightly::read(text(PATH)).err();
    let wrong = read.map(|error| Offence::new(PATH, format!("{error}: run `make nightly`")));
    let unlinked = FROM.into_iter().filter(|path| !text(path).contains("nightly.md)"));
    let unlinked = unlinked.map(|path| Offence::new(path, format!("wanted a link to {PATH}")));
    assert_none(&wrong.into_iter().chain(unlinked).collect::<Vec<_>>());
}

#[test]
fn a_page_that_says_less_than_it_should_is_caught() {
    let run = Run {
        date: "2026-11-27".into(),
        commit: "e3bdbea8".into(),
        selection: "-- --skip records".into(),
        passed: 41,
        failing: vec!["time::tests::a".into()],
    };
    let page = |run: &Run| Nightly([("kernel".to_owned(), run.clone())].into());
    let sound = page(&run);
    assert_eq!(Nightly::read(&sound.page()), Ok(sound.clone()));
    for (what, other) in [
        ("no date", Run { date: "yesterday".into(), ..run.clone() }),
        ("no commit", Run { commit: "main".into(), ..run.clone() }),
    ] {
        assert!(Nightly::read(&page(&other).page()).is_err(), "{what}");
    }
    for (what, old, new) in [
        ("edited", "It runs for hours", "It runs"),
        ("a test is not named", "| 41 | 1 |", "| 41 | 2 |"),
        ("no number", "| 41 | 1 |", "| all | 1 |"),
    ] {
        assert!(Nightly::read(&sound.page().replace(old, new)).is_err(), "{what}");
    }
    assert!(Nightly::read("# Nightly\n").is_err(), "nothing of it");
}
