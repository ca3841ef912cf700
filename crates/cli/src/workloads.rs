//! `wordline workloads`: the values of `--workload`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use wordline_lab::Error;
use wordline_lab::trace::workload::{self, Profile};
use wordline_lab::workload::Generated;

use crate::failure::Failure;
use crate::output::{self, JsonArgument};

const EXAMPLES: &str = "\
Examples:
  wordline workloads list
  wordline workloads show mixed-70-30 > mine.toml     to run with --workload mine.toml
  wordline workloads show centaur/usr_1";

/// Lists and shows named workloads and the profiles of published traces.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists all names.
    #[command(after_help = EXAMPLES)]
    List {
        #[command(flatten)]
        json: JsonArgument,
    },
    /// Shows one: a workload as TOML, or a profile with the numbers that it is fitted to.
    #[command(after_help = EXAMPLES)]
    Show {
        /// A name from the list.
        name: String,
        #[command(flatten)]
        json: JsonArgument,
    },
}

/// Runs the command.
pub fn handle(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::List { json } => list(&json),
        Command::Show { name, json } if Profile::names().contains(&name) => show_profile(&name, &json),
        Command::Show { name, json } => {
            let generated = Generated::named(&name).ok_or_else(|| Error::Argument {
                what: "workload".into(),
                found: format!("`{name}`"),
                wanted: workload::list_all_names(&name),
            })?;
            output::json_or_text(&json, &generated, || {
                toml::to_string(&generated).expect("a workload was read from TOML")
            })
        }
    }
}

fn list(json: &JsonArgument) -> Result<(), Failure> {
    let row = |name: String, kind: &str, description: String| json!({ "name": name, "kind": kind, "description": description });
    let mut rows = Vec::new();
    for name in Generated::names() {
        let generated = Generated::named(&name).expect("it is in the list of names");
        let (description, kind) = generated.description();
        rows.push(row(name, kind, description.to_owned()));
    }
    for name in Profile::names() {
        let source = Profile::named(&name)?.source;
        rows.push(row(name, "profile", source));
    }
    output::json_or(json, &rows, || output::rows(&rows, &["name", "kind", "description"]))
}

fn show_profile(name: &str, json: &JsonArgument) -> Result<(), Failure> {
    let profile = Profile::named(name)?;
    let claims = profile.claims();
    let value = json!({ "name": profile.name, "source": profile.source, "claims": claims });
    output::json_or(json, &value, || {
        let rows: Vec<Value> =
            claims.iter().map(|claim| serde_json::to_value(claim).expect("claims are JSON")).collect();
        format!(
            "{}: {}\n\n{}",
            profile.name,
            profile.source,
            output::rows(&rows, &["statistic", "paper", "unit", "contradiction"])
        )
    })
}
