//! The device of a point as layers of keys. A later layer overrides an earlier one.

use std::path::Path;

use wordline_kernel::{Complaint, Complaints};
use wordline_lab::devices::Configured;

use crate::sweep::axes::{self, is_other_policy};
use wordline_lab::config;

/// A layer that sets keys of a device. The lowest layer comes first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Layer<'a> {
    /// A built-in preset.
    Preset,
    /// The device table of the experiment.
    Device,
    /// The settings that scale the experiment down.
    Quick,
    /// A value of a varied key.
    Varied(&'a str),
    /// A change of the model.
    Change,
}

impl Layer<'_> {
    /// Position of the layer in a file whose sweep is at the key `sweep`, and the rank of the layer.
    fn place(self, sweep: &str) -> (String, u8) {
        match self {
            Self::Preset => (format!("{sweep}preset"), 0),
            Self::Device => (format!("{sweep}device"), 1),
            Self::Quick => (format!("{sweep}quick.set"), 2),
            Self::Varied(key) => (format!("{sweep}vary {key}"), 3),
            Self::Change => ("changes".into(), 4),
        }
    }
}

/// Keys with their values, and the layer that set each key.
#[derive(Debug, Default)]
pub(crate) struct Layers<'a> {
    table: toml::Table,
    /// The keys that each layer set, in the order of the layers. A key includes all keys below it.
    set: Vec<(String, Layer<'a>)>,
}

impl<'a> Layers<'a> {
    /// The keys of a preset, or an empty table.
    pub(crate) fn of_preset(table: toml::Table) -> Self {
        Self { table, set: Vec::new() }
    }

    /// Merges a table of keys on top; see [`axes::merge`].
    pub(crate) fn merge(&mut self, layer: Layer<'a>, over: toml::Table) {
        new_keys(&self.table, &over, "", &mut |key| self.set.push((key, layer)));
        axes::merge(&mut self.table, over);
    }

    /// Sets a dotted key.
    pub(crate) fn set(&mut self, layer: Layer<'a>, key: &str, value: toml::Value) {
        axes::set(&mut self.table, key, value);
        self.set.push((key.to_owned(), layer));
    }

    /// Returns all keys.
    pub(crate) fn table(&self) -> &toml::Table {
        &self.table
    }

    /// Removes a key; `pools.0.frontier` is a key of the first item of a list.
    pub(crate) fn take(&mut self, key: &str) -> Option<toml::Value> {
        let (tables, name) = key.rsplit_once('.').unwrap_or(("", key));
        let mut path = tables.split('.').filter(|key| !key.is_empty());
        let Some(first) = path.next() else { return self.table.remove(name) };
        let inner = path.try_fold(self.table.get_mut(first)?, |value, key| match value {
            toml::Value::Array(items) => items.get_mut(key.parse::<usize>().ok()?),
            other => other.get_mut(key),
        });
        inner?.as_table_mut()?.remove(name)
    }

    /// Returns keys of lower layers that are without effect on `device`, because a higher layer replaced the
    /// device for which they were set. `device` was created from these layers. `path` is the file, `sweep`
    /// the key of the sweep in it.
    ///
    /// # Errors
    /// A complaint for each key that was set without effect, unless a later layer removed its effect.
    pub(crate) fn idle(
        &self,
        path: &Path,
        sweep: &str,
        device: &dyn Configured,
    ) -> Result<Vec<String>, Complaints> {
        let layer_of = |key: &str| {
            let (place, rank) = self.layer_of(key).place(sweep);
            (format!("{}: {place}", path.display()), rank)
        };
        config::ineffective_keys(&self.table, device, &layer_of)
    }

    /// The layer that set a key last.
    fn layer_of(&self, key: &str) -> Layer<'a> {
        let is_in = |of: &str| {
            key.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        self.set.iter().rev().find(|(of, _)| is_in(of)).map_or(Layer::Preset, |(_, layer)| *layer)
    }

    /// Adds to each complaint the position of its key in the file: the varied key that set it, or the device
    /// table.
    pub(crate) fn placed(&self, path: &Path, sweep: &str, wrong: Complaints) -> Complaints {
        let placed = |complaint: Complaint| {
            let key = &complaint.key;
            let key = match self.layer_of(key) {
                Layer::Varied(varied) if varied == key => format!("{sweep}vary {varied}"),
                Layer::Varied(varied) => format!("{sweep}vary {varied}: {key}"),
                _ if key.is_empty() => format!("{sweep}device"),
                _ => format!("{sweep}device.{key}"),
            };
            Complaint { key: format!("{}: {key}", path.display()), ..complaint }
        };
        Complaints(wrong.0.into_iter().map(placed).collect())
    }
}

/// Calls `name` for each key of `over` that replaces a key of `table` or is new.
fn new_keys(table: &toml::Table, over: &toml::Table, path: &str, name: &mut dyn FnMut(String)) {
    for (key, value) in over {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (table.get(key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above))
                if !is_other_policy(below, above) =>
            {
                new_keys(below, above, &path, name);
            }
            _ => name(path),
        }
    }
}
