//! `wordline repro`: reproduces published figures and tables, and compares the numbers with the paper's.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::{Args, Subcommand};
use serde_json::json;
use wordline_experiments::{self as experiments, Experiment, Lab, Library, Options, Outcome, SEEDS, only};
use wordline_lab::Error;
use wordline_lab::devices::Registry;
use wordline_lab::output::ReportFolder;
use wordline_lab::sweep::SweepOptions;

use crate::arguments::{SeedArgument, whole};
use crate::charts::{Charts, ChartsArguments};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{self, Json, JsonArgument};
use crate::progress::ExperimentProgress;
use crate::provenance::provenance;
use crate::run::Form;
use crate::screen;

const EXAMPLES: &str = "\
Examples:
  wordline repro list
  wordline repro validation/waf-uniform
  wordline repro centaur --quick                     takes some minutes
  wordline repro centaur/fig20 --only volume=prn_0 --only volume=src1_2
  wordline repro --all --quick --json                takes hours
  wordline repro validation/waf-uniform --seeds 1 --report out";

/// Reproduces published figures and tables, and reports where the numbers differ from the paper's.
///
/// Each number is judged by its mean over the seeds. A question mark after a verdict means that a part of the
/// 95 % interval gives another verdict. The exit code is 1 if a number outside of its band is not listed in
/// outside.toml, or if a listed number is inside.
#[derive(Args)]
#[command(arg_required_else_help = true, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Experiments, as in `repro list`; PAPER alone for all of its experiments.
    #[arg(value_name = "PAPER/NAME", required_unless_present = "all", conflicts_with = "all")]
    ids: Vec<String>,
    /// Runs all experiments.
    #[arg(long)]
    all: bool,
    /// Runs at reduced scale, for a first look; the bands are the same.
    #[arg(long)]
    quick: bool,
    /// A folder of recorded traces. A trace in it replaces the profile of the same name.
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Runs only points with this value of a varied key; may be repeated. An experiment that does not vary the
    /// key is run as a whole.
    #[arg(long, value_name = "KEY=VALUE")]
    only: Vec<String>,
    #[command(flatten)]
    json: JsonArgument,
    /// Prints the rows as Markdown tables, for documents.
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Writes report.html, its charts and outcome.json into DIR/PAPER/NAME.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    #[command(flatten)]
    charts: ChartsArguments,
    /// Number of parts run in parallel; the number of cores if not given.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = whole::<u32, 0>)]
    threads: u32,
    #[command(flatten)]
    seed: SeedArgument,
    /// Number of seeds for each experiment, from --seed on; only two if nothing depends on chance.
    #[arg(long, value_name = "N", default_value_t = SEEDS, value_parser = whole::<u32, 1>)]
    seeds: u32,
    /// Shows no progress bar, even if standard error is a terminal.
    #[arg(long)]
    no_progress: bool,
    /// A folder of your own experiments (PAPER/NAME/experiment.toml), which extend or replace the embedded
    /// ones.
    #[arg(long, value_name = "DIR", global = true)]
    experiments: Option<PathBuf>,
}

impl Arguments {
    /// Returns the options of the experiments.
    ///
    /// # Errors
    /// [`Error::Argument`] if `--only` does not match the experiments.
    fn options(&self, experiments: &[&Experiment]) -> Result<Options, Error> {
        let mut only = only::Only::new();
        self.only.iter().try_for_each(|argument| only::add_to(&mut only, argument))?;
        only::check(&only, experiments)?;
        Ok(Options {
            quick: self.quick,
            traces: self.traces.clone(),
            seed: self.seed.seed,
            seeds: self.seeds,
            only,
            ..Options::default()
        })
    }

    /// Returns the destination for the charts of an experiment: beside its report, or in folders with its
    /// name.
    fn charts_of(&self, charts: &Charts, experiment: &Experiment) -> Charts {
        match (&self.report, self.charts.folder()) {
            (Some(report), None) => charts.within(&report.join(&experiment.id).join("charts")),
            _ => charts.for_part(&experiment.id),
        }
    }
}

#[derive(Subcommand)]
enum Command {
    /// Lists all experiments.
    #[command(after_help = EXAMPLES)]
    List {
        #[command(flatten)]
        json: JsonArgument,
    },
}

/// Runs the command.
pub fn handle(arguments: Arguments, registry: &Registry) -> Result<(), Failure> {
    let library = Library::open_of(registry, arguments.experiments.as_deref())?;
    if let Some(Command::List { json }) = arguments.command {
        return list(&library, &json);
    }
    let mut experiments = Vec::new();
    for id in &arguments.ids {
        experiments.extend(library.find(id)?);
    }
    if arguments.all {
        experiments.extend(library.iter());
    }
    run_experiments(&experiments, &arguments)
}

fn list(library: &Library, json: &JsonArgument) -> Result<(), Failure> {
    let entries = library.list();
    output::json_or(json, &entries, || {
        let rows: Vec<_> = entries
            .iter()
            .map(|entry| json!({ "id": entry.id, "claims": entry.claims.join(" "), "title": entry.title }))
            .collect();
        output::rows(&rows, &["id", "claims", "title"])
    })
}

/// Runs experiments one after another, each with its parts in parallel. If a report cannot be written, the
/// results are still printed.
fn run_experiments(experiments: &[&Experiment], arguments: &Arguments) -> Result<(), Failure> {
    let options = arguments.options(experiments)?;
    let outputs = [
        ("--json", arguments.json.file.as_deref()),
        ("--report", arguments.report.as_deref()),
        ("--charts", arguments.charts.folder()),
    ];
    output::check_distinct(&outputs, &[])?;
    let charts = arguments.charts.open(None)?;
    let json = arguments.json.open()?;
    let has_table = !json.is_standard();
    let claimed = |directory: &PathBuf| -> Result<Vec<ReportFolder>, Error> {
        experiments.iter().map(|experiment| ReportFolder::claim(&directory.join(&experiment.id))).collect()
    };
    let mut folders = arguments.report.as_ref().map(claimed).transpose()?.unwrap_or_default().into_iter();
    let form = if experiments.len() == 1 && !arguments.all { Form::One } else { Form::List };
    let reached = Arc::new(Mutex::new(PartialResults { outcomes: Vec::new(), json: Some(json), form }));
    let so_far = Arc::clone(&reached);
    interrupt::hold_results(move || {
        if let Err(failure) = lock(&so_far).give() {
            failure.report();
        }
    });
    interrupt::set_polling(true);
    let (mut reports, mut surprises) = (Ok(()), 0);
    let lab = Lab::default();
    for experiment in experiments {
        if interrupt::asked() {
            break;
        }
        let outcome = run_experiment(experiment, (arguments, &options), &lab)?;
        match (has_table, arguments.markdown) {
            (false, _) => {}
            (true, true) => output::text(&experiments::markdown(&outcome, &options))?,
            (true, false) => output::table(&experiments::table(&outcome, screen::width()))?,
        }
        if let Some(folder) = folders.next() {
            reports = reports.and(experiments::write_report(folder, experiment, &outcome));
        }
        if let Some(charts) = &charts {
            let into = arguments.charts_of(charts, experiment);
            reports = reports.and(into.give(&experiments::charts(experiment, &outcome)));
        }
        surprises += outcome.surprises.len();
        lock(&reached).outcomes.push(outcome);
    }
    interrupt::take();
    let mut reached = lock(&reached);
    match &reached.outcomes[..] {
        [] | [_] => {}
        _ if !has_table => {}
        outcomes if arguments.markdown => output::text(&experiments::markdown_summary(outcomes))?,
        outcomes => output::table(&experiments::summary(outcomes, screen::width()))?,
    }
    reached.give()?;
    reports?;
    match surprises {
        _ if interrupt::asked() => Err(Failure::Interrupted),
        0_usize => Ok(()),
        _ => Err(Failure::Verdict),
    }
}

/// The results so far.
struct PartialResults {
    outcomes: Vec<Outcome>,
    /// Destination of the output. It is taken when the output is written.
    json: Option<Json>,
    form: Form,
}

impl PartialResults {
    fn give(&mut self) -> Result<(), Failure> {
        match (self.json.take(), &self.outcomes[..], self.form) {
            (None, ..) => Ok(()),
            // In the form of one object, nothing is written if there is no outcome.
            (Some(_), [], Form::One) => Ok(()),
            (Some(json), [outcome], Form::One) => json.give(outcome),
            (Some(json), outcomes, _) => json.give(&outcomes),
        }
    }
}

fn lock(reached: &Mutex<PartialResults>) -> MutexGuard<'_, PartialResults> {
    reached.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run_experiment(
    experiment: &Experiment,
    (arguments, options): (&Arguments, &Options),
    lab: &Lab,
) -> Result<Outcome, Failure> {
    let steps = ExperimentProgress::new(&experiment.id, arguments.no_progress);
    let conduct = SweepOptions {
        threads: arguments.threads as usize,
        stop: interrupt::flag(),
        progress: &|done, total| steps.show(done, total),
    };
    let outcome = experiments::run(experiment, options, lab, &conduct)?;
    Ok(Outcome { provenance: provenance(), ..outcome })
}
