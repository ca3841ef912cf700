//! The sample of one run: its completions, divided into batches.

use wordline_device::Operation;
use wordline_run::steps::{StepTarget, StopReason};

use crate::error::Result;
use crate::job::Job;
use crate::observer::Observer;
use crate::session::Session;
use crate::summary::{Outcome, Verdict};

/// Number of batches. Chosen: a batch of 100,000 requests has 5,000, which take longer than most single
/// requests.
pub const BATCHES: usize = 20;

/// Least number of requests of a kind for a 99th percentile. Ten requests are then slower, the same limit as
/// for percentiles of summaries.
const LEAST: usize = 1_000;

/// A completion.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// Time of completion, in picoseconds from the beginning of the measurement.
    pub at: u64,
    /// Latency in picoseconds.
    pub latency: u64,
    /// 0 for a read, 1 for a write; `None` for other commands.
    pub kind: Option<usize>,
}

/// The completions of a run, and its outcome.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The completions in order.
    pub completions: Vec<Completion>,
    /// Number of requests in the warm-up.
    pub left_out: u64,
    pub failed: u64,
    pub outcome: Outcome,
    /// The verdict of the run on its bottleneck.
    pub verdict: Option<Verdict>,
}

impl Sample {
    /// Runs a job to its end.
    ///
    /// # Errors
    /// The errors of a run.
    pub fn take(job: Job, observer: &mut dyn Observer) -> Result<Self> {
        let mut session = Session::of(job, observer)?;
        let reached = session.advance_observed(StepTarget::Completions(u64::MAX), observer)?;
        let answers = session.completions();
        let summary = session.finish_observed(observer)?;
        let completion = |answer: &wordline_run::record::CompletedRequest| Completion {
            at: answer.time.ps(),
            latency: answer.latency.ps(),
            kind: match answer.operation {
                Operation::Read => Some(0),
                Operation::Write => Some(1),
                _ => None,
            },
        };
        Ok(Self {
            completions: answers.iter().map(completion).collect(),
            left_out: summary.warm_up.as_ref().map_or(0, |left_out| left_out.requests),
            failed: summary.host.failed,
            outcome: if reached == StopReason::Stopped { Outcome::Interrupted } else { summary.outcome },
            verdict: summary.verdict,
        })
    }

    /// The durations of the batches of the first `count` completions, in seconds. Callers leave out the last
    /// completions of a run, at which fewer requests are outstanding.
    pub fn batches(&self, count: usize) -> Vec<f64> {
        let ends = (0..=BATCHES).map(|n| match n * count / BATCHES {
            0 => 0,
            end => self.completions[end - 1].at,
        });
        let ends: Vec<u64> = ends.collect();
        ends.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * 1e-12).collect()
    }

    /// The 99th percentile of the latency of a kind of request, in microseconds: over the first `count`
    /// completions, and in each batch. `None` if there are too few requests of the kind.
    pub fn p99(&self, kind: usize, count: usize) -> Option<(f64, Vec<f64>)> {
        let all = &self.completions[..count];
        let of = |part: &[Completion]| -> Option<(usize, f64)> {
            let mut latencies: Vec<u64> =
                part.iter().filter(|one| one.kind == Some(kind)).map(|one| one.latency).collect();
            let rank = (latencies.len() * 99).div_ceil(100).checked_sub(1)?;
            let (_, value, _) = latencies.select_nth_unstable(rank);
            let value = *value as f64 / 1e6;
            Some((latencies.len(), value))
        };
        let (requests, whole) = of(all)?;
        let part = |n: usize| &all[n * count / BATCHES..(n + 1) * count / BATCHES];
        let batches: Option<Vec<f64>> = (0..BATCHES).map(|n| of(part(n)).map(|(_, value)| value)).collect();
        (requests >= LEAST).then_some((whole, batches.unwrap_or_default()))
    }
}
