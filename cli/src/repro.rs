//! `wordline repro`: published figures and tables again, the paper's numbers beside ours.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use wordline_lab::experiment::{self, Experiment, Lab, Library, Options, Outcome};
use wordline_lab::sweep::Conduct;

use crate::arguments::SeedArgument;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Steps;

const EXAMPLES: &str = "\
Examples:
  wordline repro list
  wordline repro validation/waf-uniform
  wordline repro centaur --quick
  wordline repro --all --quick --json
  wordline repro validation/waf-uniform --report out";

/// Repeats published figures and tables, and says where our numbers differ from the paper's.
///
/// The exit code is 1 if a number lies outside its band, unless the experiment has a reason for these points and this
/// value: it explains them, or other numbers of the same paper contradict the published one.
#[derive(Args)]
#[command(arg_required_else_help = true, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The experiments, as `repro list` names them; PAPER alone for all of it.
    #[arg(value_name = "PAPER/NAME", required_unless_present = "all", conflicts_with = "all")]
    ids: Vec<String>,
    /// Repeats all experiments.
    #[arg(long)]
    all: bool,
    /// Scales down, for a first look; the bands stay.
    #[arg(long)]
    quick: bool,
    /// A folder of recorded traces, which take the place of profiles of the same name.
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Prints JSON: an object for one experiment, a list of them for several.
    #[arg(long)]
    json: bool,
    /// Prints the rows as Markdown tables, for documents.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Writes report.html, its charts and outcome.json into DIR/PAPER/NAME.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Runs so many parts side by side; as many as there are cores if not given.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
    #[command(flatten)]
    seed: SeedArgument,
    /// Shows no progress bar. There is none either where standard error is no terminal.
    #[arg(long)]
    no_progress: bool,
    /// A folder of experiments of yours (PAPER/NAME/experiment.toml), beside the embedded ones or in their place.
    #[arg(long, value_name = "DIR", global = true)]
    experiments: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Lists all experiments.
    #[command(after_help = EXAMPLES)]
    List {
        /// Prints JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Does what the user asked.
pub fn handle(arguments: Arguments) -> Result<(), Failure> {
    let library = Library::open(arguments.experiments.as_deref())?;
    if let Some(Command::List { json }) = arguments.command {
        return list(&library, json);
    }
    let mut experiments = Vec::new();
    for id in &arguments.ids {
        experiments.extend(library.find(id)?);
    }
    if arguments.all {
        experiments.extend(library.iter());
    }
    repeat(&experiments, &arguments)
}

fn list(library: &Library, json: bool) -> Result<(), Failure> {
    let entries = library.list();
    output::json_or(json, &entries, || {
        let rows: Vec<_> = entries
            .iter()
            .map(|entry| json!({ "id": entry.id, "claims": entry.claims.join(" "), "title": entry.title }))
            .collect();
        output::rows(&rows, &["id", "claims", "title"])
    })
}

/// Repeats experiments one after another, the parts of each side by side. A report that cannot be written does not keep
/// the results back.
fn repeat(experiments: &[&Experiment], arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::watch();
    let (mut outcomes, mut reports): (Vec<Outcome>, _) = (Vec::new(), Ok(()));
    let lab = Lab::default();
    for experiment in experiments {
        if interrupt.asked() {
            break;
        }
        let outcome = one(experiment, arguments, &lab, &interrupt)?;
        match (arguments.json, arguments.markdown) {
            (true, _) => {}
            (false, true) => output::text(&experiment::markdown(&outcome))?,
            (false, false) => output::text(&experiment::table(&outcome, output::width()))?,
        }
        if let Some(directory) = &arguments.report {
            let directory = directory.join(Path::new(&experiment.id));
            reports = reports.and(experiment::write_report(&directory, experiment, &outcome));
        }
        outcomes.push(outcome);
    }
    match &outcomes[..] {
        [outcome] if arguments.json && experiments.len() == 1 && !arguments.all => output::json(outcome)?,
        outcomes if arguments.json => output::json(&outcomes)?,
        [] | [_] => {}
        outcomes if arguments.markdown => output::text(&experiment::markdown_summary(outcomes))?,
        outcomes => output::text(&experiment::summary(outcomes, output::width()))?,
    }
    reports?;
    match outcomes.iter().map(|outcome| outcome.counts.unexplained).sum() {
        _ if interrupt.asked() => Err(Failure::Interrupted),
        0_usize => Ok(()),
        _ => Err(Failure::Verdict),
    }
}

fn one(
    experiment: &Experiment,
    arguments: &Arguments,
    lab: &Lab,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    let steps = Steps::new(&experiment.id, arguments.no_progress);
    let conduct = Conduct {
        threads: arguments.threads,
        stop: interrupt.flag(),
        progress: &|done, total| steps.show(done, total),
    };
    let options = Options {
        quick: arguments.quick,
        traces: arguments.traces.clone(),
        seed: arguments.seed.seed,
        ..Options::default()
    };
    Ok(experiment::run(experiment, &options, lab, &conduct)?)
}
