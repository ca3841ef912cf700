//! Runs an experiment with one seed. It runs the points, and compares every expected value with the results.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use serde::Serialize;

use crate::bench::Bench;
use crate::cells::CellsPoint;
use crate::experiment::Experiment;
use crate::judge::judged::SeedRow;
use crate::judge::map::Map;
use crate::judge::outcome::{Measured, Trace};
use crate::judge::{self, PointResult};
use crate::kind::Kind;
use crate::nand::{NandPoint, NandSummary};
use crate::only;
use crate::options::Options;
use crate::show::record::ONE_SIZE;
use crate::statistics;
use crate::sweep::axes::Points;
use crate::sweep::{Point, Workload};
use crate::write_sizes::{self, WriteSizes};
use wordline_lab::error::Result;
use wordline_lab::report::hardware_of_device;
use wordline_lab::summary::{Outcome as Ended, SourceKind, Summary};
use wordline_lab::sweep::{self as cores, SweepOptions};

/// Results of one seed.
#[derive(Debug, Default)]
pub(crate) struct SeedRun {
    /// Rows that have no verdict yet.
    pub judged: Vec<SeedRow>,
    /// Values of points, for charts.
    pub points: Vec<Measured>,
    /// Hardware of each different device.
    pub devices: Vec<String>,
    /// Maps.
    pub maps: Vec<Map>,
    /// Recorded stages of the points.
    pub traces: Vec<Trace>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// All measured values of all points, including the digests of the devices. Wall-clock times are left
    /// out.
    pub measured: Vec<serde_json::Value>,
    /// Whether all points were run.
    pub is_whole: bool,
}

/// Keys of a result that differ between two equal runs, or that contain the seed.
const RUN_KEYS: [&str; 6] =
    ["seed", "simulator", "wall_seconds", "precondition_seconds", "requests_per_second", "provenance"];

impl SeedRun {
    /// Compares the expected values with the results.
    fn take(&mut self, experiment: &Experiment, found: &[PointResult], options: &Options) -> Result<()> {
        self.judged = judge::judged(&experiment.expect, found, options.quick)?;
        let maps = experiment.maps.iter().map(|map| map.of(&experiment.expect, found, options.quick));
        self.maps = maps.collect::<Result<_>>()?;
        let measured = |found: &PointResult| {
            let mut values = found.values.clone();
            if let Some(members) = values.as_object_mut() {
                RUN_KEYS.iter().for_each(|key| drop(members.remove(*key)));
            }
            values
        };
        self.measured = found.iter().map(measured).collect();
        Ok(())
    }

    /// Whether another seed gave the same events on all devices, and the same rows.
    pub fn is_same(&self, other: &Self) -> bool {
        let of_the_machine = |judged: &SeedRow| judged.base.of_the_machine;
        let samples = |once: &Self| {
            let rows = once.judged.iter().filter(|judged| !of_the_machine(judged));
            rows.map(|judged| format!("{:?}", judged.sample)).collect::<Vec<String>>()
        };
        self.measured == other.measured && samples(self) == samples(other)
    }
}

fn json(summary: &impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(summary).expect("a summary's keys are text")
}

/// A note on points that were left out because their traces are missing.
fn missing_traces(points: &[Point], options: &Options) -> Option<String> {
    let names: BTreeSet<String> =
        points.iter().filter_map(Point::missing_trace).map(|trace| trace.display().to_string()).collect();
    let names: Vec<String> = names.into_iter().collect();
    let folder = match &options.traces {
        Some(folder) => format!("in {}", folder.display()),
        None => "without a folder of recorded traces (--traces)".to_owned(),
    };
    (!names.is_empty()).then(|| {
        format!(
            "NOT RUN: {} of the points, for these traces are not there {folder}: {}",
            points.len(),
            names.join(", ")
        )
    })
}

/// Capacity and geometry of each different device.
fn hardware(points: &[Point]) -> Vec<String> {
    let all = points.iter().map(|point| hardware_of_device(&*point.device));
    let mut each: Vec<String> = all.collect();
    let mut seen = BTreeSet::new();
    each.retain(|one| seen.insert(one.clone()));
    each
}

/// A note on the sizes that the scaled-down experiment reduces.
fn scale(kind: &Kind) -> String {
    kind.quick_description().map_or_else(|| ONE_SIZE.to_owned(), |says| format!("scaled down: {says}"))
}

/// A note on volumes that were generated because their recorded traces are missing.
fn generated_volumes(points: &[Point], results: &[Option<Summary>]) -> Option<String> {
    let is_volume = |point: &Point| matches!(point.workload, Workload::Volume(_));
    let runs = points.iter().zip(results).filter(|(point, _)| is_volume(point));
    let sources = runs.filter_map(|(_, run)| run.as_ref().map(|run| &run.workload));
    let names: BTreeSet<&str> = sources
        .filter(|source| source.kind == SourceKind::Profile)
        .map(|source| source.name.as_str())
        .collect();
    let names: Vec<&str> = names.into_iter().collect();
    (!names.is_empty()).then(|| {
        format!("generated to a paper's statistics (docs/profiles.md), not recorded: {}", names.join(", "))
    })
}

/// Values of each point that the charts of a sweep over devices show; empty if the experiment has no charts.
fn points_of_charts(experiment: &Experiment, found: &[PointResult]) -> Vec<Measured> {
    let columns: Vec<&String> = experiment.charts.iter().flat_map(|chart| chart.columns()).collect();
    if columns.is_empty() {
        return Vec::new();
    }
    found.iter().map(|found| found.measured_of(&columns)).collect()
}

/// Stages of each point that was run.
fn traces(points: &[Measured], results: Vec<Option<NandSummary>>) -> Vec<Trace> {
    let runs = points.iter().zip(results.into_iter().flatten());
    runs.map(|(point, run)| Trace { at: point.at.clone(), spans: run.spans }).collect()
}

/// Runs points that need no device, and adds rows and points to `once`. Returns the results, with `None` for
/// points that were left out.
fn run_points<S: Points, R: Serialize + Send>(
    sweep: &S,
    (experiment, options, conduct): (&Experiment, &Options, &SweepOptions<'_>),
    settings_of: fn(&S::Point) -> &toml::Table,
    run: fn(&S::Point) -> Result<R>,
    once: &mut SeedRun,
) -> Result<Vec<Option<R>>>
where
    S::Point: Sync,
{
    let is_needed = |settings: &toml::Table| experiment.is_needed(settings, options);
    let points = sweep.points_where(&experiment.path, options, is_needed)?;
    let results = cores::run(&points, conduct, run)?;
    let found = |(point, result): (&S::Point, &Option<R>)| {
        Some(PointResult {
            settings: settings_of(point).clone(),
            values: json(result.as_ref()?),
            point: None,
        })
    };
    let found: Vec<PointResult> = points.iter().zip(&results).filter_map(found).collect();
    once.take(experiment, &found, options)?;
    once.points = found.iter().map(PointResult::measured).collect();
    Ok(results)
}

/// The result of a point of a sweep. An interrupted run has no valid results.
fn point_result<'a>(point: &'a Point, run: Option<&Summary>) -> Option<PointResult<'a>> {
    let whole = run.filter(|run| run.outcome != Ended::Interrupted)?;
    Some(PointResult { settings: point.settings.clone(), values: json(whole), point: Some(point) })
}

/// Number of results that were left out.
fn left_out<R>(results: &[Option<R>]) -> usize {
    results.iter().filter(|result| result.is_none()).count()
}

/// Runs an experiment with one seed. The bench runs all points or volumes in parallel. Then every expected
/// value is compared with the results. Rows are in the order of the file.
pub(crate) fn once(
    experiment: &Experiment,
    options: &Options,
    bench: &dyn Bench,
    conduct: &SweepOptions<'_>,
) -> Result<SeedRun> {
    let mut once = SeedRun::default();
    let left_out = match &experiment.kind {
        Kind::TraceStatistics { paper, claim, within, derivation } => {
            let found =
                cores::run(&bench.volumes(paper)?, conduct, |volume| bench.statistics(volume, options))?;
            let (row, left_out) =
                (|finding| statistics::row(finding, claim.as_deref(), *within, derivation), left_out(&found));
            once.judged = found.into_iter().flatten().flatten().map(row).collect();
            left_out
        }
        Kind::WriteSizes(volumes) => {
            let settings = |volume: &String| {
                toml::Table::from_iter([("volume".to_owned(), write_sizes::short(volume).into())])
            };
            let is_needed = |volume: &&String| only::allows(&options.only, &settings(volume));
            let volumes: Vec<&String> = volumes.volumes.iter().filter(is_needed).collect();
            let results = cores::run(&volumes, conduct, |volume| bench.write_sizes(volume, options))?;
            let found = |(volume, sizes): (&&String, &Option<WriteSizes>)| {
                Some(PointResult { settings: settings(volume), values: json(sizes.as_ref()?), point: None })
            };
            let found: Vec<_> = volumes.iter().zip(&results).filter_map(found).collect();
            once.take(experiment, &found, options)?;
            volumes.len() - found.len()
        }
        Kind::Sweep(sweep) => {
            let is_needed = |settings: &toml::Table| experiment.is_needed(settings, options);
            let all = sweep.points_where(&experiment.path, options, is_needed)?;
            let (missing, points): (Vec<Point>, Vec<Point>) =
                all.into_iter().partition(|point| point.missing_trace().is_some());
            once.notes.extend(missing_traces(&missing, options));
            once.devices = hardware(&points);
            let results = cores::run(&points, conduct, |point| bench.simulate(point, conduct.stop))?;
            let results_of_points = points.iter().zip(&results);
            let found: Vec<_> =
                results_of_points.filter_map(|(point, run)| point_result(point, run.as_ref())).collect();
            once.take(experiment, &found, options)?;
            once.points = points_of_charts(experiment, &found);
            once.notes.extend(generated_volumes(&points, &results));
            points.len() - found.len()
        }
        Kind::Nand(sweep) => {
            let asked = (experiment, options, conduct);
            let results = run_points(&**sweep, asked, |point| &point.settings, NandPoint::run, &mut once)?;
            let left_out = left_out(&results);
            if sweep.trace {
                once.traces = traces(&once.points, results);
            }
            left_out
        }
        Kind::Cells(sweep) => {
            let asked = (experiment, options, conduct);
            left_out(&run_points(&**sweep, asked, |point| &point.settings, CellsPoint::run, &mut once)?)
        }
    };
    if options.quick {
        once.notes.push(scale(&experiment.kind));
    }
    once.notes.extend(only::in_words(&options.only, &experiment.kind.axes()));
    once.is_whole = left_out == 0 && !conduct.stop.load(Ordering::Relaxed);
    if !once.is_whole {
        once.notes.push(format!("interrupted: {left_out} parts were not finished"));
    }
    Ok(once)
}
