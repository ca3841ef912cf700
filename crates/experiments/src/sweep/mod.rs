//! Sweeps over devices: the varied keys, and their runs.

pub(crate) mod axes;
mod clients;
mod device_cache;
mod layers;
mod named;
mod space;
pub(crate) mod volume;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wordline_kernel::Complaints;
use wordline_ssd::Config;
use wordline_ssd::config::Scope;

use crate::judge::column;
use crate::options::Options;
use axes::{Axis, Points};
use clients::Clients;
pub use device_cache::DeviceCache;
use layers::{Layer, Layers};
use named::Named;
use wordline_lab::config;
use wordline_lab::devices::{Configured, Registry, as_ssd};
use wordline_lab::error::{Error, Result};
use wordline_lab::trace::workload::Workload as Generated;
use wordline_lab::words::found_and_wanted;
use wordline_lab::{Precondition, WarmUp};

pub use space::Space;

/// Prefix of the keys of the workload; all others are the device's.
const WORKLOAD: &str = "workload";

/// Key of the precondition, if varied.
const PRECONDITION: &str = "precondition";

/// Key of the snapshot from which the device is restored, if varied.
const SNAPSHOT: &str = "from_snapshot";

/// Key of the preset that the device builds on.
const PRESET: &str = "preset";

/// Key of the power cut, if varied.
const POWER_CUT: &str = "power_cut_after";

/// One run for each combination of varied keys.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Preset that the device builds on; none if not given.
    pub preset: Option<String>,
    /// Device, as in a configuration file, or its changes to the preset.
    #[serde(default)]
    pub device: toml::Table,
    /// Workload.
    pub workload: Workload,
    /// Precondition; if not given: a generated workload's own, and filled for a trace.
    pub precondition: Option<InitialState>,
    /// Snapshot from which it is restored instead of a precondition; only in studies.
    #[serde(skip)]
    pub from_snapshot: Option<PathBuf>,
    /// Number of completed requests after which the power is cut and restored; if not given, it is not cut.
    pub power_cut_after: Option<u64>,
    /// Warm-up excluded from the result. If not given: none in an experiment, as published values include it
    /// unless stated otherwise; in a study as in a run.
    #[serde(default = "all_is_measured")]
    pub warm_up: Option<WarmUp>,
    /// Whether results report every value as counted: in experiments, which state the condition of their
    /// devices.
    #[serde(skip, default = "is_experiment")]
    pub as_counted: bool,
    /// Varied keys: `workload.` before keys of the workload, `preset` for the preset, `precondition` for the
    /// precondition, `from_snapshot` for a snapshot and `power_cut_after` for the power cut; the last one
    /// varies fastest.
    #[serde(default)]
    pub vary: Vec<Axis>,
    /// The scaled-down sweep; if not given, it is the full one.
    pub quick: Option<Quick<Workload>>,
    /// Device types that it may name.
    #[serde(skip)]
    pub registry: Registry,
    /// Prefix of its keys in the file, for errors: a path with a trailing dot, or empty.
    #[serde(skip)]
    pub place: &'static str,
    /// Cache of its devices.
    #[serde(skip)]
    pub devices: DeviceCache,
}

/// The scaled-down sweep.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick<W> {
    /// Description of the sizes scaled down, and of the effect.
    pub says: String,
    /// Dotted keys that are overridden.
    #[serde(default)]
    pub set: toml::Table,
    /// The workload instead.
    pub workload: Option<W>,
    /// Varied keys that replace those with the same key: some of their values, possibly with other settings.
    #[serde(default)]
    pub vary: Vec<Axis>,
}

/// State of a device before the first request.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum InitialState {
    /// Nothing was ever written.
    Empty {},
    /// A fraction was written once, in order.
    Filled {
        /// The fraction.
        fraction: f64,
    },
    /// Overwritten at random until the write amplification was stable.
    Steady {
        /// Fraction of the logical pages that hold data, the first ones; all if not given.
        fraction: Option<f64>,
        /// Whether all addresses of the volume hold data if they exceed the fraction, so that its reads find
        /// data.
        #[serde(default)]
        covers_volume: bool,
    },
}

/// Workload of a point of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Workload {
    /// Whole-page writes, uniform over the logical pages.
    UniformWrites {
        /// Number of times the logical capacity is written.
        drive_writes: f64,
        /// Outstanding requests.
        queue_depth: u32,
    },
    /// A generated workload, with the keys of a workload file.
    Generated(Box<Generated>),
    /// A built-in pattern or application.
    Named(Named),
    /// A recorded trace, its addresses wrapped into the device. It is not run without the user's folder of
    /// traces, which the outcome notes.
    Replayed {
        /// File in the folder of traces.
        trace: PathBuf,
        /// Outstanding requests, ignoring recorded times; recorded times if not given.
        queue_depth: Option<u32>,
        /// Maximum number of requests; all if not given.
        requests: Option<u64>,
    },
    /// Several clients, each at its own pace.
    Clients(Clients),
    /// A volume of a paper's trace table: the recorded trace if the user's folder has it, otherwise its
    /// profile.
    Volume(Volume),
}

/// A volume, its addresses wrapped into the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// `PAPER/VOLUME`.
    pub profile: String,
    /// Outstanding requests, ignoring recorded times; if not given: recorded times, without a limit on
    /// outstanding requests. With a `time_scale`: recorded times with this limit on outstanding requests.
    pub queue_depth: Option<u32>,
    /// Factor on request times: 0.5 is twice as fast; 1 if not given, or no times with a `queue_depth`.
    pub time_scale: Option<f64>,
    /// Recording whose bursts the profile has; independent arrivals if not given. A recorded trace has its
    /// own.
    pub bursts: Option<String>,
    /// Duration of the whole profile; a recorded trace has its own.
    #[serde(default)]
    pub duration: ProfileDuration,
    /// Fraction of the requests that is run: of a profile with the footprint in proportion, of a recorded
    /// trace the first ones.
    #[serde(default = "whole")]
    pub scale: f64,
    /// The warm-up of the device by this volume, whose own streams and clock bring it to the state that the volume leaves; left out: none.
    pub settle: Option<Settle>,
}

/// A warm-up by whole passes over a volume, until the counters of the device grow by as much in a pass as in the one before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// Columns of the result of a pass that must stand still.
    pub columns: Vec<String>,
    /// The largest relative change of a column from one pass to the next.
    pub within: f64,
    /// Passes at the most.
    pub most: u32,
}

/// Duration of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileDuration {
    /// As the profile chooses.
    #[default]
    AsChosen,
    /// Shortened to the fraction that its requests are of the whole recording.
    AsExtract,
}

/// True: a sweep read from a file is an experiment.
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
    /// The device, checked.
    pub device: Arc<dyn Configured>,
    /// The device as text, for a reproducer.
    pub config_text: String,
    /// Workload.
    pub workload: Workload,
    /// Precondition.
    pub precondition: Precondition,
    /// Snapshot from which it is restored instead.
    pub from_snapshot: Option<PathBuf>,
    /// Whether more than that is filled if the volume's addresses extend further.
    pub covers_volume: bool,
    /// Number of completed requests after which the power is cut, if it is.
    pub power_cut_after: Option<u64>,
    /// Warm-up excluded from the result; `None` for the default of a run.
    pub warm_up: Option<WarmUp>,
    /// Whether the result reports every value as counted.
    pub as_counted: bool,
    /// Folder of recorded traces, if any.
    pub traces: Option<PathBuf>,
    /// Seed of all random streams.
    pub seed: u64,
}

impl Point {
    /// Whether it is a point of an SSD, as models require.
    pub(crate) fn is_of_ssd(&self) -> bool {
        as_ssd(&self.device).is_some()
    }

    /// Configuration of its SSD.
    pub(crate) fn config(&self) -> &Config {
        &as_ssd(&self.device).expect("what asks for it was told that it is an SSD").config
    }

    /// Number of flash pools; a device without any counts as one empty pool.
    pub(crate) fn pools(&self) -> usize {
        self.device.chips().len().max(1)
    }

    /// Space available to GC, which keeps `ftl.gc.stop_at_free_blocks` blocks of each plane group free. A
    /// superblock is one block with the pages of all plane groups.
    pub(crate) fn space(&self) -> Space {
        let config = self.config();
        let geometry = config.geometry();
        let per_row = config.locations().per_block();
        let pages_per_block = match config.file.ftl.gc.scope {
            Scope::Row => per_row,
            Scope::SuperBlock => per_row * geometry.rows(),
        };
        let blocks = geometry.blocks_per_plane.saturating_sub(config.file.ftl.gc.stop_at_free_blocks);
        Space {
            pages_per_block,
            logical_pages: f64::from(config.logical_pages),
            physical_pages: f64::from(blocks) * f64::from(geometry.rows()) * f64::from(per_row),
        }
    }

    /// Returns the warm-up excluded from the result, and the number of additional requests that a generator
    /// gets for it.
    pub(crate) fn warm_up(&self) -> (WarmUp, u64) {
        let is_generated = match &self.workload {
            Workload::UniformWrites { .. }
            | Workload::Generated(_)
            | Workload::Named(_)
            | Workload::Clients(_) => true,
            Workload::Replayed { .. } | Workload::Volume(_) => false,
        };
        let is_empty = self.from_snapshot.is_none() && self.precondition == Precondition::Empty;
        let warm_up = self.warm_up.unwrap_or_else(|| WarmUp::usual(is_generated, is_empty));
        (warm_up, if is_generated { warm_up.beside() } else { 0 })
    }

    /// Returns the generated workload, if it is one.
    pub(crate) fn generated(&self) -> Option<&Generated> {
        if let Workload::Generated(workload) = &self.workload { Some(workload) } else { None }
    }

    /// File of a recorded trace that is missing.
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
        let before = layers.take(PRECONDITION).map(toml::Value::try_into::<InitialState>).transpose();
        let before = before.map_err(|error| self.refused(path, PRECONDITION, error.message(), "a state"))?;
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
        let workload: Workload = layers.take(WORKLOAD).expect("it was put there").try_into().map_err(
            |error: toml::de::Error| self.refused(path, "workload", error.message(), "a workload"),
        )?;
        let (device, config_text) = self.device_of(path, layers)?;
        let mut inner = Complaints::default();
        check_workload(&workload, &mut inner);
        inner.into_result(()).map_err(|inner| self.nested(path, "workload", inner))?;
        let mut inner = Complaints::default();
        check_before(before, &mut inner);
        inner.into_result(()).map_err(|inner| self.nested(path, "vary", inner))?;
        let precondition = precondition(before, &workload);
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
            as_counted: self.as_counted,
            traces,
            seed,
        })
    }
}

impl Sweep {
    /// Errors in it that can be found without a device: key, what was found, what was expected.
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
            before => check_before(before, &mut wrong),
        }
        wrong.0.into_iter().map(|complaint| (complaint.key, complaint.found, complaint.wanted)).collect()
    }

    /// Precondition of its runs as text; `None` if it is varied.
    pub fn state_in_words(&self) -> Option<String> {
        if self.vary.iter().any(|axis| [PRECONDITION, SNAPSHOT].contains(&axis.key.as_str())) {
            return None;
        }
        Some(match &self.from_snapshot {
            Some(path) => format!("from snapshot {}", path.file_name().unwrap_or_default().display()),
            None => precondition(self.precondition, &self.workload).in_words(),
        })
    }

    /// Valid columns instead of one that no device of its types has.
    pub fn unknown_column(&self, column: &str) -> Option<String> {
        column::unknown_summary_column(&self.registry, column)
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

    /// Keys of the device before anything except the preset is varied.
    fn layers(&self, path: &Path, preset: Option<&str>) -> Result<Layers<'_>> {
        let mut layers = match preset {
            Some(name) => self
                .devices
                .preset(name, || config::preset_table(&self.registry, name))
                .map(Layers::of_preset)
                .map_err(|error| self.refused(path, "preset", &error.to_string(), "a preset"))?,
            None => Layers::default(),
        };
        layers.merge(Layer::Device, self.device.clone());
        Ok(layers)
    }

    /// Returns the device of these keys, and its text. Omits keys that a layer set for a device which a
    /// higher layer replaced.
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

fn check_before(before: Option<InitialState>, wrong: &mut Complaints) {
    match before {
        Some(InitialState::Filled { fraction }) => {
            let holds = (0.0..=1.0).contains(&fraction);
            wrong.require(holds, "precondition.filled.fraction", fraction, "a fraction from 0 to 1");
        }
        Some(InitialState::Steady { fraction: Some(fraction), .. }) => {
            let holds = fraction > 0.0 && fraction <= 1.0;
            wrong.require(holds, "precondition.steady.fraction", fraction, "a fraction above 0, up to 1");
        }
        Some(InitialState::Empty {} | InitialState::Steady { fraction: None, .. }) | None => {}
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
        Workload::Replayed { requests, queue_depth, .. } => {
            wrong.require(*requests != Some(0), "replayed.requests", 0, "at least 1");
            wrong.require(*queue_depth != Some(0), "replayed.queue_depth", 0, "at least 1");
        }
        Workload::Volume(volume) => volume.check(wrong),
    }
}

fn precondition(before: Option<InitialState>, workload: &Workload) -> Precondition {
    match (before, workload) {
        (Some(InitialState::Empty {}), _) => Precondition::Empty,
        (Some(InitialState::Filled { fraction }), _) => Precondition::Filled(fraction),
        (Some(InitialState::Steady { fraction: None, .. }), _) => Precondition::Steady,
        (Some(InitialState::Steady { fraction: Some(fraction), .. }), _) => Precondition::SteadyTo(fraction),
        (None, Workload::Generated(workload)) => workload.precondition.into(),
        (None, Workload::Named(named)) => named.precondition(),
        // As for any replayed trace or job file: reads find data.
        (None, _) => Precondition::Filled(1.0),
    }
}
