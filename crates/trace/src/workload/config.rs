//! Configuration of a generated workload: its raw form in TOML and its check.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, Duration};

use super::address::Pattern;
use super::arrival::{Arrival, Bursts, LONGEST_PAUSE};

/// A generated workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// One sentence for lists; may be left out.
    #[serde(default)]
    pub description: String,
    /// Number of requests.
    pub requests: u64,
    /// Share of the requests that read, from 0 to 1. The requests that no share covers are writes.
    pub read_share: f64,
    /// Share of the requests that discard, from 0 to 1.
    #[serde(default)]
    pub discard_share: f64,
    /// Share of the requests that write zeroes, from 0 to 1.
    #[serde(default)]
    pub write_zeroes_share: f64,
    /// Share of the requests that compare a range with what the host holds, from 0 to 1.
    #[serde(default)]
    pub compare_share: f64,
    /// Request sizes and their weights.
    pub sizes: Vec<SizeShare>,
    /// Alignment of addresses and sizes; the smallest size if not given.
    pub align: Option<Bytes>,
    /// Address pattern.
    pub pattern: Pattern,
    /// Share of the device's logical capacity that is used, from its first byte on; above 0 and at most 1.
    #[serde(default = "whole")]
    pub region: f64,
    /// Arrival process.
    pub arrival: Arrival,
    /// Pauses of a closed loop, if any.
    pub bursts: Option<Bursts>,
    /// Time in a closed loop between a completion and the next request, at most 1h. Default: no think time.
    pub think_time: Option<Duration>,
    /// Submission queues that the host uses. In a closed loop each has `queue_depth` requests outstanding.
    /// Default: one queue in a closed loop, else all queues of the device.
    pub queues: Option<u16>,
    /// Stream tag of writes, for devices with streams; 0 for none.
    #[serde(default)]
    pub stream: u8,
    /// State of the device before the first request.
    pub precondition: Precondition,
}

/// One request size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeShare {
    /// Size.
    pub size: Bytes,
    /// Weight, relative to the sum of all weights.
    pub weight: u32,
}

/// State of a device before a run, as requested by the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Precondition {
    /// Nothing was ever written.
    Empty,
    /// Every logical address was written once, in order.
    Filled,
    /// Filled, then overwritten at random up to the steady state.
    SteadyState,
    /// Filled, then written by the workload itself until its write amplification is stable.
    Workload,
}

fn whole() -> f64 {
    1.0
}

impl Workload {
    /// Alignment of addresses.
    pub fn alignment(&self) -> Bytes {
        self.align.unwrap_or_else(|| self.sizes.iter().map(|s| s.size).min().unwrap_or(Bytes(512)))
    }

    /// Checks everything at once.
    ///
    /// # Errors
    /// One complaint per key.
    pub fn check(&self) -> Result<(), Complaints> {
        let mut complaints = Complaints::default();
        let c = &mut complaints;
        c.require(self.requests > 0, "requests", self.requests, "at least 1");
        let fraction = |share: f64| (0.0..=1.0).contains(&share);
        c.require(fraction(self.read_share), "read_share", self.read_share, "a fraction from 0 to 1");
        let holds = fraction(self.discard_share) && self.read_share + self.discard_share <= 1.0 + 1e-12;
        c.require(holds, "discard_share", self.discard_share, "a fraction from 0 to 1 - read_share");
        let mut others = 1.0 - self.read_share - self.discard_share;
        for (key, share) in
            [("write_zeroes_share", self.write_zeroes_share), ("compare_share", self.compare_share)]
        {
            let holds = fraction(share) && share <= others + 1e-12;
            c.require(holds, key, share, "a fraction from 0 to what the other shares leave of 1");
            others -= share;
        }
        c.require(self.queues != Some(0), "queues", 0, "at least 1");
        let region = self.region;
        c.require(region > 0.0 && region <= 1.0, "region", region, "a fraction above 0 and at most 1");
        let align = self.alignment();
        c.require(align.0 > 0 && align.0.is_multiple_of(512), "align", align, "a multiple of 512B");
        c.require(!self.sizes.is_empty(), "sizes", "no size", "at least one size with its weight");
        for (n, share) in self.sizes.iter().enumerate() {
            let holds = share.size.0 > 0 && align.0 > 0 && share.size.0.is_multiple_of(align.0);
            c.require(holds, &format!("sizes[{n}].size"), share.size, format!("a multiple of {align}"));
            // The smallest device holds more than this. A request above 1 GiB is a mistaken unit.
            let holds = share.size <= Bytes::gib(1);
            c.require(holds, &format!("sizes[{n}].size"), share.size, "at most 1GiB");
        }
        let weights: u64 = self.sizes.iter().map(|share| u64::from(share.weight)).sum();
        c.require(self.sizes.is_empty() || weights > 0, "sizes", "only weights of 0", "one weight above 0");
        self.pattern.check(c);
        self.arrival.check(self.requests.max(1), c);
        if let Some(bursts) = self.bursts {
            bursts.check(c);
            let is_closed = self.arrival.queue_depth().is_some();
            c.require(
                is_closed,
                "bursts",
                "pauses of requests that have times",
                "none, or arrival.kind = closed",
            );
        }
        if let Some(think) = self.think_time {
            let holds = self.bursts.is_none() && self.arrival.queue_depth().is_some();
            c.require(holds, "think_time", think, "none, or arrival.kind = closed without bursts");
            c.require(think <= LONGEST_PAUSE, "think_time", think, "at most 1h");
        }
        complaints.into_result(())
    }
}
