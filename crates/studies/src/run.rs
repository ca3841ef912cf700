//! Executes the runs of a study that its store does not have, in parallel on this machine or on other
//! machines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use wordline_experiments::{Mean, Point};
use wordline_kernel::Bytes;
use wordline_lab::error::{Error, Result};
use wordline_lab::sweep::{self as cores, SweepOptions};

use crate::file::{PrecisionTarget, Study};
use crate::memory::{MemoryBudget, memory};
use crate::name::{InputFile, RunNames};
use crate::shard::Shard;
use crate::store::{Files, State, Store};
use crate::table::{Row, Table};
use crate::task::{Task, done, failed};

/// The work of a study.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Number of runs that are known to be needed, including finished ones: runs of the first seeds, and of
    /// further seeds as far as the present results require them.
    pub runs: usize,
    /// Maximum number of runs that `repeat.until` may add to these.
    pub further: usize,
    /// Number of finished runs.
    pub done: usize,
    /// Number of failed runs; they count as finished.
    pub failed: usize,
    /// Estimated time of the remaining runs on one core in seconds, from the mean time of the finished runs.
    /// `None` if no run is finished.
    pub seconds_left: Option<f64>,
    /// Memory of the largest run.
    pub memory: Bytes,
    /// Number of runs of that size that fit into the memory budget; `None` without a budget.
    pub at_once: Option<u64>,
}

/// Options for executing a study. None of them affects a result.
pub struct Progress<'a> {
    /// Threads, stop flag and progress callback.
    pub conduct: SweepOptions<'a>,
    /// Whether failed runs are repeated.
    pub again: bool,
    /// Executor on other machines; `None` for this machine.
    pub elsewhere: Option<&'a dyn RunExecutor>,
    /// The part of the runs to execute; `None` for all. Others may be executed by other programs.
    pub shard: Option<Shard>,
}

/// An executor of runs other than this machine.
pub trait RunExecutor: Sync {
    /// Executes runs, and calls `over` with the outcome of each run as soon as it ends. If the user stops the
    /// study, some outcomes are missing.
    ///
    /// # Errors
    /// [`Error::Argument`] if the executor cannot be reached or used; the errors of `over`.
    fn carry_out(&self, runs: Vec<Task>, over: &mut dyn FnMut(&str, RunOutcome) -> Result<()>) -> Result<()>;
}

/// Outcome of a run on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// The files of the run for the store.
    Files(Files),
    /// The run has no files, for this reason.
    Failed(String),
}

/// A run of a study, and its name. All runs of a combination share one device description. A run has its own
/// copy only during its execution.
struct NamedRun {
    name: String,
    /// Index of the combination.
    place: usize,
    seed: u64,
    inputs: Vec<InputFile>,
}

impl NamedRun {
    /// Returns the run with its seed.
    fn point(&self, points: &[Point]) -> Point {
        Point { seed: self.seed, ..points[self.place].clone() }
    }

    /// Position among all runs of the study, from 0: seed by seed, in the order of the combinations. It does
    /// not depend on the runs that are finished.
    fn position(&self, study: &Study, points: &[Point]) -> usize {
        (self.seed - study.repeat.first) as usize * points.len() + self.place
    }

    /// Whether the run belongs to a shard. Without a shard all do.
    fn is_of(&self, shard: Option<Shard>, study: &Study, points: &[Point]) -> bool {
        shard.is_none_or(|shard| shard.has(self.position(study, points)))
    }

    fn task(&self, study: &Study, points: &[Point], program: &str) -> Result<Task> {
        let point = self.point(points);
        let design = study.source(&point.settings);
        Task::of((&self.name, &self.inputs), &point, design, program)
    }
}

/// The runs of a study, for a program of this version and commit.
struct StudyRuns<'a> {
    study: &'a Study,
    program: &'a str,
    names: RunNames,
    /// The runs with the first seed, once they are computed. The other runs differ only in the seed.
    points: Vec<Point>,
}

impl<'a> StudyRuns<'a> {
    fn of(study: &'a Study, program: &'a str) -> Result<Self> {
        let points = study.points(study.repeat.first)?;
        Ok(Self { study, program, names: RunNames::default(), points })
    }

    /// Returns the runs with a seed, at the indices for which `is_wanted` is true.
    fn with(&mut self, seed: u64, is_wanted: impl Fn(usize) -> bool) -> Result<Vec<NamedRun>> {
        let points = self.points.iter().enumerate().filter(|(place, _)| is_wanted(*place));
        points
            .map(|(place, point)| {
                let design = self.study.source(&point.settings);
                let point = Point { seed, ..point.clone() };
                let (name, inputs) = self.names.of(&point, design.as_deref(), self.program)?;
                Ok(NamedRun { name, place, seed, inputs })
            })
            .collect()
    }

    /// Returns the runs of the first seeds.
    fn first(&mut self) -> Result<Vec<NamedRun>> {
        let mut all = Vec::new();
        for seed in seeds(self.study) {
            all.extend(self.with(seed, |_| true)?);
        }
        Ok(all)
    }

    /// Adds the runs of further seeds that `repeat.until` requires, given the results in the store. Returns
    /// the maximum number of runs that may follow.
    fn further(&mut self, wanted: &mut Vec<NamedRun>, store: &Store) -> Result<usize> {
        let Some(until) = self.study.repeat.until.clone() else { return Ok(0) };
        let seeds = self.study.repeat.seeds;
        let mut most = 0;
        for place in 0..self.points.len() {
            let mut known: Vec<NamedRun> = Vec::new();
            for seed in self::seeds(self.study) {
                known.extend(self.with(seed, |other| other == place)?);
            }
            for further in seeds..until.at_most {
                let table = build_table(self.study, (&self.points, &known), store)?;
                if table.missing > 0 {
                    most += (until.at_most - further) as usize;
                    break;
                }
                if !table.rows.iter().any(|row| is_imprecise(row, &until)) {
                    break;
                }
                let seed = self.study.repeat.first.saturating_add(further.into());
                known.extend(self.with(seed, |other| other == place)?);
            }
            wanted.extend(known.drain(seeds as usize..));
        }
        Ok(most)
    }

    /// Returns the memory of the largest run.
    ///
    /// # Errors
    /// [`Error::Config`] if the run exceeds the budget.
    fn memory(&self) -> Result<Bytes> {
        let most = self.points.iter().map(memory).max().unwrap_or(Bytes(0));
        self.study.check_memory(most).map(|()| most)
    }
}

/// Computes the work of a study, without running anything.
///
/// # Errors
/// The errors of [`Study::points`] and of the store. [`Error::Config`] if a run exceeds the memory budget.
pub fn plan(study: &Study, store: &Store, program: &str) -> Result<Plan> {
    let mut runs = StudyRuns::of(study, program)?;
    let memory = runs.memory()?;
    let at_once = study.budget.map(|budget| budget.0 / memory.0.max(1));
    let mut plan = Plan { runs: 0, further: 0, done: 0, failed: 0, seconds_left: None, memory, at_once };
    let mut wanted = runs.first()?;
    plan.further = runs.further(&mut wanted, store)?;
    let mut seconds = Vec::new();
    for run in wanted {
        plan.runs += 1;
        let Some(record) = store.get(&run.name)? else { continue };
        plan.done += 1;
        plan.failed += usize::from(record.state == State::Failed);
        seconds.extend(record.summary.iter().filter_map(|summary| {
            let seconds = |key| summary["simulator"][key].as_f64();
            Some(seconds("wall_seconds")? + seconds("precondition_seconds").unwrap_or(0.0))
        }));
    }
    if !seconds.is_empty() {
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        plan.seconds_left = Some(mean * (plan.runs - plan.done) as f64);
    }
    Ok(plan)
}

/// The runs that are known to be needed and that the store does not have, as tasks for [`carry_out`], in
/// order. `repeat.until` may need further runs once these are finished. With `shard`, only the runs of that
/// part.
///
/// # Errors
/// The errors of [`plan`].
///
/// [`carry_out`]: crate::carry_out
pub fn missing(study: &Study, store: &Store, program: &str, shard: Option<Shard>) -> Result<Vec<Task>> {
    let mut runs = StudyRuns::of(study, program)?;
    runs.memory()?;
    let mut wanted = runs.first()?;
    runs.further(&mut wanted, store)?;
    let mut tasks = Vec::new();
    for run in wanted.iter().filter(|run| run.is_of(shard, study, &runs.points)) {
        if store.get(&run.name)?.is_none() {
            tasks.push(run.task(study, &runs.points, program)?);
        }
    }
    Ok(tasks)
}

fn seeds(study: &Study) -> std::ops::Range<u64> {
    study.repeat.first..study.repeat.first.saturating_add(study.repeat.seeds.into())
}

/// Executes the runs of a study that its store does not have, and makes a table of all runs. A failed run is
/// stored with its error, and does not stop the study. Runs that the user stopped are not in the table.
///
/// # Errors
/// The errors of [`plan`] and of the executor.
pub fn run(study: &Study, store: &Store, program: &str, progress: &Progress<'_>) -> Result<Table> {
    let mut runs = StudyRuns::of(study, program)?;
    runs.memory()?;
    let missing = Missing::of(study, store, program, progress);
    let all = runs.first()?;
    missing.carry_out(&runs.points, &all)?;
    if progress.shard.is_some() {
        return run_further_of_shard(runs, all, &missing);
    }
    run_further(runs, all, &missing)
}

/// Executes runs with further seeds until the column of `repeat.until` is precise in each combination, and
/// makes a table of all runs.
fn run_further(mut runs: StudyRuns<'_>, mut all: Vec<NamedRun>, missing: &Missing<'_>) -> Result<Table> {
    let (study, store, stop) = (missing.study, missing.store, missing.progress.conduct.stop);
    let mut table = build_table(study, (&runs.points, &all), store)?;
    let Some(until) = &study.repeat.until else { return Ok(table) };
    for further in study.repeat.seeds..until.at_most {
        let is_unsure: Vec<bool> = table.rows.iter().map(|row| is_imprecise(row, until)).collect();
        if !is_unsure.contains(&true) || stop.load(Ordering::Relaxed) {
            break;
        }
        let seed = study.repeat.first.saturating_add(further.into());
        let more = runs.with(seed, |place| is_unsure[place])?;
        missing.carry_out(&runs.points, &more)?;
        all.extend(more);
        table = build_table(study, (&runs.points, &all), store)?;
    }
    Ok(table)
}

/// Executes the runs of further seeds that belong to a shard, as far as the store has the results that require
/// them, and makes a table of all runs.
fn run_further_of_shard(
    mut runs: StudyRuns<'_>,
    mut all: Vec<NamedRun>,
    missing: &Missing<'_>,
) -> Result<Table> {
    let (study, store) = (missing.study, missing.store);
    let first = all.len();
    let mut tried = BTreeSet::new();
    loop {
        all.truncate(first);
        runs.further(&mut all, store)?;
        let is_new = |run: &&NamedRun| tried.insert(run.name.clone());
        let new: Vec<&NamedRun> = all[first..].iter().filter(is_new).collect();
        if new.is_empty() || missing.progress.conduct.stop.load(Ordering::Relaxed) {
            return build_table(study, (&runs.points, &all), store);
        }
        missing.carry_out(&runs.points, new)?;
    }
}

/// Result of a combination of the varied keys.
#[derive(Clone, Debug)]
pub enum CombinationResult {
    /// The row of the combination.
    Row(Row),
    /// Some runs are missing, because the user stopped them.
    Missing,
    /// The combination is invalid, for this reason.
    Invalid(String),
}

/// Executes the runs of some combinations that the store does not have, each with every seed. An invalid
/// combination does not stop the study, because searches can hit such combinations.
///
/// # Errors
/// The errors of [`run`], except errors about an invalid device or workload.
pub fn run_at(
    study: &Study,
    places: &[toml::Table],
    store: &Store,
    program: &str,
    progress: &Progress<'_>,
) -> Result<Vec<CombinationResult>> {
    study.check_size()?;
    let mut runs = StudyRuns { study, program, names: RunNames::default(), points: Vec::new() };
    let mut impossible: BTreeMap<usize, String> = BTreeMap::new();
    for (place, at) in places.iter().enumerate().filter(|(place, at)| !places[..*place].contains(at)) {
        match study.point(at.clone()) {
            Ok(point) => runs.points.push(point),
            Err(Error::Config(wrong)) => drop(impossible.insert(place, wrong.to_string())),
            Err(error) => return Err(error),
        }
    }
    runs.memory()?;
    let all = runs.first()?;
    let missing = Missing::of(study, store, program, progress);
    missing.carry_out(&runs.points, &all)?;
    let table = run_further(runs, all, &missing)?;
    let first = |at: &toml::Table| places.iter().position(|other| other == at).unwrap_or_default();
    let tried = |at: &toml::Table| match impossible.get(&first(at)) {
        Some(wrong) => CombinationResult::Invalid(wrong.clone()),
        None => table.row(at).map_or(CombinationResult::Missing, |row| CombinationResult::Row(row.clone())),
    };
    Ok(places.iter().map(tried).collect())
}

/// Whether the confidence interval of a column's mean is too wide.
fn is_imprecise(row: &Row, until: &PrecisionTarget) -> bool {
    let fraction = until.fraction().expect("it was checked");
    // Further seeds do not help if the column is unknown because the runs are too short.
    if row.cell(&until.column).is_unknown() {
        return false;
    }
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

/// Executes the runs that a store does not have.
struct Missing<'a> {
    study: &'a Study,
    store: &'a Store,
    program: &'a str,
    progress: &'a Progress<'a>,
    room: MemoryBudget,
}

impl<'a> Missing<'a> {
    fn of(study: &'a Study, store: &'a Store, program: &'a str, progress: &'a Progress<'a>) -> Self {
        Self { study, store, program, progress, room: MemoryBudget::of(study.budget) }
    }

    fn carry_out<'r>(&self, points: &[Point], all: impl IntoIterator<Item = &'r NamedRun>) -> Result<()> {
        let is_own = |run: &&NamedRun| run.is_of(self.progress.shard, self.study, points);
        let mut missing = Vec::new();
        for run in all.into_iter().filter(is_own) {
            match self.store.get(&run.name)? {
                Some(record) if record.state == State::Failed && self.progress.again => {
                    self.store.remove_run(&run.name)?;
                    missing.push(run);
                }
                Some(_) => {}
                None => missing.push(run),
            }
        }
        match self.progress.elsewhere {
            Some(place) if !missing.is_empty() => self.elsewhere(place, points, &missing),
            Some(_) => Ok(()),
            None => self.run_locally(points, &missing),
        }
    }

    fn run_locally(&self, points: &[Point], missing: &[&NamedRun]) -> Result<()> {
        let stop = self.progress.conduct.stop;
        let one = |run: &&NamedRun| {
            let point = run.point(points);
            let _held = self.room.take(memory(&point));
            let own = self.study.own.0.as_deref();
            self.store.put(&run.name, done(&point, own, self.program, stop)?)
        };
        cores::run(missing, &self.progress.conduct, one).map(drop)
    }

    fn elsewhere(&self, place: &dyn RunExecutor, points: &[Point], missing: &[&NamedRun]) -> Result<()> {
        let named: BTreeMap<&str, &NamedRun> = missing.iter().map(|run| (run.name.as_str(), *run)).collect();
        let tasks = missing.iter().map(|run| run.task(self.study, points, self.program));
        let count = AtomicUsize::new(0);
        let over = &mut |name: &str, ended: RunOutcome| {
            let Some(run) = named.get(name) else {
                return Err(Error::Argument {
                    what: "run that was done elsewhere".into(),
                    found: format!("the name {name}"),
                    wanted: "one of the requested ones".into(),
                });
            };
            match ended {
                RunOutcome::Files(files) => self.store.put_files(name, &files)?,
                RunOutcome::Failed(error) => {
                    self.store.put(name, failed(&run.point(points), self.program, error))?;
                }
            }
            (self.progress.conduct.progress)(count.fetch_add(1, Ordering::Relaxed) + 1, named.len());
            Ok(())
        };
        place.carry_out(tasks.collect::<Result<_>>()?, over)
    }
}

/// Makes the table of the finished runs. Runs of equal devices are stored once, so the table gives each device its
/// name.
fn build_table(study: &Study, (points, all): (&[Point], &[NamedRun]), store: &Store) -> Result<Table> {
    let mut table = Table::new(study);
    for run in all {
        let Some(mut record) = store.get(&run.name)? else { continue };
        let at = &points[run.place].settings;
        let device = record.summary.as_mut().and_then(|summary| summary.get_mut("device"));
        if let Some((device, name)) = device.zip(study.device_name(at)) {
            *device = name.into();
        }
        table.add(&run.name, at, record);
    }
    table.missing = all.len() - table.runs();
    Ok(table)
}
