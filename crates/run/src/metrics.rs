//! JSON schemas of the device metrics in a result.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use wordline_device::detail::of_pool;
use wordline_kernel::Metric;
use wordline_kernel::metrics::Unit;
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
