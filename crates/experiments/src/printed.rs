//! Parameters that papers print: their values, and the keys with these values in Wordline. A change of the
//! model that demonstrates why a row is outside its band must keep these values, because another value of a
//! printed parameter does not explain a deviation.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;

/// The embedded list of parameters, by paper.
const EMBEDDED: &str = include_str!("../../../data/experiments/printed.toml");

/// A parameter that a paper prints.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Name of the parameter, as text.
    pub what: String,
    /// Table, figure or section of the paper.
    pub source: String,
    /// Value, as printed.
    pub printed: String,
    /// Dotted key with this value; `None` if no single key has it.
    pub key: Option<String>,
    /// Preset in which the key has this value.
    pub preset: Option<String>,
    /// Value of the key in the preset.
    pub value: Option<toml::Value>,
    /// Text that says where the value is set, or which value of interpretation A replaces it.
    pub held: Option<String>,
    /// Whether the parameter is a size that scaled-down experiments reduce. Such a change is allowed.
    #[serde(default)]
    pub scaled: bool,
}

impl Parameter {
    /// Text that says where the value is set.
    pub fn place(&self) -> String {
        match (&self.held, &self.preset, &self.key) {
            (Some(held), ..) => held.clone(),
            (None, Some(preset), Some(key)) => format!("preset `{preset}`, `{key}`"),
            _ => String::new(),
        }
    }
}

/// Parameters of all papers.
pub fn all() -> &'static BTreeMap<String, Vec<Parameter>> {
    static ALL: OnceLock<BTreeMap<String, Vec<Parameter>>> = OnceLock::new();
    ALL.get_or_init(|| toml::from_str(EMBEDDED).expect("the embedded list is well formed"))
}

/// The first parameter of a paper that a change of the model sets; `None` if it sets none.
pub(crate) fn printed_parameter_changed_by(paper: &str, change: &toml::Table) -> Option<&'static Parameter> {
    let mut keys = Vec::new();
    keys_of(change, "", &mut keys);
    let is_set = |parameter: &&Parameter| {
        let key = parameter.key.as_deref().filter(|_| !parameter.scaled);
        key.is_some_and(|key| keys.iter().any(|set| is_within_key(set, key) || is_within_key(key, set)))
    };
    all().get(paper)?.iter().find(is_set)
}

/// Collects the dotted keys of a table and its subtables.
fn keys_of(table: &toml::Table, before: &str, keys: &mut Vec<String>) {
    for (key, value) in table {
        let key = format!("{before}{key}");
        match value {
            toml::Value::Table(inner) => keys_of(inner, &format!("{key}."), keys),
            _ => keys.push(key),
        }
    }
}

/// Whether a key is another key, or below it.
fn is_within_key(key: &str, other: &str) -> bool {
    key.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_a_printed_key_or_of_one_below_it_breaks_it() {
        let broken = |change: &str| {
            printed_parameter_changed_by("cubeftl", &toml::from_str(change).expect("TOML"))
                .map(|found| found.what.as_str())
        };
        assert_eq!(broken("\"part.timing.program\" = [\"5us\"]"), Some("Time of a program of a leader"));
        assert!(
            broken("design = { order = \"horizontal\" }")
                .is_some_and(|what| what.contains("the design itself"))
        );
        assert_eq!(broken("\"part.geometry.blocks_per_plane\" = 96"), None, "it is scaled down");
        assert_eq!(broken("\"part.timing.programs\" = 1"), None, "another key");
        assert_eq!(printed_parameter_changed_by("validation", &toml::Table::new()), None);
    }

    /// The preset that the list names must have the printed value.
    #[test]
    fn every_printed_parameter_is_held() {
        let registry = wordline_lab::devices::Registry::default();
        for (paper, parameter) in
            all().iter().flat_map(|(paper, all)| all.iter().map(move |one| (paper, one)))
        {
            let name = format!("{paper}, {}", parameter.what);
            assert!(!parameter.place().is_empty(), "{name}");
            let Parameter { preset: Some(preset), key: Some(key), value: Some(value), .. } = parameter else {
                assert!(parameter.held.is_some() && parameter.preset.is_none(), "{name}");
                continue;
            };
            let table = wordline_lab::config::preset_table(&registry, preset).expect("a preset");
            let found = key.split('.').try_fold(&toml::Value::Table(table), |at, key| at.get(key)).cloned();
            assert_eq!(found.as_ref(), Some(value), "{name}: {preset}, {key}");
        }
    }
}
