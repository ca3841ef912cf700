//! A run as text, which a program on another machine executes.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use wordline_experiments::{Point, Workload, simulate};
use wordline_lab::devices::Registry;
use wordline_lab::error::{Error, Result};
use wordline_lab::summary::Outcome;
use wordline_lab::{Precondition, Until, WarmUp};

use crate::name::{InputFile, RunNames};
use crate::own::{CallerDesigns, DeviceWithDesign};
use crate::store::{Files, Record, State};

/// A run of a study for an executor on other machines.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Name of the run.
    pub name: String,
    /// The run, in the form that [`carry_out`] reads.
    pub text: String,
    /// Recorded trace that the run replays, if any.
    pub trace: Option<TaskTrace>,
}

/// A recorded trace that a run replays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskTrace {
    /// Folder of recorded traces.
    pub folder: PathBuf,
    /// Path of the trace in this folder.
    pub file: PathBuf,
    /// SHA-256 of the first gibibyte of the trace.
    pub sha256: String,
}

/// A run as TOML. Every number is read back exactly.
#[derive(Serialize, Deserialize)]
struct TaskText {
    program: String,
    name: String,
    /// The seed as text, because it may exceed the integers of TOML.
    seed: String,
    device: String,
    covers_volume: bool,
    power_cut_after: Option<u64>,
    traces: Option<PathBuf>,
    from_snapshot: Option<PathBuf>,
    precondition: Precondition,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warm_up: Option<WarmUp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Until>,
    /// Source of a design that no configuration names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    design: Option<String>,
    at: toml::Table,
    workload: Workload,
    inputs: Vec<InputFile>,
}

impl Task {
    /// Creates the task of a run, from its name and its input files.
    pub(crate) fn of(
        (name, inputs): (&str, &[InputFile]),
        point: &Point,
        design: Option<String>,
        program: &str,
    ) -> Result<Self> {
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let words = TaskText {
            program: program.to_owned(),
            name: name.to_owned(),
            seed: point.seed.to_string(),
            device: point.config_text.clone(),
            covers_volume: point.covers_volume,
            power_cut_after: point.power_cut_after,
            traces: point.traces.as_ref().map(absolute),
            from_snapshot: point.from_snapshot.as_ref().map(absolute),
            precondition: point.precondition,
            warm_up: point.warm_up,
            until: point.until.clone(),
            design,
            at: point.settings.clone(),
            workload: point.workload.clone(),
            inputs: inputs.to_vec(),
        };
        let text = toml::to_string(&words).map_err(|error| Error::Argument {
            what: "run for another machine".into(),
            found: error.to_string(),
            wanted: "values that TOML can represent".into(),
        })?;
        let folder = point.traces.as_deref().unwrap_or(Path::new(""));
        let trace = inputs.iter().find_map(|InputFile { path, sha256, .. }| {
            let file = path.strip_prefix(folder).ok()?.to_owned();
            let is_shared = matches!(point.workload, Workload::File(_));
            let is_trace = point.from_snapshot.as_ref() != Some(path) && !is_shared;
            is_trace.then(|| TaskTrace { folder: absolute(&folder.to_owned()), file, sha256: sha256.clone() })
        });
        Ok(Self { name: name.to_owned(), text, trace })
    }
}

impl TaskText {
    fn point(&self, traces: Option<&Path>) -> Result<Point> {
        let wrong = |found: String| Error::Argument {
            what: "run of a study".into(),
            found,
            wanted: "a run written by this version of the program".into(),
        };
        let table: toml::Table =
            self.device.parse().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
        Ok(Point {
            settings: self.at.clone(),
            device: Registry::default().of_table(table).map_err(Error::Config)?,
            config_text: self.device.clone(),
            workload: self.workload.clone(),
            precondition: self.precondition,
            from_snapshot: self.from_snapshot.clone(),
            covers_volume: self.covers_volume,
            power_cut_after: self.power_cut_after,
            warm_up: self.warm_up,
            until: self.until.clone(),
            as_counted: false,
            traces: traces.map(Into::into).or_else(|| self.traces.clone()),
            seed: self.seed.parse().map_err(|_| wrong(format!("the seed {}", self.seed)))?,
        })
    }
}

/// Executes the run of a task, and returns its files for the store. A failed run has files too. `program` is
/// the version and commit of this program. `traces` is the folder of recorded traces, if it differs on this
/// machine. `own` are the designs that no configuration names. `stop` is set when the user stops the run.
///
/// # Errors
/// [`Error::Stopped`] if the user stopped it. [`Error::Argument`] if the study belongs to another program, or if
/// the input files differ on this machine: the run would have another name.
pub fn carry_out(
    text: &str,
    program: &str,
    (traces, own): (Option<&Path>, Option<&dyn CallerDesigns>),
    names: &mut RunNames,
    stop: &AtomicBool,
) -> Result<Files> {
    let refused =
        |what: &str, found: String, wanted: String| Error::Argument { what: what.into(), found, wanted };
    let words: TaskText = toml::from_str(text).map_err(|error: toml::de::Error| {
        refused("run of a study", error.message().to_owned(), format!("one of {program}"))
    })?;
    if words.program != program {
        return Err(refused(
            "the program of a worker",
            program.to_owned(),
            format!("{}, the program of the study", words.program),
        ));
    }
    let point = words.point(traces)?;
    let design = own.and_then(|own| own.source(&point.settings));
    if design != words.design {
        let told = |design: &Option<String>| match design {
            Some(source) => format!("one of {} lines", source.lines().count()),
            None => "none".to_owned(),
        };
        let wanted = format!("the one of the study, {}", told(&words.design));
        return Err(refused("the design of a worker", told(&design), wanted));
    }
    let (name, inputs) = names.of(&point, design.as_deref(), program)?;
    for (own, other) in inputs.iter().zip(&words.inputs) {
        if (&own.sha256, own.bytes) != (&other.sha256, other.bytes) {
            let what = format!("file {} of a worker", own.path.display());
            let told = |input: &InputFile| format!("{} bytes with SHA-256 {}", input.bytes, input.sha256);
            return Err(refused(&what, told(own), format!("{}, as where the study is", told(other))));
        }
    }
    if name != words.name {
        return Err(refused("run of a study", format!("the name {name} here"), words.name.clone()));
    }
    done(&point, own, program, stop).map(|record| record.files(&name).0)
}

/// Executes a run, and returns its record.
///
/// # Errors
/// [`Error::Stopped`] if the user stopped it.
pub(crate) fn done(
    point: &Point,
    own: Option<&dyn CallerDesigns>,
    program: &str,
    stop: &AtomicBool,
) -> Result<Record> {
    let goes_on = || !stop.load(Ordering::Relaxed);
    let placed = own.map(|own| own.placed(&point.settings, &point.device)).transpose()?.flatten();
    let ended = match placed {
        None => simulate(point, goes_on),
        Some(DeviceWithDesign { device, design }) => {
            let ended = simulate(&Point { device, ..point.clone() }, || goes_on() && !design.has_failed());
            if let Some(error) = design.error() {
                return Ok(failed(point, program, error));
            }
            ended.map(|mut summary| {
                summary.notes.push(
                    design.note(summary.simulator.wall_seconds + summary.simulator.precondition_seconds),
                );
                summary
            })
        }
    };
    match ended {
        Ok(summary) if summary.outcome == Outcome::Interrupted => Err(Error::Stopped),
        Ok(summary) => {
            let summary = serde_json::to_value(summary).expect("a summary's keys are text");
            Ok(Record { summary: Some(summary), ..record(point, program, State::Done) })
        }
        Err(Error::Stopped) => Err(Error::Stopped),
        Err(error) => Ok(failed(point, program, error.to_string())),
    }
}

/// The record of a failed run.
pub(crate) fn failed(point: &Point, program: &str, error: String) -> Record {
    Record { error: Some(error), ..record(point, program, State::Failed) }
}

fn record(point: &Point, program: &str, state: State) -> Record {
    let (program, at, seed) = (program.to_owned(), point.settings.clone(), point.seed);
    Record { program, at, seed, state, error: None, summary: None }
}
