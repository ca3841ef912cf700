//! Configuration in TOML: layers from presets, files and the command line, all validated together.

mod effect;
pub mod embedded;
pub(crate) mod explain;
mod ineffective_key;
pub(crate) mod load;
mod policies;
pub(crate) mod read;
mod reference;
mod replaced;
pub(crate) mod schema;
mod schema_file;
pub(crate) mod tree;

use serde::Deserialize;
use wordline_kernel::Complaints;
use wordline_nand::Part;
use wordline_nand::part::PartFile;

use crate::device::{Device, Selection};
use crate::devices::{ChipsInfo, Configured, Registry};
use crate::{Error, drives, error::Result};
pub(crate) use effect::ineffective_keys as ineffective_keys_of_ssd;
pub(crate) use load::cells;
pub use load::only_preset;
pub use policies::{Policy, find_policies, policies};
pub use read::Keys;
pub(crate) use read::{fallback_error, with_origins};
pub use reference::{page_of_device, reference};
pub use schema::follow as follow_schema;
pub use schema::{named, names_of};
pub use wordline_kernel::one_of;

/// A preset, as `presets list` shows it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct PresetInfo {
    /// Name.
    pub name: String,
    /// Description in one line.
    pub description: String,
    /// The source of its numbers.
    pub source: String,
    /// Device type.
    pub device: &'static str,
    /// The designs that it names, separated by commas; `None` if it names none.
    pub design: Option<String>,
    /// Name of the NAND part of the first pool; empty for a device without flash.
    pub part: String,
    /// The chips of each pool.
    pub chips: Vec<ChipsInfo>,
    /// Bytes of flash of all pools.
    pub physical_bytes: u64,
    /// Bytes that the host sees.
    pub capacity_bytes: u64,
    /// The class of drives that it stands for, or `benchmark`, `paper` or `test`; `None` for a preset from
    /// another crate.
    pub class: Option<&'static str>,
    /// Blocks of a drive of the class for each block of the preset; `None` for other presets.
    pub scale: Option<u32>,
    /// Over-provisioning: the share of the flash that the host does not see; `None` for a device without the
    /// key.
    pub spare: Option<f64>,
    /// Random writes of 4 KiB a second in steady state, as `docs/drives.md` has them; `None` for other
    /// presets.
    pub steady_writes: Option<f64>,
}

/// The NAND part `name`: an embedded part, or the file at that path. The error lists every fault.
pub fn part(name: &str) -> Result<Part> {
    let tree = load::part(name)?;
    schema::part_complaints(&tree).into_result(()).map_err(Error::Config)?;
    let file =
        PartFile::deserialize(tree.value.to_toml()).map_err(|error| fallback_error(error.message()))?;
    file.check().map_err(|wrong| Error::Config(with_origins(wrong, &tree)))
}

/// The keys of `table` that have no effect on `device`, and that were set in a lower layer than the layer
/// that changed the device. `device` was made from `table`. `layer_of` returns the name and height of the
/// layer that set the value at a path; built-in layers have height 0.
///
/// # Errors
/// The keys that were set and have no effect, unless a higher layer took their effect away: one complaint
/// each.
pub fn ineffective_keys(
    table: &toml::Table,
    device: &dyn Configured,
    layer_of: &dyn Fn(&str) -> (String, u8),
) -> std::result::Result<Vec<String>, Complaints> {
    let origin = |path: &str| {
        let (name, rank) = layer_of(path);
        tree::Origin::Layer(name.into(), rank)
    };
    device.ineffective_keys(&Keys(&tree::Node::of(&table.clone().into(), "", &origin)))
}

/// The line of a TOML text, counted from 1, with the value at `path`, such as `vary[1].key`. If the value is
/// missing, the line of the innermost table or list around it; `None` if only the whole text contains it.
pub fn line_of(text: &str, path: &str) -> Option<usize> {
    let tree = tree::parse("", text).ok()?;
    let mut path = path;
    loop {
        if let (tree::Origin::Line(_, line), true) = tree.origin_of(path) {
            return Some(*line);
        }
        path = &path[..path.rfind(['.', '['])?];
    }
}

/// All presets of a registry: drives in the order of `docs/drives.md`, then others by what they are for, twins of
/// drives first.
///
/// # Errors
/// [`Error::Config`] if a preset from an outside crate has faults.
pub fn presets(registry: &Registry) -> Result<Vec<PresetInfo>> {
    let info = |(name, _): &embedded::Embedded| {
        let source = load::preset(registry, name)?.source;
        let device = preset(registry, name)?;
        let names: Vec<&str> = device.ssd().into_iter().flat_map(|ssd| ssd.designs.names()).collect();
        let design = (!names.is_empty()).then(|| names.join(", "));
        let Device { name, description, configured, .. } = device;
        let table = configured.table();
        let of_ftl = table.get("ftl").and_then(|ftl| ftl.get("over_provisioning"));
        let spare = of_ftl.or_else(|| table.get("over_provisioning")).and_then(toml::Value::as_float);
        let class = drives::class_of(&name);
        let chips = configured.chips();
        Ok(PresetInfo {
            class: drives::kind_of(&name),
            scale: class.map(|class| class.scale),
            spare,
            steady_writes: drives::steady_writes(&name),
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
    let mut infos = registry.presets().map(info).collect::<Result<Vec<_>>>()?;
    let place = |name: &str| drives::classes().iter().position(|class| class.preset == name);
    infos.sort_by_key(|info| {
        let is_twin = info.class == Some("twin");
        (place(&info.name).unwrap_or(usize::MAX), !is_twin, info.class)
    });
    Ok(infos)
}

fn preset(registry: &Registry, name: &str) -> Result<Device> {
    Device::load_of(registry, &Selection { preset: Some(name.to_owned()), ..Selection::default() })
}

/// The TOML text of the preset `name`.
pub fn preset_text(registry: &Registry, name: &str) -> Option<&'static str> {
    registry.presets().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Every key of the preset `name`, including the keys of the presets that it builds on, and all defaults.
///
/// # Errors
/// [`Error::Config`] for an unknown name.
pub fn preset_table(registry: &Registry, name: &str) -> Result<toml::Table> {
    Ok(preset(registry, name)?.configured.table())
}

/// The JSON Schema of device files.
pub fn schema(registry: &Registry) -> String {
    serde_json::to_string_pretty(&schema_file::file(registry)).expect("a schema is JSON")
}

/// The device that a layered tree describes.
#[cfg(test)]
fn resolve(registry: &Registry, mut layered: load::Layered) -> Result<Device> {
    let entry = registry.take_from(&mut layered.tree)?;
    let configured = entry.resolve(&mut layered.tree, registry.designs())?;
    Device::of_preset(layered, configured)
}

#[cfg(test)]
mod combination_tests;
#[cfg(test)]
mod effect_tests;
#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod scripted_design;
#[cfg(test)]
mod tests;
