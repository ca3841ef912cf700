//! The embedded experiments against their bands.

use std::sync::atomic::AtomicBool;

use super::*;

/// Experiments that are run where `WORDLINE_LONG` is set, as `make long` does: sweeps of whole SSDs of Centaur beyond
/// those of figures 11 to 15, which take most of the time.
const LONG: [&str; 11] = [
    "centaur/fig16",
    "centaur/fig17",
    "centaur/fig18",
    "centaur/fig19",
    "centaur/fig20",
    "centaur/fig21",
    "centaur/fig22",
    "centaur/fig23",
    "centaur/fig24",
    "centaur/recorded",
    "centaur/sec54",
];

/// Runs every embedded experiment, scaled down, shows the table, and holds it to its bands: only what a paper's own
/// numbers contradict, or the experiment explains at these points and values, may lie outside. Those of `LONG` take
/// their turn where `WORDLINE_LONG` is set.
#[test]
fn every_embedded_experiment_lands_in_its_bands() {
    let long = std::env::var_os("WORDLINE_LONG").is_some();
    let stop = AtomicBool::new(false);
    let conduct = Conduct { threads: 0, stop: &stop, progress: &|_, _| () };
    let (lab, library) = (Lab::default(), Library::open(None).expect("well formed"));
    let options = Options { quick: true, seed: 1, ..Options::default() };
    assert!(LONG.iter().all(|id| library.iter().any(|experiment| experiment.id == *id)));
    let mut missed = Vec::new();
    for experiment in library.iter().filter(|experiment| long || !LONG.contains(&experiment.id.as_str())) {
        let outcome = run(experiment, &options, &lab, &conduct).expect("it runs");
        println!("{}", table(&outcome, 140));
        let outside = outcome.rows.iter().filter(|row| row.verdict == Verdict::Outside);
        let unexplained = outside.filter(|row| !row.contradicted && !row.explained);
        let said: Vec<String> = unexplained.map(|row| format!("{}: {row:#?}", experiment.id)).collect();
        assert_eq!(outcome.counts.unexplained, said.len(), "{}", experiment.id);
        missed.extend(said);
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
