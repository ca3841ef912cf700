//! Arrival times of the requests of a generated workload.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Complaints, Duration, Instant, Stream};

/// Arrival process of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrival {
    /// The host keeps `queue_depth` requests outstanding; all arrival times are zero.
    Closed {
        /// Outstanding requests, from 1 to 65,536.
        queue_depth: u32,
    },
    /// One request every `interval`.
    Fixed {
        /// Time between two requests.
        interval: Duration,
    },
    /// Independent requests (a Poisson process).
    Exponential {
        /// Mean time between two requests.
        interval: Duration,
    },
    /// Repeated bursts: one request every `interval` for the time `on`, then no request for the time `off`.
    Bursts {
        /// Length of a burst.
        on: Duration,
        /// Pause between bursts.
        off: Duration,
        /// Time between two requests of a burst, at most `on`.
        interval: Duration,
    },
}

/// Longest think time, and longest burst or pause of a closed loop. Chosen: an hour of simulated time.
pub const LONGEST_PAUSE: Duration = Duration::from_ms(3_600_000);

/// A closed loop with pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    /// Time during which requests are submitted, from 1us to 1h.
    pub on: Duration,
    /// Pause after that time, from 1us to 1h.
    pub off: Duration,
}

impl Bursts {
    /// Bursts whose pauses are as long as the bursts.
    pub const fn halves(on: Duration) -> Self {
        Self { on, off: on }
    }

    /// Checks everything.
    pub fn check(&self, complaints: &mut Complaints) {
        let times = Duration::from_us(1)..=LONGEST_PAUSE;
        for (key, time) in [("bursts.on", self.on), ("bursts.off", self.off)] {
            complaints.require(times.contains(&time), key, time, "from 1us to 1h");
        }
    }
}

impl Arrival {
    /// Number of requests that the host keeps outstanding; `None` in an open loop.
    pub fn queue_depth(&self) -> Option<u32> {
        if let Self::Closed { queue_depth } = self { Some(*queue_depth) } else { None }
    }

    pub(super) fn check(&self, requests: u64, complaints: &mut Complaints) {
        let mut require = |key: &str, time: Duration| {
            complaints.require(time > Duration::ZERO, key, time, "a time above zero");
        };
        let interval = match self {
            Self::Closed { queue_depth } => {
                let holds = (1..=65_536).contains(queue_depth);
                return complaints.require(holds, "arrival.queue_depth", queue_depth, "from 1 to 65536");
            }
            Self::Fixed { interval } | Self::Exponential { interval } => *interval,
            Self::Bursts { on, interval, .. } => {
                require("arrival.on", *on);
                *interval
            }
        };
        require("arrival.interval", interval);
        if let Self::Bursts { on, .. } = self {
            complaints.require(interval <= *on, "arrival.interval", interval, "at most arrival.on");
        }
        let holds = self.span(requests) <= u128::from(Duration::LIMIT.ps());
        complaints.require(holds, "arrival.interval", interval, "all requests within 106d");
    }

    /// Picoseconds from the first of this many requests to the last. For random times: the mean.
    fn span(&self, requests: u64) -> u128 {
        let (gaps, ps) = (u128::from(requests.saturating_sub(1)), |time: &Duration| u128::from(time.ps()));
        match self {
            Self::Closed { .. } => 0,
            Self::Fixed { interval } | Self::Exponential { interval } => gaps * ps(interval),
            Self::Bursts { on, off, interval } => {
                let of_a_burst = ps(on).div_ceil(ps(interval).max(1)).max(1);
                gaps / of_a_burst * (ps(on) + ps(off)) + gaps % of_a_burst * ps(interval)
            }
        }
    }
}

/// Arrival times of one run.
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

    /// Returns the arrival of the next request; the first arrives at zero. Random times may pass the time
    /// limit, and saturate at the end of the clock. The run rejects times beyond the limit.
    #[inline]
    pub fn next(&mut self, random: &mut Stream) -> Instant {
        let now = self.next;
        match &self.arrival {
            Arrival::Closed { .. } => {}
            Arrival::Fixed { interval } => self.next += *interval,
            Arrival::Exponential { interval } => {
                let gap = (interval.ps() as f64 * random.exponential()) as u64;
                self.next = Instant::from_ps(self.next.ps().saturating_add(gap));
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
