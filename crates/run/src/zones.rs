//! Requests to zones in a summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::latency::Latency;

/// Requests that only zoned namespaces have.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ZoneRequests {
    /// Zone appends completed.
    pub appends: u64,
    /// Resets of zones completed.
    pub resets: u64,
    /// Finishes of zones completed.
    pub finishes: u64,
    /// Explicit opens of zones completed.
    pub opens: u64,
    /// Closes of zones completed.
    pub closes: u64,
    /// Latency of zone appends from submission to completion, in microseconds.
    pub append_latency_us: Latency,
    /// Latency of resets from submission to completion, in microseconds.
    pub reset_latency_us: Latency,
    /// Latency of finishes from submission to completion, in microseconds.
    pub finish_latency_us: Latency,
    /// Latency of opens from submission to completion, in microseconds.
    pub open_latency_us: Latency,
    /// Latency of closes from submission to completion, in microseconds.
    pub close_latency_us: Latency,
}

impl ZoneRequests {
    /// The kinds of requests: name in column names, words for many, count and latency.
    pub fn kinds(&mut self) -> [(&'static str, &'static str, u64, &mut Latency); 5] {
        [
            ("append", "zone appends", self.appends, &mut self.append_latency_us),
            ("reset", "zone resets", self.resets, &mut self.reset_latency_us),
            ("finish", "zone finishes", self.finishes, &mut self.finish_latency_us),
            ("open", "zone opens", self.opens, &mut self.open_latency_us),
            ("close", "zone closes", self.closes, &mut self.close_latency_us),
        ]
    }
}
