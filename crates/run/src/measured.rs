//! Parts of a summary: the warm-up, the precision reached, and the metrics that the run cannot answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason why the warm-up ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarmUpEnd {
    /// The transient was over by the rule MSER-5 (`docs/measuring.md`).
    Rule,
    /// The warm-up reached the requested length.
    Asked,
    /// The warm-up reached its limit of requests before the transient was over.
    Limit,
    /// A member of the array failed.
    Failure,
}

/// The warm-up: the beginning of a load, which is not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Requests completed in the warm-up.
    pub requests: u64,
    /// Simulated time of the warm-up, in seconds.
    pub seconds: f64,
    /// Reason for its end: `rule` (the transient was over), `asked` (the requested length), `limit` (the load
    /// was not steady yet) or `failure` (a member of the array failed).
    pub end: WarmUpEnd,
}

/// The precision reached for a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attained {
    /// Dotted name of the metric.
    pub column: String,
    /// Mean of the metric over the batches; null if no batch was long enough for a value.
    pub mean: Option<f64>,
    /// Half-width of the 95 % confidence interval of that mean; null with fewer than two batches.
    pub half_width: Option<f64>,
    /// The wanted half-width, relative to the mean.
    pub wanted: f64,
    /// Number of batches.
    pub batches: u64,
    /// Number of requests in a batch.
    pub requests_a_batch: u64,
    /// Whether the wanted precision was reached.
    pub is_reached: bool,
}

/// The rebuild of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RebuildTime {
    /// Simulated time from the failure to the end of the rebuild, in seconds; so far, if the run was stopped.
    pub seconds: f64,
    /// Share of the rows that were rebuilt: 1 unless the run was stopped.
    pub share: f64,
}

/// A metric that a run cannot answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Unknown {
    /// Dotted name of the metric, which has no value in the result.
    pub metric: String,
    /// The reason why it has no value.
    pub reason: String,
}
