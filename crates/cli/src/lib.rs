//! The program `wordline`. It parses arguments, prints results, and sets the exit code. Each command has a
//! file, which calls `lab`. A crate with its own device type gets the whole program by calling [`main_with`].

mod arguments;
mod failure;
mod interrupt;
mod output;
mod progress;
mod provenance;
mod screen;

mod cells;
mod charts;
mod cluster;
mod compare;
mod config;
mod devices;
mod doctor;
mod fit;
mod import;
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
mod store;
mod sweep;
mod trace;
mod why;
mod workloads;

#[cfg(test)]
use std::ffi::OsStr;
use std::ffi::OsString;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use wordline_lab::devices::Registry;
use wordline_lab::workload::Generated;

/// The allocator requests huge pages. The L2P maps and data tags of a device are large tables with random
/// access, so huge pages reduce TLB misses.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const AFTER_HELP: &str = "\
Exit codes:
  0    done
  1    a result outside its band, a failed run of a sweep, a damaged file of
       a store, an expectation of `nand exec` that is not met, or a bug in
       Wordline
  2    bad input
  130  stopped by Ctrl-C or SIGTERM, after printing partial results, if any";

/// Simulates solid-state drives: what would this workload do to that SSD?
///
/// Without a command it runs `run`.
#[derive(Parser)]
#[command(name = "wordline", version = provenance::VERSION, after_help = AFTER_HELP)]
struct Program {
    #[command(subcommand)]
    command: Command,
    /// Colours: auto (on a terminal, unless NO_COLOR or CLICOLOR=0 is set), always or never.
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true, hide_possible_values = true)]
    color: ColorChoice,
    /// Suppresses progress and notes: prints results and errors only. JSON and reports keep their notes.
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Prints the phases of a command and their times on standard error.
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
    Why(why::Arguments),
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
    Fit(fit::Arguments),
    Import(import::Arguments),
    Repro(repro::Arguments),
    Sweep(sweep::Arguments),
    Store(store::Arguments),
    Doctor(doctor::Arguments),
    Completions(manual::Completions),
    Man(manual::Man),
}

/// Runs the program with the device types of `registry`. Parses the arguments, runs the command, and returns
/// its exit code.
pub fn main_with(registry: Registry) -> ExitCode {
    std::panic::set_hook(Box::new(failure::explain_panic));
    interrupt::watch();
    let arguments = with_default_command(std::env::args_os().collect());
    let given: Vec<String> = arguments.iter().map(|text| text.to_string_lossy().into_owned()).collect();
    screen::choose(screen::wanted(given.iter().cloned()));
    let (arguments, options) = match read(&arguments, &given, &registry) {
        Ok(read) => read,
        Err(code) => return code,
    };
    let loudness = if arguments.quiet { screen::Verbosity::Quiet } else { screen::Verbosity::Normal };
    screen::set_verbosity(if arguments.verbose { screen::Verbosity::Verbose } else { loudness });
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| match arguments.command {
        Command::Run(arguments) => run::handle(arguments, &registry),
        Command::Why(arguments) => why::handle(arguments, &registry),
        Command::Compare(arguments) => compare::handle(arguments, &registry),
        Command::Snapshot(arguments) => snapshot::handle(arguments, &registry),
        Command::Config(arguments) => config::handle(arguments, &registry),
        Command::Presets(arguments) => presets::handle(arguments, &registry),
        Command::Devices(arguments) => devices::handle(&arguments, &registry),
        Command::Policies(arguments) => policies::handle(arguments, &registry),
        Command::Metrics(arguments) => metrics::handle(arguments, &registry),
        Command::Workloads(arguments) => workloads::handle(arguments),
        Command::Trace(arguments) => trace::handle(arguments, &registry),
        Command::Nand(arguments) => nand::handle(arguments),
        Command::Cells(arguments) => cells::handle(arguments),
        Command::Fit(arguments) => fit::handle(arguments),
        Command::Import(arguments) => import::handle(arguments, &registry),
        Command::Repro(arguments) => repro::handle(arguments, &registry),
        Command::Sweep(arguments) => sweep::handle(arguments, &registry),
        Command::Store(arguments) => store::handle(&arguments),
        Command::Doctor(arguments) => doctor::handle(&arguments),
        Command::Completions(arguments) => manual::completions(&arguments, Program::command()),
        Command::Man(arguments) => manual::man(&arguments, Program::command()),
    }));
    match result {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(failure)) => failure.with_options(&options).report(),
        Err(_) => ExitCode::from(failure::FAILED),
    }
}

/// Inserts the default command `run` if the arguments name no command.
fn with_default_command(mut given: Vec<OsString>) -> Vec<OsString> {
    let mut place = 1;
    while let Some(argument) = given.get(place) {
        place += match &*argument.to_string_lossy() {
            "-q" | "--quiet" | "-v" | "--verbose" => 1,
            "--color" => 2,
            other if other.starts_with("--color=") => 1,
            "-h" | "--help" | "-V" | "--version" => return given,
            other if other.starts_with('-') => break,
            _ => return given,
        };
    }
    given.insert(place.min(given.len()), "run".into());
    given
}

/// Parses the arguments. Also returns their long options. If parsing fails, or help was requested, prints the
/// message and returns the exit code.
fn read(
    arguments: &[OsString],
    given: &[String],
    registry: &Registry,
) -> Result<(Program, Vec<String>), ExitCode> {
    let columns = usize::from(screen::columns().unwrap_or(screen::PIPED_WIDTH));
    let mut command = Program::command().color(screen::wanted(given.iter().cloned())).term_width(columns);
    let read = command.try_get_matches_from_mut(arguments).and_then(|matches| {
        let options = options_of(&command, &matches);
        Ok((Program::from_arg_matches(&matches)?, options))
    });
    read.map_err(|mut error| {
        if let Some(option) = option_of_unexpected(&error, registry) {
            let tip = vec![format!("write '{option}'").into()];
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tip));
        }
        if given.iter().any(|text| screen::visible(text) != text.as_str()) {
            failure::print_message(error.to_string().trim_end());
        } else {
            // If printing fails, nothing can report it, so the failure is ignored.
            let _ = error.print();
        }
        ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(failure::FAILED))
    })
}

/// The option that an argument without one probably belongs to, with the argument: the name of a preset, of a
/// workload, or a file.
fn option_of_unexpected(error: &clap::Error, registry: &Registry) -> Option<String> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(found))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    let option = if registry.preset_names().contains(&found.as_str()) {
        "--preset"
    } else if Generated::names().contains(found) || found.ends_with(".fio") {
        "--workload"
    } else if found.ends_with(".toml") {
        "--config"
    } else if Path::new(found).is_file() {
        "--trace"
    } else {
        return None;
    };
    Some(format!("{option} {found}"))
}

/// The long options on the command line, without hyphens.
fn options_of(command: &clap::Command, matches: &ArgMatches) -> Vec<String> {
    let is_given = |argument: &&clap::Arg| {
        let id = argument.get_id().as_str();
        matches.try_contains_id(id).is_ok() && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let own = command.get_arguments().filter(is_given).filter_map(clap::Arg::get_long).map(str::to_owned);
    let inner = matches.subcommand().and_then(|(name, inner)| Some((command.find_subcommand(name)?, inner)));
    own.chain(inner.into_iter().flat_map(|(command, matches)| options_of(command, matches))).collect()
}

#[test]
fn a_call_without_a_command_is_a_run() {
    let of = |text: &str| {
        with_default_command(text.split(' ').map(OsString::from).collect()).join(OsStr::new(" "))
    };
    for (given, wanted) in [
        ("wordline", "wordline run"),
        ("wordline -q", "wordline -q run"),
        ("wordline --color never --preset tiny", "wordline --color never run --preset tiny"),
        ("wordline --workload mail", "wordline run --workload mail"),
        ("wordline --help", "wordline --help"),
        ("wordline -v metrics", "wordline -v metrics"),
        ("wordline metrics --help", "wordline metrics --help"),
        ("wordline rnu", "wordline rnu"),
        ("wordline --color", "wordline --color run"),
    ] {
        assert_eq!(of(given), OsStr::new(wanted));
    }
}

#[test]
fn the_arguments_do_not_contradict_each_other() {
    Program::command().debug_assert();
}
