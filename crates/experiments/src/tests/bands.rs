//! The embedded experiments against their bands.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use super::*;

/// Whether an experiment is run where `WORDLINE_LONG` is set alone, as `make long` does: those of whole SSDs that take longer than any
/// test of `make test` may, which are the sweeps of Centaur and most of cubeFTL under applications.
pub(super) fn is_long(id: &str) -> bool {
    let of_cube = ["bursts-cells", "cells", "factors", "model", "threads"];
    let is_of_cube = id.strip_prefix("cubeftl/fig17-").is_some_and(|rest| of_cube.contains(&rest));
    ("centaur/fig11".."centaur/table1").contains(&id) || is_of_cube || id == "validation/suspend"
}

/// The outcomes of all embedded experiments, scaled down and with a seed of 1; of long ones where `WORDLINE_LONG` is
/// set. They are run once for all tests.
pub(super) fn outcomes() -> &'static [Outcome] {
    static OUTCOMES: OnceLock<Vec<Outcome>> = OnceLock::new();
    OUTCOMES.get_or_init(|| {
        let long = std::env::var_os("WORDLINE_LONG").is_some();
        let stop = AtomicBool::new(false);
        let conduct = Conduct { threads: 0, stop: &stop, progress: &|_, _| () };
        let (lab, library) = (Lab::default(), Library::open(None).expect("well formed"));
        let options = Options { quick: true, seed: 1, ..Options::default() };
        let experiments = library.iter().filter(|experiment| long || !is_long(&experiment.id));
        experiments.map(|experiment| run(experiment, &options, &lab, &conduct).expect("it runs")).collect()
    })
}

/// Shows the table of every outcome, and holds it to its bands: only what a paper's own numbers contradict, or the
/// experiment explains at these points and values, may lie outside.
#[test]
fn every_embedded_experiment_lands_in_its_bands() {
    let mut missed = Vec::new();
    for outcome in outcomes() {
        println!("{}", table(outcome, 140));
        let outside = outcome.rows.iter().filter(|row| row.verdict == Verdict::Outside);
        let unexplained = outside.filter(|row| !row.contradicted && !row.explained);
        let said: Vec<String> = unexplained.map(|row| format!("{}: {row:#?}", outcome.experiment)).collect();
        assert_eq!(outcome.counts.unexplained, said.len(), "{}", outcome.experiment);
        missed.extend(said);
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// A change that takes a reason away says something only where the reason held before.
#[test]
fn rows_that_are_explained_until_a_change_are_all_explained_without_it() {
    let library = Library::open(None).expect("well formed");
    let mut looked_at = 0;
    for outcome in outcomes() {
        let experiment = library.iter().find(|experiment| experiment.id == outcome.experiment).expect("one");
        for expect in experiment.expect.iter().filter(|expect| expect.explained_until.is_some()) {
            let is_of_it = |row: &&Row| {
                let what = row.what.strip_prefix(&expect.what);
                what.is_some_and(|place| place.is_empty() || place.starts_with(", "))
                    && (&row.source, &row.derivation) == (&expect.source, &expect.derivation)
                    && row.second_reading == expect.second_reading
            };
            let rows: Vec<&Row> = outcome.rows.iter().filter(is_of_it).collect();
            assert!(!rows.is_empty() && rows.iter().all(|row| row.explained), "{}: {rows:#?}", experiment.id);
            looked_at += 1;
        }
    }
    assert!(looked_at > 8, "{looked_at} expected values");
}
