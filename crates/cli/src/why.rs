//! `wordline why`: finds the bottleneck of a run by changing the device and the host.

use std::path::{Path, PathBuf};

use clap::Args;
use wordline_lab::output::ReportFolder;
use wordline_lab::report::Origin;
use wordline_lab::sweep::SweepOptions;
use wordline_lab::why::{self, REQUESTS};
use wordline_lab::{DEFAULT_PRESET, Error, Registry, Workload};

use crate::arguments::{DeviceArguments, WorkloadArguments, whole};
use crate::charts::ChartsArguments;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{self, JsonArgument, with_provenance};
use crate::progress::{ExperimentProgress, RunProgress};
use crate::provenance::provenance;
use crate::run::device_of;
use crate::screen;

const EXAMPLES: &str = "\
Examples:
  wordline why --preset nvme-tlc --workload mixed-70-30
  wordline why --preset tiny --workload randread-4k --queue-depth 1 --requests 20000
  wordline why --from-snapshot steady.snap --workload mixed-70-30 --json why.json
  wordline why --preset tiny --workload mixed-70-30 --report out            a page with a chart";

/// Finds the bottleneck of a run by repeating it with one change at a time.
///
/// Every run begins with a device in the same state. In each repetition one time of the device is a tenth
/// shorter: sensing, programming, erasing, the buses, the link, the controller or garbage collection. In two
/// more repetitions the load of the host is a tenth higher, or doubled. The table has the gain of each
/// change, and the gain relative to the change (the elasticity). Runs have 100,000 requests by default.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    device: DeviceArguments,
    #[command(flatten)]
    workload: WorkloadArguments,
    /// Runs on the device of a snapshot, in its saved state; see `wordline snapshot`. If a device is named as
    /// well, it must be the device of the snapshot.
    #[arg(long, value_name = "FILE", conflicts_with = "precondition")]
    from_snapshot: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArgument,
    /// Writes report.html, its chart and why.json into DIR; replaces a report there.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    #[command(flatten)]
    charts: ChartsArguments,
    /// Number of parallel runs; the number of cores if not given.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = whole::<u32, 0>)]
    threads: u32,
    /// Shows no progress bar, even if standard error is a terminal.
    #[arg(long)]
    no_progress: bool,
}

/// Runs the command.
pub fn handle(arguments: Arguments, registry: &Registry) -> Result<(), Failure> {
    let workload = arguments.workload.workload()?;
    let workload = Workload { requests: workload.requests.or(Some(REQUESTS)), ..workload };
    let mut options = arguments.workload.options();
    if let Some(until) = &options.until {
        return Err(Failure::Error(Error::Argument {
            what: "--until".into(),
            found: until.to_string(),
            wanted: "none: each run has the same number of requests, which --requests sets".into(),
        }));
    }
    let device = match (&arguments.from_snapshot, arguments.device.unnamed()) {
        (Some(file), Some(settings)) => device_of(file, settings, registry)?,
        _ => arguments.device.device(registry, DEFAULT_PRESET)?,
    };
    options.from_snapshot = arguments.from_snapshot;
    let outputs = [
        ("--json", arguments.json.file.as_deref()),
        ("--report", arguments.report.as_deref()),
        ("--charts", arguments.charts.folder()),
    ];
    let snapshot = options.from_snapshot.as_deref();
    let inputs: Vec<&Path> =
        arguments.workload.files().chain(arguments.device.files()).chain(snapshot).collect();
    output::check_distinct(&outputs, &inputs)?;
    let charts = arguments.charts.open(arguments.report.as_deref())?;
    let report = arguments.report.as_deref().map(ReportFolder::claim).transpose()?;
    let json = arguments.json.open()?;
    interrupt::set_polling(true);
    let steps = ExperimentProgress::new(&device.name, arguments.no_progress);
    let conduct = SweepOptions {
        threads: arguments.threads as usize,
        stop: interrupt::flag(),
        progress: &|done, total| steps.show(done, total),
    };
    let mut watch = RunProgress::new(&device.name, arguments.no_progress);
    let answer = why::why(&device, &workload, &options, &conduct, &mut watch)?;
    drop(watch);
    drop(steps);
    interrupt::take();
    let page = report.map_or(Ok(()), |folder| {
        let provenance = provenance();
        let origin = Origin { config: &device.text, command: &provenance.command_line() };
        why::write(folder, &answer, with_provenance(&answer), origin, &provenance)
    });
    let drawn = charts.map_or(Ok(()), |charts| charts.give(&[why::chart(&answer)]));
    let printed = json.or_table(&answer, || why::table(&answer, screen::width()));
    page?;
    drawn?;
    printed
}
