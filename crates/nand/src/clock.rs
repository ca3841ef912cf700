//! Clock domains: the host's controller acts at the edges of one clock, the dies act at the edges of another
//! (NANDFlashSim, section 6.2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wordline_kernel::{Duration, Instant};

/// A clock whose first edge is at time zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    period: Duration,
}

impl Clock {
    /// A clock with an edge every picosecond: times are not rounded.
    pub const CONTINUOUS: Self = Self { period: Duration::from_ps(1) };

    /// A clock of this period. Panics if it is zero.
    pub fn new(period: Duration) -> Self {
        assert!(period > Duration::ZERO, "a clock has a period");
        Self { period }
    }

    /// Time between two edges.
    pub fn period(self) -> Duration {
        self.period
    }

    /// The first edge at or after `time`.
    #[inline]
    pub fn edge(self, time: Instant) -> Instant {
        if self.period.ps() == 1 {
            return time;
        }
        Instant::from_ps(time.ps().next_multiple_of(self.period.ps()))
    }

    /// `length` rounded up to whole periods.
    #[inline]
    pub fn whole(self, length: Duration) -> Duration {
        if self.period.ps() == 1 {
            return length;
        }
        Duration::from_ps(length.ps().next_multiple_of(self.period.ps()))
    }
}

/// The two clock domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// Clock of the controller: bus cycles begin and end at its edges.
    pub host: Clock,
    /// Clock of the dies: array operations begin and end at its edges.
    pub nand: Clock,
}

impl Clocks {
    /// No rounding in either domain.
    pub const CONTINUOUS: Self = Self { host: Clock::CONTINUOUS, nand: Clock::CONTINUOUS };
}

/// The clock domains in a configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockPeriods {
    /// Period of the controller's clock. Default: times are not rounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Duration>,
    /// Period of the dies' clock. Default: times are not rounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nand: Option<Duration>,
}

impl ClockPeriods {
    /// The clock domains. Panics if a period is zero; the configuration is checked for that.
    pub fn clocks(&self) -> Clocks {
        let clock = |period: Option<Duration>| period.map_or(Clock::CONTINUOUS, Clock::new);
        Clocks { host: clock(self.host), nand: clock(self.nand) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_is_never_before_the_time() {
        let clock = Clock::new(Duration::from_ns(25));
        let at = |ns| clock.edge(Instant::ZERO + Duration::from_ns(ns));
        assert_eq!([0, 1, 25, 26].map(at), [0, 25, 25, 50].map(|ns| Instant::ZERO + Duration::from_ns(ns)));
        assert_eq!(clock.whole(Duration::from_ns(51)), Duration::from_ns(75));
    }
}
