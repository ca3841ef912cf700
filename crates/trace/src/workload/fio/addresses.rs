//! Random addresses of the requests of a job.

use wordline_kernel::{Seed, Stream};

use super::settings::Spread;

/// Draws the address of each request, in units of the alignment.
#[derive(Clone, Debug)]
pub enum AddressGenerator {
    Uniform,
    /// Each address is used once before any address is repeated.
    Permuted(SlotPermutation),
    /// The approximation of Gray et al., "Quickly generating billion-record synthetic databases", SIGMOD 1994,
    /// as fio uses it.
    Zipf {
        theta: f64,
        zeta: f64,
        eta: f64,
        hash: Hash,
    },
    /// `slots * unit ^ power`, as fio draws it.
    Pareto {
        power: f64,
        hash: Hash,
    },
    /// Mean of twelve uniform numbers, plus a uniform deviation of up to half of `deviation`, as fio draws it.
    Normal {
        deviation: u64,
        hash: Hash,
    },
    /// For each zone: the cumulative share of requests, its first slot and its number of slots.
    Zones(Vec<(f64, u64, u64)>),
}

/// Spreads ranks over the slots: a multiplication by the golden ratio, and a shift. Several ranks may have the
/// same slot, and some slots have no rank.
#[derive(Clone, Copy, Debug)]
pub struct Hash {
    slots: u64,
    shift: u64,
}

impl Hash {
    fn place(self, rank: u64) -> u64 {
        // 2^64 minus 2^64 divided by the golden ratio, as in fio and Linux (GOLDEN_RATIO_64).
        rank.wrapping_mul(0x61c8_8646_80b5_83eb).wrapping_add(self.shift) % self.slots
    }
}

/// Terms after which fio ends the sum of a zipf distribution (ZIPF_MAX_GEN).
const ZETA_TERMS: u64 = 10_000_000;

/// Numbers whose mean fio takes as normal (GAUSS_ITERS).
const NORMAL_DRAWS: u64 = 12;

impl AddressGenerator {
    /// Creates random addresses over `slots` slots of `unit` bytes, at least 1, for clone `number`. With
    /// `once`, uniform addresses are not repeated.
    pub fn new(spread: &Spread, once: bool, slots: u64, unit: u64, number: u64) -> Self {
        // As in fio the popular addresses differ between clones, and do not depend on the seed of a run.
        let shift = Seed(0).stream("fio.popular", number).bits() >> 32;
        let hash = |centre: Option<f64>| Hash {
            slots,
            shift: centre.map_or(shift, |centre| (slots as f64 * centre) as u64),
        };
        match spread {
            Spread::Uniform if once => Self::Permuted(SlotPermutation { slots, at: 0, keys: [0; 4] }),
            Spread::Uniform => Self::Uniform,
            Spread::Zipf(theta, centre) => {
                let zeta = zeta(slots.min(ZETA_TERMS), *theta);
                let tail = 1.0 - libm::pow(2.0 / slots as f64, 1.0 - theta);
                let eta = tail / (1.0 - (1.0 + libm::pow(0.5, *theta)) / zeta);
                Self::Zipf { theta: *theta, zeta, eta, hash: hash(*centre) }
            }
            Spread::Pareto(share, centre) => {
                Self::Pareto { power: libm::log(*share) / libm::log(1.0 - share), hash: hash(*centre) }
            }
            Spread::Normal(deviation, centre) => {
                let shift = centre.map_or(0, |centre| (slots as f64 * (centre - 0.5)) as i64 as u64);
                let deviation = libm::ceil(slots as f64 * deviation / 100.0) as u64;
                Self::Normal { deviation: deviation.min(slots / 2), hash: Hash { slots, shift } }
            }
            Spread::Zones(zones) => {
                let place = |part: f64| ((slots as f64 * part / 100.0) as u64).min(slots - 1);
                let mut part = 0.0;
                Self::Zones(cumulative(zones.iter().map(|(share, wide)| {
                    let begin = place(part);
                    part += wide;
                    let end = if part >= 100.0 { slots } else { place(part) };
                    (*share, begin, end.saturating_sub(begin).max(1))
                })))
            }
            Spread::AbsoluteZones(zones) => {
                let mut end = 0;
                Self::Zones(cumulative(zones.iter().map(|(share, bytes)| {
                    let begin = (end / unit).min(slots - 1);
                    end += bytes;
                    (*share, begin, (end / unit).min(slots).saturating_sub(begin).max(1))
                })))
            }
        }
    }

    /// Returns the address of a request, out of `slots`. `None` at the end of a pass, if `ends` is set and each
    /// address is used once.
    pub fn next(&mut self, slots: u64, ends: bool, random: &mut Stream) -> Option<u64> {
        Some(match self {
            Self::Uniform => random.below(slots),
            Self::Permuted(deck) => return deck.next(ends, random),
            Self::Zipf { theta, zeta, eta, hash } => {
                let unit = random.unit();
                let area = unit * *zeta;
                let rank = if area < 1.0 {
                    0
                } else if area < 1.0 + libm::pow(0.5, *theta) {
                    1
                } else {
                    let base = *eta * unit - *eta + 1.0;
                    (hash.slots as f64 * libm::pow(base, 1.0 / (1.0 - *theta))) as u64
                };
                hash.place(rank)
            }
            Self::Pareto { power, hash } => {
                hash.place(((hash.slots - 1) as f64 * libm::pow(random.unit(), *power)) as u64)
            }
            Self::Normal { deviation, hash } => {
                let sum: u64 = (0..NORMAL_DRAWS).map(|_| random.below(hash.slots + 1)).sum();
                let mean = sum.div_ceil(NORMAL_DRAWS) as i64;
                let mut apart = (*deviation as f64 * random.unit()) as i64 - *deviation as i64 / 2;
                while *deviation > 0 && !(0..hash.slots as i64).contains(&(mean + apart)) && apart != 0 {
                    apart /= 2;
                }
                hash.place((mean + apart) as u64)
            }
            Self::Zones(zones) => {
                let draw = random.unit();
                let (_, begin, count) = zones
                    .iter()
                    .find(|(below, ..)| draw < *below)
                    .or(zones.last())
                    .expect("a distribution has a zone");
                begin + random.below(*count)
            }
        })
    }

    /// Begins a new pass.
    pub fn reset(&mut self) {
        if let Self::Permuted(deck) = self {
            deck.at = 0;
        }
    }
}

/// Adds up percentages.
fn cumulative(zones: impl Iterator<Item = (u64, u64, u64)>) -> Vec<(f64, u64, u64)> {
    let mut accesses = 0.0;
    let add = |(share, begin, count): (u64, u64, u64)| {
        accesses += share as f64 / 100.0;
        (accesses, begin, count)
    };
    zones.map(add).collect()
}

/// Terms that are added one by one. Chosen: with the correction behind them the error is below 1e-12.
const EXACT_TERMS: u64 = 1000;

/// Sum of `k^-theta` for `k` from 1 to `terms`; the tail by the formula of Euler and Maclaurin.
fn zeta(terms: u64, theta: f64) -> f64 {
    let exact: f64 = (1..=terms.min(EXACT_TERMS)).map(|k| libm::pow(k as f64, -theta)).sum();
    if terms <= EXACT_TERMS {
        return exact;
    }
    let (first, last) = (EXACT_TERMS as f64, terms as f64);
    let power = |x: f64, more: f64| libm::pow(x, -theta + more);
    let area = (power(last, 1.0) - power(first, 1.0)) / (1.0 - theta);
    let ends = (power(last, 0.0) - power(first, 0.0)) / 2.0;
    let slopes = -theta * (power(last, -1.0) - power(first, -1.0)) / 12.0;
    exact + area + ends + slopes
}

/// Permutes all slots, with a new permutation in each pass: a Feistel network of four rounds over the next
/// power of four, iterated until the value is in range. It needs no memory, while fio keeps a bit for each
/// block.
#[derive(Clone, Debug)]
pub struct SlotPermutation {
    slots: u64,
    at: u64,
    keys: [u64; 4],
}

impl SlotPermutation {
    /// Returns the next slot. At the end of a pass returns `None` if `ends` is set.
    fn next(&mut self, ends: bool, random: &mut Stream) -> Option<u64> {
        if self.at == self.slots {
            if ends {
                return None;
            }
            self.at = 0;
        }
        if self.at == 0 {
            self.keys = [0; 4].map(|_: u64| random.bits());
        }
        let place = self.place(self.at);
        self.at += 1;
        Some(place)
    }

    fn place(&self, number: u64) -> u64 {
        let half = (64 - (self.slots - 1).leading_zeros()).div_ceil(2).max(1);
        let mask = (1_u64 << half) - 1;
        let mut place = number;
        loop {
            let (mut left, mut right) = (place >> half, place & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (mixed(right ^ key) & mask));
            }
            place = left << half | right;
            if place < self.slots {
                return place;
            }
        }
    }
}

/// Finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
const fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_deck_has_each_place_once_a_pass_and_another_order_in_the_next() {
        for slots in [1, 2, 3, 17, 64, 1000] {
            let mut random = Seed(7).stream("test", slots);
            let mut deck = SlotPermutation { slots, at: 0, keys: [0; 4] };
            let mut pass =
                || (0..slots).map(|_| deck.next(false, &mut random).expect("no end")).collect::<Vec<_>>();
            let (first, second) = (pass(), pass());
            for order in [&first, &second] {
                let all: BTreeSet<u64> = order.iter().copied().collect();
                assert!(all.into_iter().eq(0..slots), "{slots} places: {order:?}");
            }
            assert!(slots < 17 || first != second);
            assert_eq!(deck.next(true, &mut random), None);
        }
    }

    /// Returns the share of requests that go to the most popular `part` of the slots.
    fn share_of_hot(spread: &Spread, slots: u64, part: usize) -> f64 {
        let mut random = Seed(1).stream("test", 0);
        let mut places = AddressGenerator::new(spread, true, slots, 4096, 1);
        let mut counts = vec![0u32; slots as usize];
        (0..100_000)
            .for_each(|_| counts[places.next(slots, true, &mut random).expect("no end") as usize] += 1);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        f64::from(counts[..part].iter().sum::<u32>()) / 100_000.0
    }

    #[test]
    fn a_pareto_of_a_fifth_sends_four_fifths_of_the_requests_to_a_fifth_of_the_places() {
        // 1024 slots, so that no two ranks have the same slot.
        let share = share_of_hot(&Spread::Pareto(0.2, None), 1024, 205);
        assert!((share - 0.8).abs() < 0.01, "{share}");
    }

    #[test]
    fn the_sum_of_a_zipf_distribution_is_exact() {
        for theta in [0.5, 0.9, 1.1, 2.0] {
            let sum: f64 = (1..=50_000).map(|k| libm::pow(f64::from(k), -theta)).sum();
            assert!((zeta(50_000, theta) - sum).abs() < 1e-9, "{theta}");
        }
    }
}
