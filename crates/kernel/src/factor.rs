//! Scale factors for times.

use crate::time::Duration;

/// The denominator of a [`Factor`].
const WHOLE: u32 = 1_000_000;

/// A scale factor for times, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor(u32);

impl Factor {
    /// The factor 1.
    pub const ONE: Self = Self(WHOLE);

    /// A factor in hundredths.
    pub const fn percent(percent: u32) -> Self {
        Self(percent * (WHOLE / 100))
    }

    /// The factor as a number.
    pub fn ratio(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE)
    }

    /// `time` multiplied by the factor, rounded to the nearest picosecond.
    pub fn of(self, time: Duration) -> Duration {
        if self == Self::ONE {
            return time;
        }
        let (scaled, whole) = (u128::from(time.ps()) * u128::from(self.0), u128::from(WHOLE));
        Duration::from_ps(u64::try_from((scaled + whole / 2) / whole).unwrap_or(u64::MAX))
    }
}

impl Default for Factor {
    fn default() -> Self {
        Self::ONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_rounded_to_the_nearest_picosecond() {
        let tenth_less = Factor::percent(90);
        let of = |ps| tenth_less.of(Duration::from_ps(ps)).ps();
        assert_eq!([of(0), of(1), of(4), of(5), of(1_000)], [0, 1, 4, 5, 900]);
        assert_eq!(Factor::ONE.of(Duration::from_ps(u64::MAX)).ps(), u64::MAX);
        assert_eq!(Factor::percent(200).of(Duration::from_ps(u64::MAX)).ps(), u64::MAX, "it saturates");
        assert!((tenth_less.ratio() - 0.9).abs() < 1e-12);
    }
}
