//! Inheritance between varied keys. A value can inherit the settings of another value. An experiment can use
//! the runs of another experiment.

use serde::Deserialize;

use crate::sweep::Sweep;
use crate::sweep::axes::Axis;

/// Key in the settings of a value that names the value to inherit from.
const LIKE: &str = "like";

/// A fault: the key, the value found, and the value wanted.
type Complaint = (&'static str, String, String);

/// Runs of another experiment, with other values of some varied keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Like {
    /// The other experiment.
    pub experiment: String,
    /// Varied keys. They replace the keys of the same name, or are added.
    #[serde(default)]
    vary: Vec<Axis>,
    /// Varied keys of the scaled-down sweep, each with some of its values. A key that is not given has all
    /// its values.
    #[serde(default)]
    quick: Vec<Axis>,
}

impl Like {
    /// Returns the sweep of the other experiment with these varied keys.
    pub(crate) fn apply(&self, sweep: Sweep) -> Result<Sweep, Complaint> {
        override_axes(Layer { vary: &self.vary, quick: &self.quick }, sweep)
    }
}

/// Replaces inheritance in a sweep by the inherited settings.
pub(crate) fn resolve_inherited(sweep: Sweep) -> Result<Sweep, Complaint> {
    override_axes(Layer { vary: &[], quick: &[] }, sweep)
}

/// Overrides varied keys of a sweep.
fn override_axes(layer: Layer<'_>, mut sweep: Sweep) -> Result<Sweep, Complaint> {
    let (vary, quick) = merge_layers(&[layer, Layer::of(&sweep)])?;
    sweep.vary = vary;
    if let Some(scaled) = &mut sweep.quick {
        scaled.vary = quick;
    }
    Ok(sweep)
}

/// The varied keys of one file.
struct Layer<'a> {
    vary: &'a [Axis],
    quick: &'a [Axis],
}

impl<'a> Layer<'a> {
    fn of(sweep: &'a Sweep) -> Self {
        Self { vary: &sweep.vary, quick: sweep.quick.as_ref().map_or(&[], |quick| &quick.vary) }
    }

    fn axes(&self) -> impl Iterator<Item = &'a Axis> + use<'a> {
        self.vary.iter().chain(self.quick)
    }
}

/// Merges the varied keys of several layers, for the full and the scaled-down sweep. The first layer takes
/// precedence.
fn merge_layers(layers: &[Layer<'_>]) -> Result<(Vec<Axis>, Vec<Axis>), Complaint> {
    check(layers)?;
    let mut keys: Vec<&str> = Vec::new();
    for axis in layers.iter().rev().flat_map(|layer| layer.vary) {
        if !keys.contains(&axis.key.as_str()) {
            keys.push(&axis.key);
        }
    }
    let (mut vary, mut quick) = (Vec::new(), Vec::new());
    for key in keys {
        let of = |axes: &'_ [Axis]| axes.iter().position(|axis| axis.key == key);
        let whole: Vec<&Axis> =
            layers.iter().filter_map(|layer| of(layer.vary).map(|at| &layer.vary[at])).collect();
        let scaled: Vec<&Axis> =
            layers.iter().filter_map(|layer| of(layer.quick).map(|at| &layer.quick[at])).collect();
        vary.push(axis_of_values(key, &whole[0].values, &whole)?);
        // A layer that overrides the values of a key also overrides them in the scaled-down sweep, unless it
        // gives separate values for it.
        let first = layers.iter().find(|layer| of(layer.vary).is_some() || of(layer.quick).is_some());
        let values = first.and_then(|layer| of(layer.quick).map(|at| &layer.quick[at].values));
        if !scaled.is_empty() {
            let all: Vec<&Axis> = scaled.iter().chain(&whole).copied().collect();
            quick.push(axis_of_values(key, values.unwrap_or(&whole[0].values), &all)?);
        }
    }
    // A key that only the scaled-down sweep has is an error. It is kept here, and reported later.
    let unknown = layers
        .iter()
        .flat_map(|layer| layer.quick)
        .filter(|axis| vary.iter().all(|other| other.key != axis.key));
    quick.extend(unknown.cloned());
    Ok((vary, quick))
}

/// Checks the settings of values. Every name with settings must be a value, or a value to inherit from. Every
/// value must have settings, inherit settings, or have settings in another layer.
fn check(layers: &[Layer<'_>]) -> Result<(), Complaint> {
    let all = || layers.iter().flat_map(Layer::axes);
    let is_liked = |name: &str| all().any(|axis| axis.sets.values().any(|keys| like(keys) == Some(name)));
    let is_like = |name: &str| all().any(|axis| axis.sets.get(name).and_then(like).is_some());
    for (n, layer) in layers.iter().enumerate() {
        let others = || layers.iter().enumerate().filter(|(other, _)| *other != n);
        let elsewhere = |name: &str| {
            others().flat_map(|(_, layer)| layer.axes()).any(|axis| axis.sets.contains_key(name))
        };
        let wrong = |axis: &Axis| {
            axis.unknown_value(is_liked)
                .or_else(|| axis.value_without_settings(|name| is_like(name) || elsewhere(name)))
        };
        if let Some(complaint) = layer.axes().find_map(wrong) {
            return Err(complaint);
        }
    }
    Ok(())
}

/// Name of the value from which these settings inherit.
fn like(keys: &toml::Value) -> Option<&str> {
    keys.get(LIKE)?.as_str()
}

/// Returns an axis with these values. Each value gets the settings of the first of `axes` that has settings
/// for it.
fn axis_of_values(key: &str, values: &[toml::Value], axes: &[&Axis]) -> Result<Axis, Complaint> {
    let mut sets = toml::Table::new();
    for name in values.iter().filter_map(toml::Value::as_str) {
        if axes.iter().any(|axis| axis.sets.contains_key(name)) {
            sets.insert(name.to_owned(), inherited_settings(name, axes, 0)?.into());
        }
    }
    Ok(Axis { key: key.to_owned(), values: values.to_vec(), sets })
}

/// Settings of a value, including those that it inherits.
fn inherited_settings(name: &str, axes: &[&Axis], depth: usize) -> Result<toml::Table, Complaint> {
    let wanted = || "another value that sets something and does not inherit from this one".to_owned();
    let keys = axes.iter().find_map(|axis| axis.sets.get(name)).and_then(toml::Value::as_table);
    let Some(keys) = keys.filter(|_| depth < axes.iter().map(|axis| axis.sets.len()).sum()) else {
        return Err(("sets.like", format!("`{name}`"), wanted()));
    };
    let mut own = keys.clone();
    let Some(other) = own.remove(LIKE) else { return Ok(own) };
    let Some(other) = other.as_str() else { return Err(("sets.like", other.to_string(), wanted())) };
    let mut all = inherited_settings(other, axes, depth + 1)?;
    all.extend(own);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(text: &str) -> Axis {
        toml::from_str(text).expect("an axis")
    }

    #[test]
    fn a_value_takes_over_what_another_sets() {
        let whole = [axis(
            "key = \"ssd\"\nvalues = [\"x\", \"y\"]\nsets.x = { a = 1, b = 1 }\nsets.y = { like = \"x\", b = 2 }",
        )];
        let quick = [axis("key = \"ssd\"\nvalues = [\"y\"]\nsets.x = { a = 3, b = 3 }")];
        let (vary, quick) = merge_layers(&[Layer { vary: &whole, quick: &quick }]).expect("settled");
        assert_eq!(vary[0].sets["y"].to_string(), "{ a = 1, b = 2 }");
        assert_eq!(
            quick[0].sets["y"].to_string(),
            "{ a = 3, b = 2 }",
            "scaled down, it is like the scaled-down one"
        );
        assert_eq!(quick[0].values.len(), 1);
    }

    #[test]
    fn another_experiment_gives_other_values_of_a_key_and_keeps_the_rest() {
        let base = [
            axis("key = \"ssd\"\nvalues = [\"x\"]\nsets.x = { a = 1 }"),
            axis("key = \"n\"\nvalues = [1, 2]"),
        ];
        let small =
            [axis("key = \"ssd\"\nvalues = [\"x\"]\nsets.x = { a = 0 }"), axis("key = \"n\"\nvalues = [1]")];
        let own = [axis("key = \"ssd\"\nvalues = [\"x\", \"z\"]\nsets.z = { like = \"x\", c = 3 }")];
        let layers = [Layer { vary: &own, quick: &[] }, Layer { vary: &base, quick: &small }];
        let (vary, quick) = merge_layers(&layers).expect("settled");
        assert_eq!((vary[0].values.len(), vary[1].values.len()), (2, 2));
        assert_eq!((quick[0].values.len(), quick[1].values.len()), (2, 1));
        assert_eq!(vary[0].sets["z"].to_string(), "{ a = 1, c = 3 }");
        assert_eq!(quick[0].sets["z"].to_string(), "{ a = 0, c = 3 }");
    }

    #[test]
    fn a_value_that_sets_nothing_beside_others_and_a_name_that_is_no_value_are_refused() {
        let whole = [axis("key = \"ssd\"\nvalues = [\"x\", \"y\"]\nsets.x = { a = 1 }\nsets.y = { a = 2 }")];
        for (quick, found) in [
            ("values = [\"x\", \"y\"]\nsets.x = { a = 3 }", "nothing for \"y\""),
            ("values = [\"x\"]\nsets.x = { a = 3 }\nsets.y = { a = 4 }", "`y`"),
        ] {
            let quick = [axis(&format!("key = \"ssd\"\n{quick}"))];
            let wrong = merge_layers(&[Layer { vary: &whole, quick: &quick }]).expect_err("refused");
            assert_eq!((wrong.0, wrong.1.as_str()), ("sets", found));
        }
    }

    #[test]
    fn values_that_are_like_each_other_or_like_none_are_refused() {
        for sets in [
            "sets.x = { like = \"y\" }\nsets.y = { like = \"x\" }",
            "sets.x = { like = \"z\" }\nsets.y = { a = 1 }",
        ] {
            let axes = [axis(&format!("key = \"ssd\"\nvalues = [\"x\", \"y\"]\n{sets}"))];
            assert_eq!(
                merge_layers(&[Layer { vary: &axes, quick: &[] }]).expect_err("refused").0,
                "sets.like"
            );
        }
    }
}
