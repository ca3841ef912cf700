//! A latency distribution in a summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A latency distribution, in microseconds. Mean, minimum and maximum are exact. Percentiles are accurate to
/// three digits. A percentile is null if fewer than ten requests lie beyond it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Minimum.
    pub min: f64,
    /// 50th percentile (median).
    pub p50: Option<f64>,
    /// 80th percentile.
    pub p80: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// 99.99th percentile.
    pub p9999: Option<f64>,
    /// 99.999th percentile.
    pub p99999: Option<f64>,
    /// Maximum.
    pub max: f64,
    /// Cumulative distribution: (latency in microseconds, fraction of requests at or below it).
    pub cumulative: Vec<(f64, f64)>,
}
