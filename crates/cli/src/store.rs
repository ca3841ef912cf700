//! `wordline store`: checks, repairs and merges stores of studies.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use wordline_kernel::counted;
use wordline_lab::error::Error;
use wordline_studies::{self as studies, CheckReport, MergeReport, Store};

use crate::failure::Failure;
use crate::output::{self, JsonArgument};

const EXAMPLES: &str = "\
Examples:
  wordline store check runs
  wordline store repair runs
  wordline store merge runs part1 part2";

/// Checks a store of studies, moves damaged files out of it, or merges stores.
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
    /// Copies the runs of other stores into a store, which is created if necessary. Runs that it has are kept,
    /// except failed ones that another store has without an error. The other stores are not changed.
    Merge(MergeArguments),
}

#[derive(Args)]
struct MergeArguments {
    /// Folder of the store that gets the runs.
    #[arg(value_name = "INTO")]
    into: PathBuf,
    /// Folders of the stores whose runs are copied.
    #[arg(value_name = "FROM", required = true)]
    from: Vec<PathBuf>,
    #[command(flatten)]
    json: JsonArgument,
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
        Command::Merge(MergeArguments { into, from, json }) => merge(into, from, json),
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

fn merge(into: &Path, from: &[PathBuf], json: &JsonArgument) -> Result<(), Failure> {
    // Nothing is created or copied if one of the folders is no store.
    for store in from {
        if std::fs::canonicalize(store)
            .ok()
            .is_some_and(|store| std::fs::canonicalize(into).ok() == Some(store))
        {
            return Err(Failure::Error(Error::Argument {
                what: "FROM".into(),
                found: format!("{}, which is INTO", store.display()),
                wanted: "another store".into(),
            }));
        }
        studies::has_store(store)?;
    }
    let store = Store::open(into)?;
    let mut all = MergeReport::default();
    for other in from {
        let MergeReport { added, known } = store.merge(other)?;
        all = MergeReport { added: all.added + added, known: all.known + known };
    }
    let runs = store.count()?;
    let value = json!({ "added": all.added, "known": all.known, "runs": runs });
    output::json_or_text(json, &value, || {
        let MergeReport { added, known } = all;
        format!("{} copied, {known} known, {runs} in {}\n", counted(added as u64, "run"), into.display())
    })
}

fn text(CheckReport { runs, damage }: &CheckReport) -> String {
    let line = |damage: &studies::Damage| format!("{}: found {}\n", damage.file.display(), damage.reason);
    let lines: String = damage.iter().map(line).collect();
    format!(
        "{lines}{} as written, {} damaged\n",
        counted(*runs as u64, "run"),
        counted(damage.len() as u64, "file")
    )
}
