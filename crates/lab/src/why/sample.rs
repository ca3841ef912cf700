//! One run, as far as it is compared: its completions, cut into batches.

use wordline_ssd::Operation;

use crate::error::Result;
use crate::job::Job;
use crate::observer::Observer;
use crate::session::Session;
use crate::steps::{Reached, Until};
use crate::summary::{Outcome, Verdict};

/// Batches. Chosen: of 100,000 requests each has 5,000, which take longer than most requests.
pub const BATCHES: usize = 20;

/// Requests of a kind from which on a 99th percentile is known: ten are slower. As summaries have it, which leave out percentiles that fewer lie
/// beyond.
const LEAST: usize = 1_000;

/// A completion.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// When, in picoseconds since measuring began.
    pub at: u64,
    /// Its latency in picoseconds.
    pub latency: u64,
    /// Whether it is a read or a write, as 0 and 1; none of other commands.
    pub kind: Option<usize>,
}

/// The completions of a run, and what is known of it.
#[derive(Clone, Debug)]
pub struct Sample {
    /// In their order.
    pub completions: Vec<Completion>,
    /// Requests before those.
    pub left_out: u64,
    pub failed: u64,
    pub outcome: Outcome,
    /// Its own verdict on its bound.
    pub verdict: Option<Verdict>,
}

impl Sample {
    /// Runs a job to its end.
    ///
    /// # Errors
    /// Those of a run.
    pub fn take(job: Job, observer: &mut dyn Observer) -> Result<Self> {
        let mut session = Session::of(job, observer)?;
        let reached = session.advance_observed(Until::Answers(u64::MAX), observer)?;
        let answers = session.answers();
        let summary = session.finish_observed(observer)?;
        let completion = |answer: &crate::record::Answered| Completion {
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
            outcome: if reached == Reached::Stopped { Outcome::Interrupted } else { summary.outcome },
            verdict: summary.verdict,
        })
    }

    /// The times of the batches of the first `count` completions, in seconds. The last few of a run come when fewer requests are outstanding,
    /// and are left out by who counts.
    pub fn batches(&self, count: usize) -> Vec<f64> {
        let ends = (0..=BATCHES).map(|n| match n * count / BATCHES {
            0 => 0,
            end => self.completions[end - 1].at,
        });
        let ends: Vec<u64> = ends.collect();
        ends.windows(2).map(|pair| (pair[1] - pair[0]) as f64 * 1e-12).collect()
    }

    /// The 99th percentile of the latency of a kind among the first `count` completions, in microseconds, and those of the batches; none where
    /// too few are of it.
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
