//! Configuration: TOML layered from preset, file and command line, checked all at once.

mod effect;
pub mod embedded;
pub(crate) mod explain;
mod load;
mod policies;
mod reference;
pub(crate) mod schema;
pub(crate) mod tree;
mod unasked;

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IntoDeserializer};
use wordline_kernel::{Bytes, Complaint, Complaints};
use wordline_nand::Part;
use wordline_nand::part::PartFile;

use crate::devices::{ChipsInfo, Configured, Registry, Ssd, as_ssd};
use crate::words::found_and_wanted;
use crate::{Error, error::Result};
pub(crate) use effect::idle_keys as idle_keys_of_ssd;
pub use explain::explain;
pub(crate) use load::cells;
pub use policies::{Policy, find_policies, policies};
pub use reference::{page_of_device, reference};
pub use schema::follow as follow_schema;
pub use schema::{named, names_of};
pub use wordline_kernel::one_of;

/// The preset that is taken when neither a preset nor a file is named.
pub const DEFAULT_PRESET: &str = "nvme-tlc";

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
    /// Its description, in a line; may be empty.
    pub description: String,
    /// The checked configuration, of whichever device type.
    pub configured: Arc<dyn Configured>,
    /// All of it as one TOML document, which loads as the same device.
    pub text: String,
}

/// A preset, as `presets list` shows it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct PresetInfo {
    /// Its name.
    pub name: String,
    /// Its description, in a line.
    pub description: String,
    /// Where its numbers come from.
    pub source: String,
    /// The type of the device.
    pub device: &'static str,
    /// The designs that it names, with commas between them; none if it names none.
    pub design: Option<String>,
    /// Name of its NAND part, that of the first pool; empty without flash.
    pub part: String,
    /// Its chips, those of each pool.
    pub chips: Vec<ChipsInfo>,
    /// Bytes of its flash, of all pools.
    pub physical_bytes: u64,
    /// Bytes that the host sees.
    pub capacity_bytes: u64,
}

/// The keys of a device while they are looked at.
pub struct Keys<'a>(pub(crate) &'a tree::Node);

impl Device {
    /// The device that `selection` describes, of a type that is built in, or everything that is wrong with it.
    pub fn load(selection: &Selection) -> Result<Self> {
        Self::load_of(&Registry::default(), selection)
    }

    /// The same of any type of a registry.
    pub fn load_of(registry: &Registry, selection: &Selection) -> Result<Self> {
        let mut layered = match (&selection.file, &selection.preset) {
            (Some(file), preset) => load::file(registry, file, preset.as_deref())?,
            (None, preset) => load::preset(registry, preset.as_deref().unwrap_or(DEFAULT_PRESET))?,
        };
        load::arguments(registry, &mut layered, &selection.set)?;
        resolve(registry, layered)
    }

    /// The device `name` of a whole document `text`, with the arguments `key=value` on top; complaints name the document as
    /// `label`.
    pub(crate) fn from_text(
        registry: &Registry,
        label: &str,
        name: &str,
        text: &str,
        set: &[String],
    ) -> Result<Self> {
        let mut layered = load::text(registry, label, name, text)?;
        load::arguments(registry, &mut layered, set)?;
        resolve(registry, layered)
    }

    /// Bytes that the host sees.
    pub fn capacity(&self) -> Bytes {
        self.configured.shape().capacity
    }

    /// The SSD that it is, if it is one.
    pub fn ssd(&self) -> Option<&Ssd> {
        as_ssd(&self.configured)
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

fn resolve(registry: &Registry, mut layered: load::Layered) -> Result<Device> {
    let entry = registry.take_from(&mut layered.tree)?;
    let configured = entry.resolve(&mut layered.tree, registry.designs())?;
    described(layered, configured)
}

/// The keys of `table`, of which `device` was made, that a layer set in vain because a higher one made the device another;
/// `layer_of` knows the layer of what stands at a path: what it is called, and how high up it is, 0 being what
/// comes with the program.
///
/// # Errors
/// A key that was set and has no effect, unless a later layer took its effect away: one complaint for each.
pub fn idle_keys(
    table: &toml::Table,
    device: &dyn Configured,
    layer_of: &dyn Fn(&str) -> (String, u8),
) -> std::result::Result<Vec<String>, Complaints> {
    let origin = |path: &str| {
        let (name, rank) = layer_of(path);
        tree::Origin::Layer(name.into(), rank)
    };
    device.idle_keys(&Keys(&tree::Node::of(&table.clone().into(), "", &origin)))
}

/// A device with what its document says of it.
fn described(layered: load::Layered, configured: Arc<dyn Configured>) -> Result<Device> {
    let load::Layered { name, description, source, .. } = layered;
    let text = text_of(&name, &description, &source, &configured.table())?;
    Ok(Device { name, description, configured, text })
}

/// Serde found what the schema allows.
pub(crate) fn backstop(message: &str) -> Error {
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
pub(crate) fn with_origins(wrong: Complaints, tree: &tree::Node) -> Complaints {
    let label = |complaint: Complaint| {
        let key = match tree.origin_of(&complaint.key) {
            (origin, true) => origin.label(&complaint.key),
            (_, false) => format!("{} (default)", complaint.key),
        };
        Complaint { key, ..complaint }
    };
    Complaints(wrong.0.into_iter().map(label).collect())
}

/// All presets of a registry.
pub fn presets(registry: &Registry) -> Result<Vec<PresetInfo>> {
    let info = |(name, _): &embedded::Embedded| {
        let layered = load::preset(registry, name)?;
        let source = layered.source.clone();
        let device = resolve(registry, layered)?;
        let names: Vec<&str> = device.ssd().into_iter().flat_map(|ssd| ssd.designs.names()).collect();
        let design = (!names.is_empty()).then(|| names.join(", "));
        let Device { name, description, configured, .. } = device;
        let chips = configured.chips();
        Ok(PresetInfo {
            name,
            description,
            source,
            device: configured.device_type(),
            design,
            part: chips.first().map(|chips| chips.part.clone()).unwrap_or_default(),
            physical_bytes: chips.iter().map(|chips| chips.bytes).sum(),
            capacity_bytes: configured.shape().capacity.0,
            chips,
        })
    };
    registry.presets().map(info).collect()
}

/// The text of the preset `name`.
pub fn preset_text(registry: &Registry, name: &str) -> Option<&'static str> {
    registry.presets().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Every key of the preset `name`, with what it builds on and all defaults.
///
/// # Errors
/// [`Error::Config`] with the names that there are.
pub fn preset_table(registry: &Registry, name: &str) -> Result<toml::Table> {
    Ok(resolve(registry, load::preset(registry, name)?)?.configured.table())
}

/// The JSON Schema of device files.
pub fn schema(registry: &Registry) -> String {
    serde_json::to_string_pretty(&schema::file(registry)).expect("a schema is JSON")
}

#[cfg(test)]
mod answering;
#[cfg(test)]
mod beside_tests;
#[cfg(test)]
mod effect_tests;
#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod tests;
