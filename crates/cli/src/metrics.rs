//! `wordline metrics`: the columns of results.

use clap::Args;
use serde_json::Value;
use wordline_lab::columns::columns;
use wordline_lab::devices::Registry;

use crate::failure::Failure;
use crate::output::{self, JsonArgument};

const EXAMPLES: &str = "\
Examples:
  wordline metrics
  wordline metrics flash              those of a section
  wordline metrics host               throughput and latencies, such as host.read_latency_us.p99
  wordline metrics --json";

/// Lists what a column can name: the metrics of devices and the other numbers of a result, with units and
/// meanings.
///
/// The names are those of the JSON and of `--column`. In a name, N is the number of an item of a list, from 0,
/// or its name.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A section, the part of a name before the first dot; all if not given.
    section: Option<String>,
    #[command(flatten)]
    json: JsonArgument,
}

/// Runs the command.
pub fn handle(arguments: Arguments, registry: &Registry) -> Result<(), Failure> {
    let found = columns(registry, arguments.section.as_deref())?;
    let row = |column| serde_json::to_value(column).expect("a column has text only");
    let rows: Vec<Value> = found.into_iter().map(row).collect();
    output::json_or(&arguments.json, &rows, || output::rows(&rows, &["name", "unit", "meaning"]))
}
