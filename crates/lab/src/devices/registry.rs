//! The registry of device types, and of the designs that SSDs can use.

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use serde_json::Value as Json;
use wordline_designs::{DesignType, Designs};
use wordline_kernel::{Complaints, Metric, one_of};

use super::configured::Configured;
use super::device_type::DeviceType;
use super::fixed_latency::FixedLatency;
use super::open_channel::OpenChannelSsd;
use super::pblk::Pblk;
use super::raid5::Raid5;
use super::resolve::{self, type_of};
use super::ssd::Ssd;
use super::zoned::Zoned;
use super::zoned_namespace::ZonedNamespace;
use crate::config::embedded::Embedded;
use crate::config::schema::{self, DEVICE};
use crate::config::tree::{Node, Origin};
use crate::device::{Device, Selection};
use crate::error::{Error, Result};

/// The device types and designs that a configuration can name. Clones share the entries.
#[derive(Clone)]
pub struct Registry {
    types: Arc<Vec<Arc<dyn Entry>>>,
    designs: Designs,
}

impl Default for Registry {
    /// The built-in types and designs.
    fn default() -> Self {
        Self::of::<Ssd>()
            .with::<FixedLatency>()
            .with::<Pblk>()
            .with::<OpenChannelSsd>()
            .with::<Raid5>()
            .with::<Zoned>()
            .with::<ZonedNamespace>()
    }
}

impl PartialEq for Registry {
    fn eq(&self, other: &Self) -> bool {
        self.names() == other.names() && self.designs == other.designs
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Registry").field("types", &self.names()).field("designs", &self.designs).finish()
    }
}

/// A device type, as listed for users.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TypeInfo {
    /// Name of the type, as in the key `device`.
    pub name: &'static str,
    /// Description in one sentence.
    pub description: &'static str,
    /// Whether it is the default type.
    pub default: bool,
    /// Keys.
    pub keys: Vec<String>,
    /// Metrics.
    pub metrics: Vec<&'static str>,
}

impl Registry {
    /// A registry with this type only, and the built-in designs.
    pub fn of<T: DeviceType>() -> Self {
        Self { types: Arc::new(vec![Arc::new(TypeEntry::<T>(PhantomData))]), designs: Designs::default() }
    }

    /// Adds a device type.
    ///
    /// # Panics
    /// If a type or a preset of that name exists.
    #[must_use]
    pub fn with<T: DeviceType>(self) -> Self {
        assert!(!self.names().contains(&T::NAME), "two types of devices are called {}", T::NAME);
        for (name, _) in T::presets() {
            assert!(!self.preset_names().contains(name), "two presets are called {name}");
        }
        let mut types = Vec::clone(&self.types);
        types.push(Arc::new(TypeEntry::<T>(PhantomData)));
        Self { types: Arc::new(types), ..self }
    }

    /// Adds a design.
    ///
    /// # Panics
    /// If a design or a preset of that name exists.
    #[must_use]
    pub fn with_design<T: DesignType>(self) -> Self {
        for (name, _) in T::presets() {
            assert!(!self.preset_names().contains(name), "two presets are called {name}");
        }
        Self { designs: self.designs.with::<T>(), ..self }
    }

    /// Replaces the designs.
    #[must_use]
    pub fn with_designs(self, designs: Designs) -> Self {
        Self { designs, ..self }
    }

    /// The device of a preset with settings `key=value`, as the program makes it from `--preset` and `--set`.
    ///
    /// # Errors
    /// As for [`Device::preset`].
    pub fn device(&self, preset: &str, set: &[&str]) -> Result<Device> {
        let set = set.iter().map(|setting| (*setting).to_owned()).collect();
        Device::load_of(self, &Selection { preset: Some(preset.to_owned()), set, file: None })
    }

    /// The designs.
    pub fn designs(&self) -> &Designs {
        &self.designs
    }

    /// The names of all types.
    pub fn names(&self) -> Vec<&'static str> {
        self.types.iter().map(|entry| entry.name()).collect()
    }

    /// All types, for a list of them.
    pub fn types(&self) -> Vec<TypeInfo> {
        let info = |entry: &Arc<dyn Entry>| TypeInfo {
            name: entry.name(),
            description: entry.description(),
            default: entry.name() == Ssd::NAME,
            keys: schema::keys_of(&entry.schema(&self.designs)),
            metrics: entry.metrics().iter().map(|metric| metric.name).collect(),
        };
        self.types.iter().map(info).collect()
    }

    /// All presets, each with name and text.
    pub fn presets(&self) -> impl Iterator<Item = &'static Embedded> {
        let of_designs = self.designs.entries().flat_map(|entry| entry.presets());
        self.types.iter().flat_map(|entry| entry.presets()).chain(of_designs)
    }

    /// The names of all presets.
    pub fn preset_names(&self) -> Vec<&'static str> {
        self.presets().map(|(name, _)| *name).collect()
    }

    /// All metrics that a device can have, including those of designs.
    pub fn metrics(&self) -> impl Iterator<Item = &'static Metric> {
        let of_designs = self.designs.entries().flat_map(|entry| entry.metrics());
        self.types.iter().flat_map(|entry| entry.metrics()).chain(of_designs)
    }

    /// All types.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &dyn Entry> {
        self.types.iter().map(|entry| &**entry)
    }

    /// The type of that name.
    pub(crate) fn find(&self, name: &str) -> Option<&dyn Entry> {
        self.entries().find(|entry| entry.name() == name)
    }

    /// The names of the types, for a message about an unknown type.
    pub(crate) fn wanted(&self, name: &str) -> String {
        one_of(name, &self.names())
    }

    /// The type that a tree names; `None` for an unknown name.
    pub(crate) fn find_in(&self, tree: &Node) -> Option<&dyn Entry> {
        self.find(type_of(tree))
    }

    /// The type that a tree names. Removes its key from the tree.
    pub(crate) fn take_from(&self, tree: &mut Node) -> Result<&dyn Entry> {
        if let Some(entry) = self.find_in(tree) {
            tree.remove(DEVICE);
            return Ok(entry);
        }
        let mut wrong = Complaints::default();
        let name = type_of(tree).to_owned();
        match tree.at(DEVICE) {
            Some(node) => wrong.add(node.origin.label(DEVICE), &node.value, self.wanted(&name)),
            None => wrong.add(DEVICE, format!("{name:?}, as it was left out"), self.wanted(&name)),
        }
        Err(Error::Config(wrong))
    }

    /// The device that a complete table of keys describes, including the key of its type. Complaints are by
    /// key.
    ///
    /// # Errors
    /// Everything that is wrong with it, a complaint for each key.
    pub fn of_table(&self, mut table: toml::Table) -> std::result::Result<Arc<dyn Configured>, Complaints> {
        let name = table.remove(DEVICE).unwrap_or_else(|| Ssd::NAME.into());
        let found = name.as_str().unwrap_or_default();
        let entry = self.find(found).ok_or_else(|| {
            let mut wrong = Complaints::default();
            wrong.add(DEVICE, &name, self.wanted(found));
            wrong
        })?;
        entry.of_table(table, &self.designs)
    }
}

/// A device type as a trait object.
pub(crate) trait Entry: Send + Sync {
    fn name(&self) -> &'static str;
    fn description(&self) -> &'static str;
    fn ssds(&self) -> &'static [&'static str];
    fn metrics(&self) -> Vec<&'static Metric>;
    fn presets(&self) -> &'static [Embedded];
    /// The schema of all its keys except the key of the type. Its SSDs can use these designs.
    fn schema(&self, designs: &Designs) -> Json;
    /// The device of a tree from which the key of the type is already removed. Removes keys without effect
    /// from the tree. The error lists every fault.
    fn resolve(&self, tree: &mut Node, designs: &Designs) -> Result<Arc<dyn Configured>>;
    /// The device of a tree, without removing keys that have no effect.
    #[cfg(test)]
    fn resolve_idle(&self, tree: &Node, designs: &Designs) -> Result<Arc<dyn Configured>>;
    fn of_table(
        &self,
        table: toml::Table,
        designs: &Designs,
    ) -> std::result::Result<Arc<dyn Configured>, Complaints>;
}

/// Metrics that the type of an SSD lists. Types with SSDs inside do not list them again.
static OF_SSDS: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| wordline_ssd::metrics::all().map(|metric| metric.name).collect());

struct TypeEntry<T>(PhantomData<fn() -> T>);

impl<T: DeviceType> Entry for TypeEntry<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn description(&self) -> &'static str {
        T::DESCRIPTION
    }

    fn ssds(&self) -> &'static [&'static str] {
        T::SSDS
    }

    fn metrics(&self) -> Vec<&'static Metric> {
        let mut all = T::metrics();
        if T::NAME != Ssd::NAME {
            all.retain(|metric| !OF_SSDS.contains(metric.name));
        }
        all
    }

    fn presets(&self) -> &'static [Embedded] {
        T::presets()
    }

    fn schema(&self, designs: &Designs) -> Json {
        schema::of::<T::File>(designs)
    }

    fn resolve(&self, tree: &mut Node, designs: &Designs) -> Result<Arc<dyn Configured>> {
        Ok(Arc::new(resolve::resolve::<T>(tree, designs)?))
    }

    #[cfg(test)]
    fn resolve_idle(&self, tree: &Node, designs: &Designs) -> Result<Arc<dyn Configured>> {
        Ok(Arc::new(resolve::read::<T>(tree, designs)?))
    }

    fn of_table(
        &self,
        table: toml::Table,
        designs: &Designs,
    ) -> std::result::Result<Arc<dyn Configured>, Complaints> {
        let file = T::File::deserialize(table.clone()).map_err(|error| {
            // Serde reports the fault; validation by the schema adds its key.
            let tree = Node::of(&table.into(), "", &|_| Origin::Layer("".into(), 0));
            let mut wrong = schema::complaints(&self.schema(designs), &tree);
            if wrong.0.is_empty() {
                let (found, wanted) = crate::words::found_and_wanted(error.message(), "a device");
                wrong.add("", found, wanted);
            }
            wrong
        })?;
        Ok(Arc::new(T::check(file, designs)?))
    }
}
