//! `wordline devices`: device types that a configuration can name.

use clap::Args;
use serde_json::{Value, json};
use wordline_lab::config;
use wordline_lab::devices::{Registry, TypeInfo};

use crate::failure::Failure;
use crate::output::{self, JsonArgument};

const EXAMPLES: &str = "\
Examples:
  wordline devices
  wordline devices fixed-latency      its keys
  wordline devices --json";

/// Lists the device types for the key `device` of a configuration, or shows the keys and metrics of one.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A type; all types if not given.
    name: Option<String>,
    #[command(flatten)]
    json: JsonArgument,
}

/// Runs the command.
pub fn handle(arguments: &Arguments, registry: &Registry) -> Result<(), Failure> {
    let Some(name) = &arguments.name else {
        let all = registry.types();
        return output::json_or(&arguments.json, &all, || table(&all));
    };
    let page = config::page_of_device(registry, name)?;
    let found: Vec<TypeInfo> = registry.types().into_iter().filter(|of| of.name == name).collect();
    output::json_or_text(&arguments.json, &found, || page)
}

/// One line for each type. An asterisk marks the default type.
fn table(types: &[TypeInfo]) -> String {
    let row = |of: &TypeInfo| {
        let mark = if of.default { "*" } else { "" };
        json!({ "device": format!("{}{mark}", of.name), "description": of.description, "keys": of.keys.join(" ") })
    };
    let rows: Vec<Value> = types.iter().map(row).collect();
    let table = output::rows(&rows, &["device", "description", "keys"]);
    format!("{table}\n\n* used if the key `device` is not given\n")
}
