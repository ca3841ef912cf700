//! The program `wordline`: arguments in, results and exit codes out. Handlers convert and delegate to `lab`; one file
//! a command. A crate with a type of device of its own has the whole program by [`main_with`].

mod arguments;
mod failure;
mod interrupt;
mod output;
mod progress;
mod provenance;
mod screen;

mod cells;
mod compare;
mod config;
mod devices;
mod manual;
mod metrics;
mod nand;
mod policies;
mod presets;
#[cfg(test)]
mod reference;
mod repro;
mod run;
mod snapshot;
mod sweep;
mod trace;
mod workloads;

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use wordline_lab::devices::Registry;

use failure::Failure;

/// Maps and stamps of a device are large tables that are looked into at random. This allocator asks for large pages of
/// memory for them, so that the processor finds its way in them sooner.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const AFTER_HELP: &str = "\
Exit codes:
  0    done
  1    a result outside its band, or a bug in Wordline
  2    bad input
  130  stopped by Ctrl-C or SIGTERM, after printing what was reached, if anything";

/// Simulates solid-state drives: what would this workload do to that SSD?
#[derive(Parser)]
#[command(name = "wordline", version = provenance::VERSION, after_help = AFTER_HELP)]
struct Program {
    #[command(subcommand)]
    command: Option<Command>,
    /// Colours: auto (on a terminal, unless NO_COLOR or CLICOLOR=0 says otherwise), always or never.
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true, hide_possible_values = true)]
    color: ColorChoice,
    /// Shows no progress and prints no notes: results and errors alone.
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Says on standard error which phases a command goes through and how long they take.
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
    Compare(compare::Arguments),
    Snapshot(snapshot::Arguments),
    Config(config::Arguments),
    Presets(presets::Arguments),
    Devices(devices::Arguments),
    Policies(policies::Arguments),
    Metrics(metrics::Arguments),
    Workloads(workloads::Arguments),
    Trace(trace::Arguments),
    Nand(nand::Arguments),
    Cells(cells::Arguments),
    Repro(repro::Arguments),
    Sweep(sweep::Arguments),
    Completions(manual::Completions),
    Man(manual::Man),
}

/// The program, with the types of devices that there are: reads its arguments, runs the command, and returns its exit code.
pub fn main_with(registry: Registry) -> ExitCode {
    std::panic::set_hook(Box::new(failure::explain_panic));
    interrupt::watch();
    let given: Vec<String> = std::env::args_os().map(|text| text.to_string_lossy().into_owned()).collect();
    screen::choose(screen::wanted(given.iter().cloned()));
    let arguments = match arguments(&given) {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    let loudness = if arguments.quiet { screen::Loudness::Quiet } else { screen::Loudness::Usual };
    screen::set_loudness(if arguments.verbose { screen::Loudness::Verbose } else { loudness });
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| match arguments.command {
        None => help(),
        Some(Command::Run(arguments)) => run::handle(arguments, &registry),
        Some(Command::Compare(arguments)) => compare::handle(arguments, &registry),
        Some(Command::Snapshot(arguments)) => snapshot::handle(arguments, &registry),
        Some(Command::Config(arguments)) => config::handle(arguments, &registry),
        Some(Command::Presets(arguments)) => presets::handle(arguments, &registry),
        Some(Command::Devices(arguments)) => devices::handle(&arguments, &registry),
        Some(Command::Policies(arguments)) => policies::handle(arguments, &registry),
        Some(Command::Metrics(arguments)) => metrics::handle(arguments, &registry),
        Some(Command::Workloads(arguments)) => workloads::handle(arguments),
        Some(Command::Trace(arguments)) => trace::handle(arguments, &registry),
        Some(Command::Nand(arguments)) => nand::handle(arguments),
        Some(Command::Cells(arguments)) => cells::handle(arguments),
        Some(Command::Repro(arguments)) => repro::handle(arguments, &registry),
        Some(Command::Sweep(arguments)) => sweep::handle(arguments, &registry),
        Some(Command::Completions(arguments)) => manual::completions(&arguments, Program::command()),
        Some(Command::Man(arguments)) => manual::man(&arguments, Program::command()),
    }));
    match result {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) => failure.report(),
        Err(_) => ExitCode::from(failure::FAILED),
    }
}

/// Reads the arguments; where that is not possible, or help was asked for, says so and gives the exit code.
fn arguments(given: &[String]) -> Result<Program, ExitCode> {
    let command = Program::command().color(screen::wanted(given.iter().cloned()));
    let read = command.try_get_matches().and_then(|matches| Program::from_arg_matches(&matches));
    read.map_err(|error| {
        if given.iter().any(|text| screen::visible(text) != text.as_str()) {
            failure::say(error.to_string().trim_end());
        } else {
            // Where it cannot be printed it is lost: there is no other place to report to.
            let _ = error.print();
        }
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(failure::FAILED))
    })
}

fn help() -> Result<(), Failure> {
    output::written(Program::command().print_help())
}

#[test]
fn the_arguments_do_not_contradict_each_other() {
    Program::command().debug_assert();
}
