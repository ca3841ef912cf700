//! Addresses of the requests of a generated workload.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Complaints, Stream, gcd};

use super::zipf::Zipf;

/// Address pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// Each request starts where the previous one ended, and wraps around at the end of the region.
    Sequential {},
    /// All addresses of the region are equally likely.
    Uniform {},
    /// Few addresses get most requests. The share of the k-th most popular address is proportional to
    /// `k^-theta`. All bytes of a multiple of the largest size are one address.
    Zipf {
        /// Exponent, above 0 and at most 5; YCSB uses 0.99.
        theta: f64,
    },
    /// `hot_accesses` of the requests go to `hot_addresses` of the addresses. All bytes of a multiple of the
    /// largest size are either hot or cold.
    HotCold {
        /// Share of the requests that go to hot addresses, from 0 to 1.
        hot_accesses: f64,
        /// Share of the addresses that are hot, above 0 and below 1.
        hot_addresses: f64,
    },
}

impl Pattern {
    pub(super) fn check(&self, complaints: &mut Complaints) {
        match self {
            Self::Sequential {} | Self::Uniform {} => {}
            Self::Zipf { theta } => {
                let holds = *theta > 0.0 && *theta <= 5.0;
                complaints.require(holds, "pattern.theta", theta, "a number above 0 and at most 5");
            }
            Self::HotCold { hot_accesses, hot_addresses } => {
                let holds = (0.0..=1.0).contains(hot_accesses);
                complaints.require(holds, "pattern.hot_accesses", hot_accesses, "a fraction from 0 to 1");
                let holds = *hot_addresses > 0.0 && *hot_addresses < 1.0;
                complaints.require(
                    holds,
                    "pattern.hot_addresses",
                    hot_addresses,
                    "a fraction above 0 and below 1",
                );
            }
        }
    }
}

/// Permutes the numbers below `slots`: `n -> step * n mod slots`.
///
/// The step is coprime to `slots`, so that this is a bijection. It is the coprime number nearest to `slots`
/// divided by the golden ratio: this spreads the first numbers (the most popular) as evenly as possible.
#[derive(Clone, Copy, Debug)]
pub struct Scramble {
    slots: u64,
    step: u64,
}

impl Scramble {
    /// Creates a permutation of `slots` numbers, at least 1.
    pub fn new(slots: u64) -> Self {
        let nearest = (slots as f64 * 0.618_033_988_749_894_8) as u64;
        let step = (nearest.max(1)..).find(|step| gcd(*step, slots) == 1);
        Self { slots, step: step.expect("slots + 1 has no divisor in common with slots") }
    }

    /// Returns the image of `number`.
    pub fn place(self, number: u64) -> u64 {
        (u128::from(number) * u128::from(self.step) % u128::from(self.slots)) as u64
    }
}

/// Addresses numbered by popularity. They are cells of the largest request, so that each request lies in
/// addresses of one popularity.
#[derive(Clone, Debug)]
pub(super) struct Cells {
    scramble: Scramble,
    /// Slots of a cell.
    slots: u64,
}

impl Cells {
    /// Returns the start slot of a request of `length` slots in the cell with this number.
    fn place(&self, number: u64, length: u64, offset: &mut Stream) -> u64 {
        let first = self.scramble.place(number) * self.slots;
        if length == self.slots { first } else { first + offset.below(self.slots - length + 1) }
    }
}

/// Draws the slot of each request.
#[derive(Clone, Debug)]
pub(super) enum Addresses {
    Sequential { next: u64 },
    Uniform,
    Zipf { ranks: Zipf, cells: Cells },
    HotCold { accesses: f64, hot: u64, cells: Cells },
}

impl Addresses {
    /// Creates the pattern over the `starts` slots at which requests of up to `largest` slots fit.
    pub fn new(pattern: &Pattern, starts: u64, largest: u64) -> Self {
        let count = (starts - 1) / largest + 1;
        let cells = || Cells { scramble: Scramble::new(count), slots: largest };
        match *pattern {
            Pattern::Sequential {} => Self::Sequential { next: 0 },
            Pattern::Uniform {} => Self::Uniform,
            Pattern::Zipf { theta } => Self::Zipf { ranks: Zipf::new(count, theta), cells: cells() },
            Pattern::HotCold { hot_accesses, hot_addresses } => {
                let hot = ((count as f64 * hot_addresses) as u64).clamp(1, count);
                Self::HotCold { accesses: hot_accesses, hot, cells: cells() }
            }
        }
    }

    /// Returns the start slot of a request of `length` slots, out of `starts`. `offset` places it in its cell.
    #[inline]
    pub fn next(&mut self, starts: u64, length: u64, random: &mut Stream, offset: &mut Stream) -> u64 {
        match self {
            Self::Sequential { next } => {
                let start = if *next < starts { *next } else { 0 };
                *next = start + length;
                start
            }
            Self::Uniform => random.below(starts),
            Self::Zipf { ranks, cells } => cells.place(ranks.sample(random), length, offset),
            Self::HotCold { accesses, hot, cells } => {
                let count = cells.scramble.slots;
                let is_hot = random.unit() < *accesses || *hot == count;
                let number = if is_hot { random.below(*hot) } else { *hot + random.below(count - *hot) };
                cells.place(number, length, offset)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scramble_is_one_to_one() {
        for slots in [1, 2, 3, 8, 100, 1024, 997] {
            let scramble = Scramble::new(slots);
            let mut places: Vec<u64> = (0..slots).map(|n| scramble.place(n)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..slots), "{slots} slots");
        }
    }
}
