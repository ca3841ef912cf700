//! Simulated time: instants and durations in whole picoseconds, as separate types.
//!
//! A `u64` of picoseconds spans 213 days. A run may last [`Duration::LIMIT`]. Years of retention are a
//! condition of the cells, not clock time.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

use serde::{Deserialize, Serialize};

/// A point on the simulated clock, in picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Instant(u64);

/// A length of simulated time, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// The start of every run.
    pub const ZERO: Self = Self(0);
    /// The last instant that the clock can represent: 213.5 days.
    pub const MAX: Self = Self(u64::MAX);
    /// The latest instant that a user may specify: [`Duration::LIMIT`] after the start.
    pub const LIMIT: Self = Self(Duration::LIMIT.0);

    /// The instant `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds since the start.
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Time from `earlier` to `self`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Seconds since the start, for output.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// The longest time that a user may specify in a trace, workload, run, script or option: 106 days. This
    /// is half the range of the clock, rounded down to whole days. A device whose clock is at the limit can
    /// run for this time once more, and the sum of two times within the limit never overflows.
    pub const LIMIT: Self = Self::from_ms(106 * 86_400_000);

    /// `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }

    /// `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }

    /// Picoseconds.
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, rounded down: the resolution of histograms.
    pub const fn ns(self) -> u64 {
        self.0 / 1_000
    }

    /// Microseconds, for output.
    pub fn us(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds, for output.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// `self - other`, or zero where `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, length: Duration) -> Self {
        Self(self.0.checked_add(length.0).expect("the clock spans 213 days"))
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, length: Duration) {
        *self = *self + length;
    }
}

impl Sub for Instant {
    type Output = Duration;
    #[inline]
    fn sub(self, earlier: Self) -> Duration {
        debug_assert!(earlier <= self, "an instant minus a later one");
        Duration(self.0 - earlier.0)
    }
}

impl Add for Duration {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Duration {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Duration {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    #[inline]
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    #[inline]
    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}

impl Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, Add::add)
    }
}

/// Formats in the largest unit in which the value is a whole number: `75us`, `1500ns`, `833ps`. `FromStr`
/// parses it back.
impl fmt::Display for Duration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 5] =
            [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns"), (1, "ps")];
        let (size, name) =
            UNITS.into_iter().find(|(size, _)| self.0.is_multiple_of(*size)).unwrap_or((1, "ps"));
        if self.0 == 0 { out.write_str("0s") } else { write!(out, "{}{name}", self.0 / size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_add_up_and_are_shown_in_microseconds() {
        let mut sum = Duration::from_us(2);
        sum += Duration::from_ns(500);
        assert_eq!((sum, sum.us()), (Duration::from_ps(2_500_000), 2.5));
    }

    #[test]
    fn a_difference_of_instants_is_a_duration() {
        let start = Instant::from_ps(5);
        assert_eq!((start + Duration::from_ns(2)) - start, Duration::from_ps(2_000));
        assert_eq!(start.since(start + Duration::from_ps(1)), Duration::ZERO);
    }

    #[test]
    fn two_times_within_the_limit_and_a_day_fit_the_clock() {
        let day = Duration::from_ms(86_400_000);
        assert!((Instant::LIMIT + Duration::LIMIT).ps().checked_add(day.ps()).is_some());
    }

    #[test]
    fn a_duration_prints_the_largest_whole_unit() {
        for (text, ps) in [
            ("0s", 0),
            ("833ps", 833),
            ("1500ns", 1_500_000),
            ("75us", 75_000_000),
            ("2s", 2_000_000_000_000),
        ] {
            assert_eq!(Duration::from_ps(ps).to_string(), text);
        }
    }
}
