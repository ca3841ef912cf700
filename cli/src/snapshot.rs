//! `wordline snapshot`: devices in files, made once and used for many runs.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use wordline_lab::config::DEFAULT_PRESET;
use wordline_lab::prepare::make_snapshot;
use wordline_lab::report::Quantity;
use wordline_lab::run::Precondition;
use wordline_lab::snapshot::Snapshot;

use crate::arguments::{DeviceArguments, SeedArgument};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Watch;

const EXAMPLES: &str = "\
Examples:
  wordline snapshot make steady.snap --preset bench-512g
  wordline run --from-snapshot steady.snap --workload randwrite-4k-steady
  wordline run --from-snapshot steady.snap --workload mixed-70-30 --save-snapshot later.snap
  wordline snapshot show later.snap";

/// Makes and shows snapshots: devices in files, made once and used for many runs.
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
    /// The file to write. It appears once it is whole.
    to: PathBuf,
    #[command(flatten)]
    device: DeviceArguments,
    /// What is done to the device: empty, filled, steady-state, steady-state:0.5 of a part, or the fraction to fill.
    #[arg(long, value_name = "STATE", default_value = "steady-state")]
    precondition: Precondition,
    #[command(flatten)]
    seed: SeedArgument,
    /// Prints what was written as JSON.
    #[arg(long)]
    json: bool,
    /// Shows no progress. There is none either where standard error is no terminal.
    #[arg(long)]
    no_progress: bool,
}

/// Checks the whole of a snapshot and says what is in it.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
struct Show {
    /// The snapshot.
    file: PathBuf,
    /// Prints JSON, with the whole configuration of the device.
    #[arg(long)]
    json: bool,
}

/// Does what the user asked.
pub fn handle(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::Make(arguments) => make(arguments),
        Command::Show(arguments) => show(&arguments.file, arguments.json),
    }
}

fn make(arguments: Make) -> Result<(), Failure> {
    let Make { to, device, precondition, seed, json, no_progress } = arguments;
    let device = device.device(DEFAULT_PRESET)?;
    let interrupt = Interrupt::watch_idle();
    let mut watch = Watch::new(&device.name, no_progress, &interrupt);
    make_snapshot(&device, precondition, seed.seed, &to, &mut watch)?;
    drop(watch);
    show(&to, json)?;
    // Ctrl-C waits for the end of the write, so that no half of a file is left.
    if interrupt.asked() { Err(Failure::Interrupted) } else { Ok(()) }
}

fn show(file: &PathBuf, json: bool) -> Result<(), Failure> {
    let snapshot = Snapshot::open(file)?;
    let (head, device) = (snapshot.head().clone(), snapshot.device()?);
    let size = snapshot.verify()?;
    let bytes = |bytes: u64| Quantity::Bytes(bytes as f64).to_string();
    let value = json!({ "file": file, "head": head, "size": size });
    output::json_or(json, &value, || {
        let mut rows = vec![
            ("device", head.device.clone()),
            ("capacity", bytes(device.capacity().0)),
            ("seed", head.seed.to_string()),
            ("clock", Quantity::Seconds(head.simulated_seconds).to_string()),
            ("digest", head.digest.clone()),
            ("size", format!("{}, of a state of {}", bytes(size.file_bytes), bytes(size.state_bytes))),
            ("written by", format!("wordline {}", head.program)),
        ];
        rows.extend(head.history.iter().map(|done| ("history", done.clone())));
        let rows: Vec<_> = rows.iter().map(|(what, value)| json!({ "snapshot": what, "": value })).collect();
        output::rows(&rows, &["snapshot", ""])
    })
}
