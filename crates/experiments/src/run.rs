//! Runs an experiment with each seed. Rows that are outside their bands are run again, under the changes of
//! the model that remove the reasons given for them.

use std::sync::atomic::Ordering;

use crate::bench::Bench;
use crate::experiment::Experiment;
use crate::judge::expect::Expect;
use crate::judge::judged::{self, SeedRow};
use crate::judge::outcome::{Outcome, Row, Verdict};
use crate::options::Options;
use crate::seed_run::{SeedRun, once};
use wordline_lab::error::{Error, Result};
use wordline_lab::sweep::SweepOptions;

/// Runs the points that one expected value compares, under the change of the model that the expected value
/// names. The row must then fail, or lose its reason. A band or a reason that survives every change of the
/// model proves nothing.
///
/// # Errors
/// [`Error::Argument`] if the expected value names no change of the experiment; the errors of [`run`].
pub fn run_changed(
    experiment: &Experiment,
    expect: &Expect,
    options: &Options,
    bench: &dyn Bench,
    conduct: &SweepOptions<'_>,
) -> Result<Outcome> {
    let name = expect.change().map_or("", String::as_str);
    let change = experiment.changes.get(name).ok_or_else(|| Error::Argument {
        what: format!("change of {}", experiment.id),
        found: format!("`{name}`"),
        wanted: experiment.names_of_changes(),
    })?;
    let expect = vec![expect.clone()];
    let changed = Experiment { expect, charts: Vec::new(), maps: Vec::new(), ..experiment.clone() };
    run(&changed, &Options { change: change.clone(), beside: false, ..options.clone() }, bench, conduct)
}

/// Runs an experiment with the number of seeds in `options`. If the second seed gives the same events as the
/// first, nothing is random, and no further seed is run. Each row is judged by its mean over the seeds.
/// Points and charts show the first seed.
///
/// # Errors
/// The errors of the bench. [`Error::Config`] if a device is invalid.
pub fn run(
    experiment: &Experiment,
    options: &Options,
    bench: &dyn Bench,
    conduct: &SweepOptions<'_>,
) -> Result<Outcome> {
    let mut all: Vec<SeedRun> = Vec::new();
    for seed in options.seed..options.seed.saturating_add(options.seeds.max(1).into()) {
        let with = once(experiment, &Options { seed, ..options.clone() }, bench, conduct)?;
        if !with.is_whole && !all.is_empty() {
            break;
        }
        all.push(with);
        if !all[all.len() - 1].is_whole || all.len() == 2 && all[0].is_same(&all[1]) {
            break;
        }
    }
    let mut outcome = Outcome { seed: options.seed, seeds: all.len() as u32, ..Outcome::new(&experiment.id) };
    outcome.first = all[0].judged.iter().map(|judged| judged::row(&[judged])).collect();
    let mut rows = rows_over_seeds(&all);
    if options.beside {
        rows = beside(experiment, rows, options, bench, conduct)?;
    }
    outcome.notes.append(&mut all[0].notes);
    outcome.notes.extend(seeds_in_words(&all, options).filter(|_| all[0].is_whole));
    outcome.devices.append(&mut all[0].devices);
    outcome.maps.append(&mut all[0].maps);
    outcome.points.append(&mut all[0].points);
    outcome.traces.append(&mut all[0].traces);
    outcome.set_rows(rows);
    if all[0].is_whole {
        outcome.surprises = experiment.known.surprises(&outcome.rows, options);
    }
    Ok(outcome)
}

/// The rows over all seeds, in the order of the first seed.
fn rows_over_seeds(all: &[SeedRun]) -> Vec<Row> {
    let row = |(at, first): (usize, &SeedRow)| {
        let of_seed = |once: &'_ SeedRun| -> Option<usize> {
            let is_it =
                |judged: &SeedRow| judged.base.what == first.base.what && judged.points == first.points;
            let at_its_place = once.judged.get(at).is_some_and(is_it).then_some(at);
            at_its_place.or_else(|| once.judged.iter().position(is_it))
        };
        let seeds: Vec<&SeedRow> = all.iter().filter_map(|once| Some(&once.judged[of_seed(once)?])).collect();
        judged::row(&seeds)
    };
    all[0].judged.iter().enumerate().map(row).collect()
}

/// Repeats the rows that are outside their bands, under the change of the model that removes their reason.
/// Inserts each repeated row after its original. If a repeated row is inside, the cause is demonstrated;
/// otherwise it is suspected.
fn beside(
    experiment: &Experiment,
    rows: Vec<Row>,
    options: &Options,
    bench: &dyn Bench,
    conduct: &SweepOptions<'_>,
) -> Result<Vec<Row>> {
    let mut all = rows;
    for expect in experiment.expect.iter().filter(|expect| expect.explained_until.is_some()) {
        let is_of_it = |row: &Row| row.under.is_none() && expect.is_of(row);
        let last = all.iter().rposition(is_of_it);
        let is_outside = all.iter().any(|row| is_of_it(row) && row.verdict == Verdict::Outside);
        let Some(last) = last.filter(|_| is_outside && !conduct.stop.load(Ordering::Relaxed)) else {
            continue;
        };
        let under = run_changed(experiment, expect, options, bench, conduct)?.rows;
        let is_inside = |row: &Row| {
            let same = under.iter().find(|other| other.what == row.what);
            let inside = |other: &&Row| matches!(other.verdict, Verdict::Within | Verdict::Direction);
            same.filter(inside).is_some_and(|other| other.sure)
        };
        for row in all.iter_mut().filter(|row| is_of_it(row) && row.explained && !is_inside(row)) {
            *row = row.clone().into_suspected();
        }
        let name = expect.explained_until.clone();
        let under = under.into_iter().map(|row| Row { under: name.clone(), note: String::new(), ..row });
        all.splice(last + 1..last + 1, under);
    }
    Ok(all)
}

/// A note on the number of seeds.
fn seeds_in_words(all: &[SeedRun], options: &Options) -> Option<String> {
    let (first, last) = (options.seed, options.seed + all.len() as u64 - 1);
    match all {
        [] => None,
        [_] => Some(format!("seed {first} alone")),
        [one, other] if one.is_same(other) => {
            Some(format!("nothing depends on chance: the seeds {first} and {last} have the same events"))
        }
        _ => Some(format!(
            "seeds {first} to {last}: ± is half of the 95 % interval of the mean, and rows without it are equal with all of them"
        )),
    }
}
