//! The extended parameter page: sections that follow the copies of the parameter page. Only ECC sections are
//! supported; other sections are skipped.

use super::copies::MIN_COPIES;
use super::{Field, PageError, ParameterPage, Scaled, check_crc, check_signature};

/// The first bytes of every extended page, after its CRC.
const SIGNATURE: [u8; 4] = *b"EPPS";
/// Offset of the signature. The CRC is before it, and covers all bytes from here.
const COVERED_FROM: usize = 2;
/// Offset of the types and lengths of the sections.
const SECTIONS_AT: usize = 16;
/// Maximum number of sections.
const MAX_SECTIONS: usize = 8;
/// Offset of the first section.
const HEADER: usize = SECTIONS_AT + 2 * MAX_SECTIONS;
/// Unit of lengths, in bytes.
const UNIT: usize = 16;
/// Type of a section with an ECC requirement (Linux `onfi.h`).
const ECC_SECTION: u8 = 2;

/// The ECC that the host must provide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ecc {
    /// Bits to correct in a code word.
    pub bits: u8,
    /// Power of two of the code word's length in bytes.
    pub codeword_power: u8,
    /// Maximum bad blocks of a LUN with this ECC.
    pub most_bad_blocks: u16,
    /// Endurance of a block with this ECC, in erases.
    pub endurance: Scaled,
}

impl Ecc {
    fn put(&self, to: &mut [u8]) {
        to[..2].copy_from_slice(&[self.bits, self.codeword_power]);
        self.most_bad_blocks.put(&mut to[2..4]);
        self.endurance.put(&mut to[4..6]);
    }

    fn take(from: &[u8]) -> Self {
        Self {
            bits: from[0],
            codeword_power: from[1],
            most_bad_blocks: u16::take(&from[2..4]),
            endurance: Scaled::take(&from[4..6]),
        }
    }
}

/// An extended parameter page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtendedPage {
    /// Alternative ECC requirements; at most eight are written.
    pub ecc: Vec<Ecc>,
}

impl ExtendedPage {
    /// Length of the page in bytes.
    pub fn length(&self) -> usize {
        HEADER + self.ecc.len().min(MAX_SECTIONS) * UNIT
    }

    /// Encodes the page with signature and CRC.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.length()];
        bytes[COVERED_FROM..COVERED_FROM + SIGNATURE.len()].copy_from_slice(&SIGNATURE);
        for (section, ecc) in self.ecc.iter().take(MAX_SECTIONS).enumerate() {
            bytes[SECTIONS_AT + 2 * section..][..2].copy_from_slice(&[ECC_SECTION, 1]);
            ecc.put(&mut bytes[HEADER + section * UNIT..][..UNIT]);
        }
        let crc = super::crc16(&bytes[COVERED_FROM..]);
        crc.put(&mut bytes[..COVERED_FROM]);
        bytes
    }

    /// Decodes a page. The parameter page gives the length of the extended page.
    ///
    /// # Errors
    /// Too few bytes, a wrong signature, a wrong CRC, or a section that ends beyond the page.
    pub fn decode(bytes: &[u8]) -> Result<Self, PageError> {
        if bytes.len() < HEADER {
            return Err(PageError::Short { found: bytes.len(), wanted: HEADER });
        }
        check_signature(&bytes[COVERED_FROM..COVERED_FROM + SIGNATURE.len()], SIGNATURE)?;
        check_crc(u16::take(&bytes[..COVERED_FROM]), &bytes[COVERED_FROM..])?;
        let mut page = Self::default();
        let mut begin = HEADER;
        for (section, entry) in bytes[SECTIONS_AT..HEADER].chunks_exact(2).enumerate() {
            let end = begin + usize::from(entry[1]) * UNIT;
            let beyond = PageError::Section { section, end, length: bytes.len() };
            let content = bytes.get(begin..end).ok_or(beyond)?;
            if entry[0] == ECC_SECTION && !content.is_empty() {
                page.ecc.push(Ecc::take(content));
            }
            begin = end;
        }
        Ok(page)
    }
}

impl ParameterPage {
    /// The data of Read Parameter Page: as many copies as the page states, at least three, then as many
    /// copies of the extended page, if there is one.
    pub fn data(&self, extended: Option<&ExtendedPage>) -> Vec<u8> {
        let count = usize::from(self.parameter_pages).max(MIN_COPIES);
        let mut bytes = self.copies(count);
        if let Some(extended) = extended {
            bytes.extend(extended.encode().repeat(count));
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::PageFeatures;
    use super::super::tests::example;
    use super::*;
    use crate::onfi::crc::crc16;

    fn extended() -> ExtendedPage {
        let ecc = |bits, codeword_power| Ecc {
            bits,
            codeword_power,
            most_bad_blocks: 40,
            endurance: Scaled { value: 3, power: 3 },
        };
        ExtendedPage { ecc: vec![ecc(40, 10), ecc(24, 9)] }
    }

    #[test]
    fn an_extended_page_comes_back_as_it_was_written() {
        let bytes = extended().encode();
        assert_eq!(bytes.len(), 64);
        assert_eq!(bytes[2..6], *b"EPPS");
        assert_eq!((&bytes[16..20], &bytes[32..38]), (&[2, 1, 2, 1][..], &[40, 10, 40, 0, 3, 3][..]));
        assert_eq!(ExtendedPage::decode(&bytes), Ok(extended()));
    }

    #[test]
    fn a_host_finds_the_extended_page_after_the_copies() {
        let page = ParameterPage {
            features: example().features.with(PageFeatures::EXTENDED_PAGE, true),
            extended_units: (extended().length() / UNIT) as u16,
            ecc_bits: 0xff,
            ..example()
        };
        let bytes = page.data(Some(&extended()));
        let found = ParameterPage::decode(&bytes).expect("the first copy is whole");
        assert!(found.features.has(PageFeatures::EXTENDED_PAGE) && found.ecc_bits == 0xff);
        let begin = usize::from(found.parameter_pages) * super::super::PAGE_LENGTH;
        let length = usize::from(found.extended_units) * UNIT;
        assert_eq!(ExtendedPage::decode(&bytes[begin..begin + length]), Ok(extended()));
        assert_eq!(bytes.len(), begin + 3 * length);
    }

    #[test]
    fn a_damaged_extended_page_says_what_is_wrong() {
        let mut bytes = extended().encode();
        bytes[33] ^= 1;
        assert!(matches!(ExtendedPage::decode(&bytes), Err(PageError::Crc { .. })));
        assert!(matches!(
            ExtendedPage::decode(&bytes[..31]),
            Err(PageError::Short { found: 31, wanted: 32 })
        ));
        bytes[2] = b'F';
        let wrong = ExtendedPage::decode(&bytes).expect_err("the signature is wrong").to_string();
        assert_eq!(wrong, "found the signature `FPPS`, wanted `EPPS`");
    }

    #[test]
    fn a_section_beyond_the_page_is_refused() {
        let mut bytes = extended().encode();
        bytes[19] = 2;
        let crc = crc16(&bytes[COVERED_FROM..]);
        bytes[..2].copy_from_slice(&crc.to_le_bytes());
        let wrong = PageError::Section { section: 1, end: 80, length: 64 };
        assert_eq!(ExtendedPage::decode(&bytes), Err(wrong));
    }
}
