//! Content of a sector: a tag that represents the sector's data, and on which parity can be computed.
//!
//! A content is a vector over the field of two elements. The parity of two contents is their sum, as for
//! data. The content of tag `t` is the column (1, t, t^3, t^5) over GF(2^32). Such columns form the
//! parity-check matrix of an extended BCH code of distance 8, so any seven different tags are independent.
//! Hence the parity of up to three tags differs from the parity of any other four, and the parity of two to
//! six tags is never the content of another tag.

mod tracked;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use tracked::{FoundBlock, TrackedContents};

/// Content of a sector. It is the content of the tag of the command that wrote the sector, or a content that
/// this command carried. It can also be [`ZEROES`], [`FILLED`], [`NOTHING`], or the [`parity`] of contents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Content(u128);

/// Content of zeroes: never written, discarded, or written as zeroes. The parity of any content with zeroes
/// is that content.
pub const ZEROES: Content = Content(0);
/// Content of data that a device has from before its first tracked command.
pub const FILLED: Content = Content(1 << 97);
/// Mark for a layer above devices. A sector that the layer wrote for itself has the parity of this mark and
/// another content. No tag has this content.
pub const MARK: Content = Content(1 << 98);
/// Content of a part of a page that was programmed without having been read. Parity computed from it is this
/// content again; no other parity is.
pub const NOTHING: Content = Content(1 << 127);

/// Coefficients below x^32 of the polynomial x^32 + x^7 + x^3 + x^2 + 1. It is irreducible over the field of
/// two elements (Seroussi, Table of low-weight binary irreducible polynomials, 1998). A test checks this.
const MODULUS: u32 = 0b1000_1101;

/// The product of two elements of GF(2^32).
const fn times(a: u32, b: u32) -> u32 {
    let (mut a, mut b, mut product) = (a, b, 0);
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        let carry = a >> 31;
        a = (a << 1) ^ (MODULUS * carry);
        b >>= 1;
    }
    product
}

impl Content {
    /// The content of a tag.
    pub const fn of(tag: u32) -> Self {
        let square = times(tag, tag);
        let cube = times(square, tag);
        let fifth = times(cube, square);
        Self(1 << 96 | (fifth as u128) << 64 | (cube as u128) << 32 | tag as u128)
    }

    /// The tag of this content, if it is the content of a tag.
    pub const fn tag(self) -> Option<u32> {
        let tag = self.0 as u32;
        if Self::of(tag).0 == self.0 { Some(tag) } else { None }
    }
}

/// The parity of two contents.
pub const fn parity(a: Content, b: Content) -> Content {
    if a.0 == NOTHING.0 || b.0 == NOTHING.0 { NOTHING } else { Content(a.0 ^ b.0) }
}

/// The parity of any number of contents; [`ZEROES`] for none.
pub fn parity_of(contents: impl IntoIterator<Item = Content>) -> Content {
    contents.into_iter().fold(ZEROES, parity)
}

impl fmt::Debug for Content {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (*self, self.tag()) {
            (ZEROES, _) => out.write_str("zeroes"),
            (FILLED, _) => out.write_str("filled"),
            (NOTHING, _) => out.write_str("nothing"),
            (_, Some(tag)) => write!(out, "tag {tag}"),
            (_, None) => write!(out, "parity {:x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The remainder of a division of polynomials over the field of two elements.
    fn remainder(mut a: u64, b: u64) -> u64 {
        while a != 0 && a.ilog2() >= b.ilog2() {
            a ^= b << (a.ilog2() - b.ilog2());
        }
        a
    }

    /// `x` squared this many times: x^(2^times).
    fn x_to_the_power_of_two_to(times_squared: u32) -> u32 {
        (0..times_squared).fold(2, |x, _| times(x, x))
    }

    #[test]
    fn the_modulus_is_irreducible() {
        // Rabin's test: x^(2^32) = x, and x^(2^16) - x has no factor in common with it, 2 being the only
        // prime factor of 32.
        assert_eq!(x_to_the_power_of_two_to(32), 2);
        let (mut a, mut b) = (1 << 32 | u64::from(MODULUS), u64::from(x_to_the_power_of_two_to(16) ^ 2));
        while b != 0 {
            (a, b) = (b, remainder(a, b));
        }
        assert_eq!(a, 1, "the greatest common divisor");
    }

    #[test]
    fn contents_of_their_own_are_no_tags() {
        for content in [ZEROES, FILLED, MARK, NOTHING] {
            assert_eq!(content.tag(), None, "{content:?}");
        }
        assert_eq!(
            format!("{:?}", [ZEROES, FILLED, NOTHING, Content::of(0)]),
            "[zeroes, filled, nothing, tag 0]"
        );
    }

    fn content() -> impl Strategy<Value = Content> {
        let tag = prop_oneof![0..4_u32, any::<u32>()].prop_map(Content::of);
        let one = prop_oneof![4 => tag, 1 => Just(ZEROES), 1 => Just(FILLED), 1 => Just(MARK)];
        prop::collection::vec(one, 1..5).prop_map(parity_of)
    }

    /// Distinct tags. Small ones are frequent, as in short tests.
    fn tags() -> impl Strategy<Value = BTreeSet<u32>> {
        let tag = prop_oneof![0..16_u32, any::<u32>()];
        prop::collection::btree_set(tag, 1..=7)
    }

    proptest! {
        #[test]
        fn parity_is_a_sum_in_which_everything_is_its_own_opposite(a in content(), b in content(), c in content()) {
            prop_assert_eq!(parity(a, b), parity(b, a));
            prop_assert_eq!(parity(parity(a, b), c), parity(a, parity(b, c)));
            prop_assert_eq!(parity(a, ZEROES), a);
            prop_assert_eq!(parity(a, a), ZEROES);
            prop_assert_eq!(parity(parity(a, b), b), a);
        }

        #[test]
        fn nothing_is_no_parity_and_what_is_computed_from_it_is_nothing(a in content(), b in content()) {
            prop_assert_ne!(parity(a, b), NOTHING);
            prop_assert_eq!(parity(a, NOTHING), NOTHING);
            prop_assert_eq!(parity(NOTHING, a), NOTHING);
            prop_assert_eq!(parity(NOTHING, NOTHING), NOTHING);
        }

        #[test]
        fn up_to_seven_tags_are_independent(tags in tags()) {
            let all = parity_of(tags.iter().copied().map(Content::of));
            prop_assert_ne!(all, ZEROES);
            for special in [FILLED, MARK, parity(FILLED, MARK)] {
                prop_assert_ne!(all, special);
            }
            prop_assert_eq!(all.tag().is_some(), tags.len() == 1, "{:?}", tags);
        }

        #[test]
        fn a_tag_is_found_in_its_content(tag in any::<u32>()) {
            prop_assert_eq!(Content::of(tag).tag(), Some(tag));
        }
    }
}
