//! Valid-page counts of blocks under uniform random overwrites, from theory.
//!
//! The unit of time is the mean lifetime of a page: a page is still valid at age `a` with probability
//! `exp(-a)`, independently of all others. A block is written in full at age 0 and collected when the victim
//! policy selects it. Policies differ in the age at which they select a block.
//!
//! The equations are exact for plane groups with infinitely many blocks (mean field). Sources: Desnoyers,
//! SYSTOR 2012, for FIFO; Van Houdt, SIGMETRICS 2013, for greedy and random.

use wordline_ftl::policy::victim::Preference;
use wordline_kernel::Stream;

/// Binary digits of the probability that a page is valid. Chosen: the error is one page in a thousand blocks
/// of 4,096 pages.
const DIGITS: u32 = 24;

/// Age distribution of the blocks of a plane group, and the age at which they are collected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Time between the writes of two successive blocks.
    spacing: f64,
    limit: Limit,
}

/// Rule by which blocks are collected.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// Collected when it is the oldest of all blocks.
    Age,
    /// Collected when at most this many of its mapping units are valid; with the given probability, already
    /// with one more.
    Valid(u32, f64),
    /// Collected at random, at this rate.
    Rate(f64),
}

impl Shape {
    /// Shape of `blocks` blocks with `per_block` mapping units each. The fraction `valid` of all units is
    /// valid.
    pub fn of(preference: Preference, blocks: f64, per_block: u32, valid: f64) -> Self {
        let valid = valid.clamp(1e-6, 1.0 - 1e-9);
        match preference {
            Preference::Oldest => Self::by_age(blocks, valid),
            Preference::Fewest => {
                Self::by_valid(blocks, per_block, valid).unwrap_or_else(|| Self::by_age(blocks, valid))
            }
            Preference::Random => {
                // The mean of exp(-a) over ages of density r exp(-r a) is r / (1 + r).
                let rate = valid / (1.0 - valid);
                Self { spacing: 1.0 / (rate * blocks), limit: Limit::Rate(rate) }
            }
        }
    }

    /// Mean valid fraction of a victim under greedy GC. Blocks have `per_block` mapping units, and the
    /// fraction `valid` of all units is valid.
    pub fn victim_valid_pages(per_block: u32, valid: f64) -> f64 {
        let valid = valid.clamp(1e-6, 1.0 - 1e-9);
        level_of(&lives(per_block), valid).map_or_else(|| oldest(valid), |level| level / f64::from(per_block))
    }

    fn by_age(blocks: f64, valid: f64) -> Self {
        Self { spacing: -libm::log(oldest(valid)) / blocks, limit: Limit::Age }
    }

    fn by_valid(blocks: f64, per_block: u32, valid: f64) -> Option<Self> {
        let until = lives(per_block);
        let level = level_of(&until, valid)?;
        let (m, q) = split(level);
        Some(Self { spacing: life(&until, level) / blocks, limit: Limit::Valid(m, q) })
    }

    /// Whether a block with this age and number of valid units has not been collected yet.
    fn survives(&self, age: f64, valid: u32, random: &mut Stream) -> bool {
        match self.limit {
            Limit::Age => true,
            Limit::Valid(m, q) => valid > m + u32::from(random.unit() < q),
            Limit::Rate(rate) => random.unit() < libm::exp(-rate * age),
        }
    }

    /// Whether a block has so few written units that it never has more valid units than a usual victim. Such
    /// a block is collected when its first unit becomes invalid, so until then it is fully valid.
    fn is_short(&self, written: u32, per_block: u32) -> bool {
        written < per_block && matches!(self.limit, Limit::Valid(m, _) if written <= m + 1)
    }

    /// Maximum age of a block with fewer written units than others: the mean age at which it has as few valid
    /// units as a victim.
    fn oldest_of(&self, written: u32, per_block: u32) -> f64 {
        match self.limit {
            Limit::Valid(m, _) if written < per_block && written > m + 1 => {
                libm::log(f64::from(written) / f64::from(m + 1))
            }
            _ => f64::INFINITY,
        }
    }

    /// Block lifetimes after which hardly any block survives. Chosen: under random victims one block in three
    /// thousand does, otherwise practically none.
    fn longest(&self) -> f64 {
        match self.limit {
            Limit::Age => 1.0,
            Limit::Valid(..) => 2.0,
            Limit::Rate(_) => 8.0,
        }
    }

    /// Draws the valid units of blocks, oldest first. `written` has the written units of each block; `valid`
    /// units are valid in total.
    pub fn draw(&self, per_block: u32, written: Vec<u32>, valid: u64, random: &mut Stream) -> ValidBitmap {
        let mut drawn = self.draw_survivors(per_block, written, random);
        drawn.settle(valid, random);
        drawn
    }

    /// Draws surviving blocks, youngest first, each with a random number of valid units. If too few blocks
    /// survive, the oldest ones are drawn at the mean age of a victim.
    fn draw_survivors(&self, per_block: u32, written: Vec<u32>, random: &mut Stream) -> ValidBitmap {
        let mut drawn = ValidBitmap::new(per_block, written);
        let mut left = drawn.blocks();
        let life = f64::from(left);
        let youngest = f64::from(drawn.written.last().copied().unwrap_or(per_block)) / f64::from(per_block);
        let mut born = 0.0;
        while left > 0 {
            let middle = if born == 0.0 { youngest / 2.0 } else { youngest + born - 0.5 };
            let written = drawn.written(left - 1);
            let age = self.spacing * if middle <= life * self.longest() { middle } else { life };
            let held = drawn.fill(left - 1, libm::exp(-age.min(self.oldest_of(written, per_block))), random);
            let is_short = self.is_short(written, per_block);
            if born == 0.0 || self.survives(age, held, random) || is_short {
                left -= 1;
            }
            born += 1.0;
        }
        drawn
    }
}

/// Valid fraction `u` of the oldest block if the fraction `valid` of all pages is valid. The oldest block has
/// age `-ln(u)`, and the mean of `exp(-a)` up to this age is `(1 - u) / -ln(u)`.
fn oldest(valid: f64) -> f64 {
    bisect(1e-12, 1.0 - 1e-9, |u| (1.0 - u) / -libm::log(u) < valid)
}

/// For each `i`, the mean time in which a block with `i` valid units loses all of them. It loses the first
/// after a mean time of `1 / i`.
fn lives(per_block: u32) -> Vec<f64> {
    let mut until = vec![0.0];
    for i in 1..=per_block {
        until.push(until[i as usize - 1] + 1.0 / f64::from(i));
    }
    until
}

/// Splits a level into the valid units of a victim and the fraction of victims with one more.
fn split(level: f64) -> (u32, f64) {
    (level as u32, level - f64::from(level as u32))
}

/// Lifetime of a block that is collected with `m + 1` valid units with probability `q`, otherwise with `m`,
/// where [`split`] returns `(m, q)`.
fn life(until: &[f64], level: f64) -> f64 {
    let (m, q) = split(level);
    until[until.len() - 1] - until[m as usize + 1] + (1.0 - q) / f64::from(m + 1)
}

/// Mean number of valid units of a victim if the fraction `valid` of all units is valid. `until` is from
/// [`lives`]. `None` if so few units are valid that victims have none.
fn level_of(until: &[f64], valid: f64) -> Option<f64> {
    let all = (until.len() - 1) as f64;
    let share = |level: f64| (all - level) / (all * life(until, level));
    if share(0.0) > valid {
        return None;
    }
    Some(bisect(0.0, all - 1.0, |level| share(level) < valid).min(all - 1.0))
}

/// Bitmap of the valid units in the blocks of a plane group, oldest blocks first.
#[derive(Debug)]
pub struct ValidBitmap {
    bits: Vec<u64>,
    /// Words for each block.
    words: usize,
    /// Written units of each block. `before` has the sum over all earlier blocks.
    written: Vec<u32>,
    before: Vec<u64>,
}

impl ValidBitmap {
    fn new(per_block: u32, written: Vec<u32>) -> Self {
        let words = per_block.div_ceil(u64::BITS) as usize;
        let before = written.iter().scan(0, |all, of_block| {
            let before = *all;
            *all += u64::from(*of_block);
            Some(before)
        });
        Self { bits: vec![0; words * written.len()], words, before: before.collect(), written }
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> u32 {
        self.written.len() as u32
    }

    /// Written units of a block.
    pub(super) fn written(&self, block: u32) -> u32 {
        self.written[block as usize]
    }

    /// Whether a unit of a block is valid.
    pub fn is_valid(&self, block: u32, extent: u32) -> bool {
        self.bits[self.words * block as usize + (extent / u64::BITS) as usize] >> (extent % u64::BITS) & 1
            == 1
    }

    /// Number of valid units in all blocks.
    fn held(&self) -> u64 {
        self.bits.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Draws the valid units of a block, each valid with `probability`. Returns their number.
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

    /// Flips random units until `valid` units are valid, or until all written units are.
    fn settle(&mut self, valid: u64, random: &mut Stream) {
        let written: u64 = self.written.iter().copied().map(u64::from).sum();
        let wanted = valid.min(written);
        let mut held = self.held();
        while held != wanted {
            let at = random.below(written);
            let block = self.before.partition_point(|before| *before <= at) as u32 - 1;
            let extent = (at - self.before[block as usize]) as u32;
            if self.is_valid(block, extent) == (held > wanted) {
                let word = self.words * block as usize + (extent / u64::BITS) as usize;
                self.bits[word] ^= 1 << (extent % u64::BITS);
                held = if held > wanted { held - 1 } else { held + 1 };
            }
        }
    }
}

/// Word of random bits, each set with probability `digits / 2^DIGITS`. Starting with the last binary digit, a
/// random word is combined by *or* for a digit 1 and by *and* for a digit 0.
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

/// Point between `low` and `high` up to which `is_below` is true.
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

    /// Valid units of 2,000 blocks of 64 units, oldest first. A fraction of 0.7 is valid.
    fn drawn(preference: Preference) -> Vec<u32> {
        let (blocks, per_block) = (2_000, 64);
        let shape = Shape::of(preference, f64::from(blocks), per_block, 0.7);
        let valid = u64::from(blocks * per_block) * 7 / 10;
        let written = vec![per_block; blocks as usize];
        let drawn = shape.draw(per_block, written, valid, &mut Seed(1).stream("test.shape", 0));
        let held = |block| (0..per_block).filter(|extent| drawn.is_valid(block, *extent)).count() as u32;
        (0..blocks).map(held).collect()
    }

    #[test]
    fn as_much_is_valid_as_is_asked_for_and_more_in_younger_blocks() {
        for preference in [Preference::Oldest, Preference::Fewest, Preference::Random] {
            let held = drawn(preference);
            assert_eq!(held.iter().sum::<u32>(), 89_600);
            let [old, young] = [&held[..200], &held[1_800..]].map(|held| held.iter().sum::<u32>());
            assert!(old + 1_000 < young, "{preference:?}: {old} {young}");
        }
    }

    #[test]
    fn by_chance_nearly_as_much_is_valid_as_is_asked_for() {
        for preference in [Preference::Oldest, Preference::Fewest, Preference::Random] {
            let shape = Shape::of(preference, 2_000.0, 64, 0.7);
            let mut random = Seed(2).stream("test.shape", 0);
            let held = shape.draw_survivors(64, vec![64; 2_000], &mut random).held();
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
        // Blocks with fewer valid pages were collected.
        let least = held.iter().min().copied().unwrap_or_default();
        assert!((26..=32).contains(&least), "{least}");
    }

    #[test]
    fn blocks_that_are_shorter_than_the_victims_of_others_stand_too() {
        let shape = Shape::of(Preference::Fewest, 390.0, 64, 0.9);
        let written: Vec<u32> = (0..400).map(|block| if block < 380 { 64 } else { 32 }).collect();
        let valid = (written.iter().sum::<u32>() * 9 / 10).into();
        let drawn = shape.draw(64, written, valid, &mut Seed(4).stream("test.shape", 0));
        let held = |block: u32| (0..64).filter(|extent| drawn.is_valid(block, *extent)).count();
        assert_eq!((0..400).map(held).sum::<usize>() as u64, valid);
        assert!((380..400).all(|block| (24..=32).contains(&held(block))), "they are young");
    }

    /// Blocks of 60 units, where others have 64 and victims 57 valid ones, become victims much younger than
    /// others. At the age of others they would be drawn forever.
    #[test]
    fn blocks_that_are_a_little_shorter_than_others_are_younger() {
        let shape = Shape::of(Preference::Fewest, 400.0, 64, 0.94);
        let written: Vec<u32> = (0..400).map(|block| if block < 20 { 60 } else { 64 }).collect();
        let valid = u64::from(written.iter().sum::<u32>()) * 94 / 100;
        let drawn = shape.draw(64, written, valid, &mut Seed(5).stream("test.shape", 0));
        assert_eq!(drawn.held(), valid);
    }

    #[test]
    fn victims_are_as_valid_as_the_equations_say() {
        // Large blocks behave as with FIFO. A victim of two units has one valid unit: after a lifetime of one
        // half, one of two is lost.
        let large = Shape::victim_valid_pages(100_000, 0.5 / std::f64::consts::LN_2);
        assert!((large - 0.5).abs() < 1e-3, "{large}");
        assert!((Shape::victim_valid_pages(2, 1.0) - 0.5).abs() < 1e-3);
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
