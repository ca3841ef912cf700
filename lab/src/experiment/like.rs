//! Varied keys that build on others: a value like another one, and an experiment over the runs of another one.

use serde::Deserialize;

use super::axes::Axis;
use super::sweep::Sweep;

/// The key in the table of a value that names another value, whose keys it takes over.
const LIKE: &str = "like";

/// What was found wrong: the key, what was found and what was wanted.
type Complaint = (&'static str, String, String);

/// The runs of another experiment, some of its varied keys with other values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Like {
    /// The other experiment.
    pub experiment: String,
    /// Varied keys in the place of those with the same key, or beside them.
    #[serde(default)]
    vary: Vec<Axis>,
    /// The same of the scaled-down sweep, with some of their values; left out: all.
    #[serde(default)]
    quick: Vec<Axis>,
}

impl Like {
    /// The other experiment's sweep with these values.
    pub(super) fn apply(&self, mut sweep: Sweep) -> Result<Sweep, Complaint> {
        let layers = [Layer { vary: &self.vary, quick: &self.quick }, Layer::of(&sweep)];
        let (vary, quick) = settle(&layers)?;
        sweep.vary = vary;
        if let Some(scaled) = &mut sweep.quick {
            scaled.vary = quick;
        }
        Ok(sweep)
    }
}

/// A sweep with what its values take over from others.
pub(super) fn settled(mut sweep: Sweep) -> Result<Sweep, Complaint> {
    let (vary, quick) = settle(&[Layer::of(&sweep)])?;
    sweep.vary = vary;
    if let Some(scaled) = &mut sweep.quick {
        scaled.vary = quick;
    }
    Ok(sweep)
}

/// Varied keys as one file gives them.
struct Layer<'a> {
    vary: &'a [Axis],
    quick: &'a [Axis],
}

impl<'a> Layer<'a> {
    fn of(sweep: &'a Sweep) -> Self {
        Self { vary: &sweep.vary, quick: sweep.quick.as_ref().map_or(&[], |quick| &quick.vary) }
    }
}

/// The varied keys of layers, of which the first takes precedence, and those of the scaled-down sweep.
fn settle(layers: &[Layer<'_>]) -> Result<(Vec<Axis>, Vec<Axis>), Complaint> {
    let all: Vec<&Axis> = layers.iter().flat_map(|layer| layer.vary.iter().chain(layer.quick)).collect();
    for axis in &all {
        if let Some(spare) = spare(axis, &all) {
            return Err(("sets", format!("`{spare}`"), format!("one of the values of `{}`", axis.key)));
        }
    }
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
        vary.push(chosen(key, &whole[0].values, &whole)?);
        // A layer that gives other values gives them to the scaled-down sweep, too, unless it says which.
        let first = layers.iter().find(|layer| of(layer.vary).is_some() || of(layer.quick).is_some());
        let values = first.and_then(|layer| of(layer.quick).map(|at| &layer.quick[at].values));
        if !scaled.is_empty() {
            let all: Vec<&Axis> = scaled.iter().chain(&whole).copied().collect();
            quick.push(chosen(key, values.unwrap_or(&whole[0].values), &all)?);
        }
    }
    // A key of the scaled-down sweep alone is left to be complained of.
    let unknown = layers
        .iter()
        .flat_map(|layer| layer.quick)
        .filter(|axis| vary.iter().all(|other| other.key != axis.key));
    quick.extend(unknown.cloned());
    Ok((vary, quick))
}

/// A name that an axis sets something for and that is neither a value of it nor what one is like.
fn spare<'a>(axis: &'a Axis, all: &[&Axis]) -> Option<&'a String> {
    let likes =
        |name: &String| all.iter().any(|axis| axis.sets.values().any(|keys| like(keys) == Some(name)));
    axis.sets
        .keys()
        .find(|name| !axis.values.iter().any(|value| value.as_str() == Some(name)) && !likes(name))
}

/// What a value's table is like.
fn like(keys: &toml::Value) -> Option<&str> {
    keys.get(LIKE)?.as_str()
}

/// The axis of some values, each with what the first of `axes` that knows it sets.
fn chosen(key: &str, values: &[toml::Value], axes: &[&Axis]) -> Result<Axis, Complaint> {
    let mut sets = toml::Table::new();
    for name in values.iter().filter_map(toml::Value::as_str) {
        if axes.iter().any(|axis| axis.sets.contains_key(name)) {
            sets.insert(name.to_owned(), flat(name, axes, 0)?.into());
        }
    }
    Ok(Axis { key: key.to_owned(), values: values.to_vec(), sets })
}

/// What a value sets, with what it takes over.
fn flat(name: &str, axes: &[&Axis], depth: usize) -> Result<toml::Table, Complaint> {
    let wanted = || "another value, that sets something and is not like this one".to_owned();
    let keys = axes.iter().find_map(|axis| axis.sets.get(name)).and_then(toml::Value::as_table);
    let Some(keys) = keys.filter(|_| depth < axes.iter().map(|axis| axis.sets.len()).sum()) else {
        return Err(("sets.like", format!("`{name}`"), wanted()));
    };
    let mut own = keys.clone();
    let Some(other) = own.remove(LIKE) else { return Ok(own) };
    let Some(other) = other.as_str() else { return Err(("sets.like", other.to_string(), wanted())) };
    let mut all = flat(other, axes, depth + 1)?;
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
        let (vary, quick) = settle(&[Layer { vary: &whole, quick: &quick }]).expect("settled");
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
        let (vary, quick) = settle(&layers).expect("settled");
        assert_eq!((vary[0].values.len(), vary[1].values.len()), (2, 2));
        assert_eq!((quick[0].values.len(), quick[1].values.len()), (2, 1));
        assert_eq!(vary[0].sets["z"].to_string(), "{ a = 1, c = 3 }");
        assert_eq!(quick[0].sets["z"].to_string(), "{ a = 0, c = 3 }");
    }

    #[test]
    fn values_that_are_like_each_other_or_like_none_are_refused() {
        for sets in [
            "sets.x = { like = \"y\" }\nsets.y = { like = \"x\" }",
            "sets.x = { like = \"z\" }\nsets.y = { a = 1 }",
        ] {
            let axes = [axis(&format!("key = \"ssd\"\nvalues = [\"x\", \"y\"]\n{sets}"))];
            assert_eq!(settle(&[Layer { vary: &axes, quick: &[] }]).expect_err("refused").0, "sets.like");
        }
    }
}
