//! The columns of results: every number of a summary that a study, a search or an experiment can name.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use schemars::schema_for;
use serde::Serialize;
use serde_json::Value as Json;

use crate::config::follow_schema;
use crate::devices::Registry;
use crate::error::{Error, Result};
use crate::summary::Summary;
use wordline_kernel::one_of;

/// A column of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Name with dots, such as `host.read_latency_us.p99`. `N` stands for the number of an item of a list, from
    /// 0, or for its name.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// Meaning in one sentence.
    pub meaning: String,
}

/// Parts of a summary that are no results of the device.
const LEFT_OUT: [&str; 4] = ["provenance", "seed", "trace_file", "windows"];

/// The schema of a summary. It is made once: an experiment looks up a hundred columns.
pub fn summary_schema() -> &'static Json {
    static SCHEMA: LazyLock<Json> = LazyLock::new(|| schema_for!(Summary).to_value());
    &SCHEMA
}

/// The columns of a section (the part of a name before the first dot), or all of them: first the metrics of
/// the devices and designs of `registry`, then the other numbers of a summary.
///
/// # Errors
/// [`Error::Argument`] for an unknown section.
pub fn columns(registry: &Registry, section: Option<&str>) -> Result<Vec<Column>> {
    let mut all: Vec<Column> = registry
        .metrics()
        .map(|metric| Column {
            name: metric.name.to_owned(),
            unit: metric.unit.name().to_owned(),
            meaning: metric.meaning.to_owned(),
        })
        .collect();
    let root = summary_schema();
    walk(root, root, ("", ""), &mut all);
    // Several types of devices may have a metric, and the summary may have it, too.
    let mut known = BTreeSet::new();
    all.retain(|column| known.insert(column.name.clone()));
    let section_of = |column: &Column| column.name.split('.').next().unwrap_or("").to_owned();
    let Some(section) = section else { return Ok(all) };
    let found: Vec<Column> = all.iter().filter(|column| section_of(column) == section).cloned().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let mut sections: Vec<String> = all.iter().map(section_of).collect();
    sections.sort_unstable();
    sections.dedup();
    let names: Vec<&str> = sections.iter().map(String::as_str).collect();
    Err(Error::Argument {
        what: "the section of metrics".into(),
        found: section.to_owned(),
        wanted: one_of(section, &names),
    })
}

/// Adds the numbers below `schema`, which has this path and meaning.
fn walk(root: &Json, schema: &Json, (path, meaning): (&str, &str), all: &mut Vec<Column>) {
    let schema = follow_schema(root, schema).0;
    if let Some(items) = schema.get("items") {
        return walk(root, items, (&format!("{path}.N"), meaning), all);
    }
    let Some(members) = schema["properties"].as_object() else {
        let kinds = schema["type"].to_string();
        if kinds.contains("number") || kinds.contains("integer") {
            let meaning = meaning.split_whitespace().collect::<Vec<_>>().join(" ");
            all.push(Column { name: path.to_owned(), unit: unit_of(path).to_owned(), meaning });
        }
        return;
    };
    for (key, member) in members {
        if path.is_empty() && LEFT_OUT.contains(&key.as_str()) {
            continue;
        }
        let own =
            member["description"].as_str().or_else(|| follow_schema(root, member).0["description"].as_str());
        let own = own.unwrap_or("");
        // A part of a latency or of a range has the meaning of the whole as well.
        let is_part = !meaning.is_empty() && !own.is_empty() && path.ends_with("_us");
        let meaning = if is_part { format!("{meaning} {own}") } else { own.to_owned() };
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        walk(root, member, (&path, &meaning), all);
    }
}

/// The unit of a number of a summary, by its name: the part with a unit is the last one that has any.
fn unit_of(path: &str) -> &'static str {
    let ends: [(&str, &str); 15] = [
        ("_us", "us"),
        ("us", "us"),
        ("_seconds", "s"),
        ("seconds", "s"),
        ("_per_second", "1/s"),
        ("iops", "1/s"),
        ("_bytes", "B"),
        ("bytes", "B"),
        ("offset", "B"),
        ("amount", "J"),
        ("part", "fraction"),
        ("_joules", "J"),
        ("_percentile", "%"),
        ("terabytes_written", "TB"),
        ("terabytes_expected", "TB"),
    ];
    let fractions =
        ["busy", "gc", "share", "fairness", "utilisation", "spare", "endurance_used", "ratio", "variation"];
    let of_part = |part: &str| {
        let known = ends.iter().find(|(end, _)| part == *end || end.starts_with('_') && part.ends_with(end));
        let is_fraction =
            || fractions.iter().any(|word| part == *word || part.ends_with(&format!("_{word}")));
        match part {
            "write_amplification" | "drive_writes" | "third_quarter" | "last_quarter" => Some("ratio"),
            "drive_writes_per_day" => Some("1/day"),
            "years_expected" => Some("years"),
            _ => known.map(|(_, unit)| *unit).or_else(|| is_fraction().then_some("fraction")),
        }
    };
    path.rsplit('.').find_map(of_part).unwrap_or("count")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(name: &str) -> String {
        let all = columns(&Registry::default(), None).expect("all sections");
        let found = all.into_iter().find(|column| column.name == name);
        found.unwrap_or_else(|| panic!("{name}")).unit
    }

    #[test]
    fn columns_of_studies_are_listed_with_their_units() {
        for (name, wanted) in [
            ("host.iops", "1/s"),
            ("host.read_latency_us.p99", "us"),
            ("host.write_latency_us.mean", "us"),
            ("write_amplification", "ratio"),
            ("jobs.N.read_latency_us.p999", "us"),
            ("flash.erases", "blocks"),
            ("cubeftl.leader_us", "us"),
            ("wear.years_expected", "years"),
            ("wear.drive_writes_per_day", "1/day"),
            ("simulated_seconds", "s"),
            ("host.read_bytes", "B"),
            ("channel_utilisation.N", "fraction"),
            ("host.reads", "count"),
            ("energy_by_stage.N.amount", "J"),
            ("pools.N.bytes", "B"),
            ("drift.last_quarter", "ratio"),
        ] {
            assert_eq!(unit(name), wanted, "{name}");
        }
    }

    #[test]
    fn a_section_is_the_first_part_of_a_name_and_another_is_refused() {
        let host = columns(&Registry::default(), Some("host")).expect("a section");
        assert!(host.len() > 20 && host.iter().all(|column| column.name.starts_with("host.")));
        assert!(host.iter().all(|column| !column.meaning.is_empty()));
        let error = columns(&Registry::default(), Some("hots")).expect_err("no section").to_string();
        assert!(error.contains("found hots, wanted host, or another of"), "{error}");
    }

    #[test]
    fn a_unit_in_a_name_is_the_unit_that_is_listed() {
        for column in columns(&Registry::default(), None).expect("all sections") {
            let is_time = column.name.ends_with("_us");
            assert!(!is_time || ["us", "count"].contains(&&*column.unit), "{column:?}");
            assert!(!is_time || column.unit == "us" || column.name == "raid5.degraded_us", "{column:?}");
        }
    }

    #[test]
    fn a_metric_of_several_device_types_is_listed_once() {
        let mut names: Vec<String> = columns(&Registry::default(), None)
            .expect("all sections")
            .into_iter()
            .map(|column| column.name)
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
