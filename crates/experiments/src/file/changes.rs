//! Changes of the model. Each row names a change under which it must be outside its band. A band in which the
//! row stays under every change of the model would prove nothing.

use std::collections::BTreeMap;

use toml::Spanned;

use crate::experiment::Experiment;
use crate::file::errors::ErrorCollector;
use crate::judge::class::Class;
use crate::judge::expect::Expect;
use crate::kind::Kind;
use crate::only;
use crate::options::Options;
use crate::printed;
use crate::sweep::axes::Points;
use wordline_lab::error::Result;

/// Changes of an experiment as its file has them.
pub(crate) type Changes = BTreeMap<Spanned<String>, toml::Table>;

/// Rejects judged rows of the experiment `id` that name no change, and unknown and unused changes. Also
/// rejects a change that would explain a row outside its band by another value of a printed parameter.
pub(crate) fn check(
    id: &str,
    changes: &Changes,
    rows: &[(usize, &Expect)],
    kind: &Kind,
    wrong: &mut ErrorCollector<'_>,
) {
    let paper = id.split('/').next().unwrap_or_default();
    let is_model = matches!(kind, Kind::Sweep(_) | Kind::Nand(_) | Kind::Cells(_));
    let all = names(changes.keys().map(|name| name.get_ref().as_str()));
    for (at, expect) in rows {
        let key = if expect.fails_with.is_some() { "expect.fails_with" } else { "expect.explained_until" };
        if expect.fails_with.is_some() && expect.explained_until.is_some() {
            wrong.add(*at, key, "`fails_with` and `explained_until`", "one of them");
        }
        if expect.explained_until.is_some() && expect.explained.is_empty() {
            wrong.add(*at, key, "a change without a reason that it takes away", "`explained` beside it");
        }
        // A value that was derived here is not printed by the paper, so any change can show why it is missed.
        let until = expect.explained_until.as_ref().filter(|_| expect.class() != Class::ClosedForm);
        let change = until.and_then(|until| changes.iter().find(|(name, _)| name.get_ref() == until));
        if let Some(broken) = change.and_then(|(_, keys)| printed::printed_parameter_changed_by(paper, keys))
        {
            let found = format!("a change of a printed parameter: {}, {}", broken.what, broken.source);
            wrong.add(*at, key, found, "a change that keeps all printed parameters, or none");
        }
        match expect.change() {
            Some(_) if !is_model || !expect.is_judged() => {
                let wanted = "none: the row does not depend on the model";
                wrong.add(*at, key, format!("a change for `{}`", expect.what), wanted);
            }
            Some(name) if !changes.keys().any(|known| known.get_ref() == name) => {
                wrong.add(*at, key, format!("`{name}`"), all.clone());
            }
            _ => {}
        }
    }
    for (name, keys) in changes {
        let (at, label) = (name.span().start, format!("changes.{}", name.get_ref()));
        if !rows.iter().any(|(_, expect)| expect.change() == Some(name.get_ref())) {
            wrong.add(
                at,
                &label,
                "a change that no row names",
                "one that a row's `fails_with` or `explained_until` names",
            );
        }
        if keys.is_empty() {
            wrong.add(at, &label, "a change of nothing", "keys with their other values");
        }
    }
}

/// Lists names for a message.
fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    format!("one of the experiment's changes: {}", names.join(", "))
}

impl Experiment {
    /// Lists the changes of the experiment for a message.
    pub(crate) fn names_of_changes(&self) -> String {
        names(self.changes.keys().map(String::as_str))
    }

    /// Whether a point is run: it has the values to which the options restrict the experiment, and under a change
    /// of the model, an expected value compares it.
    pub(crate) fn is_needed(&self, settings: &toml::Table, options: &Options) -> bool {
        let is_compared = || self.expect.iter().any(|expect| expect.needs(settings));
        only::allows(&options.only, settings) && (options.change.is_empty() || is_compared())
    }

    /// Creates every device of the experiment under each change of the model, to validate it.
    pub(crate) fn check_changes(&self) -> Result<()> {
        for (name, change) in &self.changes {
            let options = Options { quick: true, change: change.clone(), ..Options::default() };
            let named = || self.expect.iter().filter(|expect| expect.change() == Some(name));
            let is_needed = |settings: &toml::Table| named().any(|expect| expect.needs(settings));
            match &self.kind {
                Kind::TraceStatistics { .. } | Kind::WriteSizes(_) => {}
                Kind::Sweep(sweep) => drop(sweep.points_where(&self.path, &options, is_needed)?),
                Kind::Nand(sweep) => drop(sweep.points_where(&self.path, &options, is_needed)?),
                Kind::Cells(sweep) => drop(sweep.points_where(&self.path, &options, is_needed)?),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::sync::atomic::AtomicBool;

    use crate::{Expect, Experiment, Kind, Lab, Library, Options, Row, Verdict, run, run_changed};
    use wordline_lab::sweep::SweepOptions;

    /// Experiments whose rows are always checked against their changes. Each takes less than a second.
    const CHEAP: [&str; 7] = [
        "nandflashsim/fig12",
        "nandflashsim/fig13",
        "nandflashsim/fig15",
        "nandflashsim/fig16",
        "nandflashsim/fig24",
        "nandflashsim/fig25",
        "validation/block-map",
    ];

    /// Rows of an expected value, under its change if `changed`. The experiment is scaled down if it has
    /// points at that scale. `None` if a recorded trace is missing. Recorded traces lie beside the
    /// repository, and only experiments that have no other workload use them.
    fn rows_of(experiment: &Experiment, expect: &Expect, lab: &Lab, changed: bool) -> Option<Vec<Row>> {
        let stop = AtomicBool::new(false);
        let conduct = SweepOptions { threads: 0, stop: &stop, progress: &|_, _| () };
        let rows = |(quick, traces): (bool, Option<&PathBuf>)| {
            let options = Options { quick, traces: traces.cloned(), seeds: 1, ..Options::default() };
            let alone = || Experiment {
                expect: vec![expect.clone()],
                charts: Vec::new(),
                maps: Vec::new(),
                ..experiment.clone()
            };
            let outcome = match changed {
                true => run_changed(experiment, expect, &options, lab, &conduct),
                false => run(&alone(), &options, lab, &conduct),
            };
            outcome.unwrap_or_else(|error| panic!("{}, {}: {error}", experiment.id, expect.what)).rows
        };
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let beside = repository.map(|folder| folder.join("shared/traces")).find(|folder| folder.is_dir());
        let folders: Vec<_> = std::iter::once(None).chain(beside.as_ref().map(Some)).collect();
        let tries =
            [true, false].into_iter().flat_map(|quick| folders.iter().map(move |traces| (quick, *traces)));
        tries.map(rows).find(|rows| !rows.is_empty())
    }

    #[test]
    fn every_judged_row_names_a_change_of_the_model() {
        for experiment in Library::open(None).expect("well formed").iter() {
            let is_model = matches!(experiment.kind, Kind::Sweep(_) | Kind::Nand(_) | Kind::Cells(_));
            let judged = experiment.expect.iter().filter(|row| is_model && row.is_judged());
            let unnamed: Vec<&str> =
                judged.filter(|row| row.change().is_none()).map(|row| row.what.as_str()).collect();
            assert!(unnamed.is_empty(), "{}: {unnamed:?}", experiment.id);
        }
    }

    /// Whether the change makes the rows fail. A row that other numbers of the source contradict cannot be
    /// inside anyway, so it does not count. If all rows are contradicted, the change must move one of them
    /// from its value `without` the change.
    fn fails(rows: &[Row], without: impl FnOnce() -> Option<Vec<Row>>) -> bool {
        if !rows.iter().all(|row| row.contradicted) {
            return rows.iter().any(|row| row.verdict == Verdict::Outside && !row.contradicted);
        }
        let without = without().unwrap_or_default();
        assert_eq!(rows.len(), without.len(), "the same rows under the change");
        rows.iter().zip(&without).any(|(row, other)| row.ours != other.ours)
    }

    /// Checks that each band fails under its change. Other tests check whether a cause is demonstrated. With
    /// `WORDLINE_LONG`, as in `make long`, all experiments run. With `WORDLINE_EXPERIMENT`, only those run
    /// whose names contain its text.
    #[test]
    fn every_judged_row_fails_under_the_change_of_the_model_that_it_names() {
        let long = std::env::var_os("WORDLINE_LONG").is_some();
        let only = std::env::var("WORDLINE_EXPERIMENT").ok();
        let is_run = |id: &str| match &only {
            Some(text) => id.contains(text.as_str()),
            None => long || CHEAP.contains(&id),
        };
        let lab = Lab::default();
        let mut held = Vec::new();
        for experiment in Library::open(None).expect("well formed").iter() {
            if !is_run(&experiment.id) {
                continue;
            }
            for expect in experiment.expect.iter().filter(|expect| expect.fails_with.is_some()) {
                let (id, what) = (&experiment.id, &expect.what);
                let without = || rows_of(experiment, expect, &lab, false);
                match rows_of(experiment, expect, &lab, true) {
                    None => println!("{id}, {what}: not run, for its trace is not there"),
                    Some(rows) if fails(&rows, without) => {}
                    Some(rows) => held.push(format!("{id}, {what}: {rows:#?}")),
                }
            }
        }
        assert!(held.is_empty(), "these hold under the change that must fail them:\n{}", held.join("\n"));
    }
}
