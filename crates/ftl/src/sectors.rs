//! Sets of sectors within a mapping unit.

use serde::{Deserialize, Serialize};

/// A set of sectors of a mapping unit, as a bitmap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sectors([u64; WORDS]);

const WORDS: usize = 4;

impl Sectors {
    /// Most sectors of a mapping unit: 128 KiB.
    pub const MOST: u32 = WORDS as u32 * 64;

    /// Empty set.
    pub const NONE: Self = Self([0; WORDS]);

    /// Sectors from `from` up to `to` (exclusive).
    #[inline]
    pub fn range(from: u32, to: u32) -> Self {
        debug_assert!(from < to && to <= Self::MOST, "sectors {from} to {to} of a mapping unit");
        let mut words = [0; WORDS];
        // Units of up to 32 KiB need only the first word.
        if to <= 64 {
            words[0] = ones(to - from) << from;
            return Self(words);
        }
        for (word, start) in words.iter_mut().zip((0..).step_by(64)) {
            let (low, high) = (from.clamp(start, start + 64) - start, to.clamp(start, start + 64) - start);
            if low < high {
                *word = ones(high - low) << low;
            }
        }
        Self(words)
    }

    /// Number of sectors.
    #[inline]
    pub fn count(self) -> u32 {
        let [first, others @ ..] = self.0;
        let beyond = if others == [0; WORDS - 1] { 0 } else { others.map(u64::count_ones).iter().sum() };
        first.count_ones() + beyond
    }

    /// A bit for each sector from `begin` on. All sectors must be there. 0 if 64 bits do not suffice.
    pub fn bits_from(self, begin: u32) -> u64 {
        let (word, shift) = (begin as usize / 64, begin % 64);
        let next = self.0.get(word + 1).filter(|_| shift > 0).map_or(0, |next| next << (64 - shift));
        let bits = self.0[word] >> shift | next;
        if bits.count_ones() == self.count() { bits } else { 0 }
    }

    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// Union.
    #[inline]
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// Difference: sectors that are not in `other`.
    #[inline]
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    /// Whether `other` is a subset.
    #[inline]
    pub fn covers(self, other: Self) -> bool {
        other.without(self).is_empty()
    }

    /// Intersection.
    #[inline]
    #[must_use]
    pub fn common(self, other: Self) -> Self {
        self.zip(other, |a, b| a & b)
    }

    #[inline]
    fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self(std::array::from_fn(|n| f(self.0[n], other.0[n])))
    }
}

/// A word with the lowest `count` bits set; `count` is from 1 to 64.
#[inline]
fn ones(count: u32) -> u64 {
    u64::MAX >> (64 - count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sectors_are_a_set(a in 0u32..256, some in 1u32..=256, c in 0u32..256, others in 1u32..=256) {
            let (b, d) = ((a + some).min(256), (c + others).min(256));
            let (one, two) = (Sectors::range(a, b), Sectors::range(c, d));
            let plain = |keep: &dyn Fn(bool, bool) -> bool| {
                (0..256).filter(|n| keep((a..b).contains(n), (c..d).contains(n))).count() as u32
            };
            prop_assert_eq!(one.count(), b - a);
            prop_assert_eq!(one.and(two).count(), plain(&|one, two| one || two));
            prop_assert_eq!(one.common(two).count(), plain(&|one, two| one && two));
            prop_assert_eq!(one.without(two).count(), plain(&|one, two| one && !two));
            prop_assert_eq!(one.covers(two), a <= c && d <= b);
            let bits = if b - a <= 64 { ones(b - a) } else { 0 };
            prop_assert_eq!(one.bits_from(a), bits);
        }
    }
}
