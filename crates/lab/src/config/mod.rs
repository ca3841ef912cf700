//! Configuration: TOML layered from preset, file and command line, checked all at once.

mod effect;
pub mod embedded;
mod explain;
mod load;
mod policies;
mod reference;
mod schema;
mod tree;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IntoDeserializer};
use wordline_designs::Design;
use wordline_kernel::{Bytes, Complaint, Complaints};
use wordline_nand::Part;
use wordline_nand::part::PartFile;
use wordline_ssd::{Config, DeviceFile};

use crate::words::found_and_wanted;
use crate::{Error, design, error::Result};
pub use explain::explain;
pub use policies::{Policy, find_policies, policies};
pub use reference::reference;
pub(crate) use schema::follow as follow_schema;
pub use schema::{named, names_of};
pub use wordline_kernel::one_of;

/// The preset that is taken when neither a preset nor a file is named.
pub const DEFAULT_PRESET: &str = "nvme-tlc";

/// The key of the design that a device is of.
pub(crate) const DESIGN: &str = "design";

/// Which device: a preset, a file that changes it or stands alone, and single values on top.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// An embedded preset by name, or a file by its path.
    pub preset: Option<String>,
    /// The user's file.
    pub file: Option<PathBuf>,
    /// Arguments `key=value`, the last one on top.
    pub set: Vec<String>,
}

/// A device that can be simulated.
#[derive(Clone, Debug)]
pub struct Device {
    /// Its name in reports.
    pub name: String,
    /// What it is, in a line; may be empty.
    pub description: String,
    /// What was checked.
    pub config: Config,
    /// The design that it is of, if it names one.
    pub design: Option<Design>,
    /// All of it as one TOML document, which loads as the same device.
    pub text: String,
}

/// A preset, as `presets list` shows it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct PresetInfo {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub description: String,
    /// Where its numbers come from.
    pub source: String,
    /// The design that it is of, if it names one.
    pub design: Option<&'static str>,
    /// Name of its NAND part, that of the first pool.
    pub part: String,
    /// Its chips, those of each pool.
    pub chips: Vec<ChipsInfo>,
    /// Bytes of its flash, of all pools.
    pub physical_bytes: u64,
    /// Bytes that the host sees.
    pub capacity_bytes: u64,
}

/// The chips of a pool of a preset.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ChipsInfo {
    /// Name of their NAND part.
    pub part: String,
    /// How many dies there are.
    pub dies: u32,
    /// Bytes of their flash.
    pub bytes: u64,
}

impl Device {
    /// The device that `selection` describes, or everything that is wrong with it.
    pub fn load(selection: &Selection) -> Result<Self> {
        let mut layered = match (&selection.file, &selection.preset) {
            (Some(file), preset) => load::file(file, preset.as_deref())?,
            (None, preset) => load::preset(preset.as_deref().unwrap_or(DEFAULT_PRESET))?,
        };
        load::arguments(&mut layered.tree, &selection.set)?;
        resolve(layered)
    }

    /// The device `name` of a whole document `text`, with the arguments `key=value` on top; complaints name the document as
    /// `label`.
    pub(crate) fn from_text(label: &str, name: &str, text: &str, set: &[String]) -> Result<Self> {
        let mut layered = load::text(label, name, text)?;
        load::arguments(&mut layered.tree, set)?;
        resolve(layered)
    }

    /// Bytes that the host sees.
    pub fn capacity(&self) -> Bytes {
        self.config.capacity()
    }
}

/// The NAND part `name`, embedded or in the file at that path, or everything that is wrong with it.
pub fn part(name: &str) -> Result<Part> {
    let tree = load::part(name)?;
    schema::part_complaints(&tree).or_ok(()).map_err(Error::Config)?;
    let file = PartFile::deserialize(tree.value.clone().into_deserializer())
        .map_err(|error| backstop(error.message()))?;
    file.check().map_err(|wrong| Error::Config(with_origins(wrong, &tree)))
}

fn resolve(mut layered: load::Layered) -> Result<Device> {
    schema::complaints(&layered.tree).or_ok(()).map_err(Error::Config)?;
    loop {
        let device = resolve_idle(&layered)?;
        let idle = effect::idle_keys(&layered.tree, &device.config).map_err(Error::Config)?;
        if idle.is_empty() {
            return Ok(device);
        }
        idle.into_iter().for_each(|key| layered.tree.remove(key));
    }
}

/// The keys of `table`, of which `config` was made, that a layer set in vain because a higher one made the device another;
/// `layer_of` knows the layer of what stands at a path: what it is called, and how high up it is, 0 being what
/// comes with the program.
///
/// # Errors
/// What was set in vain by nobody's change but that of its own layer.
pub(crate) fn idle_keys(
    table: &toml::Table,
    config: &Config,
    layer_of: &dyn Fn(&str) -> (String, u8),
) -> std::result::Result<Vec<&'static str>, Complaints> {
    let origin = |path: &str| {
        let (name, rank) = layer_of(path);
        tree::Origin::Layer(name.into(), rank)
    };
    effect::idle_keys(&tree::Node::of(&table.clone().into(), "", &origin), config)
}

/// The device with all its keys, those that do nothing on it among them.
fn resolve_idle(layered: &load::Layered) -> Result<Device> {
    let load::Layered { tree, name, description, source } = layered;
    let mut device = tree.clone();
    let design = device.members_mut().and_then(|members| members.remove(DESIGN));
    let design = design.map(|node| Design::deserialize(node.value.into_deserializer())).transpose();
    let design = design.map_err(|error| backstop(error.message()))?;
    let mut file = DeviceFile::deserialize(device.value.into_deserializer())
        .map_err(|error| backstop(error.message()))?;
    let [start, stop] =
        ["start_below", "stop_at"].map(|mark| tree.origin_of(&format!("ftl.gc.{mark}_free_blocks")).1);
    file.ftl.gc.raise_marks(file.streams(), start, stop);
    let text = text_of(name, description, source, &table(&file, design.as_ref()))?;
    let config =
        design::check(file, design.as_ref()).map_err(|wrong| Error::Config(with_origins(wrong, tree)))?;
    let (name, description) = (name.clone(), description.clone());
    Ok(Device { name, description, config, design, text })
}

/// Serde found what the schema allows.
fn backstop(message: &str) -> Error {
    let mut wrong = Complaints::default();
    let (found, wanted) = found_and_wanted(message, "values that fit their keys");
    wrong.add("the configuration", found, wanted);
    Error::Config(wrong)
}

/// Reads a `T` from the TOML text of the source called `name`: held against its schema, then to `check`.
///
/// # Errors
/// Everything that is wrong, each with source, line and key, what was found and what was wanted.
pub(crate) fn read<T: DeserializeOwned + JsonSchema>(
    name: &str,
    text: &str,
    check: impl Fn(&T) -> std::result::Result<(), Complaints>,
) -> std::result::Result<T, Complaints> {
    let tree = tree::parse(name, text)?;
    schema::complaints_of::<T>(&tree).or_ok(())?;
    let value = T::deserialize(tree.value.clone().into_deserializer()).map_err(|error| {
        let mut wrong = Complaints::default();
        let (found, wanted) = found_and_wanted(error.message(), "values that fit their keys");
        wrong.add(name, found, wanted);
        wrong
    })?;
    check(&value).map_err(|wrong| with_origins(wrong, &tree))?;
    Ok(value)
}

/// All keys of a device, its design among them.
pub(crate) fn table(file: &DeviceFile, design: Option<&Design>) -> toml::Table {
    let mut table = toml::Table::try_from(file).expect("a device file is TOML");
    if let Some(design) = design {
        table.insert(DESIGN.into(), toml::Value::try_from(design).expect("a design is TOML"));
    }
    table
}

fn text_of(name: &str, description: &str, source: &str, device: &toml::Table) -> Result<String> {
    let mut text = String::new();
    for (key, value) in [("name", name), ("description", description), ("source", source)] {
        if !value.is_empty() {
            text += &format!("{key} = {}\n", toml::Value::from(value));
        }
    }
    Ok(text + &toml::to_string(device).map_err(|error| backstop(&error.to_string()))?)
}

/// Says for each complaint where its value was written, or that it is a default.
fn with_origins(wrong: Complaints, tree: &tree::Node) -> Complaints {
    let label = |complaint: Complaint| {
        let key = match tree.origin_of(&complaint.key) {
            (origin, true) => origin.label(&complaint.key),
            (_, false) => format!("{} (default)", complaint.key),
        };
        Complaint { key, ..complaint }
    };
    Complaints(wrong.0.into_iter().map(label).collect())
}

/// All embedded presets, by name.
pub fn presets() -> Result<Vec<PresetInfo>> {
    let info = |(name, _): &embedded::Embedded| {
        let layered = load::preset(name)?;
        let source = layered.source.clone();
        let Device { name, description, config, design, .. } = resolve(layered)?;
        let chips = config.pools.iter().map(|pool| ChipsInfo {
            part: pool.part.name.clone(),
            dies: pool.geometry.dies(),
            bytes: pool.geometry.capacity().0,
        });
        Ok(PresetInfo {
            name,
            description,
            source,
            design: design.map(|design| design.name()),
            part: config.part().name.clone(),
            chips: chips.collect(),
            physical_bytes: config.pools.capacity().0,
            capacity_bytes: config.capacity().0,
        })
    };
    embedded::PRESETS.iter().map(info).collect()
}

/// The text of the embedded preset `name`.
pub fn preset_text(name: &str) -> Option<&'static str> {
    embedded::text_of(name, embedded::PRESETS)
}

/// Every key of the embedded preset `name`, with what it builds on and all defaults.
///
/// # Errors
/// [`Error::Config`] with the names that there are.
pub fn preset_table(name: &str) -> Result<toml::Table> {
    let device = resolve(load::preset(name)?)?;
    Ok(table(&device.config.file, device.design.as_ref()))
}

/// The JSON Schema of device files.
pub fn schema() -> String {
    serde_json::to_string_pretty(&schema::file()).expect("a schema is JSON")
}

#[cfg(test)]
mod effect_tests;
#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod tests;
