//! `wordline store`: checks and repairs a store of studies.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use wordline_studies::{self as studies, CheckReport};

use crate::failure::Failure;
use crate::output::{self, JsonArgument};

const EXAMPLES: &str = "\
Examples:
  wordline store check runs
  wordline store repair runs";

/// Checks a store of studies, or moves damaged files out of it.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Reads every file of a store, and lists the damaged files with reasons. Changes nothing. The exit code
    /// is 1 if a file is damaged.
    Check(StoreArguments),
    /// Moves the files that `check` lists to the folder `damaged` of the store. Nothing is deleted or
    /// overwritten. A study that is started again repeats the runs of these files. The exit code is 0, even
    /// if files were moved.
    Repair(StoreArguments),
}

#[derive(Args)]
struct StoreArguments {
    /// Folder of the store.
    #[arg(value_name = "DIR")]
    store: PathBuf,
    #[command(flatten)]
    json: JsonArgument,
}

/// Runs the command.
pub fn handle(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Check(StoreArguments { store, json }) => {
            let checked = studies::check(store)?;
            output::json_or_text(json, &checked, || text(&checked))?;
            if checked.damage.is_empty() { Ok(()) } else { Err(Failure::Verdict) }
        }
        Command::Repair(StoreArguments { store, json }) => {
            let (checked, moved) = studies::repair(store)?;
            let value = json!({ "runs": checked.runs, "damage": checked.damage, "moved": moved });
            output::json_or_text(json, &value, || {
                let line = |moved: &studies::MovedFile| {
                    format!("{} is now {}\n", moved.from.display(), moved.to.display())
                };
                text(&checked) + &moved.iter().map(line).collect::<String>()
            })
        }
    }
}

fn text(CheckReport { runs, damage }: &CheckReport) -> String {
    let line = |damage: &studies::Damage| format!("{}: found {}\n", damage.file.display(), damage.reason);
    let lines: String = damage.iter().map(line).collect();
    let count = |count: usize, of: &str| format!("{count} {of}{}", if count == 1 { "" } else { "s" });
    format!("{lines}{} as written, {} damaged\n", count(*runs, "run"), count(damage.len(), "file"))
}
