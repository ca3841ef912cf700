//! `wordline nand`: chips by themselves.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use wordline_lab::nand::{self, Bench, OperationTable, Scene, Setup, Summary};
use wordline_lab::output::write_atomically;
use wordline_nand::chips::Wiring;
use wordline_nand::geometry::Layout;
use wordline_nand::{Interface, LatencyModel, Part};

use crate::arguments::named;
use crate::failure::Failure;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  wordline nand ops --part mqsim-mlc
  wordline nand ops --part z-nand --interface NV-DDR3 --mode 12 --json
  wordline nand timeline --part mqsim-mlc 'read@2*4' --output reads.json --svg reads.svg";

const OPS_EXAMPLES: &str = "\
Every operation runs many times in a row on every die, and what is in between start and end is measured.
Latency: from when a die takes the operation until its data are out or its array has finished, waits for
the bus included. Throughput: data read, written or copied a second over all dies; of an erase, blocks a
second. Energy: of the stages of the operation for each page of data (each block of an erase), idle time
left out. Last, the share of each stage in the time of all: CLE and ALE latch commands and addresses, TIR
and TOR move data in and out, TIN programs, TON senses, BER erases.

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
A die does what is spelled for it in that order; all dies begin at time 0 and share the bus of their channel.
Reads and programs go along the pages from block 0 on, erases from the last block down.

Open the JSON in https://ui.perfetto.dev or chrome://tracing.

Examples:
  wordline nand timeline --part mqsim-mlc 'read@2*4' --output reads.json
  wordline nand timeline --part mqsim-mlc --dies 2 '0:program*4' '1:program*4' '0:read@2' --svg both.svg
  wordline nand timeline --part nandflashsim-mlc1 --dies 4 'all:program-cache*8' --output cache.json --svg -";

/// Drives NAND chips by themselves: what operations take, and their time line.
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
}

/// Shows what every operation of a part takes: latency, throughput, energy and stages.
#[derive(Args)]
#[command(after_help = OPS_EXAMPLES)]
struct Ops {
    #[command(flatten)]
    chips: ChipArguments,
    /// Dies on the channel in the rows for interleaved dies; 1 leaves those out.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    dies: u32,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Carries out operations and writes the time line of buses, dies, planes and registers.
#[derive(Args)]
#[command(after_help = TIMELINE_EXAMPLES)]
struct Timeline {
    /// Operations, as below.
    #[arg(required = true, value_name = "OPERATION")]
    operations: Vec<String>,
    #[command(flatten)]
    chips: ChipArguments,
    /// Channels, each with a bus of its own.
    #[arg(long, value_name = "N", default_value_t = 1)]
    channels: u32,
    /// Packages on a channel.
    #[arg(long, value_name = "N", default_value_t = 1)]
    packages: u32,
    /// Dies in a package.
    #[arg(long, value_name = "N", default_value_t = 1)]
    dies: u32,
    /// Writes the time line in the Chrome trace-event format; `-` for standard output in place of the table.
    #[arg(long, value_name = "FILE.json")]
    output: Option<PathBuf>,
    /// Writes a picture of it; `-` for standard output in place of the table.
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Prints what the operations took as JSON.
    #[arg(long)]
    json: bool,
}

/// Which part, and how it is driven.
#[derive(Args)]
struct ChipArguments {
    /// An embedded part, or a part file by its path.
    #[arg(long, value_name = "NAME")]
    part: String,
    /// Another interface: SDR, NV-DDR, NV-DDR2, NV-DDR3 or NV-LPDDR4, with the times of its fastest mode or of --mode.
    #[arg(long, value_name = "NAME", value_parser = named::<Interface>)]
    interface: Option<Interface>,
    /// Another timing mode of the interface; all times of the bus are those of the mode.
    #[arg(long, value_name = "N")]
    mode: Option<u8>,
    /// The dies of a channel share a chip enable, so that data out and status name the die.
    #[arg(long)]
    shared_enable: bool,
    /// The status register is read after every program and erase, instead of waiting for the ready/busy pin.
    #[arg(long)]
    read_status: bool,
    /// Programming times: variation-aware (that of each page), typical (of the data sheet) or worst (the longest).
    #[arg(long, value_name = "MODEL", default_value = "variation-aware", value_parser = named::<LatencyModel>)]
    latency: LatencyModel,
}

impl ChipArguments {
    fn part(&self) -> Result<Part, Failure> {
        Ok(nand::part(&self.part, self.interface, self.mode)?)
    }

    fn wiring(&self) -> Wiring {
        let Self { shared_enable, read_status, latency, .. } = *self;
        Wiring { shared_enable, read_status, latency, ..Wiring::default() }
    }
}

/// Does what the user asked.
pub fn handle(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        Command::Ops(arguments) => ops(&arguments),
        Command::Timeline(arguments) => timeline(&arguments),
    }
}

fn ops(arguments: &Ops) -> Result<(), Failure> {
    let part = arguments.chips.part()?;
    let table = OperationTable::of(&part, arguments.dies, arguments.chips.wiring())?;
    output::json_or(arguments.json, &table, || table.table())
}

fn timeline(arguments: &Timeline) -> Result<(), Failure> {
    let part = arguments.chips.part()?;
    let layout = Layout {
        channels: arguments.channels,
        packages_per_channel: arguments.packages,
        dies_per_package: arguments.dies,
        planes_per_row: None,
    };
    let bench = Bench::new(&part, Setup { layout, wiring: arguments.chips.wiring() })?;
    let items = nand::parse(&arguments.operations, &part, bench.dies())?;
    let trace = bench.run(&items);
    let names = trace.names();
    let scene = Scene { spans: &trace.spans, layout, names: &names };
    let title = format!("{}: {}", part.name, arguments.operations.join(" "));
    let json = give(arguments.output.as_deref(), || nand::chrome(&scene))?;
    let picture = give(arguments.svg.as_deref(), || nand::svg(&scene, &title))?;
    if json || picture {
        return Ok(());
    }
    let summary = Summary::of(&bench, &trace);
    output::json_or(arguments.json, &summary, || summary.table())
}

/// Gives out a text where the user wants it; whether that was standard output.
fn give(to: Option<&Path>, text: impl FnOnce() -> String) -> Result<bool, Failure> {
    let to_stdout = to == Some(Path::new("-"));
    match to {
        None => {}
        Some(_) if to_stdout => output::text(&text())?,
        Some(file) => write_atomically(file, text().as_bytes())?,
    }
    Ok(to_stdout)
}
