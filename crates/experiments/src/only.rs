//! Restriction of experiments to some values of their varied keys (`repro --only`).

use crate::experiment::Experiment;
use crate::sweep::axes::Axis;
use wordline_lab::error::{Error, Result};

pub use crate::show::record::Only;

/// Adds the restriction of an argument `KEY=VALUE` to `only`.
///
/// # Errors
/// [`Error::Argument`] for any other form.
pub fn add_to(only: &mut Only, argument: &str) -> Result<()> {
    let parts = argument.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty());
    let (key, value) = parts.ok_or_else(|| refused(format!("`{argument}`"), "KEY=VALUE".into()))?;
    only.entry(key.to_owned()).or_default().push(value.to_owned());
    Ok(())
}

/// Checks that at least one of the experiments varies each key and has each value.
///
/// # Errors
/// [`Error::Argument`] with the valid keys or values.
pub fn check(only: &Only, experiments: &[&Experiment]) -> Result<()> {
    let axes: Vec<_> =
        experiments.iter().flat_map(|experiment| experiment.kind.axes().into_owned()).collect();
    for (key, values) in only {
        let of_key = axes.iter().filter(|axis| axis.key == *key);
        let known = distinct(of_key.flat_map(|axis| &axis.values).map(text));
        if known.is_empty() {
            let keys = distinct(axes.iter().map(|axis| axis.key.clone()));
            return Err(refused(format!("`{key}`"), format!("a varied key: {}", keys.join(", "))));
        }
        if let Some(unknown) = values.iter().find(|value| !known.contains(value)) {
            return Err(refused(format!("{key}={unknown}"), format!("a value of it: {}", known.join(", "))));
        }
    }
    Ok(())
}

/// Whether the point `settings` is run. Keys that an experiment does not vary do not restrict it.
pub fn allows(only: &Only, settings: &toml::Table) -> bool {
    only.iter().all(|(key, values)| settings.get(key).is_none_or(|value| values.contains(&text(value))))
}

/// The restriction of an experiment with these varied keys as a note. `None` if it is run as a whole.
pub(crate) fn in_words(only: &Only, axes: &[Axis]) -> Option<String> {
    let is_varied = |(key, _): &(&String, &Vec<String>)| axes.iter().any(|axis| axis.key == **key);
    let keys: Vec<String> =
        only.iter().filter(is_varied).map(|(key, values)| format!("{key} = {}", values.join(", "))).collect();
    (!keys.is_empty()).then(|| format!("a part of the experiment: {}", keys.join("; ")))
}

fn text(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn distinct(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    all.for_each(|one| {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    });
    distinct
}

fn refused(found: String, wanted: String) -> Error {
    Error::Argument { what: "--only".into(), found, wanted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Library;

    fn only(arguments: &[&str]) -> Only {
        let mut only = Only::new();
        arguments.iter().for_each(|argument| add_to(&mut only, argument).expect("a key and a value"));
        only
    }

    #[test]
    fn points_are_restricted_by_the_keys_that_they_have() {
        let at: toml::Table = "volume = \"prn_0\"\nnth = 30".parse().expect("settings");
        for (arguments, is_run) in [
            (&["volume=prn_0"][..], true),
            (&["volume=hm_0", "volume=prn_0", "nth=30"], true),
            (&["nth=31"], false),
            (&["volume=prn_0", "nth=31"], false),
            (&["ssd=Centaur"], true),
        ] {
            assert_eq!(allows(&only(arguments), &at), is_run, "{arguments:?}");
        }
    }

    #[test]
    fn keys_and_values_that_no_experiment_varies_are_refused() {
        let library = Library::open(None).expect("well formed");
        let experiments = library.find("centaur").expect("a paper");
        let told = |arguments: &[&str]| {
            check(&only(arguments), &experiments).map_err(|error| error.to_string()).err().unwrap_or_default()
        };
        assert_eq!(told(&["volume=prn_0", "ssd=SLC/MLC hybrid"]), "");
        assert!(told(&["volum=prn_0"]).contains("volume"), "{}", told(&["volum=prn_0"]));
        assert!(told(&["volume=prn_9"]).contains("prn_0, "), "{}", told(&["volume=prn_9"]));
        for argument in ["volume", "=prn_0", "volume="] {
            assert!(add_to(&mut Only::new(), argument).is_err(), "{argument}");
        }
    }
}
