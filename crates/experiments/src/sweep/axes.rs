//! Varied keys of an experiment, and the points that they span.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::options::Options;
use wordline_lab::error::Result;

/// An experiment with one run for each combination of the values of its varied keys.
pub trait Points {
    /// One run.
    type Point;

    /// The varied keys for these options.
    fn varied(&self, options: &Options) -> Vec<&Axis>;

    /// Returns the run with these values of the varied keys. `path` is the file, for messages.
    ///
    /// # Errors
    /// [`wordline_lab::Error::Config`] if the run is invalid.
    fn point(&self, path: &Path, settings: toml::Table, options: &Options) -> Result<Self::Point>;

    /// Returns all runs, each validated. The last varied key changes fastest.
    ///
    /// # Errors
    /// The errors of [`Points::point`].
    fn points(&self, path: &Path, options: &Options) -> Result<Vec<Self::Point>> {
        self.points_where(path, options, |_| true)
    }

    /// Returns the runs whose settings `is_wanted` accepts, each validated. The last varied key changes
    /// fastest.
    ///
    /// # Errors
    /// The errors of [`Points::point`].
    fn points_where(
        &self,
        path: &Path,
        options: &Options,
        is_wanted: impl Fn(&toml::Table) -> bool,
    ) -> Result<Vec<Self::Point>> {
        let places = combinations(&self.varied(options)).into_iter().filter(is_wanted);
        places.map(|settings| self.point(path, settings, options)).collect()
    }
}

/// A varied key.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Dotted key; or a name that is not a key, if `sets` has the settings of each value.
    pub key: String,
    /// Values.
    pub values: Vec<toml::Value>,
    /// The keys that a value sets, for each value that is a text.
    #[serde(default)]
    pub sets: toml::Table,
}

impl Axis {
    /// The fault of this varied key: the key after `vary.`, the value found, and the value wanted.
    pub fn complaint(&self) -> Option<(&'static str, String, String)> {
        if self.values.is_empty() {
            return Some(("values", format!("nothing for `{}`", self.key), "values".into()));
        }
        self.value_without_settings(|_| false).or_else(|| self.unknown_value(|_| false))
    }

    /// The fault of a value without settings, if other values have some. Values that are `known` elsewhere
    /// are accepted.
    pub(crate) fn value_without_settings(
        &self,
        known: impl Fn(&str) -> bool,
    ) -> Option<(&'static str, String, String)> {
        let missing = |value: &&toml::Value| match value.as_str() {
            Some(name) => !self.sets.get(name).is_some_and(toml::Value::is_table) && !known(name),
            None => true,
        };
        let value = self.values.iter().find(missing).filter(|_| !self.sets.is_empty())?;
        Some(("sets", format!("nothing for {value}"), "a table of keys for each value".into()))
    }

    /// The fault of a name with settings that is not a value. Names that are `known` elsewhere are accepted.
    pub(crate) fn unknown_value(
        &self,
        known: impl Fn(&str) -> bool,
    ) -> Option<(&'static str, String, String)> {
        let has = |name: &String| self.values.iter().any(|value| value.as_str() == Some(name));
        let name = self.sets.keys().find(|name| !has(name) && !known(name))?;
        Some(("sets", format!("`{name}`"), format!("one of the values of `{}`", self.key)))
    }

    /// The fault of this key as a varied key of the scaled-down experiment: the key after `quick.vary.`, the
    /// value found, and the value wanted. The scaled-down experiment may only have values that the key has in
    /// `whole`.
    pub(crate) fn quick_complaint(&self, whole: &[Self]) -> Option<(&'static str, String, String)> {
        let Some(axis) = whole.iter().find(|axis| axis.key == self.key) else {
            let keys: Vec<&str> = whole.iter().map(|axis| axis.key.as_str()).collect();
            return Some(("key", format!("`{}`", self.key), format!("a varied key: {}", keys.join(", "))));
        };
        let other = self.values.iter().find(|value| !axis.values.contains(value));
        let unknown = other.map(|value| {
            ("values", value.to_string(), format!("a value of `{}` of the whole sweep", axis.key))
        });
        self.complaint().or(unknown)
    }

    /// Applies the settings of `value` to `table`.
    pub fn apply(&self, table: &mut toml::Table, value: &toml::Value) {
        self.keys_of(value).for_each(|(key, value)| set(table, key, value.clone()));
    }

    /// Keys that `value` sets, with their values.
    pub(crate) fn keys_of<'a>(
        &'a self,
        value: &'a toml::Value,
    ) -> impl Iterator<Item = (&'a str, &'a toml::Value)> {
        let sets = value.as_str().and_then(|name| self.sets.get(name)).and_then(toml::Value::as_table);
        let own = sets.is_none().then_some((self.key.as_str(), value));
        sets.into_iter().flatten().map(|(key, value)| (key.as_str(), value)).chain(own)
    }
}

/// Lists the varied keys for a message.
pub(crate) fn named(axes: &[Axis]) -> String {
    let keys: Vec<String> = axes.iter().map(|axis| format!("`{}`", axis.key)).collect();
    format!("a varied key: {}", if keys.is_empty() { "there is none".into() } else { keys.join(", ") })
}

/// The fault of a key that is not varied.
pub(crate) fn check_along(key: &str, axes: &[Axis]) -> Option<(String, String)> {
    let known = axes.iter().any(|axis| axis.key == key);
    (!known).then(|| (format!("`{key}`"), named(axes)))
}

/// The varied keys `whole`. Each is replaced by the key of the same name in `quick`, if there is one.
pub(crate) fn replace_axes<'a>(whole: &'a [Axis], quick: &'a [Axis]) -> Vec<&'a Axis> {
    whole.iter().map(|axis| quick.iter().find(|other| other.key == axis.key).unwrap_or(axis)).collect()
}

/// All combinations of the values. The last axis changes fastest.
pub(crate) fn combinations(axes: &[&Axis]) -> Vec<toml::Table> {
    let mut places = vec![toml::Table::new()];
    for axis in axes {
        let with = |place: &toml::Table, value: &toml::Value| {
            let mut place = place.clone();
            place.insert(axis.key.clone(), value.clone());
            place
        };
        let longer = places.iter().flat_map(|place| axis.values.iter().map(move |value| with(place, value)));
        places = longer.collect();
    }
    places
}

/// Whether the point `settings` has the values `at`. A list matches each of its values.
pub(crate) fn matches_settings(settings: &toml::Table, at: &toml::Table) -> bool {
    at.iter().all(|(key, wanted)| match (settings.get(key), wanted) {
        (Some(value), toml::Value::Array(any)) => any.contains(value),
        (value, wanted) => value == Some(wanted),
    })
}

/// Sets a dotted key and creates tables on its path. A number selects an existing item of a list.
pub(crate) fn set(table: &mut toml::Table, key: &str, value: toml::Value) {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value);
        }
        Some((first, rest)) => {
            let mut inner = table.entry(first).or_insert_with(|| toml::Table::new().into());
            let mut rest = rest;
            while let Some((place, further)) = rest.split_once('.')
                && let Ok(place) = place.parse::<usize>()
                && inner.get(place).is_some()
            {
                (inner, rest) = (&mut inner[place], further);
            }
            if let (toml::Value::Array(items), Ok(place)) = (&mut *inner, rest.parse::<usize>())
                && place <= items.len()
            {
                items.splice(place..items.len().min(place + 1), [value]);
                return;
            }
            if !inner.is_table() {
                *inner = toml::Table::new().into();
            }
            set(inner.as_table_mut().expect("it was just made one"), rest, value);
        }
    }
}

/// Merges `over` into `table`, key by key. A table that names another policy replaces the table below it,
/// because keys belong to a policy. A table of numbers selects items of a list. Configuration files and arguments
/// are merged in the same way.
pub(crate) fn merge(table: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (table.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above))
                if !is_other_policy(below, &above) =>
            {
                merge(below, above);
            }
            (Some(toml::Value::Array(items)), toml::Value::Table(above)) => {
                match selected(&above, items.len()) {
                    Some(values) => merge_items(items, values),
                    None => drop(table.insert(key, above.into())),
                }
            }
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

/// The values of a table of numbers in ascending order; `None` if one is the number of no item, nor of the one after the
/// last.
fn selected(above: &toml::Table, items: usize) -> Option<BTreeMap<usize, toml::Value>> {
    let all: Option<BTreeMap<usize, toml::Value>> =
        above.iter().map(|(key, value)| Some((key.parse().ok()?, value.clone()))).collect();
    let mut end = items;
    let mut is_item = |place: usize| {
        let holds = place <= end;
        end = end.max(place + 1);
        holds
    };
    all.filter(|all| !all.is_empty() && all.keys().all(|place| is_item(*place)))
}

/// Merges values into the items of a list, by number.
fn merge_items(items: &mut Vec<toml::Value>, above: BTreeMap<usize, toml::Value>) {
    for (place, value) in above {
        match (items.get_mut(place), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(value)) => merge(below, value),
            (Some(item), value) => *item = value,
            (None, value) => items.push(value),
        }
    }
}

/// Whether a table names another policy than the one below it.
pub(crate) fn is_other_policy(below: &toml::Table, above: &toml::Table) -> bool {
    above.get("policy").is_some_and(|policy| below.get("policy") != Some(policy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(text: &str) -> Axis {
        toml::from_str(text).expect("an axis")
    }

    #[test]
    fn a_value_with_a_name_sets_all_of_its_keys() {
        let axis = axis("key = \"mode\"\nvalues = [\"x\"]\nsets.x = { \"a.b\" = 1, c = 2 }");
        let mut table = toml::Table::new();
        axis.apply(&mut table, &axis.values[0]);
        assert_eq!(table.to_string(), "c = 2\n\n[a]\nb = 1\n");
        assert!(axis.complaint().is_none());
    }

    #[test]
    fn a_name_that_sets_nothing_is_a_complaint() {
        let missing = axis("key = \"mode\"\nvalues = [\"x\", \"y\"]\nsets.x = { a = 1 }");
        assert_eq!(missing.complaint().expect("y sets nothing").1, "nothing for \"y\"");
        let spare = axis("key = \"mode\"\nvalues = [\"x\"]\nsets.x = { a = 1 }\nsets.z = { a = 1 }");
        assert_eq!(spare.complaint().expect("z is no value").1, "`z`");
    }

    #[test]
    fn a_number_leads_to_an_item_of_a_list() {
        let mut table: toml::Table =
            toml::from_str("pools = [{ part = { a = 1, b = 2 } }]").expect("a table");
        set(&mut table, "pools.0.part.a", 3.into());
        assert_eq!(table, toml::from_str("pools = [{ part = { a = 3, b = 2 } }]").expect("a table"));
        let mut table: toml::Table = toml::from_str("times = [1, 2]").expect("a table");
        set(&mut table, "times.1", 5.into());
        set(&mut table, "times.2", 7.into());
        assert_eq!(table, toml::from_str("times = [1, 5, 7]").expect("a table"));
        merge(&mut table, toml::from_str("times = { 0 = 3, 3 = 9 }").expect("a table"));
        assert_eq!(table, toml::from_str("times = [3, 5, 7, 9]").expect("a table"));
        merge(&mut table, toml::from_str("times = { 9 = 3 }").expect("a table"));
        assert!(table["times"].is_table(), "what is no item stays, so that the reader refuses it");
    }

    #[test]
    fn a_list_stands_for_any_of_its_values() {
        let place: toml::Table = toml::from_str("dies = 4").expect("a table");
        for (at, lies) in
            [("dies = [2, 4]", true), ("dies = [2]", false), ("dies = 4", true), ("a = 1", false)]
        {
            assert_eq!(matches_settings(&place, &toml::from_str(at).expect("a table")), lies, "{at}");
        }
    }
}
