//! The sample, scaled to the latencies of all requests.
//!
//! A sample of one in many requests misses most of the slowest, which have a large part of the mean latency. The
//! histograms of latencies count every request, so each interval of the sample gets the requests and the sum of
//! latencies that they have in it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use wordline_kernel::Histogram;

use super::{Interval, SlowRequest, Tail, step_of};

impl Tail {
    /// The samples of reads and of writes, as intervals in ascending order of latency, scaled to the histograms
    /// of all reads and all writes. Intervals of which all requests are among the slowest have their exact
    /// breakdown. Latencies without a sample have the breakdown of the nearest interval.
    pub fn scaled_sample(&self, latencies: [&Histogram; 2]) -> [Vec<Interval>; 2] {
        [0, 1].map(|kind| scaled(self.breakdowns(kind), latencies[kind]))
    }

    /// Breakdowns of the requests of a kind: the sample, and in its place the slowest requests where all of an
    /// interval are kept.
    fn breakdowns(&self, kind: usize) -> BTreeMap<u64, Interval> {
        let are_all_kept = self.slowest.len() < self.keep;
        let is_kept = |step: u64| are_all_kept || step > step_of(self.threshold);
        let mut known = self.sample[kind].clone();
        known.retain(|step, _| !is_kept(*step));
        for Reverse(SlowRequest(request)) in &self.slowest {
            let (step, of) = (step_of(request.completion.latency), request.completion.command.operation);
            if of as usize == kind && is_kept(step) {
                known.entry(step).or_default().add(request, 1);
            }
        }
        known
    }
}

fn scaled(known: BTreeMap<u64, Interval>, latencies: &Histogram) -> Vec<Interval> {
    // Requests and picoseconds of each interval, as the buckets have them.
    let mut wanted: BTreeMap<u64, (u64, u128)> = BTreeMap::new();
    for ([least, greatest], count) in latencies.buckets() {
        let latency = least + (greatest - least) / 2;
        let Some(step) = nearest(&known, step_of(latency)) else { return Vec::new() };
        let (requests, ps) = wanted.entry(step).or_default();
        (*requests, *ps) = (*requests + count, *ps + u128::from(latency.ps()) * u128::from(count));
    }
    let all: u128 = wanted.values().map(|(_, ps)| ps).sum();
    let exact = |ps: u128| (ps as f64 / all.max(1) as f64 * latencies.total_ps() as f64) as u128;
    let interval = |(step, (requests, ps)): (u64, (u64, u128))| known[&step].scaled(requests, exact(ps));
    wanted.into_iter().map(interval).collect()
}

fn nearest(known: &BTreeMap<u64, Interval>, step: u64) -> Option<u64> {
    let below = known.range(..=step).next_back();
    let above = known.range(step..).next();
    below.into_iter().chain(above).map(|(known, _)| *known).min_by_key(|known| known.abs_diff(step))
}

impl Interval {
    /// The interval with this many requests, whose latencies have this sum in picoseconds.
    fn scaled(&self, requests: u64, latency_ps: u128) -> Self {
        let factor = latency_ps as f64 / self.latency_ps.max(1) as f64;
        let of = |ps: u128| (ps as f64 * factor) as u128;
        Self {
            requests,
            latency_ps,
            above: self.above.map(of),
            parts: self.parts.map(of),
            behind: self.behind.map(of),
            meanwhile: self.meanwhile.map(of),
        }
    }
}

#[cfg(test)]
mod tests {
    use wordline_kernel::{Duration, Instant};

    use super::*;
    use crate::tail::RequestBreakdown;
    use crate::times::Component;
    use crate::{Command, Completion, Operation};

    /// A write whose time was in the buffer up to 1 ms, and the rest in a wait for its die.
    fn write(us: u64) -> RequestBreakdown {
        let latency = Duration::from_us(us);
        let command = Command { operation: Operation::Write, ..Command::default() };
        let mut request = RequestBreakdown::of(Completion { command, latency, failed: false }, Instant::ZERO);
        request.parts[Component::Buffer as usize] = latency.min(Duration::from_ms(1));
        request.with_rest_in(Component::DieWait)
    }

    #[test]
    fn the_parts_have_the_mean_latency_of_all_requests_though_the_sample_misses_the_slow_ones() {
        let (mut tail, mut all) = (Tail::keeping_slowest(10), Histogram::default());
        for n in 0..40_000_u64 {
            let us = if n % 4_000 == 3_999 { 500_000 } else { 100 + n % 50 };
            all.record(Duration::from_us(us));
            tail.note(Duration::from_us(us), || write(us));
        }
        let [reads, writes] = tail.scaled_sample([&Histogram::default(), &all]);
        assert!(reads.is_empty());
        let sum = |of: fn(&Interval) -> u128| writes.iter().map(of).sum::<u128>() as f64;
        assert_eq!(writes.iter().map(|interval| interval.requests).sum::<u64>(), 40_000);
        let is_near = |found: f64, wanted: f64| (found / wanted - 1.0).abs() < 1e-3;
        assert!(is_near(sum(|interval| interval.latency_ps), all.total_ps() as f64));
        // Ten requests waited 499 ms each for their dies.
        let waited = sum(|interval| interval.parts[Component::DieWait as usize]);
        assert!(is_near(waited, 10.0 * 499e9), "{waited}");
    }
}
