//! The copies of a parameter page, and recovery from damaged ones.

use std::fmt;

use super::{PAGE_LENGTH, PageError, ParameterPage};

/// Minimum number of copies (ONFI).
pub const MIN_COPIES: usize = 3;

/// The source of a recovered page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveredFrom {
    /// This copy, counted from 0; the copies before it are damaged.
    Copy(usize),
    /// The bitwise majority of the copies, all of which are damaged.
    Majority,
}

/// A recovered page and its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The page.
    pub page: ParameterPage,
    /// Source of the page.
    pub from: RecoveredFrom,
}

/// The reason why no page could be recovered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrecoverable {
    /// The error of each copy, in order.
    pub copies: Vec<PageError>,
    /// The error of their bitwise majority.
    pub majority: PageError,
}

impl fmt::Display for Unrecoverable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.copies.iter().enumerate() {
            writeln!(out, "copy {number}: {error}")?;
        }
        write!(out, "majority of {} copies: {}", self.copies.len(), self.majority)
    }
}

impl std::error::Error for Unrecoverable {}

impl ParameterPage {
    /// `count` concatenated copies of the page, at least three.
    pub fn copies(&self, count: usize) -> Vec<u8> {
        self.encode().repeat(count.max(MIN_COPIES))
    }

    /// Recovers the page from `bytes`, concatenated copies: the first valid copy, otherwise their bitwise
    /// majority. Bytes after the last whole copy are ignored.
    ///
    /// # Errors
    /// The error of each copy and of their majority, if none is valid.
    pub fn recover(bytes: &[u8]) -> Result<Recovered, Unrecoverable> {
        let mut wrong = Vec::new();
        for (number, copy) in bytes.chunks_exact(PAGE_LENGTH).enumerate() {
            match Self::decode(copy) {
                Ok(page) => return Ok(Recovered { page, from: RecoveredFrom::Copy(number) }),
                Err(error) => wrong.push(error),
            }
        }
        if wrong.is_empty() {
            let short = PageError::Short { found: bytes.len(), wanted: PAGE_LENGTH };
            return Err(Unrecoverable { copies: wrong, majority: short });
        }
        match Self::decode(&majority(bytes)) {
            Ok(page) => Ok(Recovered { page, from: RecoveredFrom::Majority }),
            Err(majority) => Err(Unrecoverable { copies: wrong, majority }),
        }
    }
}

/// The majority of each bit over the copies. On a tie it is the bit of the first copy (chosen: hosts read an
/// odd number of copies).
fn majority(bytes: &[u8]) -> [u8; PAGE_LENGTH] {
    let copies = bytes.chunks_exact(PAGE_LENGTH);
    let count = copies.len();
    std::array::from_fn(|at| {
        (0..8).fold(0, |byte, bit| {
            let ones = copies.clone().filter(|copy| copy[at] >> bit & 1 == 1).count();
            let set = if ones * 2 == count { bytes[at] >> bit & 1 == 1 } else { ones * 2 > count };
            byte | u8::from(set) << bit
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;

    #[test]
    fn a_page_is_kept_three_times_at_least() {
        assert_eq!(example().copies(0).len(), 3 * PAGE_LENGTH);
        assert_eq!(example().copies(5).len(), 5 * PAGE_LENGTH);
    }

    #[test]
    fn every_single_bit_error_in_one_copy_is_recovered() {
        let whole = example().copies(3);
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let damaged = bit / 8 / PAGE_LENGTH;
            let from = RecoveredFrom::Copy(usize::from(damaged == 0));
            assert_eq!(ParameterPage::recover(&bytes), Ok(Recovered { page: example(), from }), "bit {bit}");
        }
    }

    #[test]
    fn three_damaged_copies_are_outvoted_bit_by_bit() {
        let mut bytes = example().copies(3);
        for (copy, byte) in [(0, 0), (1, 82), (2, 255)] {
            bytes[copy * PAGE_LENGTH + byte] ^= 0xff;
        }
        let recovered = ParameterPage::recover(&bytes).expect("two of three copies agree on each bit");
        assert_eq!(recovered, Recovered { page: example(), from: RecoveredFrom::Majority });
    }

    #[test]
    fn what_cannot_be_recovered_names_every_copy() {
        let mut bytes = example().copies(3);
        bytes[0] = b'P';
        for copy in [1, 2] {
            bytes[copy * PAGE_LENGTH + 110] ^= 1;
        }
        let wrong = ParameterPage::recover(&bytes).expect_err("two copies agree on a wrong bit").to_string();
        let lines: Vec<&str> = wrong.lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[0], "copy 0: found the signature `PNFI`, wanted `ONFI`");
        assert!(
            lines[2].starts_with("copy 2: found CRC 9847h") && lines[3].starts_with("majority of 3 copies")
        );
    }

    #[test]
    fn fewer_bytes_than_a_copy_are_no_copy() {
        let wrong = ParameterPage::recover(&[0; 255]).expect_err("too short");
        assert_eq!(wrong.to_string(), "majority of 0 copies: found 255 bytes, wanted 256");
    }
}
