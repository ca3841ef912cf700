//! Latency statistics: of writes, and of recoveries from program failures.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant};

use super::chunks::ChunkId;

/// Statistics of failed programs that are retried in another block.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RetryStats {
    /// When the first program of each waiting chunk failed.
    waiting: BTreeMap<ChunkId, Instant>,
    /// Times from a failure until the data are in flash.
    spans: LatencyStats,
    /// Sum of the buffer occupancies at failures, and number of failures.
    buffer_use: (f64, u64),
}

/// Retry statistics at a point in time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RetryTotals {
    spans: SpanTotals,
    buffer_use: (f64, u64),
}

impl RetryStats {
    /// Records a failed program of a chunk, with the buffer occupancy. The chunk may already be waiting for a
    /// retry.
    pub(super) fn failed(&mut self, chunk: ChunkId, now: Instant, used: f64) {
        if let Entry::Vacant(vacant) = self.waiting.entry(chunk) {
            vacant.insert(now);
            let (sum, count) = self.buffer_use;
            self.buffer_use = (sum + used, count + 1);
        }
    }

    /// Records that the next data of a chunk are in flash.
    #[inline]
    pub(super) fn note_programmed(&mut self, chunk: ChunkId, now: Instant) {
        if !self.waiting.is_empty()
            && let Some(failed) = self.waiting.remove(&chunk)
        {
            self.spans.add(now - failed);
        }
    }

    /// Ends the wait of a chunk without counting it.
    pub(super) fn forget(&mut self, chunk: ChunkId) {
        self.waiting.remove(&chunk);
    }

    /// Ends all waits without counting them, at a power loss.
    pub(super) fn forget_all(&mut self) {
        self.waiting.clear();
    }

    pub(super) fn now(&self) -> RetryTotals {
        RetryTotals { spans: self.spans.now(), buffer_use: self.buffer_use }
    }

    /// Mean and maximum recovery time since `before`, and mean buffer occupancy; `None` without failures.
    pub(super) fn since(&self, before: RetryTotals) -> ([Option<f64>; 2], Option<f64>) {
        let (sum, count) = self.buffer_use;
        let (sum, count) = (sum - before.buffer_use.0, count - before.buffer_use.1);
        (self.spans.since(before.spans), (count > 0).then(|| sum / count as f64))
    }
}

/// Statistics of time spans: number, sum, and maximum since any point in time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct LatencyStats {
    count: u64,
    total_ps: u128,
    /// Spans that are greater than all later ones, with their numbers. The first of them with a number of at
    /// least `n` is the maximum of all spans from number `n` on.
    longest: Vec<(u64, Duration)>,
}

/// Number and sum of the spans at a point in time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpanTotals {
    count: u64,
    total_ps: u128,
}

impl LatencyStats {
    pub(super) fn add(&mut self, span: Duration) {
        while self.longest.pop_if(|(_, shorter)| *shorter <= span).is_some() {}
        self.longest.push((self.count, span));
        self.count += 1;
        self.total_ps += u128::from(span.ps());
    }

    pub(super) fn now(&self) -> SpanTotals {
        SpanTotals { count: self.count, total_ps: self.total_ps }
    }

    /// Mean and maximum of the spans since a point in time, in microseconds; `None` without spans.
    pub(super) fn since(&self, before: SpanTotals) -> [Option<f64>; 2] {
        let us = |ps: u128| ps as f64 / 1e6;
        let count = self.count - before.count;
        let mean = (count > 0).then(|| us(self.total_ps - before.total_ps) / count as f64);
        let longest = self.longest.iter().find(|(number, _)| *number >= before.count);
        [mean, longest.map(|(_, span)| us(u128::from(span.ps())))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_longest_are_those_since_the_mark() {
        let mut spans = LatencyStats::default();
        assert_eq!(spans.since(SpanTotals::default()), [None, None]);
        let mut all: Vec<u64> = Vec::new();
        let mut marks = vec![spans.now()];
        for n in 0..200_u64 {
            let us = n * 7_919 % 97;
            spans.add(Duration::from_us(us));
            all.push(us);
            marks.push(spans.now());
        }
        for (from, mark) in marks.into_iter().enumerate().take(200) {
            let later = &all[from..];
            let mean = later.iter().sum::<u64>() as f64 / later.len() as f64;
            let longest = *later.iter().max().expect("there are some") as f64;
            let [found, most] = spans.since(mark).map(|value| value.expect("there are some"));
            assert!((found - mean).abs() < 1e-9 && (most - longest).abs() < 1e-9, "from {from} on");
        }
    }
}
