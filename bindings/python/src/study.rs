//! Studies. They release Python for other threads, and the user can stop them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use serde_json::json;
use wordline_experiments::Axis;
use wordline_lab::Registry;
use wordline_lab::error::{Error, Result as LabResult};
use wordline_lab::sweep::SweepOptions;
use wordline_studies::{
    self as studies, CallerDesigns, CombinationResult, Files, KeyOrigin, Progress, RunExecutor, RunNames,
    RunOutcome, Shard, Store, Task,
};

use crate::arrow::ArrowTable;
use crate::designs::PythonDesigns;
use crate::errors::{device_error, refused, run_error};
use crate::provenance;
use crate::run::Stop;
use crate::settings::Settings;
use crate::values::{to_python, to_table};

/// Time between two checks for signals and for the end of the runs. Chosen: less than a short run takes.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The phase of a handle in which the runs of a study are executed.
const RUNS: &str = "runs";

/// A study that was parsed and validated.
#[pyclass(frozen, module = "wordline._native")]
pub struct Study(studies::Study);

/// Table of a study.
#[pyclass(frozen, module = "wordline._native")]
pub struct StudyTable(studies::Table);

/// Outcome of a study: its table, and the exception that ended it early.
type Ran = (Option<StudyTable>, Option<PyErr>);

/// A run for another process: name, text, and trace (folder, file and hash).
type PlainTask = (String, String, Option<(String, String, String)>);

/// The numbers of a plan, as [`Study::plan`] returns them.
type Planned = (usize, usize, usize, Option<f64>, u64, Option<u64>, usize);

/// Parses a study with designs by label.
fn parsed(path: &Path, text: &str, written: KeyOrigin, designs: &Bound<'_, PyDict>) -> PyResult<Study> {
    let own = if designs.is_empty() { None } else { Some(Arc::new(PythonDesigns::of(designs)?) as _) };
    let study = studies::Study::parse_with(&Registry::default(), path, text, written, studies::Designs(own));
    study.map(Study).map_err(device_error)
}

#[pymethods]
impl Study {
    /// Reads the study in the file `path`, with designs by label.
    #[staticmethod]
    fn file(path: PathBuf, designs: &Bound<'_, PyDict>) -> PyResult<Self> {
        let text = studies::Study::file_text(&path).map_err(device_error)?;
        parsed(&path, &text, KeyOrigin::File, designs)
    }

    /// Creates a study from a table of keys, with designs by label.
    #[staticmethod]
    fn of_keys(name: &str, keys: &Bound<'_, PyMapping>, designs: &Bound<'_, PyDict>) -> PyResult<Self> {
        let text = to_table("study", keys)?.to_string();
        parsed(Path::new(name), &text, KeyOrigin::Keys, designs)
    }

    /// Parses a study from the text of the file `name`, with designs by label.
    #[staticmethod]
    fn of_text(name: &str, text: &str, designs: &Bound<'_, PyDict>) -> PyResult<Self> {
        parsed(Path::new(name), text, KeyOrigin::File, designs)
    }

    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// The text of its file. A study made from keys has an equivalent text.
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    /// The plan of the study: number of runs, of finished and of failed runs; estimated seconds of the
    /// remaining runs on one core; memory of the largest run; number of runs of this size that fit into the
    /// budget; number of runs that may be added.
    fn plan(&self, settings: &Bound<'_, PyDict>) -> PyResult<Planned> {
        let (study, store) = self.asked(&Settings(settings))?;
        let studies::Plan { runs, further, done, failed, seconds_left, memory, at_once } =
            studies::plan(&study, &store, &program()).map_err(|error| run_error(error, &[]))?;
        Ok((runs, done, failed, seconds_left, memory.0, at_once, further))
    }

    /// The varied keys, each with its values.
    fn axes(&self, py: Python<'_>) -> PyResult<Vec<(String, Py<PyAny>)>> {
        let values = |axis: &Axis| to_python(py, &toml::Value::Array(axis.values.clone()));
        self.0.sweep.vary.iter().map(|axis| Ok((axis.key.clone(), values(axis)?.unbind()))).collect()
    }

    /// The runs that the store does not have; with `shard` (number and number of parts), those of this part.
    fn missing(
        &self,
        settings: &Bound<'_, PyDict>,
        shard: Option<(usize, usize)>,
    ) -> PyResult<Vec<PlainTask>> {
        let (study, store) = self.asked(&Settings(settings))?;
        let shard = shard.map(|(number, of)| Shard::new(number, of)).transpose();
        let shard = shard.map_err(|(found, wanted)| refused("shard", &found, wanted))?;
        let tasks = studies::missing(&study, &store, &program(), shard);
        Ok(tasks.map_err(|error| run_error(error, &[]))?.into_iter().map(plain).collect())
    }

    /// Executes the missing runs. If `place` is a function, it executes them. It gets a list of runs, each as
    /// name, text and trace (folder, file and hash), and yields their outcomes.
    fn run(&self, py: Python<'_>, settings: &Bound<'_, PyDict>, place: Option<Py<PyAny>>) -> PyResult<Ran> {
        let work = |study: &studies::Study, store: &Store, progress: &Progress<'_>| {
            studies::run(study, store, &program(), progress)
        };
        let (table, raised) = self.carried_out(py, settings, place, work)?;
        Ok((table.map(StudyTable), raised))
    }

    /// Runs some combinations. Each is a list of indices, one for each varied key, into the values of that
    /// key. Returns a JSON text with the means of the columns over the seeds of each combination, or its
    /// errors.
    fn run_at(
        &self,
        py: Python<'_>,
        settings: &Bound<'_, PyDict>,
        places: Vec<Vec<usize>>,
        place: Option<Py<PyAny>>,
    ) -> PyResult<(Option<String>, Option<PyErr>)> {
        let at = |places: Vec<usize>| {
            let axes = self.0.sweep.vary.iter().zip(places);
            axes.map(|(axis, value)| (axis.key.clone(), axis.values[value].clone())).collect()
        };
        let at: Vec<toml::Table> = places.into_iter().map(at).collect();
        let columns = Settings(settings).get("columns")?.map(|columns| columns.extract::<Vec<String>>());
        let columns = columns.transpose()?.unwrap_or_default();
        let work = |study: &studies::Study, store: &Store, progress: &Progress<'_>| {
            let study = studies::Study { columns: columns.clone(), ..study.clone() }.checked()?;
            studies::run_at(&study, &at, store, &program(), progress)
        };
        let (tried, raised) = self.carried_out(py, settings, place, work)?;
        let told = |tried: CombinationResult| match tried {
            CombinationResult::Row(row) => {
                let means: Vec<Option<f64>> = columns.iter().map(|column| row.cell(column).mean).collect();
                json!({ "means": means, "errors": row.errors().collect::<Vec<_>>() })
            }
            CombinationResult::Missing => json!({ "means": [], "errors": [] }),
            CombinationResult::Invalid(wrong) => json!({ "impossible": wrong }),
        };
        let tried = tried.map(|tried| json!(tried.into_iter().map(told).collect::<Vec<_>>()).to_string());
        Ok((tried, raised))
    }
}

impl Study {
    /// Calls `work` with the study and its store as the settings describe. Returns its outcome, and the
    /// exception that ended it early.
    fn carried_out<T: Send>(
        &self,
        py: Python<'_>,
        settings: &Bound<'_, PyDict>,
        place: Option<Py<PyAny>>,
        work: impl Fn(&studies::Study, &Store, &Progress<'_>) -> LabResult<T> + Sync,
    ) -> PyResult<(Option<T>, Option<PyErr>)> {
        let settings = Settings(settings);
        let (study, store) = self.asked(&settings)?;
        let threads = settings.whole::<u32>("threads", 0)?.unwrap_or(0) as usize;
        let again = settings.get("again")?.is_some_and(|value| value.is_truthy().unwrap_or(false));
        let stop = Stop::of(&settings)?;
        stop.begin(RUNS, None);
        let report = |done: usize, total: usize| stop.report(done as u64, Some(total as u64));
        let conduct = SweepOptions { threads, stop: stop.flag(), progress: &report };
        let place = place.map(|place| PythonExecutor { place, raised: Mutex::default() });
        let elsewhere = place.as_ref().map(|place| place as &dyn RunExecutor);
        let progress = Progress { conduct, again, elsewhere, shard: None };
        let (result, raised) = match &place {
            // The executor is in Python and checks for signals itself.
            Some(place) => {
                let result = py.detach(|| work(&study, &store, &progress));
                if let Some(raised) = place.raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
                    return Err(raised);
                }
                (result, None)
            }
            None => py.detach(|| watched(stop.flag(), || work(&study, &store, &progress))),
        };
        match result {
            Ok(done) => Ok((Some(done), raised)),
            Err(Error::Stopped) => Ok((None, raised)),
            Err(error) => Err(run_error(error, &[])),
        }
    }

    /// The study and its store as the settings describe.
    fn asked(&self, settings: &Settings<'_, '_>) -> PyResult<(studies::Study, Store)> {
        let mut study = self.0.clone();
        study.traces = settings.path("traces")?;
        study.repeat.seeds = settings.whole("seeds", 1)?.unwrap_or(study.repeat.seeds);
        let store = settings.path("store")?;
        let store = store.as_deref().map_or_else(|| Ok(Store::in_memory()), Store::open);
        Ok((study, store.map_err(device_error)?))
    }
}

fn plain(Task { name, text, trace }: Task) -> PlainTask {
    let path = |path: PathBuf| path.to_string_lossy().into_owned();
    (name, text, trace.map(|trace| (path(trace.folder), path(trace.file), trace.sha256)))
}

/// Calls `work` and checks for signals meanwhile. An exception of a signal handler stops the work.
fn watched<T: Send>(stop: &AtomicBool, work: impl FnOnce() -> T + Send) -> (T, Option<PyErr>) {
    std::thread::scope(|scope| {
        let work = scope.spawn(work);
        let mut raised = None;
        while !work.is_finished() {
            std::thread::sleep(POLL_INTERVAL);
            if raised.is_none() {
                raised = Python::attach(|py| py.check_signals()).err();
                stop.fetch_or(raised.is_some(), Ordering::Relaxed);
            }
        }
        (work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), raised)
    })
}

/// A Python function that executes runs.
struct PythonExecutor {
    place: Py<PyAny>,
    raised: Mutex<Option<PyErr>>,
}

impl PythonExecutor {
    fn raise(&self, error: PyErr) -> Error {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        Error::Stopped
    }
}

impl RunExecutor for PythonExecutor {
    fn carry_out(
        &self,
        runs: Vec<Task>,
        over: &mut dyn FnMut(&str, RunOutcome) -> LabResult<()>,
    ) -> LabResult<()> {
        let asked: Vec<PlainTask> = runs.into_iter().map(plain).collect();
        let ended = Python::attach(|py| self.place.bind(py).call1((asked,))?.try_iter().map(Bound::unbind));
        let ended = ended.map_err(|error| self.raise(error))?;
        loop {
            // Outcome of a run: name, record, windows, and error. A run with an error has no record.
            type Told = (String, Option<String>, Option<String>, Option<String>);
            let told = Python::attach(|py| {
                let next = ended.bind(py).clone().next();
                next.map(|told| told.and_then(|told| told.extract::<Told>())).transpose()
            });
            match told.map_err(|error| self.raise(error))? {
                None => return Ok(()),
                Some((name, Some(run), windows, _)) => {
                    over(&name, RunOutcome::Files(Files { run, windows }))?;
                }
                Some((name, None, _, error)) => over(&name, RunOutcome::Failed(error.unwrap_or_default()))?,
            }
        }
    }
}

/// Names of the runs that this process executed for studies on other machines.
static NAMES: Mutex<Option<RunNames>> = Mutex::new(None);

/// Files of a run: its record and its windows.
type PlainFiles = (String, Option<String>);

/// Executes a run, given by its text, for a study in another process. Returns the files that the store keeps, or
/// none if the user stopped the run, and the exception that stopped it. `traces` is the folder of recorded
/// traces, if it differs on this machine. `designs` are the designs in Python.
#[pyfunction]
#[pyo3(signature = (text, traces, designs, stop = None))]
pub fn carry_out(
    py: Python<'_>,
    text: &str,
    traces: Option<PathBuf>,
    designs: Option<&Bound<'_, PyDict>>,
    stop: Option<Bound<'_, Stop>>,
) -> PyResult<(Option<PlainFiles>, Option<PyErr>)> {
    let designs = designs.map(PythonDesigns::of).transpose()?;
    let stop = stop.map(|stop| stop.get().clone()).unwrap_or_default();
    let work = || {
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
        let own = designs.as_ref().map(|designs| designs as &dyn CallerDesigns);
        let result = studies::carry_out(text, &program(), (traces.as_deref(), own), &mut names, stop.flag());
        *NAMES.lock().unwrap_or_else(PoisonError::into_inner) = Some(names);
        result
    };
    match py.detach(|| watched(stop.flag(), work)) {
        (Ok(Files { run, windows }), raised) => Ok((Some((run, windows)), raised)),
        (Err(Error::Stopped), raised) => Ok((None, raised)),
        (Err(error), _) => Err(device_error(error)),
    }
}

/// The folder of the runs of studies.
#[pyclass(frozen, module = "wordline._native")]
pub struct RunStore(Store);

#[pymethods]
impl RunStore {
    /// Opens or creates a store.
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        Store::open(&path).map(Self).map_err(device_error)
    }

    /// Adds the files of the run `name`. Returns false if the store has the run already.
    fn add(&self, py: Python<'_>, name: &str, run: String, windows: Option<String>) -> PyResult<bool> {
        let files = Files { run, windows };
        py.detach(|| self.0.put_or_replace(name, &files)).map_err(device_error)
    }

    /// Copies the runs of another store. Returns the numbers of copied and of known runs.
    fn merge(&self, py: Python<'_>, path: PathBuf) -> PyResult<(usize, usize)> {
        let merged = py.detach(|| self.0.merge(&path)).map_err(device_error)?;
        Ok((merged.added, merged.known))
    }

    /// Whether the store has the run `name`.
    fn has(&self, name: &str) -> PyResult<bool> {
        Ok(self.0.get(name).map_err(device_error)?.is_some())
    }

    /// Number of runs.
    fn count(&self) -> PyResult<usize> {
        self.0.count().map_err(device_error)
    }
}

#[pymethods]
impl StudyTable {
    /// The table as JSON on one line.
    fn json(&self) -> String {
        self.0.json().to_string()
    }

    /// The table for a terminal.
    fn table(&self, columns: u16) -> String {
        studies::text(&self.0, columns)
    }

    /// The rows of the table in HTML.
    fn html(&self) -> String {
        studies::sheet(&self.0).html()
    }

    /// A row for each combination.
    fn combinations(&self) -> PyResult<ArrowTable> {
        ArrowTable::of(self.0.combination_columns())
    }

    /// A row for each run.
    fn runs(&self) -> PyResult<ArrowTable> {
        ArrowTable::of(self.0.run_columns())
    }

    /// Writes a file with a row for each run.
    fn write_runs(&self, path: PathBuf) -> PyResult<()> {
        self.0.write_runs(&path).map_err(device_error)
    }
}

/// Version and commit of the program, as in the names of runs.
#[pyfunction]
pub fn program() -> String {
    provenance::without_command().program()
}
