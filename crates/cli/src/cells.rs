//! `wordline cells`: the flash cells of a part without a device.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;
use wordline_lab::cells::{self, Evaluation, Question};
use wordline_lab::output::ReportFolder;
use wordline_nand::cell::CellSet;

use crate::failure::Failure;
use crate::output::{self, JsonArgument};

const EXAMPLES: &str = "\
Examples:
  wordline cells list
  wordline cells show cai-tlc-2017 hours=8760
  wordline cells show cubeftl-tlc cycles=2000 hours=8760 layer=kappa
  wordline cells show cubeftl-tlc skip=true start_margin=130 final_margin=190
  wordline cells curve cubeftl-tlc hours=24,168,720,2190,8760 cycles=2000 --json curve.json
  wordline cells curve ressd-b17a-a history=-,L,LL super_layer=1 --report out
  wordline cells curve cubeftl-tlc layer=alpha,beta,kappa,omega cycles=2000 hours=8760";

const KEYS: &str = "\
Keys, each as KEY=VALUE:
  cycles, hours, celsius, reads     history of the cells
  history, again, super_layer       how MLC cells were reprogrammed (-, LL, LH, H, ++++ ...), programs of the
                                    neighbours beside those, layers whose word lines are programmed in any order
  all_states                        true: all states of such cells, not only the four that hold data
  layer                             its number from the top, or alpha, beta, kappa, omega; left out: all layers
  chips, blocks                     how many, for a mean over a population
  start_margin, final_margin        millivolts by which VStart is raised and VFinal lowered
  skip                              true: skip every verify that may be skipped
  skip_state, skip_more             a state, 1 for P1, and how many more of its verifies are skipped
  follow                            true: the window is narrower by what BER_EP1 of a leader leaves over; follow_limit,
                                    follow_spare, follow_margin, follow_start say by how much
  offset, offsets                   shift of all read references, or of each: [0.0, -1.0, ...]
  lines                             true: the word lines of a layer one by one
  order                             horizontal, vertical, mixed: how many neighbours are programmed after each word line
  page_size                         such as \"16KiB\"
  without                           effects that are left out: [\"retention\", \"block\"]; cycles, retention,
                                    disturb, interference, background, word-line, layer, block, chip";

/// Shows the cells of a part: threshold levels, bit errors, retries and program times, for any condition and
/// page.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    List(List),
    Show(Show),
    Curve(Curve),
}

/// Lists the parameter sets.
#[derive(Args)]
struct List {
    #[command(flatten)]
    json: JsonArgument,
}

/// Shows states, read references, errors, reads and programs.
#[derive(Args)]
#[command(after_help = KEYS)]
struct Show {
    #[command(flatten)]
    of: SetArguments,
    /// Conditions and pages, as below.
    #[arg(value_name = "KEY=VALUE")]
    keys: Vec<String>,
    #[command(flatten)]
    json: JsonArgument,
}

/// Shows errors, retries and program time for several values of the first key, which are separated by commas.
#[derive(Args)]
#[command(after_help = KEYS)]
struct Curve {
    #[command(flatten)]
    of: SetArguments,
    /// Conditions and pages, as below; the first key takes several values, separated by commas.
    #[arg(value_name = "KEY=VALUE", required = true)]
    keys: Vec<String>,
    #[command(flatten)]
    json: JsonArgument,
    /// Writes report.html, its charts (threshold voltages at each value, errors along the key) and answers.json into DIR.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Writes the states at each value to a Parquet file.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

/// A parameter set and its seed.
#[derive(Args)]
struct SetArguments {
    /// An embedded parameter set, or the path of a parameter file.
    #[arg(value_name = "SET")]
    set: String,
    /// Seed of the random streams.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// A parameter set, as listed.
#[derive(Serialize)]
struct Listed {
    name: String,
    source: String,
}

/// A value of the varied key of a curve, and the result for it.
#[derive(Serialize)]
struct CurvePoint<'a> {
    value: &'a str,
    answer: &'a Evaluation,
}

/// Runs the command.
pub fn handle(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::List(arguments) => list(&arguments),
        Command::Show(arguments) => show(&arguments),
        Command::Curve(arguments) => curve(&arguments),
    }
}

fn list(arguments: &List) -> Result<(), Failure> {
    let sets: Vec<CellSet> = cells::names().into_iter().map(cells::set).collect::<Result<_, _>>()?;
    let listed: Vec<Listed> =
        sets.into_iter().map(|set| Listed { name: set.name, source: set.source }).collect();
    let text = || listed.iter().map(|set| format!("{:<16}{}\n", set.name, set.source)).collect();
    output::json_or(&arguments.json, &listed, text)
}

fn show(arguments: &Show) -> Result<(), Failure> {
    let set = cells::set(&arguments.of.set)?;
    let answer = Evaluation::of(&set, &Question::of_keys(&arguments.keys)?, arguments.of.seed)?;
    output::json_or(&arguments.json, &answer, || cells::table(&answer))
}

fn curve(arguments: &Curve) -> Result<(), Failure> {
    let outputs = [("--json", arguments.json.file.as_deref()), ("--log", arguments.log.as_deref())];
    output::check_distinct(&[&outputs[..], &[("--report", arguments.report.as_deref())]].concat(), &[])?;
    let set = cells::set(&arguments.of.set)?;
    let (first, others) = arguments.keys.split_first().expect("clap asks for one");
    let folder = arguments.report.as_deref().map(ReportFolder::claim).transpose()?;
    let (key, answers) = cells::evaluate_series(&set, first, others, arguments.of.seed)?;
    if let Some(folder) = folder {
        let mut command = format!("wordline cells curve {} --seed {}", arguments.of.set, arguments.of.seed);
        arguments.keys.iter().for_each(|key| command += &format!(" '{key}'"));
        cells::write_report(folder, &key, &answers, &command)?;
    }
    if let Some(path) = &arguments.log {
        cells::write_log(path, &answers)?;
    }
    let points: Vec<CurvePoint<'_>> =
        answers.iter().map(|(value, answer)| CurvePoint { value, answer }).collect();
    output::json_or(&arguments.json, &points, || cells::curve(&key, &answers))
}
