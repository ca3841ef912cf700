//! Codings of cells that are reprogrammed without an erase (ReSSD, section 3.2).
//!
//! Two bits use four neighbouring states of eight. A rewrite of the low bit (LSB) moves the four states up by
//! two, and the codes [a b c d] become [c d a b]. A rewrite of the high bit (MSB) moves them up by one, and
//! the codes become [b a d c]. Two rewrites of any kind fit in eight states, and no threshold voltage ever
//! falls.
//!
//! ```
//! use wordline_nand::cell::{Bit, TwoBitCoding};
//!
//! let first = TwoBitCoding::START; // 11 01 00 10 in ER to P3
//! let second = first.after(Bit::Low).expect("two rewrites fit"); // the low bit is written anew
//! assert_eq!(first.state_of(0b00), 2);
//! assert_eq!(second.state_of(0b01), 5, "00 in P2 becomes 01 in P5");
//! assert_eq!((second.rewrites(), second.distribution_id()), (1, 0b01));
//! ```

use super::coding::Coding;

/// One of the two bits of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bit {
    /// The least significant bit, of the lower page.
    Low,
    /// The most significant bit, of the upper page.
    High,
}

impl Bit {
    /// Both bits.
    pub const BOTH: [Self; 2] = [Self::Low, Self::High];

    /// Mask of the bit in a code.
    pub fn mask(self) -> u8 {
        match self {
            Self::Low => 0b01,
            Self::High => 0b10,
        }
    }
}

/// The coding of two bits in a cell of eight states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoBitCoding {
    base: u8,
    codes: [u8; 4],
    rewrites: u8,
}

impl TwoBitCoding {
    /// Maximum number of rewrites between erases.
    pub const MAX_REWRITES: u8 = 2;

    /// The coding after the first program: 11 01 00 10 in ER to P3.
    pub const START: Self = Self { base: 0, codes: [0b11, 0b01, 0b00, 0b10], rewrites: 0 };

    /// The coding after a rewrite of one bit. `None` after [`MAX_REWRITES`](Self::MAX_REWRITES).
    pub fn after(self, rewritten: Bit) -> Option<Self> {
        if self.rewrites == Self::MAX_REWRITES {
            return None;
        }
        let [a, b, c, d] = self.codes;
        let (base, codes) = match rewritten {
            Bit::Low => (self.base + 2, [c, d, a, b]),
            Bit::High => (self.base + 1, [b, a, d, c]),
        };
        Some(Self { base, codes, rewrites: self.rewrites + 1 })
    }

    /// The coding after a history of rewrites. `None` if the history has too many.
    pub fn of_history(history: &[Bit]) -> Option<Self> {
        history.iter().try_fold(Self::START, |coding, bit| coding.after(*bit))
    }

    /// Every coding that a cell may have, with a history that leads to it. There are seven histories and six
    /// codings.
    pub fn all() -> Vec<(Vec<Bit>, Self)> {
        let mut all = vec![(Vec::new(), Self::START)];
        let mut next = 0;
        while next < all.len() {
            let (history, coding) = all[next].clone();
            for bit in Bit::BOTH {
                if let Some(after) = coding.after(bit) {
                    all.push(([&history[..], &[bit]].concat(), after));
                }
            }
            next += 1;
        }
        all
    }

    /// The coding by the metadata that the hardware stores for a word line: the number of rewrites (RPCnt)
    /// and the Distribution ID.
    pub fn of_status(rewrites: u8, id: u8) -> Option<Self> {
        let fits = |coding: &Self| (coding.rewrites, coding.distribution_id()) == (rewrites, id);
        Self::all().into_iter().map(|(_, coding)| coding).find(fits)
    }

    /// The lowest of the four states.
    pub fn base(self) -> usize {
        usize::from(self.base)
    }

    /// The codes of the four states (MSB LSB).
    pub fn codes(self) -> [u8; 4] {
        self.codes
    }

    /// Number of rewrites: RPCnt.
    pub fn rewrites(self) -> u8 {
        self.rewrites
    }

    /// The Distribution ID: 00 for ER to P3 and for P1 to P4, which RPCnt distinguishes; then one more for
    /// each state higher.
    pub fn distribution_id(self) -> u8 {
        self.base.saturating_sub(1)
    }

    /// The state that encodes `code`.
    pub fn state_of(self, code: u8) -> usize {
        let at = self.codes.iter().position(|known| *known == code).expect("a code has two bits");
        self.base() + at
    }

    /// The codes as a coding of four states, with boundaries counted from the base.
    pub fn coding(self) -> Coding {
        Coding::new(&self.codes).expect("it is a Gray code")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_codings_are_those_of_the_paper() {
        /// History, base, codes, (RPCnt, Distribution ID).
        type Row = (&'static [Bit], usize, [u8; 4], (u8, u8));
        use Bit::{High, Low};
        let table: [Row; 7] = [
            (&[], 0, [0b11, 0b01, 0b00, 0b10], (0, 0b00)),
            (&[Low], 2, [0b00, 0b10, 0b11, 0b01], (1, 0b01)),
            (&[High], 1, [0b01, 0b11, 0b10, 0b00], (1, 0b00)),
            (&[Low, Low], 4, [0b11, 0b01, 0b00, 0b10], (2, 0b11)),
            (&[Low, High], 3, [0b10, 0b00, 0b01, 0b11], (2, 0b10)),
            (&[High, Low], 3, [0b10, 0b00, 0b01, 0b11], (2, 0b10)),
            (&[High, High], 2, [0b11, 0b01, 0b00, 0b10], (2, 0b01)),
        ];
        assert_eq!(TwoBitCoding::all().len(), table.len());
        for (history, base, codes, status) in table {
            let coding = TwoBitCoding::of_history(history).expect("two rewrites fit");
            assert_eq!((coding.base(), coding.codes()), (base, codes), "{history:?}");
            assert_eq!((coding.rewrites(), coding.distribution_id()), status, "{history:?}");
        }
        assert_eq!(TwoBitCoding::of_history(&[Low, Low, Low]), None);
    }

    #[test]
    fn no_rewrite_of_any_value_lowers_a_cell_and_the_other_bit_keeps_its_value() {
        let mut transitions = 0;
        for (_, old) in TwoBitCoding::all() {
            for (bit, code, value) in Bit::BOTH
                .into_iter()
                .flat_map(|bit| (0..4).flat_map(move |code| [(bit, code, 0), (bit, code, 3)]))
            {
                let Some(new) = old.after(bit) else { continue };
                let written: u8 = (code & !bit.mask()) | (value & bit.mask());
                let (from, to) = (old.state_of(code), new.state_of(written));
                assert!(from <= to && to <= 7, "{bit:?} of {code:02b} to {written:02b}: {from} to {to}");
                transitions += 1;
            }
        }
        assert_eq!(transitions, 3 * 2 * 4 * 2, "three codings may be rewritten");
    }

    #[test]
    fn the_low_bit_takes_one_sensing_and_the_high_bit_two() {
        for (history, coding) in TwoBitCoding::all() {
            let coding = coding.coding();
            assert_eq!((coding.sensed(0).count(), coding.sensed(1).count()), (1, 2), "{history:?}");
        }
    }

    #[test]
    fn what_the_hardware_stores_names_one_coding() {
        let mut by_status = BTreeMap::new();
        for (history, coding) in TwoBitCoding::all() {
            let status = (coding.rewrites(), coding.distribution_id());
            let known = *by_status.entry(status).or_insert(coding);
            assert_eq!(known, coding, "{history:?}: {status:?} names two codings");
            assert_eq!(TwoBitCoding::of_status(status.0, status.1), Some(coding));
        }
        assert_eq!(by_status.len(), 6);
        assert_eq!(TwoBitCoding::of_status(0, 1), None);
    }

    /// Section 3.2, the example of figure 3(a): 00, then 01 in P5, then 00 in P6.
    #[test]
    fn the_example_of_the_text_ends_in_p6() {
        let middle = TwoBitCoding::START.after(Bit::Low).expect("the first rewrite fits");
        assert_eq!((middle.state_of(0b01), middle.rewrites(), middle.distribution_id()), (5, 1, 0b01));
        let last = middle.after(Bit::Low).expect("the second rewrite fits");
        assert_eq!((last.state_of(0b00), last.rewrites(), last.distribution_id()), (6, 2, 0b11));
        // Figure 3(b): 11 and 01 in P4 and P5, then 00 in P4 and 11 in P6.
        let other = middle.after(Bit::High).expect("the second rewrite fits");
        assert_eq!((middle.state_of(0b11), other.state_of(0b00), other.state_of(0b11)), (4, 4, 6));
    }
}
