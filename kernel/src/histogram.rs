//! Latency histograms with three significant digits.

use crate::Duration;

/// Durations counted in buckets a thousandth wide; the mean, the least and the greatest are exact.
///
/// The buckets are those of HdrHistogram with three digits over nanoseconds: of the values of one binary order of
/// magnitude, the [`HALF`] with a given leading bits are told apart, and below twice as many every single value.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// How many durations lie in each bucket.
    buckets: Vec<u64>,
    total: u128,
    least: Duration,
    greatest: Duration,
    count: u64,
}

/// Buckets of a binary order of magnitude are 1,024, so that each is at most a thousandth of its values wide.
const HALF_BITS: u32 = 10;
/// As many as they are.
const HALF: usize = 1 << HALF_BITS;

/// The bucket of a duration in nanoseconds: how often it is to be halved until it is below 2 [`HALF`], and what is left.
#[inline]
fn bucket_of(ns: u64) -> usize {
    let order = (ns | (2 * HALF as u64 - 1)).ilog2() - HALF_BITS;
    order as usize * HALF + (ns >> order) as usize
}

/// The greatest duration of a bucket in nanoseconds.
fn greatest_of(bucket: usize) -> u64 {
    let order = (bucket / HALF).saturating_sub(1);
    let left = (bucket - order * HALF) as u64;
    (left << order) + ((1 << order) - 1)
}

impl Default for Histogram {
    fn default() -> Self {
        // Up to 213 days, the span of the clock, so that recording cannot fail.
        let buckets = vec![0; bucket_of(Duration::from_ps(u64::MAX).ns()) + 1];
        Self { buckets, total: 0, least: Duration::from_ps(u64::MAX), greatest: Duration::ZERO, count: 0 }
    }
}

impl Histogram {
    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, value: Duration) {
        self.buckets[bucket_of(value.ns())] += 1;
        self.count += 1;
        self.total += u128::from(value.ps());
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
    }

    /// How many durations were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exact mean; zero when empty.
    pub fn mean(&self) -> Duration {
        let count = u128::from(self.count()).max(1);
        Duration::from_ps((self.total / count) as u64)
    }

    /// The exact sum in picoseconds.
    pub fn total_ps(&self) -> u128 {
        self.total
    }

    /// The least; zero when empty.
    pub fn min(&self) -> Duration {
        if self.count() == 0 { Duration::ZERO } else { self.least }
    }

    /// The greatest; zero when empty.
    pub fn max(&self) -> Duration {
        self.greatest
    }

    /// The value below or at which `fraction` of the durations lie, to three digits, at most [`max`](Self::max).
    pub fn quantile(&self, fraction: f64) -> Duration {
        if self.count() == 0 {
            return Duration::ZERO;
        }
        let wanted = ((fraction.min(1.0) * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        bucket.map_or(self.greatest, |bucket| self.up_to(bucket))
    }

    /// The greatest duration that may lie in a bucket.
    fn up_to(&self, bucket: usize) -> Duration {
        Duration::from_ns(greatest_of(bucket)).min(self.greatest)
    }

    /// The cumulative distribution as (value, fraction at or below it), ascending, one point a filled bucket.
    pub fn cumulative(&self) -> Vec<(Duration, f64)> {
        let all = self.count as f64;
        let mut seen = 0;
        let filled = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        filled
            .map(|(bucket, count)| {
                seen += count;
                (self.up_to(bucket), seen as f64 / all)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn its_buckets_are_those_of_hdr_histogram(
            values in prop::collection::vec((0u32..64).prop_flat_map(|bits| 0..=u64::MAX >> bits), 1..50),
            fraction in 0.001..=1.0,
        ) {
            let mut peer = hdrhistogram::Histogram::<u64>::new_with_bounds(1, u64::MAX / 1_000, 3)
                .expect("the bounds are ordered and three digits are allowed");
            let mut ours = Histogram::default();
            for value in values.into_iter().map(Duration::from_ps) {
                ours.record(value);
                peer.record(value.ns()).expect("it is within the bounds");
            }
            let as_ours = |ns| Duration::from_ns(ns).min(ours.max());
            prop_assert_eq!(ours.quantile(fraction), as_ours(peer.value_at_quantile(fraction)));
            let filled: Vec<Duration> = peer.iter_recorded().map(|step| as_ours(step.value_iterated_to())).collect();
            prop_assert_eq!(ours.cumulative().into_iter().map(|(value, _)| value).collect::<Vec<_>>(), filled);
        }
    }

    #[test]
    fn mean_and_extremes_are_exact_and_quantiles_to_three_digits() {
        let mut histogram = Histogram::default();
        for us in 1..=1000 {
            histogram.record(Duration::from_us(us));
        }
        assert_eq!(histogram.mean(), Duration::from_ps(500_500_000));
        assert_eq!((histogram.min(), histogram.max()), (Duration::from_us(1), Duration::from_us(1000)));
        let p99 = histogram.quantile(0.99).us();
        assert!((p99 / 990.0 - 1.0).abs() < 0.001, "{p99}");
    }

    #[test]
    fn an_empty_histogram_is_all_zero() {
        let empty = Histogram::default();
        assert_eq!((empty.mean(), empty.min(), empty.quantile(0.5)), Default::default());
    }
}
