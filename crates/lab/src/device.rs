//! The validated description of a device: a preset, a file or a table of keys, with single settings on top.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wordline_ftl::Policies;
use wordline_kernel::{Bytes, Complaint, Complaints};
use wordline_ssd::{BufferPolicies, Config};

use crate::config::load::{self, Layered};
use crate::config::read::fallback_error;
use crate::config::tree::Origin;
use crate::devices::{Configured, DeviceType, Registry, Ssd, as_ssd};
use crate::error::{Error, Result};
use crate::snapshot::{self, Snapshot};

/// The preset used if the user names neither a preset nor a file.
pub const DEFAULT_PRESET: &str = "nvme-tlc";

/// Selects a device: a preset, a file, and single settings on top. The file changes the preset, or stands
/// alone.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Name of an embedded preset, or path of a preset file.
    pub preset: Option<String>,
    /// Path of the user's file.
    pub file: Option<PathBuf>,
    /// Settings `key=value`; a later one overrides an earlier one.
    pub set: Vec<String>,
}

/// The validated description of a device, from which any number of runs and sessions can be made.
///
/// ```
/// use wordline_lab::Device;
///
/// let drive = Device::preset("nvme-tlc")?.with("ftl.over_provisioning", 0.28)?;
/// assert_eq!(drive.get("ftl.over_provisioning"), Some(0.28.into()));
/// let error = drive.with("ftl.over_provisioning", 1.5).unwrap_err().to_string();
/// assert!(error.contains("ftl.over_provisioning: found 1.5, wanted"), "{error}");
/// # Ok::<(), wordline_lab::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Device {
    /// Name in reports.
    pub name: String,
    /// Description in one line; may be empty.
    pub description: String,
    /// The validated configuration, of any device type.
    pub configured: Arc<dyn Configured>,
    /// The whole configuration as one TOML document. Loading it gives the same device.
    pub text: String,
    basis: Layers,
}

/// The layers that a device was read from. They are read again when another setting is added.
#[derive(Clone, Debug)]
struct Layers {
    registry: Registry,
    from: LayerSource,
    set: Vec<String>,
}

/// The layers below the settings.
#[derive(Clone, Debug)]
enum LayerSource {
    Files { preset: Option<String>, file: Option<PathBuf> },
    Text { label: String, name: String, text: String },
    Keys { name: String, table: toml::Table },
}

impl Layers {
    fn layered(&self) -> Result<Layered> {
        let registry = &self.registry;
        let mut layered = match &self.from {
            LayerSource::Files { file: Some(file), preset } => load::file(registry, file, preset.as_deref()),
            LayerSource::Files { file: None, preset } => {
                load::preset(registry, preset.as_deref().unwrap_or(DEFAULT_PRESET))
            }
            LayerSource::Text { label, name, text } => load::text(registry, label, name, text),
            LayerSource::Keys { name, table } => load::keys(registry, name, table),
        }?;
        load::arguments(registry, &mut layered, &self.set)?;
        Ok(layered)
    }

    fn device(self) -> Result<Device> {
        match self.resolved() {
            Ok((layered, configured)) => Device::of(self, layered, configured),
            Err(Error::Config(wrong)) => Err(Error::Config(self.attribute_to_settings(wrong))),
            Err(error) => Err(error),
        }
    }

    fn resolved(&self) -> Result<(Layered, Arc<dyn Configured>)> {
        let mut layered = self.layered()?;
        let entry = self.registry.take_from(&mut layered.tree)?;
        let configured = entry.resolve(&mut layered.tree, self.registry.designs())?;
        Ok((layered, configured))
    }

    /// Assigns complaints to the settings that caused them, and puts the setting before the key. The layers
    /// below the settings have no faults of their own.
    fn attribute_to_settings(&self, wrong: Complaints) -> Complaints {
        let is_of_below = |complaint: &Complaint| !complaint.key.starts_with("--set ");
        if self.set.is_empty() || !wrong.0.iter().any(is_of_below) {
            return wrong;
        }
        // The complaints with the first n settings only, for each n from zero to all but the last.
        let mut of_first = Vec::new();
        for count in 0..self.set.len() {
            let first = Self { set: self.set[..count].to_vec(), ..self.clone() };
            of_first.push(match first.resolved() {
                Ok(_) => Complaints::default(),
                Err(Error::Config(wrong)) => wrong,
                Err(_) => return wrong,
            });
        }
        let blamed = |complaint: Complaint| {
            let is_here = |wrong: &Complaints| wrong.0.iter().any(|other| other.key == complaint.key);
            let setting = of_first
                .iter()
                .position(is_here)
                .map_or(self.set.last(), |count| count.checked_sub(1).and_then(|last| self.set.get(last)));
            match setting {
                Some(setting) if is_of_below(&complaint) => conflict_with(setting, complaint),
                _ => complaint,
            }
        };
        Complaints(wrong.0.into_iter().map(blamed).collect())
    }
}

/// A complaint about a conflict with the setting `key=value`. The value found is followed by its origin,
/// unless the value is a table that contains the setting. A fault in a file that the setting names keeps its
/// line.
fn conflict_with(setting: &str, complaint: Complaint) -> Complaint {
    let (set, value) = setting.split_once('=').unwrap_or((setting, ""));
    let (set, value) = (set.trim(), value.trim().trim_matches(['"', '\'']));
    let (place, key) = complaint.key.rsplit_once(": ").unwrap_or(("", &complaint.key));
    if value.ends_with(".toml") && place.contains(value) {
        return complaint;
    }
    let is_around = set.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
    let found = match place.is_empty() || is_around {
        true => complaint.found.clone(),
        false => format!("{} ({place})", complaint.found),
    };
    Complaint { key: Origin::Set(set.into()).label(key), found, wanted: complaint.wanted }
}

impl Device {
    /// The preset `name`, or the preset in the file at that path.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) with every fault, by file, line and key; errors of reading the
    /// file.
    pub fn preset(name: &str) -> Result<Self> {
        Self::load(&Selection { preset: Some(name.to_owned()), ..Selection::default() })
    }

    /// The device that the configuration file at `path` describes, merged with the preset that it names.
    ///
    /// # Errors
    /// As for [`preset`](Self::preset).
    pub fn file(path: impl AsRef<Path>) -> Result<Self> {
        Self::load(&Selection { file: Some(path.as_ref().to_owned()), ..Selection::default() })
    }

    /// A device from a table of keys, which has the same form as a file and may name a preset. Complaints
    /// begin with `name`, in place of the name and line of a file.
    ///
    /// # Errors
    /// As for [`preset`](Self::preset).
    pub fn of_keys(registry: &Registry, name: &str, table: toml::Table) -> Result<Self> {
        let from = LayerSource::Keys { name: name.to_owned(), table };
        Layers { registry: registry.clone(), from, set: Vec::new() }.device()
    }

    /// The device of a built-in type that `selection` describes.
    ///
    /// # Errors
    /// As for [`preset`](Self::preset).
    pub fn load(selection: &Selection) -> Result<Self> {
        Self::load_of(&Registry::default(), selection)
    }

    /// The device that `selection` describes, with the types and designs of a registry.
    ///
    /// # Errors
    /// As for [`preset`](Self::preset).
    pub fn load_of(registry: &Registry, selection: &Selection) -> Result<Self> {
        let Selection { preset, file, set } = selection.clone();
        Layers { registry: registry.clone(), from: LayerSource::Files { preset, file }, set }.device()
    }

    /// The device of a complete document, with arguments `key=value` on top. Complaints call the document by
    /// its label.
    #[cfg(test)]
    pub(crate) fn of_text(
        registry: &Registry,
        (label, name): (&str, &str),
        text: &str,
        set: &[String],
    ) -> Result<Self> {
        let [label, name, text] = [label, name, text].map(str::to_owned);
        Layers {
            registry: registry.clone(),
            from: LayerSource::Text { label, name, text },
            set: set.to_vec(),
        }
        .device()
    }

    /// The device of a snapshot, with settings `key=value` on top.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) if this program does not accept the configuration of the
    /// snapshot, or not with these settings.
    pub fn of_snapshot(registry: &Registry, snapshot: &Snapshot, set: &[String]) -> Result<Self> {
        let (head, label) = (snapshot.head(), snapshot::label(snapshot));
        let from = LayerSource::Text { label, name: head.device.clone(), text: head.configuration.clone() };
        Layers { registry: registry.clone(), from, set: set.to_vec() }.device()
    }

    /// This device with another value of `key`, such as `ftl.over_provisioning`. All keys are validated
    /// again.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) with every fault.
    pub fn with(&self, key: &str, value: impl Into<toml::Value>) -> Result<Self> {
        self.with_all([(key, value.into())])
    }

    /// This device with other values of several keys. Only the final combination is validated.
    ///
    /// # Errors
    /// As for [`with`](Self::with).
    pub fn with_all<'a>(&self, keys: impl IntoIterator<Item = (&'a str, toml::Value)>) -> Result<Self> {
        let mut basis = self.basis.clone();
        basis.set.extend(keys.into_iter().map(|(key, value)| format!("{key}={value}")));
        basis.device()
    }

    /// The value of `key`, or its default. List items count from 0, as in `pools.0.part.name`. `None` for an
    /// unknown key, or for a key without value and default.
    pub fn get(&self, key: &str) -> Option<toml::Value> {
        let all = toml::Value::Table(self.configured.table());
        key.split('.').try_fold(all, |value, part| match value {
            toml::Value::Table(mut table) => table.remove(part),
            toml::Value::Array(items) => items.into_iter().nth(part.parse().ok()?),
            _ => None,
        })
    }

    /// This device with policies from the caller's own crate. `change` replaces policies of an SSD, in place of
    /// named designs: those of its FTL, and those of its buffer. A device derived from the result with
    /// [`with`](Self::with) loses the change.
    ///
    /// # Panics
    /// If the device is no SSD.
    #[must_use]
    pub fn with_policies(
        mut self,
        change: impl Fn(Policies, BufferPolicies, &Config) -> (Policies, BufferPolicies) + Send + Sync + 'static,
    ) -> Self {
        let ssd = self.ssd().expect("the device is an SSD").clone();
        self.configured = Arc::new(ssd.with(change));
        self
    }

    /// Capacity that the host sees, in bytes.
    pub fn capacity(&self) -> Bytes {
        self.configured.shape().capacity
    }

    /// The SSD, if the device is one.
    pub fn ssd(&self) -> Option<&Ssd> {
        as_ssd(&self.configured)
    }

    /// The values that follow from the configuration as text, each with its formula.
    pub fn explain(&self) -> String {
        let mut out = format!("device {}", self.name);
        let name = self.configured.device_type();
        if name != Ssd::NAME {
            let _ = write!(out, " ({name})");
        }
        out += "\n";
        if !self.description.is_empty() {
            out += &format!("  {}\n", self.description);
        }
        for (title, rows) in self.configured.explain() {
            let _ = writeln!(out, "\n{title}");
            for (what, value) in rows {
                let _ = writeln!(out, "  {what:<34} {value}");
            }
        }
        out
    }

    /// The device of a configuration, described by the keys of its document.
    fn of(basis: Layers, layered: Layered, configured: Arc<dyn Configured>) -> Result<Self> {
        let Layered { name, description, source, .. } = layered;
        let text = text_of(&name, &description, &source, &configured.table())?;
        Ok(Self { name, description, configured, text, basis })
    }

    /// A device from a preset and settings, with a configuration made separately.
    #[cfg(test)]
    pub(crate) fn of_preset(layered: Layered, configured: Arc<dyn Configured>) -> Result<Self> {
        let from = LayerSource::Files { preset: Some(layered.name.clone()), file: None };
        Self::of(Layers { registry: Registry::default(), from, set: Vec::new() }, layered, configured)
    }
}

fn text_of(name: &str, description: &str, source: &str, device: &toml::Table) -> Result<String> {
    let mut text = String::new();
    for (key, value) in [("name", name), ("description", description), ("source", source)] {
        if !value.is_empty() {
            text += &format!("{key} = {}\n", toml::Value::from(value));
        }
    }
    Ok(text + &toml::to_string(device).map_err(|error| fallback_error(&error.to_string()))?)
}
