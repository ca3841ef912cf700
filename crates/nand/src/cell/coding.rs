//! Codings: the bits that each state of a cell encodes.

use std::fmt;

/// The reason why a coding is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodingError {
    /// The number of codes is not a power of two from 2 to 16.
    Count(usize),
    /// A code is too large, or occurs twice.
    NoPermutation(u8),
    /// Neighbouring states differ in more than one bit.
    NotGray(usize),
}

impl fmt::Display for CodingError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(out, "{count} codes"),
            Self::NoPermutation(code) => write!(out, "{code} twice, or beyond the bits of a cell"),
            Self::NotGray(state) => {
                write!(out, "more than one bit between states {state} and {}", state + 1)
            }
        }
    }
}

/// The bits that each state encodes, the erased state first. Bit 0 belongs to the lowest page of a word line.
/// Neighbouring states differ in one bit (Gray code), so that a misread between neighbours is one bit error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coding {
    codes: Vec<u8>,
}

impl Coding {
    /// The coding in which state `n` is encoded as `codes[n]`.
    ///
    /// # Errors
    /// If the codes are not a permutation or not a Gray code.
    pub fn new(codes: &[u8]) -> Result<Self, CodingError> {
        if !(codes.len().is_power_of_two() && (2..=16).contains(&codes.len())) {
            return Err(CodingError::Count(codes.len()));
        }
        for (state, code) in codes.iter().enumerate() {
            if usize::from(*code) >= codes.len() || codes[..state].contains(code) {
                return Err(CodingError::NoPermutation(*code));
            }
        }
        match codes.windows(2).position(|pair| (pair[0] ^ pair[1]).count_ones() != 1) {
            Some(state) => Err(CodingError::NotGray(state)),
            None => Ok(Self { codes: codes.to_vec() }),
        }
    }

    /// The usual coding of cells of `bits` bits, 1 to 4. The erased state is encoded as all ones. Three bits:
    /// the pages of a word line need 2, 3 and 2 sensings, as in 3D TLC. Four bits: the reflected Gray code
    /// with 1, 2, 4 and 8 sensings; chosen, as vendors differ.
    pub fn usual(bits: u32) -> Self {
        assert!((1..=4).contains(&bits), "cells of 1 to 4 bits");
        let mask = (1u8 << bits) - 1;
        let codes = match bits {
            3 => vec![0b111, 0b110, 0b100, 0b000, 0b010, 0b011, 0b001, 0b101],
            _ => (0..=mask).map(|state| reversed(!(state ^ (state >> 1)) & mask, bits)).collect(),
        };
        Self::new(&codes).expect("they are Gray codes")
    }

    /// The codes, by state.
    pub fn codes(&self) -> &[u8] {
        &self.codes
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        self.codes.len()
    }

    /// Bits per cell.
    pub fn bits(&self) -> u32 {
        self.codes.len().ilog2()
    }

    /// The bit of page `page` in `state`.
    pub fn bit(&self, state: usize, page: u32) -> bool {
        self.codes[state] >> page & 1 == 1
    }

    /// The boundaries that are sensed for a page: boundary `i` lies between states `i` and `i + 1`.
    pub fn sensed(&self, page: u32) -> impl Iterator<Item = usize> + '_ {
        (0..self.states() - 1).filter(move |at| self.bit(*at, page) != self.bit(at + 1, page))
    }
}

/// The lowest `bits` bits in reverse order, so that the lowest page has the fewest sensings.
fn reversed(code: u8, bits: u32) -> u8 {
    (0..bits).fold(0, |turned, bit| turned << 1 | code >> bit & 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coding_is_a_permutation_in_which_neighbours_differ_in_one_bit() {
        assert_eq!(Coding::new(&[3, 1, 0]), Err(CodingError::Count(3)));
        assert_eq!(Coding::new(&[3, 1, 1, 2]), Err(CodingError::NoPermutation(1)));
        assert_eq!(Coding::new(&[3, 1, 2, 0]), Err(CodingError::NotGray(1)));
        assert_eq!(Coding::new(&[3, 1, 0, 2]).map(|coding| coding.bits()), Ok(2));
    }

    #[test]
    fn pages_of_usual_codings_are_sensed_as_often_as_vendors_do() {
        for (bits, wanted) in [(1, vec![1]), (2, vec![1, 2]), (3, vec![2, 3, 2]), (4, vec![1, 2, 4, 8])] {
            let coding = Coding::usual(bits);
            let senses: Vec<usize> = (0..bits).map(|page| coding.sensed(page).count()).collect();
            assert_eq!(senses, wanted, "{bits} bits");
            assert_eq!(usize::from(coding.codes()[0]), coding.states() - 1, "erased cells read as ones");
        }
    }
}
