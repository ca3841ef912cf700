//! Sweeps over devices: what is varied, and the runs that follow.

pub(crate) mod axes;
mod clients;
mod layers;
mod made;
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
use layers::{Layer, Layers};
pub use made::Devices;
use named::Named;
use wordline_lab::config;
use wordline_lab::devices::{Configured, Registry, as_ssd};
use wordline_lab::error::{Error, Result};
use wordline_lab::trace::workload::Workload as Generated;
use wordline_lab::words::found_and_wanted;
use wordline_lab::{Precondition, WarmUp};

pub use space::Space;

/// Keys that begin with this are those of the workload; all others are the device's.
const WORKLOAD: &str = "workload";

/// The key of the state before, where that is varied.
const PRECONDITION: &str = "precondition";

/// The key of the snapshot that the device is restored from, where that is varied.
const SNAPSHOT: &str = "from_snapshot";

/// The key of the preset that the device builds on.
const PRESET: &str = "preset";

/// The key of the power cut, where that is varied.
const POWER_CUT: &str = "power_cut_after";

/// One run for each combination of varied keys.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The preset that the device builds on; left out: none.
    pub preset: Option<String>,
    /// The device, as in a configuration file, or what it changes of the preset.
    #[serde(default)]
    pub device: toml::Table,
    /// The workload that it runs.
    pub workload: Workload,
    /// Its state before; left out: a generated workload's own, and filled for a trace.
    pub precondition: Option<Before>,
    /// The snapshot that it is restored from in place of a state before, which studies alone have.
    #[serde(skip)]
    pub from_snapshot: Option<PathBuf>,
    /// How many requests are answered when the power is cut and comes back; left out: it is not cut.
    pub power_cut_after: Option<u64>,
    /// How much of the beginning of the load is left out of the result. Left out: nothing in an experiment, for what is published counts it
    /// unless it says otherwise; in a study as in a run.
    #[serde(default = "all_is_measured")]
    pub warm_up: Option<WarmUp>,
    /// Whether its results have every value as it was counted: those of an experiment, which states in which state its devices are.
    #[serde(skip, default = "is_experiment")]
    pub as_counted: bool,
    /// The varied keys, `workload.` before those of the workload, `preset` for the preset, `precondition` for the state
    /// before, `from_snapshot` for a snapshot and `power_cut_after` for the power cut; the last one varies fastest.
    #[serde(default)]
    pub vary: Vec<Axis>,
    /// The scaled-down sweep; left out: it is whole.
    pub quick: Option<Quick<Workload>>,
    /// The types of devices that it may name.
    #[serde(skip)]
    pub registry: Registry,
    /// The place of its keys in the file, for errors: a path with a dot at its end, or nothing.
    #[serde(skip)]
    pub place: &'static str,
    /// Its devices that were made.
    #[serde(skip)]
    pub devices: Devices,
}

/// The scaled-down sweep.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick<W> {
    /// The sizes scaled down, and the cost of that.
    pub says: String,
    /// Keys, with dots, that take other values.
    #[serde(default)]
    pub set: toml::Table,
    /// The workload instead.
    pub workload: Option<W>,
    /// Varied keys instead of those with the same key: some of their values, which may set something else.
    #[serde(default)]
    pub vary: Vec<Axis>,
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
    Steady {
        /// The fraction of the logical pages that hold data, the first ones; left out: all.
        fraction: Option<f64>,
        /// Whether all addresses of the volume hold data where these are more than the fraction, so that its reads find some.
        #[serde(default)]
        covers_volume: bool,
    },
}

/// The workload of a point of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Workload {
    /// Pages written whole, each logical page equally likely.
    UniformWrites {
        /// How often the logical capacity is written.
        drive_writes: f64,
        /// Requests outstanding.
        queue_depth: u32,
    },
    /// A generated workload, with the keys of a workload file.
    Generated(Box<Generated>),
    /// A pattern or an application that comes with the program.
    Named(Named),
    /// A recorded trace, its addresses wrapped into the device. It is not run without the user's folder of traces, and
    /// the outcome says so.
    Replayed {
        /// The file in the folder of traces.
        trace: PathBuf,
        /// Requests outstanding, whatever their times are; left out: at their own times.
        queue_depth: Option<u32>,
        /// At most this many requests; left out: all.
        requests: Option<u64>,
    },
    /// Several clients, each at its own pace.
    Clients(Clients),
    /// A volume of a paper's trace table: the recorded trace where the user's folder has it, its profile elsewhere.
    Volume(Volume),
}

/// A volume, its addresses wrapped into the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// `PAPER/VOLUME`.
    pub profile: String,
    /// Requests outstanding, whatever their times are; left out: at their own times, any number outstanding. Beside a `time_scale`: at most this
    /// many outstanding, at their own times.
    pub queue_depth: Option<u32>,
    /// Factor on the times of requests: 0.5 is twice as fast; left out: 1, or no times beside a `queue_depth`.
    pub time_scale: Option<f64>,
    /// The recording whose bursts the profile has; left out: requests know nothing of each other. A recorded trace has its own.
    pub bursts: Option<String>,
    /// The time that the whole profile takes; a recorded trace has its own.
    #[serde(default)]
    pub duration: Lasts,
    /// The part of the requests that is run: of a profile with the footprint in proportion, of a recorded trace the first
    /// ones.
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

/// The time that a profile takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lasts {
    /// As the profile chooses.
    #[default]
    AsChosen,
    /// The part of that which its requests are of the whole recording.
    AsExtract,
}

/// A sweep that is read from a file is one.
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
    /// The varied keys with their values here.
    pub settings: toml::Table,
    /// The device, checked.
    pub device: Arc<dyn Configured>,
    /// The device as text, for a reproducer.
    pub config_text: String,
    /// The workload that it runs.
    pub workload: Workload,
    /// Its state before.
    pub precondition: Precondition,
    /// The snapshot that it is restored from in place of that.
    pub from_snapshot: Option<PathBuf>,
    /// Whether more than that is filled where the volume's addresses reach further.
    pub covers_volume: bool,
    /// How many requests are answered when the power is cut, if it is.
    pub power_cut_after: Option<u64>,
    /// How much of the beginning of its load is left out; none where it is as in a run.
    pub warm_up: Option<WarmUp>,
    /// Whether the result has every value as it was counted.
    pub as_counted: bool,
    /// The folder of recorded traces, where there is one.
    pub traces: Option<PathBuf>,
    /// The seed of all random streams.
    pub seed: u64,
}

impl Point {
    /// Whether it is of an SSD, as the models of one want.
    pub(crate) fn is_of_ssd(&self) -> bool {
        as_ssd(&self.device).is_some()
    }

    /// The configuration of its SSD.
    pub(crate) fn config(&self) -> &Config {
        &as_ssd(&self.device).expect("what asks for it was told that it is an SSD").config
    }

    /// Its pools of flash; a device without any has one that nothing is in.
    pub(crate) fn pools(&self) -> usize {
        self.device.chips().len().max(1)
    }

    /// The space in which the collector works: it keeps `ftl.gc.stop_at_free_blocks` blocks of each row free. A super block
    /// is a block with the pages of all rows.
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

    /// How much of the beginning of its load is left out, and how many requests a generator has for that beside those that are measured.
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

    /// The generated workload, if it is one.
    pub(crate) fn generated(&self) -> Option<&Generated> {
        if let Workload::Generated(workload) = &self.workload { Some(workload) } else { None }
    }

    /// The file of a recorded trace that is not there.
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
        axes::instead(&self.vary, quick.map_or(&[], |quick| &quick.vary))
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
        let before = layers.take(PRECONDITION).map(toml::Value::try_into::<Before>).transpose();
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
        inner.or_ok(()).map_err(|inner| self.nested(path, "workload", inner))?;
        let mut inner = Complaints::default();
        check_before(before, &mut inner);
        inner.or_ok(()).map_err(|inner| self.nested(path, "vary", inner))?;
        let precondition = precondition(before, &workload);
        let covers_volume = matches!(before, Some(Before::Steady { covers_volume: true, .. }));
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
    /// The errors in it that can be seen without a device: key, what was found, what was wanted.
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

    /// The state before its runs in words; none where it is varied.
    pub fn state_in_words(&self) -> Option<String> {
        if self.vary.iter().any(|axis| [PRECONDITION, SNAPSHOT].contains(&axis.key.as_str())) {
            return None;
        }
        Some(match &self.from_snapshot {
            Some(path) => format!("from snapshot {}", path.file_name().unwrap_or_default().display()),
            None => precondition(self.precondition, &self.workload).in_words(),
        })
    }

    /// The columns wanted in place of one that no device of its types has.
    pub fn astray(&self, column: &str) -> Option<String> {
        column::astray_in_summary(&self.registry, column)
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

    /// The keys of the device before any but the preset is varied.
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

    /// The device of these keys, and its text. A key that a layer set for a device which a higher layer replaced is left
    /// out.
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

fn check_before(before: Option<Before>, wrong: &mut Complaints) {
    match before {
        Some(Before::Filled { fraction }) => {
            let holds = (0.0..=1.0).contains(&fraction);
            wrong.require(holds, "precondition.filled.fraction", fraction, "a fraction from 0 to 1");
        }
        Some(Before::Steady { fraction: Some(fraction), .. }) => {
            let holds = fraction > 0.0 && fraction <= 1.0;
            wrong.require(holds, "precondition.steady.fraction", fraction, "a fraction above 0, up to 1");
        }
        Some(Before::Empty {} | Before::Steady { fraction: None, .. }) | None => {}
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

fn precondition(before: Option<Before>, workload: &Workload) -> Precondition {
    match (before, workload) {
        (Some(Before::Empty {}), _) => Precondition::Empty,
        (Some(Before::Filled { fraction }), _) => Precondition::Filled(fraction),
        (Some(Before::Steady { fraction: None, .. }), _) => Precondition::Steady,
        (Some(Before::Steady { fraction: Some(fraction), .. }), _) => Precondition::SteadyTo(fraction),
        (None, Workload::Generated(workload)) => workload.precondition.into(),
        (None, Workload::Named(named)) => named.precondition(),
        // As wherever a trace is replayed or a job file run: reads find data.
        (None, _) => Precondition::Filled(1.0),
    }
}
