//! Changes of the model that must push the rows that name them outside: a band that nothing fails says nothing.

use std::collections::BTreeMap;

use toml::Spanned;

use super::Options;
use super::expect::Expect;
use super::file::{Experiment, Kind, Wrong};
use crate::error::Result;

/// What is written of changes.
pub(super) type Changes = BTreeMap<Spanned<String>, toml::Table>;

/// Refuses judged rows without a change, changes that there are not, and those that no row names.
pub(super) fn check(changes: &Changes, rows: &[(usize, &Expect)], kind: &Kind, wrong: &mut Wrong<'_>) {
    let is_model = matches!(kind, Kind::Sweep(_) | Kind::Nand(_));
    let all = names(changes.keys().map(|name| name.get_ref().as_str()));
    for (at, expect) in rows {
        match &expect.fails_with {
            Some(_) if !is_model || !expect.is_judged() => {
                let wanted = "none: nothing is compared that a change of the model can move";
                wrong.add(*at, "expect.fails_with", format!("a change for `{}`", expect.what), wanted);
            }
            Some(name) if !changes.keys().any(|known| known.get_ref() == name) => {
                wrong.add(*at, "expect.fails_with", format!("`{name}`"), all.clone());
            }
            _ => {}
        }
    }
    for (name, keys) in changes {
        let (at, label) = (name.span().start, format!("changes.{}", name.get_ref()));
        if !rows.iter().any(|(_, expect)| expect.fails_with.as_ref() == Some(name.get_ref())) {
            wrong.add(at, &label, "a change that no row names", "one that a row's `fails_with` names");
        }
        if keys.is_empty() {
            wrong.add(at, &label, "a change of nothing", "keys with their other values");
        }
    }
}

/// Names in words.
fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    format!("one of the experiment's changes: {}", names.join(", "))
}

impl Experiment {
    /// The changes that there are, in words.
    pub(super) fn names_of_changes(&self) -> String {
        names(self.changes.keys().map(String::as_str))
    }

    /// Whether a point is run: under a change of the model only what is compared.
    pub(super) fn is_needed(&self, settings: &toml::Table, options: &Options) -> bool {
        options.change.is_empty() || self.expect.iter().any(|expect| expect.needs(settings))
    }

    /// Makes every device that it runs under a change of the model.
    pub(super) fn check_changes(&self) -> Result<()> {
        for change in self.changes.values() {
            let options = Options { quick: true, change: change.clone(), ..Options::default() };
            match &self.kind {
                Kind::TraceStatistics { .. } | Kind::WriteSizes(_) => {}
                Kind::Sweep(sweep) => drop(sweep.points(&self.path, &options)?),
                Kind::Nand(sweep) => drop(sweep.points(&self.path, &options)?),
            }
        }
        Ok(())
    }
}
