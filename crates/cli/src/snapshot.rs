//! `wordline snapshot`: devices in files, prepared once and used for many runs.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use wordline_lab::output::Output;
use wordline_lab::report::Quantity;
use wordline_lab::run::make_snapshot;
use wordline_lab::snapshot::Snapshot;
use wordline_lab::{DEFAULT_PRESET, Device, Precondition, Registry};

use crate::arguments::{DeviceArguments, SeedArgument};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{self, Json, JsonArgument};
use crate::progress::RunProgress;

const EXAMPLES: &str = "\
Examples:
  wordline snapshot make steady.snap --preset bench-512g
  wordline run --from-snapshot steady.snap --workload randwrite-4k-steady
  wordline run --from-snapshot steady.snap --workload mixed-70-30 --save-snapshot later.snap
  wordline snapshot show later.snap";

/// Creates and shows snapshots: devices in files, prepared once and used for many runs.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Make(Make),
    Show(Show),
}

/// Preconditions a device and saves it.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Make {
    /// The file to write, which appears when it is complete; `-` for standard output.
    to: PathBuf,
    #[command(flatten)]
    device: DeviceArguments,
    /// State to prepare: empty, filled, a fraction to fill, steady-state, or steady-state:0.5 (over this
    /// fraction of the logical pages).
    #[arg(long, value_name = "STATE", default_value = "steady-state")]
    precondition: Precondition,
    #[command(flatten)]
    seed: SeedArgument,
    #[command(flatten)]
    json: JsonArgument,
    /// Shows no progress, even if standard error is a terminal.
    #[arg(long)]
    no_progress: bool,
}

/// Checks a whole snapshot and shows its contents.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Show {
    /// The snapshot; `-` for standard input.
    file: PathBuf,
    #[command(flatten)]
    json: JsonArgument,
}

/// Runs the command.
pub fn handle(arguments: Arguments, registry: &Registry) -> Result<(), Failure> {
    match arguments.command {
        Command::Make(arguments) => make(arguments, registry),
        Command::Show(arguments) => show(&arguments.file, arguments.json.open()?, registry),
    }
}

fn make(arguments: Make, registry: &Registry) -> Result<(), Failure> {
    let Make { to, device, precondition, seed, json, no_progress } = arguments;
    let outputs = [("the snapshot", Some(to.as_path())), ("--json", json.file.as_deref())];
    output::check_distinct(&outputs, &device.files().collect::<Vec<_>>())?;
    let device = device.device(registry, DEFAULT_PRESET)?;
    let (saved, json) = (Output::open(&to)?, json.open()?);
    let mut watch = RunProgress::new(&device.name, no_progress);
    make_snapshot(&device, precondition, seed.seed, saved, &mut watch)?;
    drop(watch);
    interrupt::set_polling(false);
    // A snapshot that was written to a pipe cannot be read again.
    if to.is_file() { show(&to, json, registry) } else { Ok(()) }
}

fn show(file: &PathBuf, json: Json, registry: &Registry) -> Result<(), Failure> {
    let snapshot = Snapshot::open(file)?;
    let (head, device) = (snapshot.head().clone(), Device::of_snapshot(registry, &snapshot, &[])?);
    let size = snapshot.verify()?;
    let bytes = |bytes: u64| Quantity::Bytes(bytes as f64).to_string();
    let value =
        json!({ "file": file, "device_type": device.configured.device_type(), "head": head, "size": size });
    json.or_table(&value, || {
        let mut rows = vec![
            ("device", head.device.clone()),
            ("type", device.configured.device_type().to_owned()),
            ("capacity", bytes(device.capacity().0)),
            ("seed", head.seed.to_string()),
            ("clock", Quantity::Seconds(head.simulated_seconds).to_string()),
            ("digest", head.digest.clone()),
            ("size", format!("{}, of a state of {}", bytes(size.file_bytes), bytes(size.state_bytes))),
            ("written by", format!("wordline {}", head.program)),
        ];
        rows.extend(head.designs.iter().map(|name| ("design", name.clone())));
        rows.extend(head.history.iter().map(|done| ("history", done.clone())));
        let rows: Vec<_> = rows.iter().map(|(what, value)| json!({ "snapshot": what, "": value })).collect();
        output::rows(&rows, &["snapshot", ""])
    })
}
