//! The file of a study, and its validation into a [`Study`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;
use wordline_experiments::{
    Axis, DeviceCache, INITIAL_STATES, InitialState, Options, Point, Points, Sweep, initial_state_of,
    workload_of_name,
};
use wordline_kernel::{Bytes, Complaint, Complaints};
use wordline_lab::devices::Registry;
use wordline_lab::error::{Error, Result};
use wordline_lab::words::{found_and_wanted, key_at};
use wordline_lab::{Until, WarmUp};

use crate::own::CallerDesigns;
use crate::place;
use crate::values::{Values, plain};

/// Default columns of the table of a study.
const COLUMNS: [&str; 4] =
    ["host.iops", "host.read_latency_us.p99", "host.write_latency_us.p99", "write_amplification"];

/// A study as its file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StudyFile {
    title: Option<String>,
    preset: Option<String>,
    #[serde(default)]
    device: toml::Table,
    workload: Option<toml::Value>,
    precondition: Option<toml::Value>,
    from_snapshot: Option<PathBuf>,
    power_cut_after: Option<u64>,
    warm_up: Option<toml::Value>,
    until: Option<toml::Value>,
    #[serde(default)]
    vary: Vec<Spanned<AxisFile>>,
    #[serde(default)]
    repeat: Repeat,
    #[serde(default)]
    budget: Budget,
    #[serde(default)]
    against: toml::Table,
    #[serde(default)]
    columns: Vec<String>,
}

/// Limit on the memory that concurrent runs use together.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Budget {
    memory: Option<Bytes>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AxisFile {
    key: String,
    values: Values,
    #[serde(default)]
    sets: toml::Table,
}

/// Seeds of each combination.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Repeat {
    /// The first seed.
    pub first: u64,
    /// Number of consecutive seeds.
    pub seeds: u32,
    /// Condition that adds further seeds. Default: none are added.
    pub until: Option<PrecisionTarget>,
}

impl Default for Repeat {
    fn default() -> Self {
        Self { first: 0, seeds: 1, until: None }
    }
}

/// Adds seeds until the mean of a column is precise enough.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrecisionTarget {
    /// Dotted name of the column.
    pub column: String,
    /// Greatest half-width of the 95 % confidence interval, relative to the mean, such as `1 %`.
    pub half_width: String,
    /// Maximum number of seeds.
    pub at_most: u32,
}

impl PrecisionTarget {
    /// The half-width as a fraction of the mean; `None` if the text is not a percentage.
    pub fn fraction(&self) -> Option<f64> {
        let percent: f64 = self.half_width.strip_suffix('%')?.trim().parse().ok()?;
        (percent > 0.0 && percent.is_finite()).then_some(percent / 100.0)
    }
}

/// Origin of the keys of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOrigin {
    /// A file. Errors name its lines.
    File,
    /// A table of keys.
    Keys,
    /// Command-line arguments.
    Arguments,
}

/// Many runs over varied keys.
#[derive(Clone, Debug)]
pub struct Study {
    /// Path of the file, for messages.
    pub path: PathBuf,
    /// Origin of the keys, for messages.
    pub written: KeyOrigin,
    /// Text of the file, or of an equivalent file.
    pub text: String,
    /// Title.
    pub title: String,
    /// The runs, one for each combination.
    pub sweep: Sweep,
    /// Seeds.
    pub repeat: Repeat,
    /// Columns of the table.
    pub columns: Vec<String>,
    /// Limit on the memory of concurrent runs; `None` for no limit.
    pub budget: Option<Bytes>,
    /// Values of varied keys that select a baseline row for each row: the row with these values in place of
    /// its own. Rows are compared with it seed by seed. Empty: no comparison.
    pub against: toml::Table,
    /// A folder of recorded traces. A trace in it replaces the profile of the same name.
    pub traces: Option<PathBuf>,
    /// Designs of the caller, which no configuration names.
    pub own: Designs,
    /// The configuration file of the device and its text, for messages; if the device comes from one.
    pub config: Option<(PathBuf, String)>,
}

/// The caller's designs, if there are any.
#[derive(Clone, Default)]
pub struct Designs(pub Option<Arc<dyn CallerDesigns>>);

impl std::fmt::Debug for Designs {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(if self.0.is_some() { "some" } else { "none" })
    }
}

impl Study {
    /// Source of the caller's design for these values of the varied keys.
    pub(crate) fn source(&self, at: &toml::Table) -> Option<String> {
        self.own.0.as_ref()?.source(at)
    }

    /// Name of the device of a combination: its preset, or the file name of its configuration; `None` if it has
    /// neither.
    pub(crate) fn device_name(&self, at: &toml::Table) -> Option<String> {
        let mut keys = toml::Table::new();
        let varied = self.sweep.vary.iter().filter_map(|axis| Some((axis, at.get(&axis.key)?)));
        varied.for_each(|(axis, value)| axis.apply(&mut keys, value));
        let varied = keys.get("preset").and_then(toml::Value::as_str);
        let file = self.config.as_ref().map(|(path, _)| path.as_path());
        let preset = self.sweep.preset.as_deref().map(Path::new);
        let name = varied.map(Path::new).or(file).or(preset)?;
        let is_file = name.extension().is_some_and(|end| end == "toml");
        let name = if is_file { name.file_stem()? } else { name.as_os_str() };
        Some(name.to_string_lossy().into_owned())
    }

    /// Reads a study from a file.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, and the errors of [`parse`](Self::parse).
    pub fn read(registry: &Registry, path: &Path) -> Result<Self> {
        Self::parse(registry, path, &Self::file_text(path)?)
    }

    /// The text of the file of a study.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read.
    pub fn file_text(path: &Path) -> Result<String> {
        std::fs::read_to_string(path).map_err(|reason| Error::File {
            path: path.into(),
            action: "read",
            reason,
        })
    }

    /// Parses a study from the text of the file `path`.
    ///
    /// # Errors
    /// [`Error::Config`] with every fault, each with file, line and key.
    pub fn parse(registry: &Registry, path: &Path, text: &str) -> Result<Self> {
        Self::parse_with(registry, path, text, KeyOrigin::File, Designs::default())
    }

    /// Parses a study with designs of the caller, from the text of the file `path` or of a table of keys that
    /// messages call `path`.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse); without lines for a table of keys.
    pub fn parse_with(
        registry: &Registry,
        path: &Path,
        text: &str,
        written: KeyOrigin,
        own: Designs,
    ) -> Result<Self> {
        let mut wrong = ErrorCollector { path, text, written, all: Complaints::default() };
        let file: StudyFile = match toml::from_str(text) {
            Ok(file) => file,
            Err(error) => {
                let (found, wanted) = found_and_wanted(error.message(), "valid TOML");
                let at = error.span().map_or(0, |span| span.start);
                wrong.add(at, key_at(text, at), found, wanted);
                return Err(Error::Config(wrong.all));
            }
        };
        let vary = wrong.read_axes(file.vary);
        let workload = match file.workload {
            Some(workload) => wrong.read("workload", workload_of(workload)),
            None => {
                let wanted = "a workload, such as workload = \"randread-4k\" or workload = \"jobs.fio\"";
                wrong.missing("workload", wanted);
                None
            }
        };
        let precondition = file.precondition.map(|value| wrong.read_state(value));
        let warm_up = file.warm_up.map(|value| wrong.read::<WarmUp>("warm_up", plain(&value).into()));
        let until = file.until.map(|value| wrong.read::<Until>("until", value));
        wrong.all.clone().into_result(()).map_err(Error::Config)?;
        let (Some(workload), Some(precondition)) =
            (workload, precondition.map_or(Some(None), |read| read.map(Some)))
        else {
            return Err(Error::Config(wrong.all));
        };
        let sweep = Sweep {
            preset: file.preset,
            device: file.device,
            workload,
            precondition,
            from_snapshot: file.from_snapshot,
            power_cut_after: file.power_cut_after,
            warm_up: warm_up.flatten(),
            until: until.flatten(),
            as_counted: false,
            vary,
            quick: None,
            registry: registry.clone(),
            place: "",
            devices: DeviceCache::default(),
        };
        let title = file.title.unwrap_or_else(|| path.display().to_string());
        let made = Self {
            path: path.to_owned(),
            written,
            text: text.to_owned(),
            title,
            sweep,
            repeat: file.repeat,
            columns: file.columns,
            budget: file.budget.memory,
            against: file.against,
            traces: None,
            own,
            config: None,
        };
        made.checked()
    }

    /// Validates the study. Adds the default columns if it has none.
    ///
    /// # Errors
    /// [`Error::Config`] with every fault.
    pub fn checked(mut self) -> Result<Self> {
        self.check_size()?;
        let mut wrong = Complaints::default();
        let key = |key: &str| format!("{}: {key}", self.path.display());
        for (at, found, wanted) in self.sweep.complaints() {
            wrong.add(key(&at), found, wanted);
        }
        let keys: Vec<&String> = self.sweep.vary.iter().map(|axis| &axis.key).collect();
        for (n, axis) in self.sweep.vary.iter().enumerate() {
            if let Some((at, found, wanted)) = axis.complaint() {
                wrong.add(key(&format!("vary[{n}].{at}")), found, wanted);
            }
            if keys[..n].contains(&&axis.key) {
                wrong.add(key(&format!("vary[{n}].key")), format!("`{}` twice", axis.key), "each key once");
            }
        }
        for (name, value) in &self.against {
            let axis = self.sweep.vary.iter().find(|axis| axis.key == *name);
            let known: Vec<String> = match axis {
                Some(axis) if axis.values.contains(value) => continue,
                Some(axis) => axis.values.iter().map(ToString::to_string).collect(),
                None => self.sweep.vary.iter().map(|axis| axis.key.clone()).collect(),
            };
            let wanted = format!("one of {}", known.join(", "));
            match axis {
                Some(_) => wrong.add(key(&format!("against.{name}")), value.to_string(), wanted),
                None => wrong.add(key("against"), format!("`{name}`"), format!("a varied key: {wanted}")),
            }
        }
        let Repeat { seeds, until, .. } = &self.repeat;
        wrong.require(*seeds > 0, &key("repeat.seeds"), seeds, "at least 1");
        if let Some(until) = until {
            if until.fraction().is_none() {
                wrong.add(
                    key("repeat.until.half_width"),
                    format!("`{}`", until.half_width),
                    "a share above 0, such as \"1 %\"",
                );
            }
            let wanted = format!("at least repeat.seeds, {seeds}, and 2");
            wrong.require(
                until.at_most >= (*seeds).max(2),
                &key("repeat.until.at_most"),
                until.at_most,
                wanted,
            );
        }
        let twice = self.columns.iter().enumerate().find(|(n, column)| self.columns[..*n].contains(column));
        if let Some((_, column)) = twice {
            wrong.add(key("columns"), format!("`{column}` twice"), "each column once");
        }
        let of_until = until.iter().map(|until| &until.column);
        let of_table = self.columns.iter().map(|column| ("columns", column));
        let of_designs = self.own.0.as_ref().map(|own| own.metrics()).unwrap_or_default();
        for (at, column) in of_table.chain(of_until.map(|column| ("repeat.until.column", column))) {
            if of_designs.contains(&&**column) {
                continue;
            }
            if let Some(wanted) = self.sweep.unknown_column(column) {
                wrong.add(key(at), format!("`{column}`"), wanted);
            }
        }
        wrong.into_result(()).map_err(|wrong| self.placed(Error::Config(wrong)))?;
        if self.columns.is_empty() {
            self.columns = COLUMNS.map(Into::into).to_vec();
        }
        Ok(self)
    }

    /// Rejects a study with too many combinations or runs, before any is created.
    pub(crate) fn check_size(&self) -> Result<()> {
        let mut wrong = Complaints::default();
        self.require_size(&mut wrong);
        wrong.into_result(()).map_err(|wrong| self.placed(Error::Config(wrong)))
    }

    /// Checks that a run with this memory fits into the budget.
    pub(crate) fn check_memory(&self, size: Bytes) -> Result<()> {
        let mut wrong = Complaints::default();
        if let Some(budget) = self.budget.filter(|budget| *budget < size) {
            let wanted = format!("at least {size}, for the largest of the runs");
            wrong.add(format!("{}: budget.memory", self.path.display()), budget, wanted);
        }
        wrong.into_result(()).map_err(|wrong| self.placed(Error::Config(wrong)))
    }

    /// Adds to an error the lines of the file, or the arguments, that contain the keys.
    fn placed(&self, error: Error) -> Error {
        let Error::Config(wrong) = error else { return error };
        let file = format!("{}: ", self.path.display());
        let placed = |complaint: Complaint| match complaint.key.strip_prefix(&file) {
            Some(key) => place::placed(self, key, &complaint),
            None => complaint,
        };
        Error::Config(Complaints(wrong.0.into_iter().map(placed).collect()))
    }

    /// Returns the run with these values of the varied keys, for the first seed.
    ///
    /// # Errors
    /// Those of [`points`](Self::points).
    pub fn point(&self, at: toml::Table) -> Result<Point> {
        let options = self.options(self.repeat.first);
        let point = self.sweep.point(&self.path, at, &options).map_err(|error| self.placed(error))?;
        self.check_inputs(&point).map(|()| point)
    }

    /// Options of its runs with this seed.
    pub(crate) fn options(&self, seed: u64) -> Options {
        Options { seed, traces: self.traces.clone(), ..Options::default() }
    }

    fn check_inputs(&self, point: &Point) -> Result<()> {
        if let Some(own) = &self.own.0 {
            own.placed(&point.settings, &point.device).map_err(|error| self.incompatible(error))?;
        }
        let refused = |trace: &Path| Error::Argument {
            what: format!("trace of {}", self.path.display()),
            found: format!("no file {}", trace.display()),
            wanted: "a file in the folder of recorded traces (--traces)".into(),
        };
        point.missing_trace().map_or(Ok(()), |trace| Err(refused(trace)))
    }

    /// Reports an incompatible design and device as a fault of keys: searches can hit such combinations.
    fn incompatible(&self, error: Error) -> Error {
        let Error::Argument { what, found, wanted } = error else { return error };
        let mut wrong = Complaints::default();
        wrong.add(format!("{}: {what}", self.path.display()), found, wanted);
        Error::Config(wrong)
    }

    /// Returns the runs for a seed, each validated. The last varied key changes fastest.
    ///
    /// # Errors
    /// [`Error::Config`] if a device or workload is invalid, or if there are too many runs.
    /// [`Error::Argument`] if a trace is missing.
    pub fn points(&self, seed: u64) -> Result<Vec<Point>> {
        self.check_size()?;
        let points =
            self.sweep.points(&self.path, &self.options(seed)).map_err(|error| self.placed(error))?;
        points.iter().try_for_each(|point| self.check_inputs(point))?;
        Ok(points)
    }
}

/// Converts a workload to the form of an experiment. A name means a workload file, a job file or a built-in
/// workload, and the key `trace` a trace.
pub(crate) fn workload_of(value: toml::Value) -> toml::Value {
    let (mut of_name, rest) = match value {
        toml::Value::String(name) => (workload_of_name(&name), toml::Table::new()),
        toml::Value::Table(mut table) if table.contains_key("name") || table.contains_key("trace") => {
            let trace = table.remove("trace").map(|path| toml::Table::from_iter([("path".to_owned(), path)]));
            let kind = trace.map(|inner| toml::Table::from_iter([("file".to_owned(), inner.into())]));
            let name = table.remove("name");
            let name = name.as_ref().map(|name| name.as_str().unwrap_or_default());
            (kind.unwrap_or_else(|| workload_of_name(name.unwrap_or_default())), table)
        }
        other => return other,
    };
    if let Some(inner) = of_name.iter_mut().next().and_then(|(_, inner)| inner.as_table_mut()) {
        inner.extend(rest);
    }
    of_name.into()
}

/// Collects faults, each with `file:line: key`.
struct ErrorCollector<'a> {
    path: &'a Path,
    text: &'a str,
    written: KeyOrigin,
    all: Complaints,
}

impl ErrorCollector<'_> {
    fn add(&mut self, at: usize, key: &str, found: String, wanted: String) {
        let line = match self.written {
            KeyOrigin::File => format!(":{}", self.text[..at.min(self.text.len())].matches('\n').count() + 1),
            KeyOrigin::Keys | KeyOrigin::Arguments => String::new(),
        };
        let key = if key.is_empty() { String::new() } else { format!(": {key}") };
        self.all.add(format!("{}{line}{key}", self.path.display()), found, wanted);
    }

    /// Adds the fault of a key that is missing.
    fn missing(&mut self, key: &str, wanted: &str) {
        self.all.add(format!("{}: {key}", self.path.display()), "nothing", wanted);
    }

    /// Parses the varied keys.
    fn read_axes(&mut self, axes: Vec<Spanned<AxisFile>>) -> Vec<Axis> {
        let mut vary = Vec::new();
        for axis in axes {
            let (at, axis) = (axis.span().start, axis.into_inner());
            match axis.values.all() {
                Ok(values) => vary.push(Axis { key: axis.key, values, sets: axis.sets }),
                Err((found, wanted)) => self.add(at, "vary.values", found, wanted),
            }
        }
        vary
    }

    /// Parses the state of the device before a run.
    fn read_state(&mut self, value: toml::Value) -> Option<InitialState> {
        if value.is_table() {
            return self.read("precondition", value);
        }
        let shown = value.to_string();
        let state = initial_state_of(value).try_into().ok();
        if state.is_none() {
            self.add(
                self.text.find("precondition").unwrap_or(0),
                "precondition",
                shown,
                INITIAL_STATES.into(),
            );
        }
        state
    }

    /// Parses the value of a key of the file.
    fn read<T: for<'de> Deserialize<'de>>(&mut self, key: &str, value: toml::Value) -> Option<T> {
        let at = self.text.find(key).unwrap_or(0);
        match value.try_into() {
            Ok(value) => Some(value),
            Err(error) => {
                let error: toml::de::Error = error;
                let (found, wanted) = found_and_wanted(error.message(), "a value of this key");
                self.add(at, key, found, wanted);
                None
            }
        }
    }
}
