//! Bytes, transfer rates, power and energy, each an integer newtype.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

use crate::Duration;

/// An amount of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// The data rate of a bus, in millions of transfers (beats) a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MegaTransfers(pub u32);

/// Electrical power in microwatts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Power(pub u64);

/// Energy in whole femtojoules, so that a sum does not depend on the order of addition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Energy(pub u128);

impl Bytes {
    /// `n` KiB.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// `n` MiB.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// `n` GiB.
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }
}

impl MegaTransfers {
    /// Time to move `size` over an eight-bit bus, rounded up once for the whole burst.
    pub const fn burst(self, size: Bytes) -> Duration {
        Duration::from_ps((size.0 * 1_000_000).div_ceil(self.0 as u64))
    }
}

impl Power {
    /// Energy of this power over `time`, rounded down to a femtojoule. One microwatt for one picosecond is a
    /// thousandth of a femtojoule. To round once, pass the total time of a run.
    pub const fn over(self, time: Duration) -> Energy {
        Energy(self.0 as u128 * time.ps() as u128 / 1_000)
    }
}

impl Energy {
    /// Joules, for output.
    pub fn joules(self) -> f64 {
        self.0 as f64 / 1e15
    }
}

impl Add for Energy {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sum for Energy {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self(0), Add::add)
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self(0), Add::add)
    }
}

/// Formats in the largest binary unit in which the value is a whole number: `16KiB`, `513B`. `FromStr` parses
/// it back.
impl fmt::Display for Bytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 5] =
            [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")];
        let (size, name) =
            UNITS.into_iter().find(|(size, _)| self.0.is_multiple_of(*size)).unwrap_or((1, "B"));
        if self.0 == 0 { out.write_str("0B") } else { write!(out, "{}{name}", self.0 / size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_rounded_up_once() {
        assert_eq!(MegaTransfers(1200).burst(Bytes(1)), Duration::from_ps(834));
        assert_eq!(MegaTransfers(1200).burst(Bytes(12)), Duration::from_ns(10));
        assert_eq!(MegaTransfers(400).burst(Bytes::kib(16)), Duration::from_ps(40_960_000));
    }

    #[test]
    fn sums_are_exact_and_energy_is_shown_in_joules() {
        let mut bytes = Bytes::kib(1);
        bytes += Bytes(1);
        let energy = Energy(1_500_000_000_000_000) + Energy(1_000_000_000_000_000);
        assert_eq!((bytes, energy.joules()), (Bytes(1_025), 2.5));
    }

    #[test]
    fn power_over_time_is_energy() {
        // 3.3 V x 20 mA over 25 us (NANDFlashSim, section 8): 1.65 uJ.
        assert_eq!(Power(66_000).over(Duration::from_us(25)), Energy(1_650_000_000));
    }
}
