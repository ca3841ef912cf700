//! Sweeps over devices: the varied keys, and the runs.

pub(crate) mod axes;
mod clients;
mod device_cache;
mod file_load;
mod initial_state;
mod kinds;
mod layers;
mod named;
mod space;
pub(crate) mod volume;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wordline_ftl::config::Scope;
use wordline_kernel::Complaints;
use wordline_ssd::Config;

use crate::judge::column;
use crate::options::Options;
use axes::{Axis, Points};
use clients::Clients;
pub use device_cache::DeviceCache;
pub use file_load::FileLoad;
pub use initial_state::{INITIAL_STATES, InitialState, initial_state_of};
pub use kinds::of_name as workload_of_name;
use layers::{Layer, Layers};
use named::Named;
use wordline_lab::config;
use wordline_lab::devices::{Configured, Registry, as_ssd};
use wordline_lab::error::{Error, Result};
use wordline_lab::trace::workload::Workload as Generated;
use wordline_lab::words::found_and_wanted;
use wordline_lab::{Precondition, Until, WarmUp};

pub use space::Space;

/// Prefix of the workload's keys. All other keys belong to the device.
const WORKLOAD: &str = "workload";

/// Key of the precondition, if varied.
const PRECONDITION: &str = "precondition";

/// Key of the snapshot from which the device is restored, if varied.
const SNAPSHOT: &str = "from_snapshot";

/// Key of the preset that the device builds on.
const PRESET: &str = "preset";

/// Key of the power cut, if varied.
const POWER_CUT: &str = "power_cut_after";

/// One run for each combination of the varied keys.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Preset that the device builds on, if any.
    pub preset: Option<String>,
    /// Keys of the device: a whole device, or changes of the preset.
    #[serde(default)]
    pub device: toml::Table,
    /// Workload.
    pub workload: Workload,
    /// Initial state of the device. Default: the state that a generated workload asks for; for a trace, a
    /// filled device. Zones are empty by default.
    pub precondition: Option<InitialState>,
    /// Snapshot from which the device is restored, in place of a precondition. Only in studies.
    #[serde(skip)]
    pub from_snapshot: Option<PathBuf>,
    /// Number of completed requests after which the power is cut and restored. If not given, it is not cut.
    pub power_cut_after: Option<u64>,
    /// Warm-up, whose requests are not measured. Default in an experiment: none, because published values
    /// include it unless they say otherwise. Default in a study: the default of a run.
    #[serde(default = "all_is_measured")]
    pub warm_up: Option<WarmUp>,
    /// Condition at which each run ends, in place of the last request: `rebuilt`, or a metric and a share such as
    /// `p99:2%`.
    pub until: Option<Until>,
    /// Whether results include values that a run would report as unknown. True in experiments, which state
    /// the condition of their devices.
    #[serde(skip, default = "is_experiment")]
    pub as_counted: bool,
    /// Varied keys; the last one changes fastest. `workload.` is the prefix of the workload's keys. `preset`,
    /// `precondition`, `from_snapshot` and `power_cut_after` vary the fields of the same name. Other keys
    /// belong to the device.
    #[serde(default)]
    pub vary: Vec<Axis>,
    /// The scaled-down sweep. If not given, it is the full sweep.
    pub quick: Option<Quick<Workload>>,
    /// The device types that the sweep may name.
    #[serde(skip)]
    pub registry: Registry,
    /// Prefix of the sweep's keys in the file, for messages: a path with a trailing dot, or empty.
    #[serde(skip)]
    pub place: &'static str,
    /// Cache of its devices.
    #[serde(skip)]
    pub devices: DeviceCache,
}

/// Differences of the scaled-down sweep from the full one.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick<W> {
    /// Description of the sizes that are reduced, and of the effect.
    pub says: String,
    /// Dotted keys of the device that are overridden.
    #[serde(default)]
    pub set: toml::Table,
    /// Workload that replaces the full sweep's.
    pub workload: Option<W>,
    /// Varied keys that replace those with the same key. They have some of its values, possibly with other
    /// settings.
    #[serde(default)]
    pub vary: Vec<Axis>,
}

/// Workload of a point of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Workload {
    /// Writes of whole pages, uniform over the logical pages.
    UniformWrites {
        /// Data to write, in units of the logical capacity.
        drive_writes: f64,
        /// Number of outstanding requests.
        queue_depth: u32,
    },
    /// A generated workload, with the keys of a workload file.
    Generated(Box<Generated>),
    /// A built-in pattern or application.
    Named(Named),
    /// A recorded trace, whose addresses are wrapped into the device. It is only run if the user's folder of
    /// traces has it; otherwise the outcome has a note.
    Replayed {
        /// File name in the folder of traces.
        trace: PathBuf,
        /// Number of outstanding requests, in place of the recorded times. If not given, the recorded times
        /// are used.
        queue_depth: Option<u32>,
        /// Maximum number of requests. Default: all.
        requests: Option<u64>,
    },
    /// Several clients, each at its own pace.
    Clients(Clients),
    /// A file that `wordline run` takes: a workload file, a fio job file or a trace.
    File(FileLoad),
    /// A volume of a paper's trace table: the recorded trace if the user's folder has it, otherwise the
    /// profile.
    Volume(Volume),
}

/// A volume, whose addresses are wrapped into the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// `PAPER/VOLUME`.
    pub profile: String,
    /// Number of outstanding requests, in place of the recorded times. If not given, the recorded times are
    /// used, without a limit. With `time_scale`, the recorded times are used with this limit on outstanding
    /// requests.
    pub queue_depth: Option<u32>,
    /// Factor on the times of requests; 0.5 is twice as fast. Default: 1, or no times if `queue_depth` is
    /// given.
    pub time_scale: Option<f64>,
    /// Recorded trace whose bursts the profile imitates. Default: independent arrivals. A recorded trace has
    /// its own bursts.
    pub bursts: Option<String>,
    /// Duration of the whole profile. A recorded trace has its own duration.
    #[serde(default)]
    pub duration: ProfileDuration,
    /// Fraction of the requests that is run. For a profile the footprint is reduced in proportion. For a
    /// recorded trace these are the first requests.
    #[serde(default = "whole")]
    pub scale: f64,
    /// Maximum number of requests, the first ones. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Warm-up of the device by whole passes over this volume. It brings the device to the state that the
    /// volume's own streams and times cause. Default: no warm-up.
    pub settle: Option<Settle>,
}

/// A warm-up by whole passes over a volume, until the results of a pass are close to those of the previous
/// pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// Dotted names of the results of a pass that must settle.
    pub columns: Vec<String>,
    /// Greatest relative change of a column from one pass to the next.
    pub within: f64,
    /// Greatest number of passes.
    pub most: u32,
}

/// Duration of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileDuration {
    /// The duration that the profile chooses.
    #[default]
    AsChosen,
    /// The duration of the recording, times the fraction of its requests that is run.
    AsExtract,
}

/// True, because a sweep that is read from a file is an experiment.
fn is_experiment() -> bool {
    true
}

fn all_is_measured() -> Option<WarmUp> {
    Some(WarmUp::None)
}

fn whole() -> f64 {
    1.0
}

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// Values of the varied keys.
    pub settings: toml::Table,
    /// The validated device.
    pub device: Arc<dyn Configured>,
    /// The configuration of the device as text, for a reproducer.
    pub config_text: String,
    /// Workload.
    pub workload: Workload,
    /// Initial state of the device.
    pub precondition: Precondition,
    /// Snapshot from which the device is restored, in place of a precondition.
    pub from_snapshot: Option<PathBuf>,
    /// Whether more pages than `precondition` describes are filled, if the addresses of the volume extend
    /// further.
    pub covers_volume: bool,
    /// Number of completed requests after which the power is cut, if it is.
    pub power_cut_after: Option<u64>,
    /// Warm-up, whose requests are not measured; `None` for the default of a run.
    pub warm_up: Option<WarmUp>,
    /// Condition at which the run ends, in place of the last request.
    pub until: Option<Until>,
    /// Whether the result includes values that a run would report as unknown.
    pub as_counted: bool,
    /// Folder of recorded traces, if any.
    pub traces: Option<PathBuf>,
    /// Seed of all random streams.
    pub seed: u64,
}

impl Point {
    /// Whether the device is an SSD, which closed forms require.
    pub(crate) fn is_of_ssd(&self) -> bool {
        as_ssd(&self.device).is_some()
    }

    /// Configuration of the SSD.
    pub(crate) fn config(&self) -> &Config {
        &as_ssd(&self.device).expect("what asks for it was told that it is an SSD").config
    }

    /// Number of flash pools. A device without pools counts as one.
    pub(crate) fn pools(&self) -> usize {
        self.device.chips().len().max(1)
    }

    /// Space that is available to GC, which keeps `ftl.gc.stop_at_free_blocks` blocks of each plane group
    /// free. A superblock counts as one block with the pages of all plane groups.
    pub(crate) fn space(&self) -> Space {
        let config = self.config();
        let geometry = config.ftl.geometry();
        let per_row = config.ftl.locations().per_block();
        let pages_per_block = match config.file.ftl.gc.scope {
            Scope::Row => per_row,
            Scope::SuperBlock => per_row * geometry.rows(),
        };
        let blocks = geometry.blocks_per_plane.saturating_sub(config.file.ftl.gc.stop_at_free_blocks);
        Space {
            pages_per_block,
            logical_pages: f64::from(config.ftl.logical_pages),
            physical_pages: f64::from(blocks) * f64::from(geometry.rows()) * f64::from(per_row),
        }
    }

    /// Initial state of the device in words.
    fn state_in_words(&self) -> String {
        match &self.from_snapshot {
            Some(path) => format!("from snapshot {}", path.file_name().unwrap_or_default().display()),
            None => self.precondition.in_words(),
        }
    }

    /// Returns the warm-up, and the number of additional requests that a generator provides for it.
    pub(crate) fn warm_up(&self) -> (WarmUp, u64) {
        let is_generated = self.is_generated();
        let is_empty = self.from_snapshot.is_none() && self.precondition == Precondition::Empty;
        let usual = || WarmUp::usual(self.until.as_ref(), is_generated, is_empty);
        let warm_up = self.warm_up.unwrap_or_else(usual);
        let beside = if self.is_endless() { WarmUp::ENDLESS } else { warm_up.beside() };
        (warm_up, if is_generated { beside } else { 0 })
    }

    /// Whether the requests come from a generator that goes on until an array is rebuilt.
    pub(crate) fn is_endless(&self) -> bool {
        self.until == Some(Until::Rebuilt) && self.is_generated()
    }

    fn is_generated(&self) -> bool {
        match &self.workload {
            Workload::Named(named) => !named.is_none(),
            Workload::UniformWrites { .. } | Workload::Generated(_) | Workload::Clients(_) => true,
            Workload::Replayed { .. } | Workload::Volume(_) | Workload::File(_) => false,
        }
    }

    /// Returns the generated workload, if the point has one.
    pub(crate) fn generated(&self) -> Option<&Generated> {
        if let Workload::Generated(workload) = &self.workload { Some(workload) } else { None }
    }

    /// The file of the point's recorded trace, if it is missing.
    pub fn missing_trace(&self) -> Option<&Path> {
        let Workload::Replayed { trace, .. } = &self.workload else { return None };
        let there = self.traces.as_ref().is_some_and(|folder| folder.join(trace).is_file());
        (!there).then_some(trace)
    }
}

impl Points for Sweep {
    type Point = Point;

    fn varied(&self, options: &Options) -> Vec<&Axis> {
        let quick = self.quick.as_ref().filter(|_| options.quick);
        axes::replace_axes(&self.vary, quick.map_or(&[], |quick| &quick.vary))
    }

    fn point(&self, path: &Path, settings: toml::Table, options: &Options) -> Result<Point> {
        let quick = self.quick.as_ref().filter(|_| options.quick);
        let workload = quick.and_then(|quick| quick.workload.as_ref()).unwrap_or(&self.workload);
        let mut varied = toml::Table::new();
        for axis in self.varied(options) {
            axis.apply(&mut varied, &settings[&axis.key]);
        }
        options.change.iter().for_each(|(key, value)| axes::set(&mut varied, key, value.clone()));
        let preset = varied.remove(PRESET);
        let preset = match &preset {
            None => self.preset.as_deref(),
            Some(toml::Value::String(name)) => Some(name.as_str()),
            Some(other) => return Err(self.refused(path, PRESET, &other.to_string(), "a preset")),
        };
        let mut layers = self.layers(path, preset)?;
        let words = toml::Value::try_from(workload).expect("a workload that was read can be written");
        layers.set(Layer::Device, WORKLOAD, words);
        for (key, value) in quick.into_iter().flat_map(|quick| &quick.set) {
            layers.set(Layer::Quick, key, value.clone());
        }
        for axis in self.varied(options) {
            let keys = axis.keys_of(&settings[&axis.key]);
            keys.for_each(|(key, value)| layers.set(Layer::Varied(&axis.key), key, value.clone()));
        }
        options.change.iter().for_each(|(key, value)| layers.set(Layer::Change, key, value.clone()));
        layers.take(PRESET);
        let before = layers.take(PRECONDITION).map(|value| {
            let (key, found) = (format!("vary {PRECONDITION}"), value.to_string());
            let state = initial_state_of(value).try_into::<InitialState>();
            state.map_err(|_| self.refused(path, &key, &found, INITIAL_STATES))
        });
        let before = before.transpose()?;
        let before = before.or(self.precondition);
        let snapshot = layers.take(SNAPSHOT).map(toml::Value::try_into::<PathBuf>).transpose();
        let snapshot =
            snapshot.map_err(|error| self.refused(path, SNAPSHOT, error.message(), "a snapshot"))?;
        let from_snapshot = snapshot.or_else(|| self.from_snapshot.clone());
        if before.is_some() && from_snapshot.is_some() {
            return Err(self.refused(path, SNAPSHOT, "a state before beside it", "one of them"));
        }
        let cut = layers.take(POWER_CUT).map(toml::Value::try_into::<u64>).transpose();
        let cut =
            cut.map_err(|error| self.refused(path, POWER_CUT, error.message(), "a number of requests"))?;
        let power_cut_after = cut.or(self.power_cut_after);
        let asked = layers.take(WORKLOAD).expect("it was put there");
        let workload = self.workload_of(path, asked, (workload, options))?;
        let (device, config_text) = self.device_of(path, layers)?;
        let mut inner = Complaints::default();
        initial_state::check(before, &mut inner);
        inner.into_result(()).map_err(|inner| self.nested(path, "vary", inner))?;
        let precondition =
            before.map_or_else(|| usual_state(&workload).usual_on(&device.shape()), Precondition::from);
        let covers_volume = matches!(before, Some(InitialState::Steady { covers_volume: true, .. }));
        let (traces, seed) = (options.traces.clone(), options.seed);
        Ok(Point {
            settings,
            device,
            config_text,
            workload,
            precondition,
            from_snapshot,
            covers_volume,
            power_cut_after,
            warm_up: self.warm_up,
            until: self.until.clone(),
            as_counted: self.as_counted,
            traces,
            seed,
        })
    }
}

impl Sweep {
    /// Faults of the sweep that are visible without a device: key, value found, and value wanted.
    pub fn complaints(&self) -> Vec<(String, String, String)> {
        let mut wrong = Complaints::default();
        let workloads = [
            ("workload", Some(&self.workload)),
            ("quick.workload", self.quick.as_ref().and_then(|quick| quick.workload.as_ref())),
        ];
        for (key, workload) in workloads {
            let mut inner = Complaints::default();
            workload.into_iter().for_each(|workload| check_workload(workload, &mut inner));
            wrong.nest(key, inner);
        }
        match self.precondition {
            None if matches!(self.workload, Workload::UniformWrites { .. }) => {
                wrong.add(PRECONDITION, "none", "the state of the device before: empty, filled or steady");
            }
            before => initial_state::check(before, &mut wrong),
        }
        wrong.0.into_iter().map(|complaint| (complaint.key, complaint.found, complaint.wanted)).collect()
    }

    /// Initial state of all devices in words; `None` if they differ or it is varied. `path` is the file, for
    /// messages.
    pub fn state_in_words(&self, path: &Path, options: &Options) -> Option<String> {
        if self.vary.iter().any(|axis| [PRECONDITION, SNAPSHOT].contains(&axis.key.as_str())) {
            return None;
        }
        // A state that the file gives is that of all points, whatever their devices are.
        let is_given = self.precondition.is_some() || self.from_snapshot.is_some();
        let points = axes::combinations(&self.varied(options)).into_iter();
        let mut states = points
            .take(if is_given { 1 } else { usize::MAX })
            .map(|settings| self.point(path, settings, options).ok().map(|point| point.state_in_words()));
        let first = states.next().flatten();
        states.all(|state| state == first).then_some(first).flatten()
    }

    /// Returns the valid columns, if no device of these types has `column`; otherwise `None`.
    pub fn unknown_column(&self, column: &str) -> Option<String> {
        column::unknown_summary_column(&self.registry, column)
    }

    /// The workload of a point from its keys. `before` is the workload before any key was varied.
    fn workload_of(
        &self,
        path: &Path,
        asked: toml::Value,
        (before, options): (&Workload, &Options),
    ) -> Result<Workload> {
        let place = self.place_of_workload(options);
        let workload = kinds::completed(asked, before).and_then(kinds::read).map_err(|(found, wanted)| {
            let mut wrong = Complaints::default();
            wrong.add(format!("{}: {}{place}", path.display(), self.place), found, wanted);
            Error::Config(wrong)
        })?;
        let mut inner = Complaints::default();
        check_workload(&workload, &mut inner);
        inner.into_result(workload).map_err(|mut inner| {
            if place.starts_with("vary workload.") {
                let own = inner.0.iter_mut().filter(|complaint| !complaint.key.contains(": "));
                own.for_each(|complaint| complaint.key.clear());
            }
            self.nested(path, &place, inner)
        })
    }

    /// The place of the workload in messages: the key of the workload that is varied, or else the workload.
    fn place_of_workload(&self, options: &Options) -> String {
        let is_of_it = |key: &str| key == WORKLOAD || key.starts_with("workload.");
        let varied = self.varied(options).into_iter().find(|axis| is_of_it(&axis.key));
        varied.map_or_else(|| WORKLOAD.to_owned(), |axis| format!("vary {}", axis.key))
    }

    fn nested(&self, path: &Path, key: &str, inner: Complaints) -> Error {
        let mut wrong = Complaints::default();
        wrong.nest(&format!("{}: {}{key}", path.display(), self.place), inner);
        Error::Config(wrong)
    }

    fn refused(&self, path: &Path, key: &str, message: &str, otherwise: &str) -> Error {
        let mut wrong = Complaints::default();
        let (found, wanted) = found_and_wanted(message, otherwise);
        wrong.add(format!("{}: {}{key}", path.display(), self.place), found, wanted);
        Error::Config(wrong)
    }

    /// Keys of the device before any key except the preset is varied.
    fn layers(&self, path: &Path, preset: Option<&str>) -> Result<Layers<'_>> {
        let mut layers = match preset {
            Some(name) => self
                .devices
                .preset(name, || config::preset_table(&self.registry, name))
                .map(Layers::of_preset)
                .map_err(|error| {
                    // A fault within a preset file has its own place.
                    if error.findings().iter().any(|finding| finding.file.is_some()) {
                        return error;
                    }
                    let mut wrong = Complaints::default();
                    let is_varied = self.vary.iter().any(|axis| axis.key == PRESET);
                    let key = if is_varied { "vary preset" } else { PRESET };
                    let finding = error.findings().into_iter().next();
                    let (found, wanted) = finding.map_or_else(
                        || (error.to_string(), "a preset".to_owned()),
                        |finding| (format!("`{name}`"), finding.wanted),
                    );
                    wrong.add(format!("{}: {}{key}", path.display(), self.place), found, wanted);
                    Error::Config(wrong)
                })?,
            None => Layers::default(),
        };
        layers.merge(Layer::Device, self.device.clone());
        Ok(layers)
    }

    /// Returns the device with these keys, and its configuration as text. Leaves out keys that a layer set
    /// for a device which a higher layer replaced.
    fn device_of(&self, path: &Path, layers: Layers<'_>) -> Result<(Arc<dyn Configured>, String)> {
        self.devices.of(format!("{layers:?}"), || self.make_device(path, layers))
    }

    fn make_device(&self, path: &Path, mut layers: Layers<'_>) -> Result<(Arc<dyn Configured>, String)> {
        loop {
            let device = self.registry.of_table(layers.table().clone());
            let device = device.map_err(|inner| Error::Config(layers.placed(path, self.place, inner)))?;
            let idle = layers.idle(path, self.place, &*device).map_err(Error::Config)?;
            if idle.is_empty() {
                return Ok((device, layers.table().to_string()));
            }
            idle.iter().for_each(|key| drop(layers.take(key)));
        }
    }
}

fn check_workload(workload: &Workload, wrong: &mut Complaints) {
    match workload {
        Workload::UniformWrites { drive_writes, queue_depth } => {
            let holds = *drive_writes > 0.0 && *drive_writes <= 1e6;
            wrong.require(holds, "uniform-writes.drive_writes", drive_writes, "above 0 and at most 1e6");
            wrong.require(*queue_depth > 0, "uniform-writes.queue_depth", queue_depth, "at least 1");
        }
        Workload::Generated(workload) => {
            if let Err(inner) = workload.check() {
                wrong.nest("generated", inner);
            }
        }
        Workload::Named(named) => named.check(wrong),
        Workload::Clients(clients) => clients.check(wrong),
        Workload::File(file) => file.check(wrong),
        Workload::Replayed { requests, queue_depth, .. } => {
            wrong.require(*requests != Some(0), "replayed.requests", 0, "at least 1");
            wrong.require(*queue_depth != Some(0), "replayed.queue_depth", 0, "at least 1");
        }
        Workload::Volume(volume) => volume.check(wrong),
    }
}

/// Initial state that a workload asks for.
fn usual_state(workload: &Workload) -> Precondition {
    match workload {
        Workload::Generated(workload) => workload.precondition.into(),
        Workload::Named(named) => named.precondition(),
        Workload::File(file) => file.precondition(),
        // Replayed traces and job files run on a filled device, so that reads find data.
        Workload::UniformWrites { .. }
        | Workload::Replayed { .. }
        | Workload::Clients(_)
        | Workload::Volume(_) => Precondition::Filled(1.0),
    }
}
