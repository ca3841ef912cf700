//! The latency percentiles of results, tables and charts.

use wordline_kernel::Histogram;

use crate::summary::Latency;

/// A percentile of a latency distribution.
#[derive(Clone, Copy, Debug)]
pub struct Percentile {
    /// Name for readers, such as `p99.9`.
    pub name: &'static str,
    /// Key in JSON, such as `p999`.
    pub key: &'static str,
    /// The fraction of requests whose latency is at or below it.
    pub fraction: f64,
    /// Reads its value from a distribution, in microseconds.
    pub of: fn(&Latency) -> Option<f64>,
    /// The value as a mutable reference.
    pub of_mut: fn(&mut Latency) -> &mut Option<f64>,
    /// Whether charts of the tail draw a line for it. From p50 on, each such percentile is about ten times
    /// rarer than the previous one.
    pub is_step: bool,
}

/// An entry of `PERCENTILES`: name, fraction, field, and `is_step`.
macro_rules! percentile {
    ($name:literal, $fraction:literal, $field:ident, $is_step:literal) => {
        Percentile {
            name: $name,
            key: stringify!($field),
            fraction: $fraction,
            of: |latency| latency.$field,
            of_mut: |latency| &mut latency.$field,
            is_step: $is_step,
        }
    };
}

/// All percentiles, in ascending order.
pub const PERCENTILES: [Percentile; 8] = [
    percentile!("p50", 0.5, p50, true),
    percentile!("p80", 0.8, p80, false),
    percentile!("p90", 0.9, p90, true),
    percentile!("p95", 0.95, p95, false),
    percentile!("p99", 0.99, p99, true),
    percentile!("p99.9", 0.999, p999, true),
    percentile!("p99.99", 0.999_9, p9999, true),
    percentile!("p99.999", 0.999_99, p99999, true),
];

/// The latency distribution in the form of a summary.
pub(crate) fn latency(histogram: &Histogram) -> Latency {
    let mut latency = Latency {
        mean: histogram.total_ps() as f64 / 1e6 / histogram.count().max(1) as f64,
        min: histogram.min().us(),
        max: histogram.max().us(),
        cumulative: histogram.cumulative().into_iter().map(|(value, part)| (value.us(), part)).collect(),
        ..Latency::default()
    };
    if histogram.count() > 0 {
        for percentile in &PERCENTILES {
            *(percentile.of_mut)(&mut latency) = Some(histogram.quantile(percentile.fraction).us());
        }
    }
    latency
}
