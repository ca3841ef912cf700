//! Parts of a summary on the measured part of a load, its precision, and the metrics that it cannot answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason why a warm-up ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarmUpEnd {
    /// The transient had ended by MSER-5.
    Rule,
    /// It had the requested length.
    Asked,
    /// It reached the limit on requests before the transient ended.
    Limit,
}

/// The beginning of a load, left out of the result.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Requests completed by then.
    pub requests: u64,
    /// Simulated time by then, in seconds.
    pub seconds: f64,
    /// Why it ended: `rule`, `asked`, or `limit`, where the load was not steady when it ended.
    pub end: WarmUpEnd,
}

/// The precision of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Attained {
    /// The metric.
    pub column: String,
    /// Mean of its values in the batches; null where no batch was long enough for a value.
    pub mean: Option<f64>,
    /// Half of the 95 % interval of that mean; null with fewer than two batches.
    pub half_width: Option<f64>,
    /// The wanted half-width, relative to the mean.
    pub wanted: f64,
    /// Number of batches.
    pub batches: u64,
    /// Requests of each.
    pub requests_a_batch: u64,
    /// Whether the wanted precision was reached.
    pub is_reached: bool,
}

/// A metric that a run cannot answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Unknown {
    /// The metric, as a dotted name; it has no value.
    pub metric: String,
    /// The reason.
    pub reason: String,
}
