//! `wordline run`: one workload on one device.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::Args;
use wordline_kernel::Duration;
use wordline_lab::output::{ReportFolder, is_standard};
use wordline_lab::report::{self, Origin};
use wordline_lab::snapshot::Snapshot;
use wordline_lab::summary::Outcome;
use wordline_lab::{DEFAULT_PRESET, Device, Error, PowerCutPoint, Registry, Summary, Timeline, Window};

use crate::arguments::{DeviceArguments, WorkloadArguments, whole};
use crate::charts::{Charts, ChartsArguments};
use crate::failure::{Failure, print_message};
use crate::interrupt;
use crate::output::{self, Json, JsonArgument};
use crate::progress::RunProgress;
use crate::provenance::provenance;
use crate::screen::{self, Verbosity};

const EXAMPLES: &str = "\
Examples:
  wordline run                                              a recorded trace on a client drive
  wordline run --trace writes.csv --report out              a trace; a page in out/report.html
  wordline run --workload randwrite-4k-steady --json -      a workload; JSON on standard output
  wordline run --preset z-nand --trace writes.csv --queue-depth 8
  wordline run --from-snapshot steady.snap                  on a device that was saved
  wordline run --config drive.toml --set ftl.over_provisioning=0.28

`wordline trace gen` generates a trace.";

/// Runs a trace or a workload on a device and prints the results.
///
/// Without arguments: an embedded recorded trace on an embedded drive. The default device is `nvme-tlc`, a
/// client drive of 3D TLC.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    device: DeviceArguments,
    #[command(flatten)]
    workload: WorkloadArguments,
    #[command(flatten)]
    results: ResultArguments,
    /// Logs every request to a Parquet file, or to CSV if the name ends in .csv.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Writes a time line of requests, buffer, channels and dies in Chrome's trace-event format, which
    /// Perfetto opens.
    #[arg(long, value_name = "FILE", requires = "timeline_window")]
    timeline: Option<PathBuf>,
    /// The part of the run to show: two times such as 1.2s..1.21s, or `slowest` for the slowest request,
    /// which is found by an additional run.
    #[arg(long, value_name = "WINDOW", requires = "timeline")]
    timeline_window: Option<Window>,
    /// Cuts the power after this many requests have completed; the device recovers, and the run continues.
    #[arg(long, value_name = "N", value_parser = whole::<u64, 1>, allow_negative_numbers = true,
        conflicts_with = "cut_power_at")]
    cut_power_after: Option<u64>,
    /// Cuts the power at this time of the run, such as 20ms; the device recovers, and the run continues.
    #[arg(long, value_name = "TIME")]
    cut_power_at: Option<Duration>,
    /// Runs on the device of a snapshot, in its saved state; see `wordline snapshot`. If a device is named as
    /// well, it must be the device of the snapshot.
    #[arg(long, value_name = "FILE", conflicts_with = "precondition")]
    from_snapshot: Option<PathBuf>,
    /// Saves the device in its state after the run.
    #[arg(long, value_name = "FILE")]
    save_snapshot: Option<PathBuf>,
}

/// Arguments for destinations of results, in addition to the table on standard output.
#[derive(Args)]
pub struct ResultArguments {
    #[command(flatten)]
    json: JsonArgument,
    /// Writes report.html, a page that needs no network, its charts and summary.json into a directory;
    /// replaces a report there.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    #[command(flatten)]
    charts: ChartsArguments,
    /// Shows no progress bar, even if standard error is a terminal.
    #[arg(long)]
    pub no_progress: bool,
}

/// Runs the command.
pub fn handle(arguments: Arguments, registry: &Registry) -> Result<(), Failure> {
    let workload = arguments.workload.workload()?;
    let mut options = arguments.workload.options();
    options.log = arguments.log;
    let timeline = arguments.timeline.zip(arguments.timeline_window);
    options.timeline = timeline.map(|(path, window)| Timeline { path, window });
    let after = arguments.cut_power_after.map(PowerCutPoint::Requests);
    options.power_cut = after.or(arguments.cut_power_at.map(PowerCutPoint::Time));
    let device = match (&arguments.from_snapshot, arguments.device.unnamed()) {
        (Some(file), Some(settings)) => device_of(file, settings, registry)?,
        _ => arguments.device.device(registry, DEFAULT_PRESET)?,
    };
    options.from_snapshot = arguments.from_snapshot;
    options.save_snapshot = arguments.save_snapshot;
    let others = [
        ("--log", options.log.as_deref()),
        ("--save-snapshot", options.save_snapshot.as_deref()),
        ("--timeline", options.timeline.as_ref().map(|timeline| timeline.path.as_path())),
    ];
    let snapshot = options.from_snapshot.as_deref();
    let inputs: Vec<&Path> =
        arguments.workload.files().chain(arguments.device.files()).chain(snapshot).collect();
    let results = arguments.results.open(&others, &inputs)?;
    let mut watch = RunProgress::new(&device.name, arguments.results.no_progress);
    let summary = wordline_lab::run(&device, &workload, &options, &mut watch)?;
    drop(watch);
    interrupt::take();
    results.give(&[summary], Form::One, &device.text)
}

/// Returns the device of a snapshot, with settings on top.
pub fn device_of(file: &Path, settings: &[String], registry: &Registry) -> Result<Device, Error> {
    if is_standard(file) {
        return Err(Error::Argument {
            what: "--from-snapshot".into(),
            found: "standard input only, which is read once".into(),
            wanted: "--preset or --config as well".into(),
        });
    }
    Device::of_snapshot(registry, &Snapshot::open(file)?, settings)
}

/// Form of results in JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// An object.
    One,
    /// A list.
    List,
}

/// Open destinations of results.
pub struct Results {
    json: Json,
    report: Option<ReportFolder>,
    charts: Option<Charts>,
    has_table: bool,
}

impl ResultArguments {
    /// Opens all destinations of results. `others` are the names and paths of further outputs, `inputs` the
    /// files that are read.
    pub fn open(&self, others: &[(&str, Option<&Path>)], inputs: &[&Path]) -> Result<Results, Failure> {
        let own = [
            ("--json", self.json.file.as_deref()),
            ("--report", self.report.as_deref()),
            ("--charts", self.charts.folder()),
        ];
        let all = [&own, others].concat();
        output::check_distinct(&all, inputs)?;
        let charts = self.charts.open(self.report.as_deref())?;
        let report = self.report.as_deref().map(ReportFolder::claim).transpose()?;
        if let Some(report) = report.as_ref().filter(|report| report.replaces()) {
            print_message(&format!("note: {}: replaces the report there", report.path().display()));
        }
        let taken = others.iter().any(|(_, path)| path.is_some_and(is_standard));
        let json = self.json.open()?;
        Ok(Results { has_table: !taken && !json.is_standard(), json, report, charts })
    }
}

impl Results {
    /// Writes the results of `runs` in every form that the user asked for. If one form cannot be written, the
    /// others are still written, because a run may have taken long.
    pub fn give(self, runs: &[Summary], form: Form, config: &str) -> Result<(), Failure> {
        let json = match (runs, form) {
            ([run], Form::One) => report::json(run),
            (runs, _) => report::json_list(runs),
        };
        let page = self.report.map_or(Ok(()), |folder| {
            let command = provenance().command_line();
            report::write(folder, runs, &json, Origin { config, command: &command })
        });
        let drawn = self.charts.map_or(Ok(()), |charts| charts.give(&report::charts(runs)));
        let printed = if self.has_table { output::table(&table(runs, form)) } else { Ok(()) };
        let written = self.json.emit_text(|| json);
        page?;
        drawn?;
        written?;
        printed?;
        let stopped = runs.iter().any(|run| run.outcome == Outcome::Interrupted);
        if stopped { Err(Failure::Interrupted) } else { Ok(()) }
    }
}

/// Formats the table of `runs` for standard output. In quiet mode it has no notes; JSON and report keep them.
fn table(runs: &[Summary], form: Form) -> String {
    let without = |run: &Summary| Summary { notes: Vec::new(), ..run.clone() };
    let runs = match screen::is_at_least(Verbosity::Normal) {
        true => Cow::Borrowed(runs),
        false => runs.iter().map(without).collect(),
    };
    match (&*runs, form) {
        ([run], Form::One) => report::table(run, screen::width()),
        (runs, _) => report::comparison(runs, screen::width()),
    }
}
