//! Latency histograms with three significant digits, over the `hdrhistogram` crate.

use crate::Duration;

/// Durations counted in buckets of 0.1 % width; mean, minimum and maximum are exact.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: hdrhistogram::Histogram<u64>,
    total: u128,
    least: Duration,
    greatest: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        // One nanosecond to 213 days, the span of the clock, so that recording cannot fail.
        let buckets = hdrhistogram::Histogram::new_with_bounds(1, u64::MAX / 1_000, 3)
            .expect("the bounds are ordered and three digits are allowed");
        Self { buckets, total: 0, least: Duration::from_ps(u64::MAX), greatest: Duration::ZERO }
    }
}

impl Histogram {
    /// Counts one duration.
    #[inline]
    pub fn record(&mut self, value: Duration) {
        self.buckets.saturating_record(value.ns());
        self.total += u128::from(value.ps());
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
    }

    /// Number of durations recorded.
    pub fn count(&self) -> u64 {
        self.buckets.len()
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

    /// The minimum; zero when empty.
    pub fn min(&self) -> Duration {
        if self.count() == 0 { Duration::ZERO } else { self.least }
    }

    /// The maximum; zero when empty.
    pub fn max(&self) -> Duration {
        self.greatest
    }

    /// The quantile: the value at or below which `fraction` of the durations lie. It has three digits, and
    /// lies between [`min`](Self::min) and [`max`](Self::max).
    pub fn quantile(&self, fraction: f64) -> Duration {
        if self.count() == 0 {
            return Duration::ZERO;
        }
        Duration::from_ns(self.buckets.value_at_quantile(fraction)).clamp(self.least, self.greatest)
    }

    /// The buckets in use, ascending, with their least and greatest values and their counts.
    pub fn buckets(&self) -> impl Iterator<Item = ([Duration; 2], u64)> {
        self.buckets.iter_recorded().map(|step| {
            let value = step.value_iterated_to();
            let ends = [self.buckets.lowest_equivalent(value), value];
            let ends = ends.map(|ns| Duration::from_ns(ns).clamp(self.least, self.greatest));
            (ends, step.count_since_last_iteration())
        })
    }

    /// The cumulative distribution as (value, fraction at or below it), ascending, one point for each bucket
    /// in use.
    pub fn cumulative(&self) -> Vec<(Duration, f64)> {
        let all = self.count() as f64;
        let mut seen = 0;
        let point = |([_, value], count): ([Duration; 2], u64)| {
            seen += count;
            (value, seen as f64 / all)
        };
        self.buckets().map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn percentiles_and_points_of_the_distribution_lie_between_the_extremes() {
        let mut histogram = Histogram::default();
        // The bucket of 1,001,001 ns is 512 ns wide and ends at 1,001,471 ns.
        let (low, high) = (Duration::from_us(1), Duration::from_ns(1_001_001));
        for value in [low, low, low, high] {
            histogram.record(value);
        }
        assert_eq!((histogram.quantile(0.99), histogram.quantile(1.0)), (high, high));
        assert_eq!(histogram.cumulative(), [(low, 0.75), (high, 1.0)]);
        let mut one = Histogram::default();
        let value = Duration::from_ps(3_679_143);
        one.record(value);
        assert_eq!((one.quantile(0.5), one.cumulative()), (value, vec![(value, 1.0)]));
    }

    #[test]
    fn an_empty_histogram_is_all_zero() {
        let empty = Histogram::default();
        assert_eq!((empty.mean(), empty.min(), empty.quantile(0.5)), Default::default());
    }
}
