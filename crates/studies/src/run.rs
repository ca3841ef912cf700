//! The runs of a study: those that its store does not have, side by side over the cores.

use std::sync::atomic::Ordering;

use wordline_experiments::{Bench, Lab, Mean, Point};
use wordline_lab::error::{Error, Result};
use wordline_lab::summary::Outcome;
use wordline_lab::sweep::{self as cores, Conduct};

use crate::file::{Study, Until};
use crate::flat::number;
use crate::name::Names;
use crate::store::{Record, State, Store};
use crate::table::{Row, Table};

/// The work that a study has to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Runs of the first seeds, those that are over among them.
    pub runs: usize,
    /// Runs that are over.
    pub done: usize,
    /// Those of these that failed.
    pub failed: usize,
    /// How long the others may take on one core, in seconds, by the mean of those that are over; none where none is.
    pub seconds_left: Option<f64>,
}

/// How a study is carried out; none of it reaches a result.
pub struct Progress<'a> {
    /// Threads, the user's stop, and what is told after each run.
    pub conduct: Conduct<'a>,
    /// Whether runs that failed are done again.
    pub again: bool,
}

/// A run of a study and its name.
struct Named {
    name: String,
    point: Point,
}

/// The runs of a study by the program of this version and commit.
struct Runs<'a> {
    study: &'a Study,
    program: &'a str,
    names: Names,
}

impl Runs<'_> {
    /// Those with a seed, at the places that are wanted.
    fn with(&mut self, seed: u64, is_wanted: impl Fn(usize) -> bool) -> Result<Vec<Named>> {
        let points = self.study.points(seed)?.into_iter().enumerate().filter(|(place, _)| is_wanted(*place));
        points.map(|(_, point)| Ok(Named { name: self.names.of(&point, self.program)?, point })).collect()
    }
}

/// The plan of a study: nothing of it is done.
///
/// # Errors
/// Those of [`Study::points`] and of the store.
pub fn plan(study: &Study, store: &Store, program: &str) -> Result<Plan> {
    let mut runs = Runs { study, program, names: Names::default() };
    let mut plan = Plan { runs: 0, done: 0, failed: 0, seconds_left: None };
    let mut seconds = Vec::new();
    for seed in seeds(study) {
        for run in runs.with(seed, |_| true)? {
            plan.runs += 1;
            let Some(record) = store.get(&run.name)? else { continue };
            plan.done += 1;
            plan.failed += usize::from(record.state == State::Failed);
            seconds.extend(record.summary.iter().filter_map(|summary| {
                Some(
                    number(summary, "wall_seconds")? + number(summary, "precondition_seconds").unwrap_or(0.0),
                )
            }));
        }
    }
    if !seconds.is_empty() {
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        plan.seconds_left = Some(mean * (plan.runs - plan.done) as f64);
    }
    Ok(plan)
}

fn seeds(study: &Study) -> std::ops::Range<u64> {
    study.repeat.first..study.repeat.first.saturating_add(study.repeat.seeds.into())
}

/// Does the runs of a study that its store does not have, and gathers all of them. A run that fails is kept with its error, and ends
/// nothing. What the user's stop leaves out is not in the table.
///
/// # Errors
/// Those of [`Study::points`] and of the store.
pub fn run(study: &Study, store: &Store, program: &str, progress: &Progress<'_>) -> Result<Table> {
    let mut runs = Runs { study, program, names: Names::default() };
    let mut all: Vec<Named> = Vec::new();
    for seed in seeds(study) {
        all.extend(runs.with(seed, |_| true)?);
    }
    do_missing(&all, store, program, progress)?;
    let mut table = gather(study, &all, store)?;
    if let Some(until) = &study.repeat.until {
        for further in study.repeat.seeds..until.at_most {
            let is_unsure: Vec<bool> = table.rows.iter().map(|row| is_unsure(row, until)).collect();
            if !is_unsure.contains(&true) || progress.conduct.stop.load(Ordering::Relaxed) {
                break;
            }
            let seed = study.repeat.first.saturating_add(further.into());
            let more = runs.with(seed, |place| is_unsure[place])?;
            do_missing(&more, store, program, progress)?;
            all.extend(more);
            table = gather(study, &all, store)?;
        }
    }
    Ok(table)
}

/// Whether the mean of a column is not known well enough.
fn is_unsure(row: &Row, until: &Until) -> bool {
    let fraction = until.fraction().expect("it was checked");
    let values = row.of(&until.column);
    match (values.is_empty(), values.len()) {
        (true, _) => false,
        (_, 1) => true,
        _ => {
            let Mean { mean, half } = Mean::of(&values);
            half.is_some_and(|half| half > fraction * mean.abs())
        }
    }
}

fn do_missing(all: &[Named], store: &Store, program: &str, progress: &Progress<'_>) -> Result<()> {
    let mut missing = Vec::new();
    for run in all {
        match store.get(&run.name)? {
            Some(record) if record.state == State::Failed && progress.again => {
                store.forget(&run.name)?;
                missing.push(run);
            }
            Some(_) => {}
            None => missing.push(run),
        }
    }
    let stop = progress.conduct.stop;
    let one = |run: &&Named| {
        let Named { name, point } = *run;
        let (state, error, summary) = match Lab::default().simulate(point, stop) {
            Ok(summary) if summary.outcome == Outcome::Interrupted => return Err(Error::Stopped),
            Ok(summary) => {
                let summary = serde_json::to_value(summary).expect("a summary's keys are text");
                (State::Done, None, Some(summary))
            }
            Err(Error::Stopped) => return Err(Error::Stopped),
            Err(error) => (State::Failed, Some(error.to_string()), None),
        };
        let (program, at, seed) = (program.to_owned(), point.settings.clone(), point.seed);
        store.put(name, Record { program, at, seed, state, error, summary })
    };
    cores::run(&missing, &progress.conduct, one).map(drop)
}

/// The table of the runs that are over.
fn gather(study: &Study, all: &[Named], store: &Store) -> Result<Table> {
    let mut table = Table::new(study);
    for run in all {
        let Some(record) = store.get(&run.name)? else { continue };
        table.add(&run.name, record);
    }
    table.missing = all.len() - table.runs();
    Ok(table)
}
