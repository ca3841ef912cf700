//! The bottleneck of a run, by experiment. The run is repeated with one change at a time. The change with the
//! greatest gain shows the bottleneck.
//!
//! Every run begins with the same device in the same state. The device is prepared with its original times,
//! and then changed before the first request. All runs have the same requests and the same warm-up, whose
//! length the first run determines.
//!
//! The *elasticity* of the IOPS for a change is the logarithm of the ratio of the IOPS, divided by the
//! logarithm of the ratio of the change. It is 1 if the IOPS gain as much as if nothing but the changed part
//! took time, and 0 if they gain nothing. In a closed loop without think time, the elasticities of all times
//! add up to 1, because a device with all times shortened does the same work in less time.
//!
//! The measured requests are divided into batches of equal numbers of completions. Each batch is compared
//! with the same batch of the first run. 95 % intervals are by Student's t distribution over the batches. A
//! bottleneck is named only if its elasticity exceeds the elasticity of every other cause by more than
//! chance.

mod answer;
mod page;
mod question;
mod sample;
#[cfg(test)]
mod tests;
mod text;

use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::Serialize;
use wordline_host::Pace;

use crate::arrivals::RequestSource;
use crate::change::Change;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::job::{Job, RunOptions};
use crate::observer::{ContinueWhile, Observer};
use crate::output::is_standard;
use crate::summary::{Outcome, Source, Verdict};
use crate::sweep::{self, SweepOptions};
use crate::transient::WarmUp;
use crate::workload::Workload;
use sample::Sample;

pub use page::{chart, write};
pub use question::Cause;
pub use text::table;

/// Default number of requests of each run. Chosen: elasticities are then known to a few hundredths.
pub const REQUESTS: u64 = 100_000;

/// The reason why the demand of an application cannot be changed.
const THREADS: &str = "each thread of an application waits for the completion of its own request, and with more threads it is another \
                       workload; --queue-depth keeps as many outstanding as it says";

/// The bottleneck of a run, and the measurements that show it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Why {
    /// Name of the device.
    pub device: String,
    /// The source of the requests.
    pub workload: Source,
    /// Seed of all random streams.
    pub seed: u64,
    /// Queue depth of a closed loop; null in an open loop, and if jobs have their own depths.
    #[schemars(with = "u32")]
    pub queue_depth: Option<u32>,
    /// Requests in the warm-up of each run, which are not measured.
    pub left_out: u64,
    /// Measured requests of each run.
    pub requests: u64,
    /// Number of batches.
    pub batches: usize,
    /// IOPS without a change.
    pub iops: f64,
    /// 99th percentile of read latency without a change, in microseconds; null if unknown.
    #[schemars(with = "f64")]
    pub read_p99_us: Option<f64>,
    /// 99th percentile of write latency without a change, in microseconds; null if unknown.
    #[schemars(with = "f64")]
    pub write_p99_us: Option<f64>,
    /// The bottleneck: the cause with the greatest elasticity; null if unknown.
    #[schemars(with = "Cause")]
    pub bound: Option<Cause>,
    /// A sentence about the bottleneck, or about the reason why it is unknown.
    pub text: String,
    /// The effect of each change.
    pub effects: Vec<Effect>,
    /// The bottleneck that the run without a change shows by itself; null if there is no such verdict.
    #[schemars(with = "Verdict")]
    pub verdict: Option<Verdict>,
}

/// The effect of a change.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// The cause that the change tests.
    pub cause: Cause,
    /// The factor on a time, or on the demand of the host.
    pub factor: f64,
    /// Ratio of the IOPS with the change to the IOPS without it; null if unknown.
    #[schemars(with = "f64")]
    pub iops: Option<f64>,
    /// Elasticity of the IOPS.
    #[schemars(with = "Elasticity")]
    pub elasticity: Option<Elasticity>,
    /// Elasticity of the 99th percentile of read latency. It is positive if the latency becomes shorter.
    #[schemars(with = "Elasticity")]
    pub read_p99: Option<Elasticity>,
    /// Elasticity of the 99th percentile of write latency. It is positive if the latency becomes shorter.
    #[schemars(with = "Elasticity")]
    pub write_p99: Option<Elasticity>,
    /// The reason why values are null; null if all are known.
    #[schemars(with = "String")]
    pub unknown: Option<String>,
}

/// A relative gain divided by the relative change that causes it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Elasticity {
    /// The elasticity over all measured requests.
    pub value: f64,
    /// Half-width of its 95 % confidence interval, from the batches; null if unknown.
    #[schemars(with = "f64")]
    pub half: Option<f64>,
}

impl Why {
    /// The effect of the change that tests `cause`.
    pub fn effect(&self, cause: Cause) -> Option<&Effect> {
        self.effects.iter().find(|effect| effect.cause == cause)
    }

    /// The elasticity of the IOPS for a cause.
    pub fn elasticity(&self, cause: Cause) -> Option<f64> {
        self.effect(cause).and_then(|effect| Some(effect.elasticity?.value))
    }
}

/// Finds the bottleneck of a run of this workload on this device. The observer watches the first run. The
/// runs with changes are made in parallel.
///
/// # Errors
/// The errors of [`run`](crate::run()). [`Error::Argument`] for a workload that can be read only once, or a
/// device that fails requests. [`Error::Stopped`] if the user stopped it.
pub fn why(
    device: &Device,
    workload: &Workload,
    options: &RunOptions,
    conduct: &SweepOptions<'_>,
    observer: &mut dyn Observer,
) -> Result<Why> {
    let asked = Experiment { device, workload, options };
    let first = asked.first(observer)?;
    let questions = Cause::ALL;
    let one = |cause: &Cause| asked.run_with_change(*cause, &first, conduct.stop);
    let samples = sweep::run(&questions, conduct, one)?;
    let samples: Vec<ChangeResult> = samples.into_iter().collect::<Option<_>>().ok_or(Error::Stopped)?;
    Ok(answer::of(&asked, &first, questions.into_iter().zip(samples).collect()))
}

/// The run whose bottleneck is wanted.
struct Experiment<'a> {
    device: &'a Device,
    workload: &'a Workload,
    options: &'a RunOptions,
}

/// The run without a change.
struct Baseline {
    sample: Sample,
    pace: Pace,
    /// Number of queues that the host uses.
    queues: u16,
    /// Whether the requests come from threads that wait for their own completions.
    has_threads: bool,
    source: Source,
}

/// The sample of a run with a change, or the reason why there is none.
type ChangeResult = std::result::Result<Sample, String>;

impl Experiment<'_> {
    /// Makes the run without a change.
    fn first(&self, observer: &mut dyn Observer) -> Result<Baseline> {
        let snapshot = self.options.from_snapshot.as_deref();
        if self.workload.is_read_once() || snapshot.is_some_and(is_standard) {
            return Err(wrong("an input that is read once", "files, which every run can read"));
        }
        let job = self.job(self.options.warm_up, Change::default(), observer)?;
        let (pace, queues, source) = (job.load.pace, job.load.spread.queues, job.load.source.clone());
        let has_threads = matches!(job.load.requests, RequestSource::Threads(_));
        let sample = Sample::take(job, observer)?;
        match sample.outcome {
            Outcome::Interrupted => Err(Error::Stopped),
            Outcome::ReadOnly => Err(wrong("a device at the end of its life", "one that takes requests")),
            Outcome::Complete if sample.failed > 0 => {
                Err(wrong("a run with failed requests", "a run without failed requests"))
            }
            Outcome::Complete if sample.completions.is_empty() => Err(wrong(
                "no request after those that are left out",
                "more requests, or a shorter --warm-up",
            )),
            Outcome::Complete => Ok(Baseline { sample, pace, queues, has_threads, source }),
        }
    }

    /// Makes the run with the change that tests `cause`.
    fn run_with_change(&self, cause: Cause, first: &Baseline, stop: &AtomicBool) -> Result<ChangeResult> {
        let (change, left_out) = (cause.change(), first.sample.left_out);
        if let Err(reason) = change.change_pace(first.pace) {
            return Ok(Err(reason.into()));
        }
        if change.demand != 1.0 && first.has_threads {
            return Ok(Err(THREADS.into()));
        }
        let mut observer = ContinueWhile(|| !stop.load(Ordering::Relaxed));
        let warm_up = if left_out > 0 { WarmUp::Requests(left_out) } else { WarmUp::None };
        let mut take = |change| Sample::take(self.job(Some(warm_up), change, &mut observer)?, &mut observer);
        let taken = match take(change) {
            // A device without a link has no link time to change.
            Err(Error::CannotChange(_)) if cause == Cause::AllTimes => take(change.without_link()),
            taken => taken,
        };
        match taken {
            Err(Error::CannotChange(reason)) => Ok(Err(reason.into())),
            Ok(sample) if sample.outcome == Outcome::Interrupted => Err(Error::Stopped),
            Ok(sample) if sample.outcome == Outcome::ReadOnly || sample.failed > 0 => {
                Ok(Err("with the change, requests fail".into()))
            }
            taken => taken.map(Ok),
        }
    }

    fn job(&self, warm_up: Option<WarmUp>, change: Change, observer: &mut dyn Observer) -> Result<Job> {
        let RunOptions { seed, precondition, from_snapshot, provenance, .. } = self.options.clone();
        let options =
            RunOptions { seed, precondition, warm_up, from_snapshot, provenance, ..RunOptions::default() };
        let mut job = self.workload.job(self.device, &options, observer)?;
        job.load.change = change;
        Ok(job)
    }
}

fn wrong(found: &str, wanted: &str) -> Error {
    Error::Argument {
        what: "the run whose bound is asked for".into(),
        found: found.into(),
        wanted: wanted.into(),
    }
}
