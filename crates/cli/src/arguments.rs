//! Arguments that several commands share.

use std::path::{Path, PathBuf};

use clap::Args;
use wordline_kernel::Duration;
use wordline_lab::config::named;
use wordline_lab::output::is_standard;
use wordline_lab::trace::workload::arrival::Bursts;
use wordline_lab::trace::{Fit, Options};
use wordline_lab::{
    Device, Error, Origin, Precondition, Registry, RunOptions, SLOWEST, Selection, Until, WarmUp, Workload,
};

use crate::provenance::provenance;

/// Arguments that select a device.
#[derive(Args)]
pub struct DeviceArguments {
    /// An embedded device; see `wordline presets list`. Or the path of a configuration file.
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// A configuration file, complete or changing the preset; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Changes one setting, such as `ftl.over_provisioning=0.28`; can be repeated, the last wins.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
}

/// The path in an argument that is a name or a path: one with an extension.
pub fn file_of_name(name: &str) -> Option<&Path> {
    Some(Path::new(name)).filter(|path| path.extension().is_some())
}

impl DeviceArguments {
    /// Whether any device argument was given.
    pub fn is_given(&self) -> bool {
        self.unnamed().is_none_or(|settings| !settings.is_empty())
    }

    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.preset.as_deref().and_then(file_of_name).into_iter().chain(self.config.as_deref())
    }

    /// The settings of the user, if no device was named.
    pub fn unnamed(&self) -> Option<&[String]> {
        (self.preset.is_none() && self.config.is_none()).then_some(&self.settings)
    }

    /// Returns the device that the user named, or the preset `usual`.
    pub fn device(&self, registry: &Registry, usual: &str) -> Result<Device, Error> {
        let selection = Selection {
            preset: if self.unnamed().is_some() { Some(usual.into()) } else { self.preset.clone() },
            file: self.config.clone(),
            set: self.settings.clone(),
        };
        Device::load_of(registry, &selection)
    }
}

/// Arguments for the format of a trace file whose detection fails.
#[derive(Args)]
pub struct FormatArguments {
    /// The trace's format, if it is not detected or detected wrongly; see `wordline trace formats`.
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// A property of the trace that its format leaves open, such as `time_unit=us`; can be repeated. See
    /// `wordline trace formats`.
    #[arg(long = "trace-option", value_name = "KEY=VALUE")]
    pub options: Vec<String>,
}

impl FormatArguments {
    /// Returns the options for reading a trace, as the user gave them.
    pub fn options(&self) -> Result<Options, Error> {
        let mut options = Options::from_pairs(self.options.iter().map(String::as_str))?;
        if let Some(format) = &self.format {
            options.set("format", format)?;
        }
        Ok(options)
    }
}

/// Arguments for the requests, their pace, and the initial state of the device.
#[derive(Args)]
pub struct WorkloadArguments {
    /// A trace file, plain or compressed with gzip or zstd; `-` for standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    trace: Option<PathBuf>,
    /// A named workload, a profile of a published trace, a workload file (NAME.toml) or a fio job file
    /// (NAME.fio); see `wordline workloads list`.
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    #[command(flatten)]
    format: FormatArguments,
    /// A folder of recorded traces. A trace in it replaces the profile of the same name.
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,
    /// Number of requests: at most this many of a trace, exactly this many of a workload.
    #[arg(long, value_name = "N", value_parser = whole::<u64, 1>, allow_negative_numbers = true)]
    requests: Option<u64>,
    /// Treatment of requests beyond the device: wrap, scale or refuse.
    #[arg(long, value_name = "HOW", default_value = "wrap", value_parser = named::<Fit>)]
    fit: Fit,
    /// Factor on the times between requests; 0.5 is twice as fast.
    #[arg(long, value_name = "FACTOR", value_parser = number, allow_negative_numbers = true)]
    time_scale: Option<f64>,
    /// Keeps this many requests outstanding in each queue; a trace is then replayed without its times.
    #[arg(long, value_name = "N", value_parser = whole::<u32, 1>, allow_negative_numbers = true)]
    queue_depth: Option<u32>,
    /// Number of submission queues that the host uses. Default: one with a queue depth, otherwise all queues
    /// of the device.
    #[arg(long, value_name = "N", value_parser = whole::<u16, 1>, allow_negative_numbers = true)]
    queues: Option<u16>,
    /// The namespace of the requests, from 1.
    #[arg(long, value_name = "N", value_parser = whole::<u16, 1>, allow_negative_numbers = true)]
    namespace: Option<u16>,
    /// Time between a completion and the next request of a closed loop, such as 100us.
    #[arg(long, value_name = "TIME")]
    think_time: Option<Duration>,
    /// Length of bursts, such as 10ms: a closed loop alternates between submitting requests and pausing, each
    /// for this time.
    #[arg(long, value_name = "TIME")]
    bursts: Option<Duration>,
    /// A trace whose arrival times replace those of the requests, repeated as needed; `embedded` is the
    /// embedded trace.
    #[arg(long, value_name = "FILE")]
    times_of: Option<PathBuf>,
    /// State of the device before the run: empty, filled, a fraction to fill, steady-state (of uniform
    /// writes), steady-state:0.5 (over this fraction of the logical pages), workload (aged by the workload
    /// itself) or workload:3 (aged by this many drive writes). Default: the state that the workload asks for.
    #[arg(long, value_name = "STATE", allow_negative_numbers = true)]
    precondition: Option<Precondition>,
    /// Warm-up, whose requests are not measured: a number of requests, a time such as 20ms, `rule` (until the
    /// load is steady by MSER-5), `failure` (until a member of an array fails), or none. Default: `failure`
    /// with `--until rebuilt`, else `rule` for a generated workload unless the device is empty, none for
    /// traces and job files.
    #[arg(long, value_name = "N|TIME|HOW", allow_negative_numbers = true)]
    warm_up: Option<WarmUp>,
    /// Measures until the half-width of a metric's 95 % confidence interval is this fraction of its mean,
    /// such as `p99:2%`, or until the last request. `rebuilt`: until an array has rebuilt its failed members;
    /// a generated workload without `--requests` goes on until then, and the workload `none` has no requests.
    #[arg(long, value_name = "COLUMN:SHARE|rebuilt")]
    until: Option<Until>,
    /// Number of slowest requests to keep for tail attribution; 0 for none.
    #[arg(long, value_name = "N", default_value_t = SLOWEST, value_parser = whole::<u32, 0>, allow_negative_numbers = true)]
    slowest: u32,
    #[command(flatten)]
    seed: SeedArgument,
}

/// Seed of all random numbers.
#[derive(Args)]
pub struct SeedArgument {
    /// Seed of all random numbers.
    #[arg(long, value_name = "N", default_value_t = RunOptions::default().seed, value_parser = whole::<u64, 0>,
        allow_negative_numbers = true)]
    pub seed: u64,
}

impl WorkloadArguments {
    /// Whether the requests come from standard input.
    pub fn is_standard(&self) -> bool {
        let workload = self.workload.as_ref().map(Path::new);
        self.trace.as_deref().or(workload).is_some_and(is_standard)
    }

    /// The files of the requests.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let workload = self.workload.as_deref().and_then(file_of_name);
        [self.trace.as_deref(), workload, self.times_of.as_deref()].into_iter().flatten()
    }

    /// Returns the workload that the user asked for.
    pub fn workload(&self) -> Result<Workload, Error> {
        let options = self.format.options()?;
        let origin = match (&self.trace, &self.workload) {
            (Some(path), _) => Origin::Trace(path.clone(), options),
            (None, named) if options != Options::default() => {
                return Err(Error::Argument {
                    what: "--format or --trace-option".into(),
                    found: format!("it with {}", named.as_deref().unwrap_or("the embedded trace")),
                    wanted: "--trace FILE as well".into(),
                });
            }
            (None, Some(name)) => Origin::Named(name.clone()),
            (None, None) => Origin::Embedded,
        };
        Ok(Workload {
            origin,
            traces: self.traces.clone(),
            requests: self.requests,
            fit: self.fit,
            time_scale: self.time_scale,
            queue_depth: self.queue_depth,
            queues: self.queues,
            namespace: self.namespace,
            think_time: self.think_time,
            bursts: self.bursts.map(Bursts::halves),
            times_of: self.times_of.clone(),
        })
    }

    /// Returns the other options of the run.
    pub fn options(&self) -> RunOptions {
        RunOptions {
            precondition: self.precondition,
            warm_up: self.warm_up,
            until: self.until.clone(),
            slowest: Some(self.slowest).filter(|slowest| *slowest > 0),
            provenance: provenance(),
            ..RunOptions::seed(self.seed.seed)
        }
    }
}

/// Parses an integer of at least `LEAST`.
pub fn whole<T: TryFrom<u64>, const LEAST: u64>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number >= LEAST);
    let most = u64::MAX >> (u64::BITS as usize - 8 * size_of::<T>());
    let wanted = || format!("found {text:?}, wanted a whole number from {LEAST} to {most}");
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(wanted)
}

/// Parses a number. `nan` and infinity are rejected.
pub fn number(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("found {text:?}, wanted a number, such as 0.5"))
}
