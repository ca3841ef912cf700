//! `wordline metrics`: the metrics of devices.

use clap::Args;
use serde_json::{Value, json};
use wordline_kernel::Metric;
use wordline_lab::devices::Registry;

use crate::failure::Failure;
use crate::output::{self, JsonArgument};

const EXAMPLES: &str = "\
Examples:
  wordline metrics
  wordline metrics flash              those of a section
  wordline metrics --json";

/// Lists the metrics of devices: names in JSON, units and meanings.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A section, the part of a name before the dot; all metrics if not given.
    section: Option<String>,
    #[command(flatten)]
    json: JsonArgument,
}

/// Runs the command.
pub fn handle(arguments: Arguments, registry: &Registry) -> Result<(), Failure> {
    let row = |metric: &Metric| json!({ "name": metric.name, "unit": metric.unit.name(), "meaning": metric.meaning });
    let found = registry.metrics_in(arguments.section.as_deref())?;
    let rows: Vec<Value> = found.into_iter().map(row).collect();
    output::json_or(&arguments.json, &rows, || output::rows(&rows, &["name", "unit", "meaning"]))
}
