//! Device metrics in a result: their JSON schemas, and how they are read from JSON.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use wordline_device::detail::of_pool;
use wordline_kernel::metrics::{Unit, Value};
use wordline_kernel::{Metric, Metrics};
use wordline_ssd::metrics::all;

/// The schema of the metrics of a device.
pub(crate) struct MetricsSchema;

impl JsonSchema for MetricsSchema {
    fn schema_name() -> Cow<'static, str> {
        "Metrics".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_of(all())
    }
}

/// The schema of the metrics of a pool, for a device with several pools.
pub(crate) struct PoolMetricsSchema;

impl JsonSchema for PoolMetricsSchema {
    fn schema_name() -> Cow<'static, str> {
        "PoolMetrics".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schema_of(of_pool())
    }
}

/// The schema of an object with an object for each section, and with the metrics that have no section.
fn schema_of(metrics: impl Iterator<Item = &'static Metric>) -> Schema {
    let mut sections = serde_json::Map::new();
    for metric in metrics {
        let kind = match metric.unit {
            Unit::Fraction | Unit::Ratio | Unit::Microseconds | Unit::Joules => "number",
            _ if metric.name.ends_with("mean_bytes") => "number",
            _ => "integer",
        };
        let described = match metric.can_be_absent() {
            true => json_schema!({ "type": [kind, "null"], "description": metric.meaning }),
            false => json_schema!({ "type": kind, "description": metric.meaning }),
        };
        let table = match metric.section() {
            None => &mut sections,
            Some(section) => {
                let empty = serde_json::json!({
                    "type": "object", "description": about(section), "properties": {}
                });
                let object = sections.entry(section).or_insert(empty);
                object["properties"].as_object_mut().expect("it was made as one")
            }
        };
        table.insert(metric.word().to_owned(), described.into());
    }
    json_schema!({ "type": "object", "properties": sections })
}

/// The description of a section of metrics.
fn about(section: &str) -> &'static str {
    match section {
        "buffer" => "Counts of the buffer.",
        "faults" => "Counts of failures.",
        "flash" => "Counts of flash operations.",
        "sub_requests" => "Sub-requests to each of several pools; left out where there is one.",
        "map_guesses" => "Guesses of the map; left out where it does not guess.",
        _ => "Counts of a design.",
    }
}

/// Reads metrics, which then have names and values only; [`Metrics::defined`] adds the rest.
pub(crate) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Metrics, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Read {
        Alone(Value),
        Section(BTreeMap<String, Value>),
        Other(IgnoredAny),
    }
    let mut metrics = Vec::new();
    for (name, read) in BTreeMap::<String, Read>::deserialize(from)? {
        match read {
            Read::Alone(value) => metrics.push((undefined(&name), value)),
            Read::Section(values) => {
                let named = |(word, value)| (undefined(&format!("{name}.{word}")), value);
                metrics.extend(values.into_iter().map(named));
            }
            Read::Other(_) => {
                return Err(D::Error::custom(format_args!("`{name}`, which has no numbers")));
            }
        }
    }
    Ok(metrics.into_iter().collect())
}

/// Names of metrics that were read. Definitions have static names, so each name is kept once, for good.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// A metric of which only the name is known.
fn undefined(name: &str) -> Metric {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let name = names.get(name).copied().unwrap_or_else(|| {
        let kept: &'static str = name.to_owned().leak();
        names.insert(kept);
        kept
    });
    Metric::new(name, Unit::Count, "A metric that this program does not define; null if it has no value.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_read_by_name_and_other_members_are_refused() {
        let read = |text: &str| read(&mut serde_json::Deserializer::from_str(text));
        let metrics = read(r#"{"energy_joules":0.5,"flash":{"erases":1,"reads":null}}"#).expect("metrics");
        let values: Vec<(&str, Value)> = metrics.iter().map(|(metric, value)| (metric.name, value)).collect();
        let expected = [
            ("energy_joules", Value::Number(0.5)),
            ("flash.erases", Value::Count(1)),
            ("flash.reads", Value::Absent),
        ];
        assert_eq!(values, expected);
        let wrong = read(r#"{"flash":"no numbers"}"#).expect_err("a text").to_string();
        assert!(wrong.starts_with("`flash`, which has no numbers"), "{wrong}");
    }
}
