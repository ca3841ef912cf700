//! `wordline config`: explains, checks and documents configurations.

use clap::{Args, Subcommand};
use wordline_lab::{DEFAULT_PRESET, Registry, config};

use crate::arguments::DeviceArguments;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  wordline config explain --preset bench-512g --set ftl.over_provisioning=0.28
  wordline config check --config drive.toml
  wordline config show --preset z-nand > drive.toml
  wordline config schema > wordline.schema.json";

/// Explains, checks and documents configurations.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prints what follows from a configuration: geometry, capacity, memory, peak speeds.
    #[command(after_help = EXAMPLES)]
    Explain(DeviceArguments),
    /// Prints all faults of a configuration, or `NAME: sound` with the exit code 0.
    #[command(after_help = EXAMPLES)]
    Check(DeviceArguments),
    /// Prints the whole configuration as one TOML document, defaults and changes included.
    #[command(after_help = EXAMPLES)]
    Show(DeviceArguments),
    /// Prints the JSON Schema of configuration files, for editors.
    Schema,
}

/// Runs the command.
pub fn handle(arguments: Arguments, registry: &Registry) -> Result<(), Failure> {
    let load = |device: DeviceArguments| device.device(registry, DEFAULT_PRESET);
    match arguments.command {
        Command::Explain(device) => output::table(&load(device)?.explain()),
        Command::Check(device) => output::text(&format!("{}: sound", load(device)?.name)),
        Command::Show(device) => output::text(&load(device)?.text),
        Command::Schema => output::text(&config::schema(registry)),
    }
}
