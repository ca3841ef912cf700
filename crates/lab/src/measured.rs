//! Parts of a summary that say how much of a load was measured, and which metrics that does not answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reason for which a warm-up ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarmUpEnd {
    /// The transient was over by MSER-5.
    Rule,
    /// It was as long as it was to be.
    Asked,
    /// It took as many requests as it may, and the transient was not over.
    Limit,
}

/// The beginning of a load that is not in the result.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Requests answered by then.
    pub requests: u64,
    /// Simulated time by then, in seconds.
    pub seconds: f64,
    /// Why it ended: `rule`, `asked`, or `limit`, where the load was not steady when it ended.
    pub end: WarmUpEnd,
}

/// How well a column is known.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Attained {
    /// The column.
    pub column: String,
    /// The mean of its values in the batches; null where no batch was long enough to have one.
    pub mean: Option<f64>,
    /// Half of the 95 % interval of that mean; null with fewer than two batches.
    pub half_width: Option<f64>,
    /// The most that half of the interval was to be of the mean.
    pub wanted: f64,
    /// How many batches there were.
    pub batches: u64,
    /// Requests of each.
    pub requests_a_batch: u64,
    /// Whether the interval became that narrow.
    pub is_reached: bool,
}

/// A metric that a run cannot answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Unknown {
    /// The metric, by its name with dots; it has no value.
    pub metric: String,
    /// The reason.
    pub reason: String,
}
