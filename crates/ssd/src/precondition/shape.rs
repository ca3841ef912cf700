//! Valid pages of blocks under uniform random overwrites, from theory.
//!
//! Time is counted in lives of a page: a page that was written at age 0 is still valid at age `a` with probability `exp(-a)`, and
//! independently of all others. A block is written in full at age 0 and cleaned when its victim policy says so; policies differ in how
//! long blocks stand. The relations hold where a row has many blocks (mean field: Desnoyers, SYSTOR 2012, for first in,
//! first out; Van Houdt, SIGMETRICS 2013, for the others).

use wordline_kernel::Stream;

use crate::policy::victim::Preference;

/// Binary digits of the probability that a page is valid. Chosen: an error of a page in a thousand blocks of 4,096.
const DIGITS: u32 = 24;

/// How the blocks of a row came about, and which of them still stand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    /// Age between the writing of one block and of the next.
    spacing: f64,
    limit: Limit,
}

/// Until when a block stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// As long as there are younger ones than there are blocks.
    Age,
    /// Until no more extents are valid than this; until one more with this probability.
    Valid(u32, f64),
    /// It is cleaned at this rate.
    Rate(f64),
}

impl Shape {
    /// The shape of `blocks` blocks, each of this many extents, of which the part `valid` is valid.
    pub(super) fn of(preference: Preference, blocks: f64, per_block: u32, valid: f64) -> Self {
        let valid = valid.clamp(1e-6, 1.0 - 1e-9);
        match preference {
            Preference::Oldest => Self::by_age(blocks, valid),
            Preference::Fewest => {
                Self::by_valid(blocks, per_block, valid).unwrap_or_else(|| Self::by_age(blocks, valid))
            }
            Preference::Drawn => {
                // The mean of exp(-a) over ages of density r exp(-r a) is r / (1 + r).
                let rate = valid / (1.0 - valid);
                Self { spacing: 1.0 / (rate * blocks), limit: Limit::Rate(rate) }
            }
        }
    }

    /// The mean of `exp(-a)` over ages up to that of the victim, `-ln(u)`, is `(1 - u) / -ln(u)`.
    fn by_age(blocks: f64, valid: f64) -> Self {
        let u = bisect(1e-12, 1.0 - 1e-9, |u| (1.0 - u) / -libm::log(u) < valid);
        Self { spacing: -libm::log(u) / blocks, limit: Limit::Age }
    }

    /// A block passes from `i` valid extents to `i - 1` at the rate `i`, so that it stands for a time of `1 / i` with as many, until
    /// it has so few that it is cleaned: `m + 1` in the part `q` of the cases, else `m`. None if more is invalid than in a
    /// row whose victims hold nothing.
    fn by_valid(blocks: f64, per_block: u32, valid: f64) -> Option<Self> {
        let mut until = vec![0.0];
        for i in 1..=per_block {
            until.push(until[i as usize - 1] + 1.0 / f64::from(i));
        }
        let all = f64::from(per_block);
        let split = |level: f64| (level as u32, level - f64::from(level as u32));
        let life = |level: f64| {
            let (m, q) = split(level);
            until[per_block as usize] - until[m as usize + 1] + (1.0 - q) / f64::from(m + 1)
        };
        let share = |level: f64| (all - level) / (all * life(level));
        if share(0.0) > valid {
            return None;
        }
        let level = bisect(0.0, all - 1.0, |level| share(level) < valid);
        let (m, q) = split(level.min(all - 1.0));
        Some(Self { spacing: life(level) / blocks, limit: Limit::Valid(m, q) })
    }

    /// Whether a block of this age stands that holds this many valid extents.
    fn stands(&self, age: f64, valid: u32, random: &mut Stream) -> bool {
        match self.limit {
            Limit::Age => true,
            Limit::Valid(m, q) => valid > m + u32::from(random.unit() < q),
            Limit::Rate(rate) => random.unit() < libm::exp(-rate * age),
        }
    }

    /// How many lives of a block after its writing hardly any stands. Chosen: of lives with an exponential tail a part in three
    /// thousand, of others none to speak of.
    fn longest(&self) -> f64 {
        match self.limit {
            Limit::Age => 1.0,
            Limit::Valid(..) => 2.0,
            Limit::Rate(_) => 8.0,
        }
    }

    /// Which extents are valid of the blocks of a row, the youngest of which holds only the first `open` of `per_block`, or all of
    /// them where that is 0: `valid` of them all.
    pub(super) fn draw(
        &self,
        blocks: u32,
        per_block: u32,
        open: u32,
        valid: u64,
        random: &mut Stream,
    ) -> Drawn {
        let mut drawn = self.stand(blocks, per_block, open, random);
        drawn.settle(valid, random);
        drawn
    }

    /// The blocks that stand of those that were written one after the other, the youngest first, with as many valid extents
    /// as they have by chance. The oldest, which are missing where fewer stand than are wanted, are drawn at the mean age of a victim.
    fn stand(&self, blocks: u32, per_block: u32, open: u32, random: &mut Stream) -> Drawn {
        let mut drawn = Drawn::new(blocks, per_block, open);
        let written = if open > 0 { f64::from(open) / f64::from(per_block) } else { 1.0 };
        let life = f64::from(blocks);
        let (mut left, mut born) = (blocks, 0.0);
        while left > 0 {
            let middle = if born == 0.0 { written / 2.0 } else { written + born - 0.5 };
            let age = self.spacing * if middle <= life * self.longest() { middle } else { life };
            let held = drawn.fill(left - 1, libm::exp(-age), random);
            if born == 0.0 || self.stands(age, held, random) {
                left -= 1;
            }
            born += 1.0;
        }
        drawn
    }
}

/// Which extents of the blocks of a row are valid, a bit each, oldest blocks first.
#[derive(Debug)]
pub(super) struct Drawn {
    bits: Vec<u64>,
    /// Words of a block.
    words: usize,
    blocks: u32,
    per_block: u32,
    /// Extents of the youngest block.
    of_last: u32,
}

impl Drawn {
    fn new(blocks: u32, per_block: u32, open: u32) -> Self {
        let words = per_block.div_ceil(u64::BITS) as usize;
        let of_last = if open > 0 { open } else { per_block };
        Self { bits: vec![0; words * blocks as usize], words, blocks, per_block, of_last }
    }

    /// How many blocks there are.
    pub(super) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Extents that are written of a block.
    pub(super) fn written(&self, block: u32) -> u32 {
        if block + 1 == self.blocks { self.of_last } else { self.per_block }
    }

    /// Whether an extent of a block is valid.
    pub(super) fn is_valid(&self, block: u32, extent: u32) -> bool {
        self.bits[self.words * block as usize + (extent / u64::BITS) as usize] >> (extent % u64::BITS) & 1
            == 1
    }

    /// Valid extents of all blocks.
    fn held(&self) -> u64 {
        self.bits.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Draws which extents of a block are valid, each with this probability. Returns how many are.
    fn fill(&mut self, block: u32, probability: f64, random: &mut Stream) -> u32 {
        let written = self.written(block);
        let digits = (probability * f64::from(1u32 << DIGITS)) as u32;
        let words = &mut self.bits[self.words * block as usize..][..self.words];
        let mut held = 0;
        for (n, word) in words.iter_mut().enumerate() {
            let here = written.saturating_sub(n as u32 * u64::BITS).min(u64::BITS);
            let within = if here == u64::BITS { u64::MAX } else { (1 << here) - 1 };
            *word = within & if here > 0 { bits(digits, random) } else { 0 };
            held += word.count_ones();
        }
        held
    }

    /// Makes extents valid or invalid, drawn at random, until `valid` are valid, or all.
    fn settle(&mut self, valid: u64, random: &mut Stream) {
        let written: u64 = (0..self.blocks).map(|block| u64::from(self.written(block))).sum();
        let wanted = valid.min(written);
        let mut held = self.held();
        while held != wanted {
            let at = random.below(written);
            let (block, extent) =
                ((at / u64::from(self.per_block)) as u32, (at % u64::from(self.per_block)) as u32);
            if self.is_valid(block, extent) == (held > wanted) {
                let word = self.words * block as usize + (extent / u64::BITS) as usize;
                self.bits[word] ^= 1 << (extent % u64::BITS);
                held = if held > wanted { held - 1 } else { held + 1 };
            }
        }
    }
}

/// A word each bit of which is set with the probability `digits / 2^DIGITS`: from the last binary digit on, a bit drawn at
/// random is joined by *or* where the digit is 1, and by *and* where it is 0.
fn bits(digits: u32, random: &mut Stream) -> u64 {
    if digits >= 1 << DIGITS {
        return u64::MAX;
    }
    let first = digits.trailing_zeros().min(DIGITS);
    (first..DIGITS).fold(0, |word, n| match digits >> n & 1 {
        1 => word | random.bits(),
        _ => word & random.bits(),
    })
}

/// Where `is_below` ceases to hold, between `low` and `high`.
fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if is_below(middle) { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wordline_kernel::Seed;

    /// Valid extents of 2,000 blocks of 64, oldest first, of which 0.7 are valid.
    fn drawn(preference: Preference) -> Vec<u32> {
        let (blocks, per_block) = (2_000, 64);
        let shape = Shape::of(preference, f64::from(blocks), per_block, 0.7);
        let valid = u64::from(blocks * per_block) * 7 / 10;
        let drawn = shape.draw(blocks, per_block, 0, valid, &mut Seed(1).stream("test.shape", 0));
        let held = |block| (0..per_block).filter(|extent| drawn.is_valid(block, *extent)).count() as u32;
        (0..blocks).map(held).collect()
    }

    #[test]
    fn as_much_is_valid_as_is_asked_for_and_more_in_younger_blocks() {
        for preference in [Preference::Oldest, Preference::Fewest, Preference::Drawn] {
            let held = drawn(preference);
            assert_eq!(held.iter().sum::<u32>(), 89_600);
            let [old, young] = [&held[..200], &held[1_800..]].map(|held| held.iter().sum::<u32>());
            assert!(old + 1_000 < young, "{preference:?}: {old} {young}");
        }
    }

    #[test]
    fn by_chance_nearly_as_much_is_valid_as_is_asked_for() {
        for preference in [Preference::Oldest, Preference::Fewest, Preference::Drawn] {
            let shape = Shape::of(preference, 2_000.0, 64, 0.7);
            let mut random = Seed(2).stream("test.shape", 0);
            let held = shape.stand(2_000, 64, 0, &mut random).held();
            assert!(held.abs_diff(89_600) < 900, "{preference:?}: {held}");
        }
    }

    #[test]
    fn greedy_leaves_as_many_blocks_with_each_number_of_valid_pages_as_its_reciprocal_says() {
        let held = drawn(Preference::Fewest);
        let counts = |from: u32, to: u32| held.iter().filter(|held| (from..to).contains(held)).count() as f64;
        let expected = |from: u32, to: u32| (from..to).map(|i| 1.0 / f64::from(i)).sum::<f64>();
        let ratio = counts(56, 65) / counts(44, 56);
        let wanted = expected(56, 65) / expected(44, 56);
        assert!((ratio / wanted - 1.0).abs() < 0.12, "{ratio}, in theory {wanted}");
        // Cleaned are those with the fewest, so that none has fewer.
        let least = held.iter().min().copied().unwrap_or_default();
        assert!((26..=32).contains(&least), "{least}");
    }

    #[test]
    fn in_first_in_first_out_the_victim_solves_its_equation() {
        for valid in [0.95, 0.7, 0.5] {
            let shape = Shape::of(Preference::Oldest, 1.0, 64, valid);
            let u = libm::exp(-shape.spacing);
            assert!(((1.0 - u) / -libm::log(u) - valid).abs() < 1e-6, "{valid}: {u}");
        }
    }

    #[test]
    fn bits_are_set_with_the_probability_asked_for() {
        let random = &mut Seed(3).stream("test.shape", 0);
        for digits in [0, 1 << (DIGITS - 1), 3 << (DIGITS - 2), 1 << DIGITS, 1_677_722] {
            let set: u32 = (0..4_000).map(|_| bits(digits, random).count_ones()).sum();
            let p = f64::from(digits) / f64::from(1u32 << DIGITS);
            let deviation = (256_000.0 * p * (1.0 - p)).sqrt();
            assert!((f64::from(set) - 256_000.0 * p).abs() <= 4.5 * deviation, "{digits}: {set}");
        }
    }
}
