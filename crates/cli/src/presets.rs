//! `wordline presets`: the embedded devices.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use wordline_lab::Error;
use wordline_lab::config::{self, PresetInfo};
use wordline_lab::devices::Registry;
use wordline_lab::report::Quantity;

use crate::failure::Failure;
use crate::output::{self, JsonArgument};

const EXAMPLES: &str = "\
Examples:
  wordline presets list
  wordline presets show nvme-tlc > mine.toml     to run with --config mine.toml";

/// Columns of the list. Its JSON has the chips and the design too.
const COLUMNS: [&str; 6] = ["name", "class", "capacity", "spare", "4K writes/s", "description"];

/// Lists and shows the embedded devices.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists all devices.
    #[command(after_help = EXAMPLES)]
    List {
        #[command(flatten)]
        json: JsonArgument,
    },
    /// Shows the file of one device, each number with its source.
    #[command(after_help = EXAMPLES)]
    Show {
        /// A name from the list.
        name: String,
        #[command(flatten)]
        json: JsonArgument,
    },
}

/// Runs the command.
pub fn handle(arguments: Arguments, registry: &Registry) -> Result<(), Failure> {
    match arguments.command {
        Command::List { json } => {
            let presets = config::presets(registry)?;
            output::json_or(&json, &presets, || {
                let rows: Vec<_> = presets.iter().map(row).collect();
                output::rows(&rows, &COLUMNS)
            })
        }
        Command::Show { name, json } => {
            let text = config::preset_text(registry, &name).ok_or_else(|| unknown(&name, registry))?;
            output::json_or_text(&json, &json!({ "name": name, "text": text }), || text.into())
        }
    }
}

/// The row of a preset: its class, the capacity that the host sees, and steady random writes a second.
fn row(preset: &PresetInfo) -> Value {
    json!({
        "name": preset.name,
        "description": preset.description,
        "class": preset.class,
        "capacity": Quantity::Bytes(preset.capacity_bytes as f64).to_string(),
        "spare": preset.spare.map(|spare| Quantity::Fraction(spare).to_string()),
        "4K writes/s": preset.steady_writes.map(|rate| Quantity::Count(rate as u64).to_string()),
    })
}

fn unknown(name: &str, registry: &Registry) -> Error {
    Error::Argument {
        what: "preset".into(),
        found: format!("`{name}`"),
        wanted: config::one_of(name, &registry.preset_names()),
    }
}
