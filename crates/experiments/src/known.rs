//! The list of rows that are known to be outside. The exit code reports rows outside that are not in the
//! list, and listed rows that are inside.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use wordline_kernel::Complaints;

use crate::judge::outcome::{Row, Verdict};
use crate::options::Options;
use wordline_lab::error::{Error, Result};
use wordline_lab::words::found_and_wanted;

/// The list of the embedded experiments.
const EMBEDDED: &str = include_str!("../../../data/experiments/outside.toml");
/// Name of the list in a folder of experiments.
const NAME: &str = "outside.toml";

/// Rows of an experiment that are outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownOutside {
    /// Rows of the scaled-down experiment; `None` if they were not determined yet.
    pub quick: Option<RowLists>,
    /// Rows of the full experiment; `None` if they were not determined yet.
    pub full: Option<RowLists>,
}

/// Rows by their description.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowLists {
    /// Rows that are outside with every seed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// Rows whose verdict depends on the seed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changing: Vec<String>,
}

/// Lists by experiment ID.
type Lists = BTreeMap<String, KnownOutside>;

/// Returns the lists of the embedded experiments, with the lists of `folder` on top.
pub(crate) fn lists(folder: Option<&Path>) -> Result<Lists> {
    let mut lists = read(Path::new("data/experiments").join(NAME).as_path(), EMBEDDED)?;
    if let Some(path) = folder.map(|folder| folder.join(NAME)).filter(|path| path.is_file()) {
        lists.extend(read(&path, &wordline_lab::input::text(&path, "a list of rows outside")?)?);
    }
    Ok(lists)
}

fn read(path: &Path, text: &str) -> Result<Lists> {
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text[..at.min(text.len())].matches('\n').count() + 1;
        let (found, wanted) = found_and_wanted(error.message(), "valid TOML");
        let mut wrong = Complaints::default();
        wrong.add(format!("{}:{line}", path.display()), found, wanted);
        Error::Config(wrong)
    })
}

impl KnownOutside {
    /// Returns the rows that differ from the list. If there is no list, recorded traces replace the profiles, or
    /// a part of the experiment was run, the rows outside without a reason are returned. A row never counts if
    /// a part of its confidence interval gives another verdict.
    pub(crate) fn surprises(&self, rows: &[Row], options: &Options) -> Vec<String> {
        let list = if options.quick { &self.quick } else { &self.full };
        let rows = rows.iter().filter(|row| row.under.is_none() && row.verdict != Verdict::Shown);
        let outside = rows.clone().filter(|row| row.verdict == Verdict::Outside && row.sure);
        let Some(list) = list.as_ref().filter(|_| options.traces.is_none() && options.only.is_empty()) else {
            let without = outside.filter(|row| !row.explained && !row.contradicted);
            return without
                .map(|row| format!("outside, and without a reason: {}", row.shown_what()))
                .collect();
        };
        let is_in = |names: &[String], name: &str| names.iter().any(|known| known == name);
        let is_named = |row: &Row| {
            let name = row.shown_what();
            is_in(&list.outside, &name) || is_in(&list.changing, &name)
        };
        let unnamed = outside.filter(|row| !is_named(row));
        let unnamed = unnamed.map(|row| format!("outside, and not named in {NAME}: {}", row.shown_what()));
        let is_inside = |name: &&String| {
            let mut of_it = rows.clone().filter(|row| row.shown_what() == **name).peekable();
            of_it.peek().is_some() && of_it.all(|row| row.verdict != Verdict::Outside && row.sure)
        };
        let inside = list.outside.iter().filter(is_inside);
        unnamed.chain(inside.map(|name| format!("not outside, but named in {NAME}: {name}"))).collect()
    }

    /// Makes the list from the rows of an outcome.
    #[cfg(test)]
    pub(crate) fn of(rows: &[Row]) -> RowLists {
        let judged = rows.iter().filter(|row| row.under.is_none() && row.verdict != Verdict::Shown);
        let changes = |row: &&Row| row.changes || !row.sure;
        let (changing, same): (Vec<&Row>, Vec<&Row>) = judged.partition(changes);
        let outside = same.into_iter().filter(|row| row.verdict == Verdict::Outside);
        RowLists {
            outside: outside.map(Row::shown_what).collect(),
            changing: changing.into_iter().map(Row::shown_what).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(what: &str, verdict: Verdict, sure: bool) -> Row {
        Row { verdict, sure, ..Row::named(what.into()) }
    }

    #[test]
    fn rows_outside_that_are_not_named_and_named_ones_that_are_inside_are_surprises() {
        let (quick, all) = (Options { quick: true, ..Options::default() }, Options::default());
        let rows = RowLists { outside: vec!["A".into(), "B".into()], changing: vec!["C".into()] };
        let known = KnownOutside { quick: Some(rows), full: None };
        let found = [
            row("A", Verdict::Outside, true),
            row("B", Verdict::Within, true),
            row("C", Verdict::Outside, true),
            row("D", Verdict::Outside, true),
            row("E", Verdict::Outside, false),
        ];
        let surprises = known.surprises(&found, &quick);
        let wanted =
            ["outside, and not named in outside.toml: D", "not outside, but named in outside.toml: B"];
        assert_eq!(surprises, wanted);
        let reasons: Vec<Row> =
            found.iter().map(|row| Row { explained: row.what != "A", ..row.clone() }).collect();
        assert_eq!(known.surprises(&reasons, &all), ["outside, and without a reason: A"]);
        let rows = KnownOutside::of(&found);
        assert_eq!((rows.outside.join(" "), rows.changing.join(" ")), ("A C D".into(), "E".into()));
    }

    #[test]
    fn a_list_that_is_no_list_is_refused_with_its_line() {
        let error =
            read(Path::new("outside.toml"), "[\"a/b\"]\nquick = { outsid = [] }\n").expect_err("a key");
        assert!(error.to_string().starts_with("outside.toml:2: found an unknown key `outsid`"), "{error}");
    }
}
