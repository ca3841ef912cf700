//! Addresses of the requests of a job.

use wordline_kernel::Stream;

use super::super::address::Scramble;
use super::super::zipf::Zipf;
use super::keys::Spread;

/// Draws the address of each request, in units of the alignment.
#[derive(Clone, Debug)]
pub enum AddressGenerator {
    /// Each request follows the previous request of its kind.
    Sequential {
        next: [u64; 3],
    },
    Uniform,
    /// Each address is used once before any address is repeated.
    Permuted(SlotPermutation),
    Zipf {
        ranks: Zipf,
        scramble: Scramble,
    },
    /// `slots * unit ^ power`, scrambled, as fio draws it.
    Pareto {
        power: f64,
        scramble: Scramble,
    },
    /// For each zone: the cumulative share of requests, its first slot and its number of slots.
    Zones(Vec<(f64, u64, u64)>),
}

impl AddressGenerator {
    /// Creates random addresses over `slots` slots, at least 1.
    pub fn random(spread: &Spread, has_map: bool, slots: u64) -> Self {
        match spread {
            Spread::Uniform if has_map => Self::Permuted(SlotPermutation { slots, at: 0, keys: [0; 4] }),
            Spread::Uniform => Self::Uniform,
            Spread::Zipf(theta) => {
                Self::Zipf { ranks: Zipf::new(slots, *theta), scramble: Scramble::new(slots) }
            }
            Spread::Pareto(share) => Self::Pareto {
                power: libm::log(*share) / libm::log(1.0 - share),
                scramble: Scramble::new(slots),
            },
            Spread::Zones(zones) => {
                let (mut accesses, mut part) = (0.0, 0.0);
                let place = |part: f64| ((slots as f64 * part / 100.0) as u64).min(slots - 1);
                let zones = zones.iter().map(|(share, wide)| {
                    let begin = place(part);
                    accesses += *share as f64 / 100.0;
                    part += wide;
                    (accesses, begin, (place(part) - begin).max(1))
                });
                Self::Zones(zones.collect())
            }
        }
    }

    /// Returns the address of a request of `kind` and `length`, out of `slots`.
    pub fn next(&mut self, kind: usize, slots: u64, length: u64, random: &mut Stream) -> u64 {
        match self {
            Self::Sequential { next } => {
                let start = if next[kind] < slots { next[kind] } else { 0 };
                next[kind] = start + length;
                start
            }
            Self::Uniform => random.below(slots),
            Self::Permuted(deck) => deck.next(random),
            Self::Zipf { ranks, scramble } => scramble.place(ranks.sample(random)),
            Self::Pareto { power, scramble } => {
                let rank = (slots - 1) as f64 * libm::pow(random.unit(), *power);
                scramble.place(rank as u64)
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
        }
    }
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
    fn next(&mut self, random: &mut Stream) -> u64 {
        if self.at == 0 {
            self.keys = [0; 4].map(|_: u64| random.bits());
        }
        let place = self.place(self.at);
        self.at = (self.at + 1) % self.slots;
        place
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

    use wordline_kernel::Seed;

    use super::*;

    #[test]
    fn a_deck_has_each_place_once_a_pass_and_another_order_in_the_next() {
        for slots in [1, 2, 3, 17, 64, 1000] {
            let mut random = Seed(7).stream("test", slots);
            let mut deck = SlotPermutation { slots, at: 0, keys: [0; 4] };
            let mut pass = || (0..slots).map(|_| deck.next(&mut random)).collect::<Vec<_>>();
            let (first, second) = (pass(), pass());
            for order in [&first, &second] {
                let all: BTreeSet<u64> = order.iter().copied().collect();
                assert!(all.into_iter().eq(0..slots), "{slots} places: {order:?}");
            }
            assert!(slots < 17 || first != second);
        }
    }

    #[test]
    fn a_pareto_of_a_fifth_sends_four_fifths_of_the_requests_to_a_fifth_of_the_places() {
        let slots = 1000;
        let mut random = Seed(1).stream("test", 0);
        let mut places = AddressGenerator::random(&Spread::Pareto(0.2), true, slots);
        let mut counts = vec![0u32; slots as usize];
        (0..100_000).for_each(|_| counts[places.next(0, slots, 1, &mut random) as usize] += 1);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let of_hot: u32 = counts[..200].iter().sum();
        assert!((79_000..81_500).contains(&of_hot), "{of_hot} of 100,000");
    }
}
