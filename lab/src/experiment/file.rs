//! The file of an experiment: as it is written, and the check that makes an [`Experiment`] of it.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use wordline_kernel::Complaints;
use wordline_ssd::DeviceFile;

use super::Options;
use super::analytic::Model;
use super::bench::{Point, Workload};
use super::chart::ChartFile;
use super::expect::{Band, Expect, Trend, Wanted};
use crate::error::{Error, Result};
use crate::run::Precondition;
use crate::summary::Summary;

/// A published figure or table as data.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// `PAPER/NAME`.
    pub id: String,
    /// The file, for errors.
    pub path: PathBuf,
    /// What it shows.
    pub title: String,
    /// Where the figure or table is.
    pub source: String,
    /// The claims of the ledger that it belongs to.
    pub claims: Vec<String>,
    /// What the source leaves open, and what was chosen here.
    pub left_open: Vec<String>,
    /// What is run.
    pub kind: Kind,
    /// What is expected.
    pub expect: Vec<Expect>,
    /// The charts.
    pub charts: Vec<ChartFile>,
}

/// What is run.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// The statistics of the volumes of a paper's trace table; the published values stand with the profiles.
    TraceStatistics {
        /// The paper whose profiles are measured.
        paper: String,
        /// The claim of the ledger that the rows belong to.
        claim: Option<String>,
        /// How far a statistic may lie from the published one, as a fraction.
        within: f64,
    },
    /// One run for each combination of varied keys.
    Sweep(Box<Sweep>),
}

impl Kind {
    /// What `quick` scales down.
    pub fn quick_says(&self) -> &str {
        match self {
            Self::TraceStatistics { .. } => {
                "a profile whose counts the paper prints is shrunk to a million requests, and its counts and volumes are divided by the scale; other profiles and real traces are whole"
            }
            Self::Sweep(sweep) => &sweep.quick.says,
        }
    }
}

/// One run for each combination of varied keys.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The device, as in a configuration file.
    pub device: toml::Table,
    /// What it is asked to do.
    pub workload: Workload,
    /// Its state before.
    pub precondition: Before,
    /// The varied keys; the last one varies fastest.
    pub vary: Vec<Axis>,
    /// The scaled-down sweep.
    pub quick: Quick,
}

/// A varied key.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The key of the device, with dots.
    pub key: String,
    /// Its values.
    pub values: Vec<toml::Value>,
}

/// The scaled-down sweep.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// What is scaled down, and what that costs.
    pub says: String,
    /// Keys of the device, with dots, that take other values.
    #[serde(default)]
    pub set: toml::Table,
    /// The workload instead.
    pub workload: Option<Workload>,
}

/// The state of a device before the first request.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Before {
    /// Nothing was ever written.
    Empty {},
    /// A fraction was written once, in order.
    Filled {
        /// The fraction.
        fraction: f64,
    },
    /// Overwritten at random until the write amplification stood still.
    Steady {},
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExperimentFile {
    title: String,
    source: String,
    claims: Vec<Spanned<String>>,
    #[serde(default)]
    left_open: Vec<String>,
    kind: Spanned<KindFile>,
    #[serde(default)]
    expect: Vec<Spanned<ExpectFile>>,
    #[serde(default)]
    chart: Vec<Spanned<ChartFile>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum KindFile {
    TraceStatistics { paper: String, claim: Option<String>, within: String },
    Sweep(Box<Sweep>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectFile {
    what: String,
    claim: Option<String>,
    #[serde(default)]
    at: toml::Table,
    column: String,
    unit: String,
    value: Option<f64>,
    model: Option<Model>,
    trend: Option<Trend>,
    within: Option<String>,
    between: Option<[f64; 2]>,
    source: String,
}

/// Collects what is wrong, each with `file:line: key`.
struct Wrong<'a> {
    path: &'a Path,
    text: &'a str,
    all: Complaints,
}

impl Wrong<'_> {
    fn add(&mut self, at: usize, key: &str, found: impl std::fmt::Display, wanted: impl Into<String>) {
        let line = self.text[..at.min(self.text.len())].matches('\n').count() + 1;
        self.all.add(format!("{}:{line}: {key}", self.path.display()), found, wanted);
    }
}

impl Experiment {
    /// Reads the experiment `id` from the text of the file `path`.
    ///
    /// # Errors
    /// [`Error::Config`] with everything that is wrong, each with file, line and key.
    pub fn parse(id: &str, path: &Path, text: &str) -> Result<Self> {
        let mut wrong = Wrong { path, text, all: Complaints::default() };
        let file: ExperimentFile = match toml::from_str(text) {
            Ok(file) => file,
            Err(error) => {
                let (found, wanted) = found_and_wanted(error.message(), "valid TOML");
                let at = error.span().map_or(0, |span| span.start);
                let key = text[at..].split([' ', '=', ']', '\n']).next().unwrap_or_default();
                wrong.add(at, key.trim_start_matches('['), found, wanted);
                return Err(Error::Config(wrong.all));
            }
        };
        for claim in &file.claims {
            if !is_claim(claim.get_ref()) {
                wrong.add(claim.span().start, "claims", format!("`{}`", claim.get_ref()), CLAIM);
            }
        }
        let claims: Vec<String> = file.claims.into_iter().map(Spanned::into_inner).collect();
        let kind_at = file.kind.span().start;
        let kind = check_kind(file.kind.into_inner(), kind_at, &claims, &mut wrong);
        let axes: &[Axis] = match &kind {
            Kind::Sweep(sweep) => &sweep.vary,
            Kind::TraceStatistics { .. } => &[],
        };
        let entries = file.expect.into_iter();
        let expect = entries.filter_map(|entry| check_expect(entry, axes, &claims, &mut wrong)).collect();
        for chart in &file.chart {
            let along = chart.get_ref().along();
            if along.is_some_and(|key| !axes.iter().any(|axis| axis.key == key)) {
                let found = format!("`{}`", along.unwrap_or_default());
                wrong.add(chart.span().start, "chart.shape", found, varied(axes));
            }
        }
        let charts = file.chart.into_iter().map(Spanned::into_inner).collect();
        let (title, source, left_open, path) = (file.title, file.source, file.left_open, path.to_owned());
        let experiment =
            Self { id: id.to_owned(), path, title, source, claims, left_open, kind, expect, charts };
        if let (true, Kind::Sweep(sweep)) = (wrong.all.0.is_empty(), &experiment.kind) {
            for quick in [false, true] {
                sweep.points(&experiment.path, &Options { quick, ..Options::default() })?;
            }
        }
        wrong.all.or_ok(experiment).map_err(Error::Config)
    }
}

const CLAIM: &str = "the id of a claim: three capitals, `-`, F or N, and a number, such as `CEN-N1`";

/// What a message of the TOML reader says was found, and what it says was wanted, or else `otherwise`.
fn found_and_wanted(message: &str, otherwise: &str) -> (String, String) {
    let message = message.replace('\n', " ");
    if let Some((found, wanted)) = message.split_once(", expected ") {
        return (found.to_owned(), wanted.to_owned());
    }
    match message.split_once(", available keys: ") {
        Some((found, keys)) => {
            (found.replace("unexpected keys in table: ", "unknown field "), format!("one of {keys}"))
        }
        None => (message, otherwise.to_owned()),
    }
}

/// Whether `text` is the id of a claim, such as `CEN-N1`.
fn is_claim(text: &str) -> bool {
    let Some((paper, row)) = text.split_once('-') else { return false };
    let number = row.strip_prefix(['F', 'N']).unwrap_or_default();
    paper.len() == 3
        && paper.bytes().all(|byte| byte.is_ascii_uppercase())
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn varied(axes: &[Axis]) -> String {
    let keys: Vec<String> = axes.iter().map(|axis| format!("`{}`", axis.key)).collect();
    format!("a varied key: {}", if keys.is_empty() { "there is none".into() } else { keys.join(", ") })
}

fn check_kind(kind: KindFile, at: usize, claims: &[String], wrong: &mut Wrong<'_>) -> Kind {
    match kind {
        KindFile::TraceStatistics { paper, claim, within } => {
            check_claim(claim.as_deref(), at, "kind.trace-statistics.claim", claims, wrong);
            let within = match within.parse() {
                Ok(Band::Relative(fraction)) => fraction,
                _ => {
                    let wanted = "a share above 0, such as \"2 %\"";
                    wrong.add(at, "kind.trace-statistics.within", format!("`{within}`"), wanted);
                    0.0
                }
            };
            Kind::TraceStatistics { paper, claim, within }
        }
        KindFile::Sweep(sweep) => {
            let workloads = [("workload", Some(sweep.workload)), ("quick.workload", sweep.quick.workload)];
            for (key, workload) in workloads {
                let Some(Workload::UniformWrites { drive_writes, queue_depth }) = workload else { continue };
                let key = format!("kind.sweep.{key}.uniform-writes");
                if !(drive_writes > 0.0 && drive_writes <= 1e6) {
                    wrong.add(at, &format!("{key}.drive_writes"), drive_writes, "above 0 and at most 1e6");
                }
                if queue_depth == 0 {
                    wrong.add(at, &format!("{key}.queue_depth"), queue_depth, "at least 1");
                }
            }
            if let Before::Filled { fraction } = sweep.precondition
                && !(0.0..=1.0).contains(&fraction)
            {
                let key = "kind.sweep.precondition.filled.fraction";
                wrong.add(at, key, fraction, "a fraction from 0 to 1");
            }
            for axis in sweep.vary.iter().filter(|axis| axis.values.is_empty()) {
                wrong.add(at, "kind.sweep.vary.values", format!("nothing for `{}`", axis.key), "values");
            }
            Kind::Sweep(sweep)
        }
    }
}

fn check_claim(claim: Option<&str>, at: usize, key: &str, claims: &[String], wrong: &mut Wrong<'_>) {
    if let Some(claim) = claim.filter(|claim| !claims.iter().any(|known| known == claim)) {
        wrong.add(
            at,
            key,
            format!("`{claim}`"),
            format!("one of the experiment's claims: {}", claims.join(", ")),
        );
    }
}

fn check_expect(
    entry: Spanned<ExpectFile>,
    axes: &[Axis],
    claims: &[String],
    wrong: &mut Wrong<'_>,
) -> Option<Expect> {
    let at = entry.span().start;
    let file = entry.into_inner();
    check_claim(file.claim.as_deref(), at, "expect.claim", claims, wrong);
    if !has_column(&file.column) {
        let found = format!("`{}`", file.column);
        wrong.add(
            at,
            "expect.column",
            found,
            "a number of the summary, with dots, such as `write_amplification`",
        );
    }
    check_place(&file.at, at, axes, wrong);
    let band = check_band(&file, at, wrong);
    let wanted = match (file.value, file.model, file.trend.clone(), band) {
        (Some(value), None, None, Some(band)) => Some(Wanted::Number(value, band)),
        (None, Some(model), None, Some(band)) => Some(Wanted::Model(model, band)),
        (None, None, Some(trend), None) => {
            check_trend(&trend, &file.at, at, axes, wrong);
            Some(Wanted::Trend(trend))
        }
        (None, None, Some(_), Some(_)) => {
            wrong.add(at, "expect.trend", "a trend with a band", "a trend alone: it has no band");
            None
        }
        (value, model, trend, _) => {
            let given = [value.is_some(), model.is_some(), trend.is_some()];
            let count = given.iter().filter(|given| **given).count();
            if count != 1 {
                let found = format!("{count} of `value`, `model`, `trend`");
                wrong.add(at, "expect", found, "exactly one of `value`, `model`, `trend`");
            }
            None
        }
    };
    let ExpectFile { what, claim, at, column, unit, source, .. } = file;
    wanted.map(|wanted| Expect { what, claim, at, column, unit, wanted, source })
}

fn check_place(place: &toml::Table, at: usize, axes: &[Axis], wrong: &mut Wrong<'_>) {
    for (key, value) in place {
        match axes.iter().find(|axis| axis.key == *key) {
            None => wrong.add(at, &format!("expect.at.{key}"), format!("`{key}`"), varied(axes)),
            Some(axis) if !axis.values.contains(value) => {
                let values: Vec<String> = axis.values.iter().map(ToString::to_string).collect();
                let wanted = format!("a value that the key is varied over: {}", values.join(", "));
                wrong.add(at, &format!("expect.at.{key}"), value, wanted);
            }
            Some(_) => {}
        }
    }
}

fn check_band(file: &ExpectFile, at: usize, wrong: &mut Wrong<'_>) -> Option<Band> {
    let wants_band = file.value.is_some() || file.model.is_some();
    match (&file.within, file.between) {
        (Some(within), None) => match within.parse() {
            Ok(band) => return Some(band),
            Err(wanted) => wrong.add(at, "expect.within", format!("`{within}`"), wanted),
        },
        (None, Some([least, greatest])) if least < greatest => return Some(Band::Between(least, greatest)),
        (None, Some([least, greatest])) => {
            let found = format!("[{least}, {greatest}]");
            wrong.add(at, "expect.between", found, "a least number and a greater one");
        }
        (None, None) if wants_band => {
            wrong.add(at, "expect.within", "no band", "`within` or `between` beside a `value` or `model`");
        }
        (Some(_), Some(_)) => wrong.add(at, "expect.between", "two bands", "`within` or `between`"),
        (None, None) => {}
    }
    None
}

fn check_trend(trend: &Trend, place: &toml::Table, at: usize, axes: &[Axis], wrong: &mut Wrong<'_>) {
    match trend {
        Trend::Rising { along } | Trend::Falling { along } => {
            if !axes.iter().any(|axis| axis.key == *along) {
                wrong.add(at, "expect.trend.along", format!("`{along}`"), varied(axes));
            }
            for axis in axes.iter().filter(|axis| axis.key != *along && !place.contains_key(&axis.key)) {
                let wanted = "a value of every varied key but the one along which the trend goes";
                wrong.add(at, "expect.at", format!("none of `{}`", axis.key), wanted);
            }
        }
        Trend::Above { at: other } => check_place(other, at, axes, wrong),
    }
}

/// Whether `path` (with dots) leads to a number in a summary.
fn has_column(path: &str) -> bool {
    let schema = schemars::schema_for!(Summary).to_value();
    let found = path.split('.').try_fold(&schema, |inside, key| {
        let inside = match inside.get("$ref").and_then(|name| name.as_str()) {
            Some(name) => schema.pointer(name.trim_start_matches('#'))?,
            None => inside,
        };
        inside.get("properties")?.get(key)
    });
    let kinds = found.and_then(|property| property.get("type")).map(ToString::to_string).unwrap_or_default();
    kinds.contains("number") || kinds.contains("integer")
}

impl Sweep {
    /// The runs, the last varied key fastest, each with its device checked.
    ///
    /// # Errors
    /// [`Error::Config`] if a device does not hold together; `path` names the file.
    pub fn points(&self, path: &Path, options: &Options) -> Result<Vec<Point>> {
        let mut places = vec![toml::Table::new()];
        for axis in &self.vary {
            let with = |place: &toml::Table, value: &toml::Value| {
                let mut place = place.clone();
                place.insert(axis.key.clone(), value.clone());
                place
            };
            let longer =
                places.iter().flat_map(|place| axis.values.iter().map(move |value| with(place, value)));
            places = longer.collect();
        }
        places.into_iter().map(|settings| self.point(path, settings, options)).collect()
    }

    fn point(&self, path: &Path, settings: toml::Table, options: &Options) -> Result<Point> {
        let mut device = self.device.clone();
        let scaled = options.quick.then_some(&self.quick.set);
        for (key, value) in scaled.into_iter().flatten().chain(&settings) {
            set(&mut device, key, value.clone());
        }
        let config_text = device.to_string();
        let file = DeviceFile::deserialize(device).map_err(|error| {
            let mut wrong = Complaints::default();
            let key = format!("{}: kind.sweep.device", path.display());
            let (found, wanted) = found_and_wanted(error.message(), "a device");
            wrong.add(key, found, wanted);
            Error::Config(wrong)
        })?;
        let config = file.check().map_err(|inner| {
            let mut wrong = Complaints::default();
            wrong.nest(&format!("{}: kind.sweep.device", path.display()), inner);
            Error::Config(wrong)
        })?;
        let workload = self.quick.workload.filter(|_| options.quick).unwrap_or(self.workload);
        let precondition = match self.precondition {
            Before::Empty {} => Precondition::Empty,
            Before::Filled { fraction } => Precondition::Filled(fraction),
            Before::Steady {} => Precondition::Steady,
        };
        Ok(Point { settings, config, config_text, workload, precondition, seed: options.seed })
    }
}

/// Sets a key with dots; tables on the way are made.
fn set(table: &mut toml::Table, key: &str, value: toml::Value) {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
        }
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| toml::Table::new().into());
            if !inner.is_table() {
                *inner = toml::Table::new().into();
            }
            set(inner.as_table_mut().expect("it was just made one"), rest, value);
        }
    }
}
