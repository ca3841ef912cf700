//! The program `wordline`: arguments in, results and exit codes out. Handlers convert and delegate to `lab`; one file
//! a command.

mod arguments;
mod failure;
mod interrupt;
mod output;
mod progress;
mod provenance;

mod compare;
mod config;
mod nand;
mod policies;
mod presets;
mod repro;
mod run;
mod snapshot;
mod trace;
mod workloads;

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

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
}

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
    Compare(compare::Arguments),
    Snapshot(snapshot::Arguments),
    Config(config::Arguments),
    Presets(presets::Arguments),
    Policies(policies::Arguments),
    Workloads(workloads::Arguments),
    Trace(trace::Arguments),
    Nand(nand::Arguments),
    Repro(repro::Arguments),
}

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(failure::explain_panic));
    interrupt::watch();
    let arguments = Program::parse();
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| match arguments.command {
        None => help(),
        Some(Command::Run(arguments)) => run::handle(arguments),
        Some(Command::Compare(arguments)) => compare::handle(arguments),
        Some(Command::Snapshot(arguments)) => snapshot::handle(arguments),
        Some(Command::Config(arguments)) => config::handle(arguments),
        Some(Command::Presets(arguments)) => presets::handle(arguments),
        Some(Command::Policies(arguments)) => policies::handle(arguments),
        Some(Command::Workloads(arguments)) => workloads::handle(arguments),
        Some(Command::Trace(arguments)) => trace::handle(arguments),
        Some(Command::Nand(arguments)) => nand::handle(arguments),
        Some(Command::Repro(arguments)) => repro::handle(arguments),
    }));
    match result {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) => failure.report(),
        Err(_) => ExitCode::from(failure::FAILED),
    }
}

fn help() -> Result<(), Failure> {
    output::written(Program::command().print_help())
}

#[test]
fn the_arguments_do_not_contradict_each_other() {
    Program::command().debug_assert();
}
