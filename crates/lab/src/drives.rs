//! The classes of drives among the presets. The record `data/drives.toml` has the public figures of each class
//! beside the figures of its preset. `docs/drives.md` shows them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The record of all classes.
static RECORD: LazyLock<Record> = LazyLock::new(|| {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/drives.toml"));
    toml::from_str(text).unwrap_or_else(|error| panic!("data/drives.toml: {error}"))
});

/// `data/drives.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    /// Presets that are not drives, by what they are for.
    others: BTreeMap<String, Vec<String>>,
    /// The classes of drives.
    drive: Vec<DriveClass>,
}

/// A class of drives, which a preset stands for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveClass {
    /// Preset.
    pub preset: String,
    /// The class and the capacity of its drives.
    pub class: String,
    /// Blocks of the drive for each block of the preset.
    pub scale: u32,
    /// The class has no table of its own: the preset is another one with more blocks.
    #[serde(default)]
    pub as_preset: Option<String>,
    /// Public figures beside the figures of the preset.
    #[serde(default)]
    pub figure: Vec<Figure>,
}

/// A public figure of a class beside the figure of its preset.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The measured quantity.
    pub what: Quantity,
    /// The figure of the preset.
    pub ours: f64,
    /// The least and the largest public figure; empty if there is none.
    pub public: Vec<f64>,
    /// Sources of the public figures.
    pub source: String,
    /// The reason for a difference of more than 30 %.
    #[serde(default)]
    pub reason: Option<String>,
}

/// A quantity of `docs/drives.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Sequential reads in MB/s.
    SequentialRead,
    /// Sequential writes into an erased drive in MB/s.
    SequentialWrite,
    /// Data written at that rate in GB, at the capacity of the class.
    Cache,
    /// Sequential writes after the cache in MB/s.
    AfterCache,
    /// Random reads a second.
    RandomRead,
    /// Random writes a second into an erased drive.
    RandomWriteFresh,
    /// Random writes a second in steady state.
    RandomWriteSteady,
    /// Write amplification of these writes.
    WriteAmplification,
    /// Mean latency of a random read at a queue depth of 1 in microseconds.
    ReadLatency,
    /// Mean latency of a random write at a queue depth of 1 in microseconds.
    WriteLatency,
}

impl DriveClass {
    /// The figure of the preset for a quantity, if the record has it.
    pub fn figure(&self, what: Quantity) -> Option<f64> {
        self.figure.iter().find(|figure| figure.what == what).map(|figure| figure.ours)
    }
}

/// All classes, in the order of `docs/drives.md`.
pub fn classes() -> &'static [DriveClass] {
    &RECORD.drive
}

/// The presets that are not drives.
pub fn others() -> impl Iterator<Item = &'static str> {
    RECORD.others.values().flatten().map(|name| &**name)
}

/// The class that a preset stands for; `None` if it is not a drive.
pub fn class_of(preset: &str) -> Option<&'static DriveClass> {
    RECORD.drive.iter().find(|drive| drive.preset == preset)
}

/// The use of a preset: its class, or `twin`, `benchmark`, `paper` or `test`; `None` for a preset from another crate.
pub fn kind_of(preset: &str) -> Option<&'static str> {
    let other = || RECORD.others.iter().find(|(_, presets)| presets.iter().any(|name| name == preset));
    class_of(preset).map(|drive| &*drive.class).or_else(|| other().map(|(kind, _)| &**kind))
}

/// Random writes of 4 KiB a second in steady state, as the record has them.
pub fn steady_writes(preset: &str) -> Option<f64> {
    let drive = class_of(preset)?;
    let whole = drive.as_preset.as_deref().and_then(class_of);
    whole.unwrap_or(drive).figure(Quantity::RandomWriteSteady)
}
