//! Records accessed by key: their number, the choice of keys, and the number of distinct keys in a sequence
//! of updates.

use serde::{Deserialize, Serialize};
use wordline_kernel::{Bytes, Complaints, Seed, Stream};

use super::super::address::Scramble;
use super::super::zipf::Zipf;

/// A load of reads and updates by key, like YCSB's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clients {
    /// Number of clients, from 1 to 1,000. Each waits for its operation to complete before it starts the
    /// next.
    pub threads: u16,
    /// Share of reads among the operations, from 0 to 1; the others are updates. YCSB-A: 0.5.
    pub read_share: f64,
    /// Exponent of the Zipf distribution of keys, above 0 and at most 1.5. With a larger exponent hardly
    /// anything would reach the device. YCSB: 0.99.
    pub theta: f64,
    /// Record size, from 64 B to 64 KiB. YCSB: ten fields of 100 B.
    pub record: Bytes,
}

impl Clients {
    pub(super) fn check(&self, c: &mut Complaints) {
        c.require((1..=1000).contains(&self.threads), "threads", self.threads, "from 1 to 1000");
        c.require(
            (0.0..=1.0).contains(&self.read_share),
            "read_share",
            self.read_share,
            "a fraction from 0 to 1",
        );
        let holds = self.theta > 0.0 && self.theta <= 1.5;
        c.require(holds, "theta", self.theta, "a number above 0 and at most 1.5");
        let holds = self.record >= Bytes(64) && self.record <= Bytes::kib(64);
        c.require(holds, "record", self.record, "from 64B to 64KiB");
    }
}

/// One operation of a client.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Key.
    pub key: u32,
    /// Popularity rank of the key, 0 for the most popular.
    pub rank: u64,
    /// Whether the operation updates the record.
    pub updates: bool,
}

/// Draws the operations of clients.
#[derive(Clone, Debug)]
pub struct KeyGenerator {
    ranks: Zipf,
    scramble: Scramble,
    read_share: f64,
    draws: Stream,
    kinds: Stream,
}

impl KeyGenerator {
    /// Creates operations on `count` keys, at least one.
    pub fn new(clients: &Clients, count: u64, seed: Seed) -> Self {
        Self {
            ranks: Zipf::new(count, clients.theta),
            scramble: Scramble::new(count),
            read_share: clients.read_share,
            draws: seed.stream("workload.keys", 0),
            kinds: seed.stream("workload.op", 0),
        }
    }

    /// Returns the next operation.
    pub fn next(&mut self) -> Operation {
        let rank = self.ranks.sample(&mut self.draws);
        Operation { key: self.of_rank(rank), rank, updates: self.kinds.unit() >= self.read_share }
    }

    /// Returns the key with this popularity rank.
    pub fn of_rank(&self, rank: u64) -> u32 {
        self.scramble.place(rank) as u32
    }
}

/// Ranks whose share is tabulated. With YCSB's distribution over 20 million keys, two thirds of the
/// operations go to them. Chosen: the table has 512 KiB and fits the second-level cache of a processor.
const TABULATED_RANKS: u64 = 1 << 16;

/// Points on the curve of [`DistinctKeys`], two per octave.
const POINTS: usize = 96;

/// Expected number of distinct keys in a sequence of n updates: the sum over the ranks of `1 - (1 - p)^n`. It
/// is interpolated on a curve with points half an octave apart.
#[derive(Clone, Debug)]
pub struct DistinctKeys {
    theta: f64,
    /// Share of the most popular key.
    first: f64,
    keys: f64,
    curve: Vec<f64>,
    /// Shares of the most popular keys.
    shares: Vec<f64>,
}

impl DistinctKeys {
    /// Creates the curve for this many keys.
    pub fn new(keys: u64, theta: f64) -> Self {
        let kept = 0..keys.min(TABULATED_RANKS);
        let keys = keys as f64;
        let sum = integral(keys, |rank| libm::pow(rank, -theta));
        let mut distinct = Self { theta, first: 1.0 / sum, keys, curve: Vec::new(), shares: Vec::new() };
        distinct.shares = kept.map(|rank| distinct.share_of(rank)).collect();
        distinct.curve = (0..POINTS).map(|n| distinct.exactly(updates_at(n as f64))).collect();
        distinct
    }

    /// Share of a rank.
    #[inline]
    pub fn share(&self, rank: u64) -> f64 {
        self.shares.get(rank as usize).copied().unwrap_or_else(|| self.share_of(rank))
    }

    fn share_of(&self, rank: u64) -> f64 {
        self.first * libm::pow(rank as f64 + 1.0, -self.theta)
    }

    fn exactly(&self, updates: f64) -> f64 {
        integral(self.keys, |rank| -libm::expm1(-updates * self.first * libm::pow(rank, -self.theta)))
            .min(self.keys)
    }

    /// Expected number of distinct keys among this many updates.
    pub fn of(&self, updates: f64) -> f64 {
        let at = (2.0 * libm::log2(updates.max(1.0))).min((POINTS - 1) as f64);
        let (below, part) = (at as usize, at - libm::floor(at));
        let above = (below + 1).min(POINTS - 1);
        self.curve[below] + (self.curve[above] - self.curve[below]) * part
    }

    /// Number of updates after which this many distinct keys are expected.
    pub fn updates(&self, distinct: f64) -> f64 {
        let above = self.curve.partition_point(|point| *point < distinct);
        if above == 0 || above == POINTS {
            return updates_at(above.min(POINTS - 1) as f64);
        }
        let (from, to) = (self.curve[above - 1], self.curve[above]);
        let part = if to > from { (distinct - from) / (to - from) } else { 0.0 };
        updates_at((above - 1) as f64 + part)
    }

    /// Expected size of the union of two sets of this many distinct keys, from a fraction `part` of all keys.
    pub fn merged(&self, one: f64, other: f64, part: f64) -> f64 {
        let whole = |keys: f64| (keys / part).min(self.keys);
        let updates = self.updates(whole(one)) + self.updates(whole(other));
        (self.of(updates) * part).clamp(one.max(other), one + other)
    }
}

fn updates_at(point: f64) -> f64 {
    libm::exp2(point / 2.0)
}

/// Sum over the ranks from 1 to `ranks`. The first hundred are summed one by one, the others as an integral
/// over the logarithm of the rank.
fn integral(ranks: f64, term: impl Fn(f64) -> f64) -> f64 {
    let single = ranks.min(100.0) as u64;
    let sum: f64 = (1..=single).map(|rank| term(rank as f64)).sum();
    let (from, to) = (single as f64 + 0.5, ranks + 0.5);
    if to <= from {
        return sum;
    }
    // Simpson's rule over the logarithm. Chosen: with 200 steps it is accurate to six digits for every
    // exponent.
    let (steps, length) = (200, libm::log(to / from));
    let at = |step: usize| {
        let rank = from * libm::exp(length * step as f64 / steps as f64);
        let weight = if step == 0 || step == steps { 1.0 } else { 2.0 + 2.0 * (step % 2) as f64 };
        weight * term(rank) * rank
    };
    sum + (0..=steps).map(at).sum::<f64>() * length / (3.0 * steps as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients() -> Clients {
        Clients { threads: 1, read_share: 0.5, theta: 0.99, record: Bytes::kib(1) }
    }

    #[test]
    fn operations_come_in_their_shares() {
        let mut keys = KeyGenerator::new(&clients(), 1000, Seed(2));
        let all: Vec<Operation> = (0..100_000).map(|_| keys.next()).collect();
        let updates = all.iter().filter(|operation| operation.updates).count();
        assert!(updates.abs_diff(50_000) < 800, "{updates}");
        let first = all.iter().filter(|operation| operation.rank == 0).count() as f64 / 1e5;
        let share = DistinctKeys::new(1000, 0.99).share(0);
        assert!((first / share - 1.0).abs() < 0.05, "{first}, {share}");
    }

    #[test]
    fn as_many_keys_differ_as_the_law_says() {
        let (count, updates) = (50_000, 40_000);
        let mut keys = KeyGenerator::new(&clients(), count, Seed(2));
        let mut seen = vec![false; count as usize];
        (0..updates).for_each(|_| seen[keys.next().key as usize] = true);
        let found = seen.iter().filter(|seen| **seen).count() as f64;
        let wanted = DistinctKeys::new(count, 0.99).of(f64::from(updates));
        assert!((found / wanted - 1.0).abs() < 0.03, "{found}, {wanted}");
    }

    #[test]
    fn the_number_of_updates_follows_from_that_of_different_keys() {
        let distinct = DistinctKeys::new(20_000_000, 0.99);
        for updates in [10.0, 1e3, 65_536.0, 1e7] {
            let back = distinct.updates(distinct.of(updates));
            assert!((back / updates - 1.0).abs() < 1e-6, "{updates}: {back}");
        }
        let merged = distinct.merged(1000.0, 1000.0, 0.5);
        assert!(merged > 1000.0 && merged < 2000.0, "{merged}");
        assert_eq!(distinct.merged(10.0, 1e7, 0.5), 1e7, "all keys of the half are there");
    }
}
