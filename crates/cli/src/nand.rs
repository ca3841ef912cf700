//! `wordline nand`: NAND chips without a device.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;
use wordline_kernel::Duration;
use wordline_lab::config::named;
use wordline_lab::nand::{self, Bench, OperationTable, ScriptRun, Setup, Summary, TimelineInput};
use wordline_lab::output::{Output, is_standard};
use wordline_nand::chips::Wiring;
use wordline_nand::clock::ClockPeriods;
use wordline_nand::geometry::Layout;
use wordline_nand::{Interface, LatencyModel, Part};

use crate::arguments::{file_of_name, whole};
use crate::failure::{Failure, print_message};
use crate::output::{self, Json, JsonArgument};
use crate::screen;

const EXAMPLES: &str = "\
Examples:
  wordline nand ops --part mqsim-mlc
  wordline nand ops --part z-nand --interface NV-DDR3 --mode 12 --json
  wordline nand timeline --part mqsim-mlc 'read@2*4' --output reads.json --svg reads.svg
  wordline nand exec cycles.onfi --part nandflashsim-qdp-slc";

const OPS_EXAMPLES: &str = "\
Every operation runs many times in sequence on every die; the steady part between start and end is \
measured. Latency: from when a die takes the operation until its data are out or its array has \
finished, waits for the bus included. Throughput: data read, written or copied a second over all \
dies; of an erase, blocks a second. Energy: of the stages of the operation for each page of data \
(each block of an erase), idle time left out. Last, the share of each stage in the time of all: CLE \
and ALE latch commands and addresses, TIR and TOR move data in and out, TIN programs, TON senses, \
BER erases.

Examples:
  wordline nand ops --part mqsim-mlc
  wordline nand ops --part mine.toml --dies 8 --json
  wordline nand ops --part z-nand --interface NV-DDR3 --mode 12";

const TIMELINE_EXAMPLES: &str = "\
An operation is spelled [DIES:]OPERATION[@PLANES][*TIMES]:
  DIES       numbers and ranges with commas, or all; left out: die 0
  OPERATION  read, read-cache, program, program-cache, copyback, erase
  PLANES     how many planes take part, from plane 0 on; left out: 1
  TIMES      how many on each of the dies; left out: 1. Those of a cache operation are one sequence.
A die executes its operations in the given order; all dies begin at time 0 and share the bus of their \
channel. Reads and programs take pages from block 0 on, erases take blocks from the last one down.

Open the JSON in https://ui.perfetto.dev or chrome://tracing.

Examples:
  wordline nand timeline --part mqsim-mlc 'read@2*4' --output reads.json
  wordline nand timeline --part mqsim-mlc --dies 2 '0:program*4' '1:read@2*4' --svg both.svg
  wordline nand timeline --part nandflashsim-mlc1 --dies 4 'all:program-cache*8' --svg cache.svg";

const EXEC_EXAMPLES: &str = "\
A script has one statement per line: bus cycles, and their expected result.
  program block=5 page=3 random 64 seed 1    80h, five addresses, data in, 10h, and the wait
  cmd 00                                     a command latch
  addr row block=5 page=3 column=0           address latches: C1 C2 R1 R2 R3
  cmd 30
  status expect 80                           70h: the array works
  wait ready                                 until R/B# is high
  cmd 00
  out 64 expect random seed 1                data out
docs/nand-scripts.md describes all of it.

Exit codes: 0 all expectations are met, 1 some are not, 2 the script is invalid.

Examples:
  wordline nand exec cycles.onfi --part nandflashsim-qdp-slc
  wordline nand exec cycles.onfi --timeline cycles.json --svg cycles.svg
  echo 'erase block=1' | wordline nand exec - --part mqsim-mlc --json";

/// Drives NAND chips on their own: operation times, time lines, and scripts of bus cycles.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Ops(Ops),
    Timeline(Timeline),
    Exec(Exec),
}

/// Shows the cost of every operation of a part: latency, throughput, energy and stages.
#[derive(Args)]
#[command(after_help = OPS_EXAMPLES)]
struct Ops {
    #[command(flatten)]
    chips: ChipArguments,
    /// Dies per channel in the rows for interleaved dies; 1 omits these rows.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = whole::<u32, 1>, allow_negative_numbers = true)]
    dies: u32,
    #[command(flatten)]
    json: JsonArgument,
}

/// Executes operations and writes the time line of buses, dies, planes and registers.
#[derive(Args)]
#[command(after_help = TIMELINE_EXAMPLES)]
struct Timeline {
    /// Operations, as below.
    #[arg(required = true, value_name = "OPERATION")]
    operations: Vec<String>,
    #[command(flatten)]
    chips: ChipArguments,
    /// Channels, each with its own bus.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u32, 0>, allow_negative_numbers = true)]
    channels: u32,
    /// Packages per channel.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u32, 0>, allow_negative_numbers = true)]
    packages: u32,
    /// Dies per package.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u32, 0>, allow_negative_numbers = true)]
    dies: u32,
    /// Writes the time line in the Chrome trace-event format; `-` for standard output in place of the table.
    #[arg(long, value_name = "FILE.json")]
    output: Option<PathBuf>,
    /// Writes the time line as an SVG picture; `-` for standard output in place of the table.
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArgument,
}

/// Executes a script of commands, addresses and data on the pins, and checks its expectations.
#[derive(Args)]
#[command(after_help = EXEC_EXAMPLES)]
struct Exec {
    /// The script; `-` for standard input.
    script: PathBuf,
    /// An embedded part, or the path of a part file, if the script names none.
    #[arg(long, value_name = "NAME")]
    part: Option<String>,
    /// Writes the time line in the Chrome trace-event format; `-` for standard output in place of the table.
    #[arg(long, value_name = "FILE.json")]
    timeline: Option<PathBuf>,
    /// Writes the time line as an SVG picture; `-` for standard output in place of the table.
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArgument,
}

/// Arguments for the part and its wiring.
#[derive(Args)]
struct ChipArguments {
    /// An embedded part, or the path of a part file.
    #[arg(long, value_name = "NAME")]
    part: String,
    /// Another interface: SDR, NV-DDR, NV-DDR2, NV-DDR3 or NV-LPDDR4, with the timing of its fastest mode or
    /// of --mode.
    #[arg(long, value_name = "NAME", value_parser = named::<Interface>)]
    interface: Option<Interface>,
    /// Another timing mode of the interface, for all bus timing.
    #[arg(long, value_name = "N", value_parser = whole::<u8, 0>, allow_negative_numbers = true)]
    mode: Option<u8>,
    /// The dies of a channel share a chip enable, so data-out and status commands select the die.
    #[arg(long)]
    shared_enable: bool,
    /// Polls the status register after every program and erase, instead of waiting for the ready/busy pin.
    #[arg(long)]
    read_status: bool,
    /// Program times: variation-aware (per page), typical (of the data sheet) or worst (the longest).
    #[arg(long, value_name = "MODEL", default_value = "variation-aware", value_parser = named::<LatencyModel>)]
    latency: LatencyModel,
    /// Period of the controller's clock, such as 25ns: bus activity begins and ends at its edges.
    #[arg(long, value_name = "TIME", value_parser = period)]
    host_clock: Option<Duration>,
    /// Period of the dies' clock: array operations begin and end at its edges.
    #[arg(long, value_name = "TIME", value_parser = period)]
    nand_clock: Option<Duration>,
}

/// Parses the period of a clock. The maximum is a microsecond. Chosen: twenty times the slowest cycle of an
/// interface.
fn period(text: &str) -> Result<Duration, String> {
    let period: Duration = text.parse()?;
    let fits = Duration::ZERO < period && period <= Duration::from_us(1);
    if fits { Ok(period) } else { Err(format!("found \"{text}\", wanted a period from 1ps to 1us")) }
}

impl ChipArguments {
    fn part(&self) -> Result<Part, Failure> {
        Ok(nand::part(&self.part, self.interface, self.mode)?)
    }

    fn wiring(&self) -> Wiring {
        let Self { shared_enable, read_status, latency, host_clock: host, nand_clock: nand, .. } = *self;
        let clocks = ClockPeriods { host, nand }.clocks();
        Wiring { shared_enable, read_status, latency, clocks, ..Wiring::default() }
    }
}

/// Runs the command.
pub fn handle(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::Ops(arguments) => ops(&arguments),
        Command::Timeline(arguments) => timeline(&arguments),
        Command::Exec(arguments) => exec(&arguments),
    }
}

fn ops(arguments: &Ops) -> Result<(), Failure> {
    let part = arguments.chips.part()?;
    let table = OperationTable::of(&part, arguments.dies, arguments.chips.wiring())?;
    output::json_or(&arguments.json, &table, || table.table(screen::width()))
}

fn timeline(arguments: &Timeline) -> Result<(), Failure> {
    let json = &arguments.json;
    let mut places = NandOutputs::open(("--output", &arguments.output), &arguments.svg, json, &[])?;
    let part = arguments.chips.part()?;
    let layout = Layout {
        channels: arguments.channels,
        packages_per_channel: arguments.packages,
        dies_per_package: arguments.dies,
        short_channels: 0,
        planes_per_row: None,
    };
    let bench = Bench::new(&part, Setup { layout, wiring: arguments.chips.wiring() })?;
    let items = nand::parse(&arguments.operations, &part, bench.dies())?;
    let trace = bench.run(&items);
    let names = trace.names();
    let scene = TimelineInput { spans: &trace.spans, busy: None, layout, names: &names };
    let title = format!("{}: {}", part.name, arguments.operations.join(" "));
    let (chrome, svg) = (|| nand::chrome(&scene), || nand::svg(&scene, &title));
    places.give(chrome, svg)?;
    let summary = Summary::of(&bench, &trace);
    places.result(&summary, || summary.table(screen::width()))
}

fn exec(arguments: &Exec) -> Result<(), Failure> {
    let json = &arguments.json;
    let part = arguments.part.as_deref().and_then(file_of_name);
    let inputs: Vec<&Path> = part.into_iter().chain([arguments.script.as_path()]).collect();
    let mut places = NandOutputs::open(("--timeline", &arguments.timeline), &arguments.svg, json, &inputs)?;
    let performance = ScriptRun::of(&arguments.script, arguments.part.as_deref())?;
    let (scene, name) = (performance.scene(), &performance.name);
    places.give(|| nand::chrome(&scene), || nand::svg(&scene, name))?;
    places.result(&performance, || performance.to_string())?;
    let wrong = performance.wrong();
    wrong.iter().for_each(|line| print_message(&format!("error: {line}")));
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Verdict) }
}

/// Open destinations of the time line, its picture, and the result.
struct NandOutputs {
    chrome: Option<Output>,
    svg: Option<Output>,
    json: Json,
    has_table: bool,
}

impl NandOutputs {
    fn open(
        (name, chrome): (&str, &Option<PathBuf>),
        svg: &Option<PathBuf>,
        json: &JsonArgument,
        inputs: &[&Path],
    ) -> Result<Self, Failure> {
        let places = [(name, chrome.as_deref()), ("--svg", svg.as_deref()), ("--json", json.file.as_deref())];
        output::check_distinct(&places, inputs)?;
        let open = |path: &Option<PathBuf>| path.as_deref().map(Output::open).transpose();
        let has_table = !places.iter().any(|(_, path)| path.is_some_and(is_standard));
        Ok(Self { chrome: open(chrome)?, svg: open(svg)?, json: json.open()?, has_table })
    }

    /// Writes the time line and its picture, if the user asked for them.
    fn give(&mut self, chrome: impl FnOnce() -> String, svg: impl FnOnce() -> String) -> Result<(), Failure> {
        let line = self.chrome.take().map_or(Ok(()), |to| to.give(chrome().as_bytes()));
        let picture = self.svg.take().map_or(Ok(()), |to| to.give(svg().as_bytes()));
        Ok(line.and(picture)?)
    }

    /// Writes the result.
    fn result(self, value: &impl Serialize, table: impl FnOnce() -> String) -> Result<(), Failure> {
        let printed = if self.has_table { output::table(&table()) } else { Ok(()) };
        self.json.give(value).and(printed)
    }
}
