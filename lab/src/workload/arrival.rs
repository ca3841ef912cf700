//! When the requests of a generated workload arrive.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Complaints, Duration, Instant, Stream};

/// How requests arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrival {
    /// The host keeps `queue_depth` requests outstanding; every request has the arrival time zero.
    Closed {
        /// Requests outstanding, from 1 to 65,536.
        queue_depth: u32,
    },
    /// One request every `interval`.
    Fixed {
        /// Time from one request to the next.
        interval: Duration,
    },
    /// Requests that know nothing of each other (a Poisson process).
    Exponential {
        /// Mean time from one request to the next.
        interval: Duration,
    },
    /// For `on` one request every `interval`, then none for `off`, and again.
    Bursts {
        /// Length of a burst.
        on: Duration,
        /// Pause between bursts.
        off: Duration,
        /// Time from one request of a burst to the next, at most `on`.
        interval: Duration,
    },
}

impl Arrival {
    /// How many requests the host keeps outstanding; `None` where they arrive by the clock.
    pub fn queue_depth(&self) -> Option<u32> {
        if let Self::Closed { queue_depth } = self { Some(*queue_depth) } else { None }
    }

    pub(super) fn check(&self, requests: u64, complaints: &mut Complaints) {
        let mean = match self {
            Self::Closed { queue_depth } => {
                let holds = (1..=65_536).contains(queue_depth);
                return complaints.require(holds, "arrival.queue_depth", queue_depth, "from 1 to 65536");
            }
            Self::Fixed { interval } | Self::Exponential { interval } => *interval,
            Self::Bursts { on, off, interval } => {
                let holds = *interval <= *on;
                complaints.require(holds, "arrival.interval", interval, "at most arrival.on");
                Duration::from_ps(interval.ps().saturating_add(on.ps()).saturating_add(off.ps()))
            }
        };
        complaints.require(mean > Duration::ZERO, "arrival.interval", mean, "a time above zero");
        // The clock spans 213 days; a third of it leaves room for the tail of the exponential.
        let holds = mean.ps().checked_mul(requests).is_some_and(|all| all < u64::MAX / 3);
        complaints.require(holds, "arrival.interval", mean, "all requests within 70 days");
    }
}

/// The arrival times of one run.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    arrival: Arrival,
    next: Instant,
    burst: Instant,
}

impl Clock {
    pub fn new(arrival: Arrival) -> Self {
        Self { arrival, next: Instant::ZERO, burst: Instant::ZERO }
    }

    /// When the next request arrives; the first arrives at zero.
    #[inline]
    pub fn next(&mut self, random: &mut Stream) -> Instant {
        let now = self.next;
        match &self.arrival {
            Arrival::Closed { .. } => {}
            Arrival::Fixed { interval } => self.next += *interval,
            Arrival::Exponential { interval } => {
                self.next += Duration::from_ps((interval.ps() as f64 * random.exponential()) as u64);
            }
            Arrival::Bursts { on, off, interval } => {
                self.next += *interval;
                if self.next.since(self.burst) >= *on {
                    self.burst += *on + *off;
                    self.next = self.burst;
                }
            }
        }
        now
    }
}
