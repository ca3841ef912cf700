//! `wordline sweep`: parallel runs over varied keys, and their table.

use std::path::PathBuf;

use clap::Args;
use wordline_kernel::{Bytes, Duration};
use wordline_lab::devices::Registry;
use wordline_lab::error::Error;
use wordline_lab::output::ReportFolder;
use wordline_lab::sweep::SweepOptions;
use wordline_lab::trace::Options;
use wordline_lab::{Until, WarmUp};
use wordline_studies::{
    self as studies, DeviceArguments, LoadArguments, Progress, Repeat, RunExecutor, RunsForm, Shard, Store,
    Study, StudyArguments, Table,
};

use crate::arguments::{FormatArguments, SeedArgument, number, whole};
use crate::charts::ChartsArguments;
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{self, JsonArgument};
use crate::progress::ExperimentProgress;
use crate::provenance::provenance;
use crate::screen;

const EXAMPLES: &str = "\
Examples:
  wordline sweep --preset tiny --workload randwrite-4k --vary ftl.over_provisioning=0.1..0.4/4
  wordline sweep --preset tiny --vary ftl.gc.victim.policy=greedy,fifo --seeds 5 --column write_amplification
  wordline sweep --preset tiny --vary 'ftl.gc.victim=greedy,d-choices{choices=4}' --workload randwrite-4k
  wordline sweep --config drive.toml --workload jobs.fio --vary front.queue_depth=16,1024
  wordline sweep --trace writes.csv --vary ftl.over_provisioning=0.1..0.4/4
  wordline sweep study.toml --store runs --plan
  wordline sweep study.toml --store runs --runs runs.parquet --report out
  wordline sweep study.toml --store runs --shard 2/8
  wordline sweep study.toml --store runs --cluster tcp://head:8786";

/// Default device.
const DEFAULT_PRESET: &str = "nvme-tlc";

/// Default workload.
const DEFAULT_WORKLOAD: &str = "mixed-70-30";

/// Runs a device over varied keys, each combination with each seed, and prints the means.
///
/// The study is a file (docs/studies.md), or is built from --preset, --set, --workload and --vary. With
/// --store, runs are kept in a folder. A study that was stopped or extended then runs only what is missing. A
/// failed run is kept with its error and does not stop the study. With --cluster, the workers of a Dask
/// scheduler execute the runs.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    /// A study file.
    #[arg(value_name = "STUDY.toml", conflicts_with_all = ["preset", "config", "settings", "workload", "trace", "requests", "queue_depth",
        "time_scale", "think_time", "format", "options", "precondition", "vary"])]
    study: Option<PathBuf>,
    /// An embedded device; see `wordline presets list`.
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// A configuration file, complete or changing the preset.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Changes one setting of all runs; can be repeated, the last wins.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// A built-in workload, a workload file (NAME.toml) or a fio job file (NAME.fio); see `wordline workloads
    /// list`.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_WORKLOAD)]
    workload: String,
    /// A trace file.
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArguments,
    /// Number of requests of each run: at most this many of a trace.
    #[arg(long, value_name = "N", value_parser = whole::<u64, 1>)]
    requests: Option<u64>,
    /// Keeps this many requests outstanding; a trace is then replayed without its times.
    #[arg(long, value_name = "N", value_parser = whole::<u32, 1>)]
    queue_depth: Option<u32>,
    /// Factor on the times between requests of a trace or a workload file; 0.5 is twice as fast.
    #[arg(long, value_name = "FACTOR", value_parser = number, allow_negative_numbers = true)]
    time_scale: Option<f64>,
    /// Time between a completion and the next request of a closed loop, of a trace or a workload file.
    #[arg(long, value_name = "TIME")]
    think_time: Option<Duration>,
    /// State of the device before each run: empty, filled, filled:0.5, steady-state, steady-state:0.5, workload
    /// (aged by the workload itself) or workload:3 (by this many drive writes). Default: the state that the
    /// workload asks for.
    #[arg(long, value_name = "STATE")]
    precondition: Option<String>,
    /// Warm-up of each run, whose requests are not measured: a number of requests, a time such as 20ms,
    /// `rule` (until the load is steady by MSER-5), `failure` (until a member of an array fails), or none.
    /// Default: `failure` with `--until rebuilt`, else `rule` for a generated workload unless the device is
    /// empty.
    #[arg(long, value_name = "N|TIME|HOW", allow_negative_numbers = true, conflicts_with = "study")]
    warm_up: Option<WarmUp>,
    /// Ends each run when a metric is known as precisely, such as `p99:2%`, or, with `rebuilt`, when an array has
    /// rebuilt its failed members. A generated workload goes on until then, and the workload `none` has no
    /// requests.
    #[arg(long, value_name = "COLUMN:SHARE|rebuilt", conflicts_with = "study")]
    until: Option<Until>,
    /// A key and its values: `KEY=A,B,C`, or `KEY=FROM..TO/STEPS`, `/*STEPS` for a geometric range. Can be
    /// repeated: all combinations are run. A policy with keys is `NAME{KEY=VALUE}`, any table is as in TOML.
    /// Keys of the workload begin with `workload.`; `workload` varies the workload itself.
    #[arg(long, value_name = "KEY=VALUES")]
    vary: Vec<String>,
    /// A column of the table, such as `host.read_latency_us.p99`; can be repeated. See `wordline metrics`.
    #[arg(long = "column", value_name = "NAME")]
    columns: Vec<String>,
    #[command(flatten)]
    seed: SeedArgument,
    /// Number of seeds for each combination, from --seed on; the study's own number if not given.
    #[arg(long, value_name = "N", value_parser = whole::<u32, 1>)]
    seeds: Option<u32>,
    /// Keeps the runs in this folder, and runs only those that are missing there.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Runs only part I of N: the runs whose position, modulo N, is I - 1. The stores of the parts can be one
    /// folder, or be merged by `wordline store merge`.
    #[arg(long, value_name = "I/N", requires = "store", conflicts_with = "plan")]
    shard: Option<Shard>,
    /// Repeats failed runs.
    #[arg(long, requires = "store")]
    again: bool,
    /// Prints the work of the study, and runs nothing.
    #[arg(long)]
    plan: bool,
    /// A folder of recorded traces. A trace in it replaces the profile of the same name.
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArgument,
    /// Writes a row for each run with all of its numbers: FILE.csv or FILE.parquet.
    #[arg(long, value_name = "FILE")]
    runs: Option<PathBuf>,
    /// Writes report.html, its charts and table.json into DIR.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    #[command(flatten)]
    charts: ChartsArguments,
    /// Number of parallel runs; the number of cores if not given.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = whole::<u32, 0>)]
    threads: u32,
    /// Upper bound on the memory of concurrent runs on this machine, such as `8GiB`; the study's own budget
    /// if not given.
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,
    /// Compares each row, seed by seed, with the row that has this value in place of its own; can be
    /// repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    against: Vec<String>,
    /// Runs the study on the cluster of the Dask scheduler at this address, through the Python package
    /// (docs/studies.md).
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["threads", "memory"])]
    cluster: Option<String>,
    /// The Python interpreter that has the package with its extra `cluster`.
    #[arg(long, value_name = "FILE", default_value = "python3", requires = "cluster")]
    python: PathBuf,
    /// Shows no progress bar, even if standard error is a terminal.
    #[arg(long)]
    no_progress: bool,
}

impl Arguments {
    /// Returns the study that the user asked for.
    fn study(&self, registry: &Registry) -> Result<Study, Failure> {
        let mut study = match &self.study {
            Some(path) => {
                let mut study = Study::read(registry, path)?;
                if !self.columns.is_empty() {
                    study = Study { columns: self.columns.clone(), ..study }.checked()?;
                }
                study.repeat.seeds = self.seeds.unwrap_or(study.repeat.seeds);
                study
            }
            None => {
                let options = self.format.options()?;
                let axes = self.vary.iter().map(|argument| studies::axis_of(argument));
                let vary = axes.collect::<Result<Vec<_>, _>>()?;
                let varies_preset = vary.iter().any(|axis| axis.key == "preset");
                let (preset, DeviceArguments { keys: device, config, .. }) = self.device(varies_preset)?;
                let asked = StudyArguments {
                    preset: Some(preset),
                    load: LoadArguments {
                        workload: &self.workload,
                        trace: self.trace.as_deref(),
                        requests: self.requests,
                        queue_depth: self.queue_depth,
                        time_scale: self.time_scale,
                        think_time: self.think_time,
                        trace_options: Some(&options).filter(|options| **options != Options::default()),
                    },
                    precondition: self.precondition.as_deref(),
                    warm_up: self.warm_up,
                    until: self.until.clone(),
                    vary,
                    repeat: Repeat { first: self.seed.seed, seeds: self.seeds.unwrap_or(1), until: None },
                    columns: self.columns.clone(),
                    config,
                };
                Study::from_arguments(registry, device, asked)?
            }
        };
        study.traces.clone_from(&self.traces);
        study.budget = self.memory.or(study.budget);
        if !self.against.is_empty() {
            study.against = studies::baseline_of(&self.against, &study.sweep.vary)?;
            study = study.checked()?;
        }
        Ok(study)
    }

    /// Returns the preset, or the file in its place, and the keys that change it.
    fn device(&self, varies_preset: bool) -> Result<(String, DeviceArguments), Failure> {
        // A file without a preset is the device, as in `run`.
        let (of_file, changing) = match (&self.preset, &self.config) {
            (None, Some(file)) if !varies_preset => (Some(file.display().to_string()), None),
            (_, changing) => (None, changing.as_deref()),
        };
        let device = studies::device_of(changing, &self.settings, self.preset.as_deref())?;
        if let (true, Some(preset)) = (varies_preset, &device.preset) {
            return Err(Error::Argument {
                what: "--config".into(),
                found: format!("a file that names the preset `{preset}`, beside --vary preset"),
                wanted: "a file without a preset".into(),
            }
            .into());
        }
        let preset = self.preset.clone().or(of_file).unwrap_or_else(|| DEFAULT_PRESET.to_owned());
        Ok((preset, device))
    }
}

/// Runs the command.
pub fn handle(arguments: Arguments, registry: &Registry) -> Result<(), Failure> {
    let study = arguments.study(registry)?;
    // Nothing is written for a study that has an invalid run.
    study.points(study.repeat.first)?;
    let outputs = [
        ("--json", arguments.json.file.as_deref()),
        ("--runs", arguments.runs.as_deref()),
        ("--report", arguments.report.as_deref()),
        ("--charts", arguments.charts.folder()),
        ("--store", arguments.store.as_deref()),
    ];
    let inputs =
        [&arguments.study, &arguments.config, &arguments.trace].into_iter().filter_map(Option::as_deref);
    output::check_distinct(&outputs, &inputs.collect::<Vec<_>>())?;
    arguments.runs.as_deref().map(RunsForm::of).transpose()?;
    let store = arguments.store.as_deref().map_or_else(|| Ok(Store::in_memory()), Store::open)?;
    let provenance = provenance();
    if arguments.plan {
        return print_plan(&studies::plan(&study, &store, &provenance.program())?, &arguments);
    }
    let program = provenance.program();
    let connect =
        |address: &String| Cluster::connect(address, &arguments.python, &program, interrupt::flag());
    let cluster = arguments.cluster.as_ref().map(connect).transpose()?;
    let charts = arguments.charts.open(arguments.report.as_deref())?;
    let json = arguments.json.open()?;
    let report = arguments.report.as_deref().map(ReportFolder::claim).transpose()?;
    interrupt::set_polling(true);
    let steps = ExperimentProgress::new(&study.title, arguments.no_progress);
    let conduct = SweepOptions {
        threads: arguments.threads as usize,
        stop: interrupt::flag(),
        progress: &|done, total| steps.show(done, total),
    };
    let elsewhere = cluster.as_ref().map(|cluster| cluster as &dyn RunExecutor);
    let progress = Progress { conduct, again: arguments.again, elsewhere, shard: arguments.shard };
    let table = studies::run(&study, &store, &program, &progress)?;
    drop(cluster);
    if table.runs() == 0 {
        // A study that was stopped ends here, because no file is written without a result.
        interrupt::set_polling(false);
    }
    interrupt::take();
    if !json.is_standard() {
        output::table(&studies::text(&table, screen::width()))?;
    }
    json.give(&table.json())?;
    if let Some(path) = &arguments.runs {
        table.write_runs(path)?;
    }
    if let Some(folder) = report {
        studies::write_report(folder, &study, &table, &provenance)?;
    }
    if let Some(charts) = charts {
        charts.give(&studies::charts(&study, &table))?;
    }
    verdict(&table)
}

/// A study succeeds if all its runs do.
fn verdict(table: &Table) -> Result<(), Failure> {
    match () {
        () if interrupt::asked() => Err(Failure::Interrupted),
        () if table.failed() > 0 => Err(Failure::Verdict),
        () => Ok(()),
    }
}

fn print_plan(plan: &studies::Plan, arguments: &Arguments) -> Result<(), Failure> {
    let studies::Plan { runs, further, done, failed, seconds_left, memory, at_once } = *plan;
    let failed = if failed > 0 { format!(", {failed} of them failed") } else { String::new() };
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = if arguments.threads == 0 { cores } else { arguments.threads as usize };
    let (threads, room) = match at_once {
        Some(at_once) if at_once < threads as u64 => {
            (at_once as usize, format!(", and {at_once} go at once"))
        }
        _ => (threads, String::new()),
    };
    let time = match seconds_left {
        Some(seconds) => format!("about {:.0} s on {threads} threads", seconds / threads as f64),
        None => "how long they take is known when one is done".to_owned(),
    };
    let further = match further {
        0 => String::new(),
        most => format!("repeat.until may add up to {most} runs\n"),
    };
    let text = format!(
        "{runs} runs, {done} done{failed}, {} left: {time}\n{further}a run takes up to about {memory}{room}\n",
        runs - done
    );
    output::text(&text)
}
