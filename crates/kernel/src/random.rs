//! Named random streams. A stream depends only on the seed, its name and its index, so that a new component
//! does not change the random numbers of other components. The generator is implemented in this crate, so
//! that an update of a library does not change the random numbers either.

use serde::{Deserialize, Serialize};

/// The seed of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream called `name`, number `index`.
    pub fn stream(self, name: &str, index: u64) -> Stream {
        self.streams(name).stream(index)
    }

    /// All streams called `name`, for callers that create many of them.
    pub fn streams(self, name: &str) -> Streams {
        let all = self.0 ^ 0x9e37_79b9_7f4a_7c15;
        Streams(name.bytes().fold(all, |state, byte| scramble(state ^ u64::from(byte))))
    }
}

/// The streams of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams(u64);

impl Streams {
    /// The stream with number `index`.
    #[inline]
    pub fn stream(self, index: u64) -> Stream {
        let mut state = scramble(self.0 ^ index);
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            scramble(state)
        };
        Stream { state: [next(), next(), next(), next()] }
    }
}

/// The output function of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
fn scramble(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A stream of random numbers: xoshiro256** (Blackman and Vigna, 2018).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stream {
    state: [u64; 4],
}

crate::state!(Stream { values { state } });

impl Stream {
    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A uniform number from 0 to below `bound` (Lemire 2019, with rejection).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "a choice among nothing");
        let mut wide = u128::from(self.bits()) * u128::from(bound);
        if (wide as u64) < bound {
            let reject = bound.wrapping_neg() % bound;
            while (wide as u64) < reject {
                wide = u128::from(self.bits()) * u128::from(bound);
            }
        }
        (wide >> 64) as u64
    }

    /// A uniform number from 0 to below 1, in steps of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A sample of the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// Shuffles `items` (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_values_never_change() {
        let mut stream = Seed(42).stream("golden", 0);
        let values = [stream.bits(), stream.bits(), stream.bits()];
        assert_eq!(values, GOLDEN);
    }

    const GOLDEN: [u64; 3] = [6488699378809497724, 12667578286919132457, 12713789667574969321];

    /// The first values of the reference implementation from the state 1, 2, 3, 4.
    #[test]
    fn the_generator_is_xoshiro256_starstar() {
        let mut stream = Stream { state: [1, 2, 3, 4] };
        let values: Vec<u64> = (0..4).map(|_| stream.bits()).collect();
        assert_eq!(values, [11520, 0, 1509978240, 1215971899390074240]);
    }

    #[test]
    fn streams_differ_by_name_and_by_index() {
        let first = |name, index| Seed(1).stream(name, index).bits();
        assert_ne!(first("a", 0), first("a", 1));
        assert_ne!(first("a", 0), first("b", 0));
        assert_eq!(first("a", 0), first("a", 0));
    }

    #[test]
    fn every_value_below_a_bound_is_equally_likely() {
        let mut stream = Seed(7).stream("dice", 0);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[stream.below(6) as usize] += 1;
        }
        // Five degrees of freedom: chi-squared above 20.5 has probability 0.001.
        let chi_squared: f64 = counts.iter().map(|c| (f64::from(*c) - 1e4).powi(2) / 1e4).sum();
        assert!(chi_squared < 20.5, "{counts:?}");
    }
}
