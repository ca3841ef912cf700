//! `wordline run`: one workload through one device.

use std::path::{Path, PathBuf};

use clap::Args;
use wordline_kernel::Duration;
use wordline_lab::output::write_atomically;
use wordline_lab::power::CutAfter;
use wordline_lab::report::{self, Origin};
use wordline_lab::snapshot::Snapshot;
use wordline_lab::summary::{Outcome, Summary};

use crate::arguments::{DeviceArguments, WorkloadArguments, whole};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::progress::Watch;

const EXAMPLES: &str = "\
Examples:
  wordline run                                              a recorded trace on a 3D TLC drive
  wordline run --trace hm_0.csv.gz --report out             a trace; a page in out/report.html
  wordline run --workload randwrite-4k-steady --json -      a workload; JSON on standard output
  wordline run --preset z-nand --trace hm_0.csv.gz --queue-depth 8
  wordline run --from-snapshot steady.snap --workload mixed-70-30     on a device that was saved
  wordline run --config drive.toml --set ftl.over_provisioning=0.28 --workload mixed-70-30";

/// Runs a trace or a workload on a device and says what happened.
///
/// Without arguments: an embedded recorded trace on an embedded 3D TLC drive.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    device: DeviceArguments,
    #[command(flatten)]
    workload: WorkloadArguments,
    #[command(flatten)]
    results: ResultArguments,
    /// Logs every request to a Parquet file.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Cuts the power once so many requests are answered; the device recovers, and the run goes on.
    #[arg(long, value_name = "N", value_parser = whole::<u64, 1>, conflicts_with = "cut_power_at")]
    cut_power_after: Option<u64>,
    /// Cuts the power at this time of the run, such as 20ms; the device recovers, and the run goes on.
    #[arg(long, value_name = "TIME")]
    cut_power_at: Option<Duration>,
    /// Runs on the device of a snapshot, as it was saved; see `wordline snapshot`. Where a device is named as well, it
    /// must be the same.
    #[arg(long, value_name = "FILE", conflicts_with = "precondition")]
    from_snapshot: Option<PathBuf>,
    /// Saves the device as it is after the run.
    #[arg(long, value_name = "FILE")]
    save_snapshot: Option<PathBuf>,
}

/// Where results go, beside the table on standard output.
#[derive(Args)]
pub struct ResultArguments {
    /// Writes the result as JSON; `-`, or no file, for standard output in place of the table.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Writes report.html, a page that needs no network, its charts and summary.json into a directory.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Shows no progress bar. There is none either where standard error is no terminal.
    #[arg(long)]
    pub no_progress: bool,
}

/// Does what the user asked.
pub fn handle(arguments: Arguments) -> Result<(), Failure> {
    let mut plan = arguments.workload.plan()?;
    plan.log = arguments.log;
    let after = arguments.cut_power_after.map(CutAfter::Requests);
    plan.power_cut = after.or(arguments.cut_power_at.map(CutAfter::Time));
    let device = match (&arguments.from_snapshot, arguments.device.unnamed()) {
        (Some(file), Some(settings)) => Snapshot::open(file)?.device_with(settings)?,
        _ => arguments.device.device(plan.origin.usual_preset())?,
    };
    plan.from_snapshot = arguments.from_snapshot;
    plan.save_snapshot = arguments.save_snapshot;
    let interrupt = Interrupt::watch_idle();
    let mut watch = Watch::new(&device.name, arguments.results.no_progress, &interrupt);
    let summary = wordline_lab::run::run(plan.job(&device)?, &mut watch)?;
    drop(watch);
    arguments.results.give(&[summary], &device.text)
}

impl ResultArguments {
    /// Gives out the results of `runs` in every form that the user wants. What cannot be written does not keep the rest
    /// back: a run may have taken long.
    pub fn give(&self, runs: &[Summary], config: &str) -> Result<(), Failure> {
        let json = match runs {
            [run] => report::json(run),
            runs => report::json_list(runs),
        };
        let file = self.json.as_deref().filter(|file| *file != Path::new("-"));
        let page = self.report.as_ref().map_or(Ok(()), |directory| {
            let command = std::env::args().collect::<Vec<_>>().join(" ");
            report::write(directory, runs, Origin { config, command: &command })
        });
        let written = file.map_or(Ok(()), |file| write_atomically(file, json.as_bytes()));
        let printed = output::text(&match runs {
            _ if self.json.is_some() && file.is_none() => json,
            [run] => report::table(run),
            runs => report::comparison(runs),
        });
        page?;
        written?;
        printed?;
        let stopped = runs.iter().any(|run| run.outcome == Outcome::Interrupted);
        if stopped { Err(Failure::Interrupted) } else { Ok(()) }
    }
}
