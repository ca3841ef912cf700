//! Studies, which run beside Python and end when the user wants.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use wordline_lab::Registry;
use wordline_lab::provenance::Provenance;
use wordline_lab::sweep::Conduct;
use wordline_studies::{self as studies, Progress, Store};

use crate::errors::{of_device, of_run};
use crate::settings::Settings;
use crate::values::to_table;

/// Time between two looks whether the runs are over, or a signal came. Chosen: less than a short run takes.
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// A study that was read and checked.
#[pyclass(frozen, module = "wordline._native")]
pub struct Study(studies::Study);

/// The table of a study.
#[pyclass(frozen, module = "wordline._native")]
pub struct StudyTable(studies::Table);

/// The runs of a study, and the exception that ended them early.
type Ran = (Option<StudyTable>, Option<PyErr>);

#[pymethods]
impl Study {
    /// That of the file `path`.
    #[staticmethod]
    fn file(path: PathBuf) -> PyResult<Self> {
        studies::Study::read(&Registry::default(), &path).map(Self).map_err(of_device)
    }

    /// That of these keys.
    #[staticmethod]
    fn of_keys(name: &str, keys: &Bound<'_, PyMapping>) -> PyResult<Self> {
        let text = to_table("", keys)?.to_string();
        studies::Study::parse(&Registry::default(), Path::new(name), &text).map(Self).map_err(of_device)
    }

    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// Its runs, those that are over and those of these that failed, and the seconds that the others may take on one core.
    fn plan(&self, settings: &Bound<'_, PyDict>) -> PyResult<(usize, usize, usize, Option<f64>)> {
        let (study, store) = self.asked(&Settings(settings))?;
        let studies::Plan { runs, done, failed, seconds_left } =
            studies::plan(&study, &store, &program()).map_err(|error| of_run(error, &[]))?;
        Ok((runs, done, failed, seconds_left))
    }

    /// Does the runs that are missing.
    fn run(&self, py: Python<'_>, settings: &Bound<'_, PyDict>) -> PyResult<Ran> {
        let settings = Settings(settings);
        let (study, store) = self.asked(&settings)?;
        let threads = settings.whole::<u32>("threads", 0)?.unwrap_or(0) as usize;
        let again = settings.get("again")?.is_some_and(|value| value.is_truthy().unwrap_or(false));
        let stop = AtomicBool::new(false);
        let (result, raised) = py.detach(|| {
            std::thread::scope(|scope| {
                let work = scope.spawn(|| {
                    let conduct = Conduct { threads, stop: &stop, progress: &|_, _| () };
                    studies::run(&study, &store, &program(), &Progress { conduct, again })
                });
                let mut raised = None;
                while !work.is_finished() {
                    std::thread::sleep(BETWEEN_LOOKS);
                    if raised.is_none() {
                        raised = Python::attach(|py| py.check_signals()).err();
                        stop.fetch_or(raised.is_some(), Ordering::Relaxed);
                    }
                }
                (work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), raised)
            })
        });
        match result {
            Ok(table) => Ok((Some(StudyTable(table)), raised)),
            Err(wordline_lab::Error::Stopped) => Ok((None, raised)),
            Err(error) => Err(of_run(error, &[])),
        }
    }
}

impl Study {
    /// The study as it is to be run, and its store.
    fn asked(&self, settings: &Settings<'_, '_>) -> PyResult<(studies::Study, Store)> {
        let mut study = self.0.clone();
        study.traces = settings.path("traces")?;
        study.repeat.seeds = settings.whole("seeds", 1)?.unwrap_or(study.repeat.seeds);
        let store = settings.path("store")?;
        let store = store.as_deref().map_or_else(|| Ok(Store::in_memory()), Store::open);
        Ok((study, store.map_err(of_device)?))
    }
}

#[pymethods]
impl StudyTable {
    /// As JSON, in a line.
    fn json(&self) -> String {
        self.0.json().to_string()
    }

    /// As the table for a terminal.
    fn table(&self, columns: u16) -> String {
        studies::text(&self.0, columns)
    }

    /// A row for each run into a file.
    fn write_runs(&self, path: PathBuf) -> PyResult<()> {
        self.0.write_runs(&path).map_err(of_device)
    }
}

/// The program that runs, as the names of runs have it.
fn program() -> String {
    Provenance::of(option_env!("WORDLINE_COMMIT"), Vec::new()).program()
}
