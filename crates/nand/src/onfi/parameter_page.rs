//! The parameter page: the 256-byte self-description of an ONFI part, protected by a CRC and stored in
//! several copies.

pub mod copies;
pub mod extended;
pub mod field;
pub mod simulated;

use std::fmt;

pub use copies::{Recovered, RecoveredFrom, Unrecoverable};
pub use extended::{Ecc, ExtendedPage};
pub use field::{
    AddressCycles, Field, Micros, MultiPlane, Nanos, Opaque, OptionalCommands, PageFeatures, Revisions,
    Scaled, Text,
};
pub use simulated::Saturated;

use super::crc::crc16;

/// Bytes of a parameter page.
pub const PAGE_LENGTH: usize = 256;
/// The first bytes of every parameter page.
pub const SIGNATURE: [u8; 4] = *b"ONFI";
/// Offset of the CRC over all bytes before it.
const CRC_OFFSET: usize = 254;

/// A row of the layout: the position of a field, and its encoding.
pub struct Row {
    /// First byte within the page.
    pub offset: usize,
    /// Width in bytes.
    pub width: usize,
    /// The meaning of the field.
    pub name: &'static str,
    put: fn(&ParameterPage, &mut [u8]),
    take: fn(&mut ParameterPage, &[u8]),
}

/// Defines the page and its layout table from rows of offset, field, type and name.
macro_rules! layout {
    ($($offset:literal $field:ident: $type:ty = $name:literal;)*) => {
        /// The parameter page of a part. Numbers have the width of their fields; reserved bytes are written
        /// as zero and ignored when read.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct ParameterPage {
            $(#[doc = concat!($name, " (from byte ", $offset, ").")] pub $field: $type,)*
        }

        /// Every field between signature and CRC, by offset.
        pub const LAYOUT: &[Row] = &[
            $(Row {
                offset: $offset,
                width: <$type as Field>::WIDTH,
                name: $name,
                put: |page, to| page.$field.put(to),
                take: |page, from| page.$field = Field::take(from),
            },)*
        ];
    };
}

// ONFI 1.0 to 5.0. Offsets and widths agree in Linux' `onfi.h`, in ATOSE's `nand_onfi_parameters.h` and in
// the ONFI 4.0 header of Phoenix-RTOS. Bytes 11 and 116 to 121 are from ONFI 5, 160 to 162 from ONFI 4.
layout! {
    4   revisions: Revisions = "revisions complied with";
    6   features: PageFeatures = "features";
    8   optional_commands: OptionalCommands = "optional commands";
    10  jtg_commands: u8 = "advanced commands common with JEDEC";
    11  training_commands: u8 = "training commands";
    12  extended_units: u16 = "length of the extended page, in units of 16 bytes";
    14  parameter_pages: u8 = "copies of the parameter page";
    32  manufacturer: Text<12> = "manufacturer";
    44  model: Text<20> = "model";
    64  jedec_manufacturer: u8 = "JEDEC code of the manufacturer";
    65  date_code: u16 = "date code";
    80  page_bytes: u32 = "data bytes of a page";
    84  spare_bytes: u16 = "spare bytes of a page";
    86  partial_page_bytes: u32 = "data bytes of a partial page (obsolete)";
    90  partial_spare_bytes: u16 = "spare bytes of a partial page (obsolete)";
    92  pages_per_block: u32 = "pages of a block";
    96  blocks_per_lun: u32 = "blocks of a LUN";
    100 luns: u8 = "LUNs";
    101 address_cycles: AddressCycles = "address cycles";
    102 bits_per_cell: u8 = "bits of a cell";
    103 most_bad_blocks: u16 = "most bad blocks of a LUN";
    105 endurance: Scaled = "erases that a block stands";
    107 valid_blocks: u8 = "blocks at the beginning that are guaranteed valid";
    108 valid_endurance: u16 = "erases that those stand; 0 states none";
    110 programs_per_page: u8 = "programs of a page between erases";
    111 partial_programs: u8 = "partial programming (obsolete)";
    112 ecc_bits: u8 = "bits to correct in 512 bytes; FFh: see the extended page";
    113 plane_bits: u8 = "plane address bits";
    114 multi_plane: MultiPlane = "multi-plane operations";
    115 ez_nand: u8 = "EZ-NAND support";
    116 nv_ddr3_modes_v5: u16 = "NV-DDR3 modes, ONFI 5";
    118 nv_lpddr4_modes: u32 = "NV-LPDDR4 modes, ONFI 5";
    128 pin_capacitance: u8 = "most capacitance of an I/O pin, in pF";
    129 sdr_modes: u16 = "SDR modes, bit n for mode n";
    131 sdr_cache_modes: u16 = "SDR modes of cache programs (obsolete)";
    133 t_prog: Micros = "longest program";
    135 t_bers: Micros = "longest erase";
    137 t_r: Micros = "longest page read";
    139 t_ccs: Nanos = "shortest change-column set-up";
    141 nv_ddr_modes: u8 = "NV-DDR modes";
    142 nv_ddr2_modes: u8 = "NV-DDR2 modes 0 to 7";
    143 nv_ddr_features: u8 = "bit 0 fast tCAD, 1 typical capacitances follow, 2 clock may stop";
    144 clock_capacitance: u16 = "typical capacitance of the clock pin";
    146 io_capacitance: u16 = "typical capacitance of an I/O pin";
    148 input_capacitance: u16 = "typical capacitance of an input pin";
    150 most_input_capacitance: u8 = "most capacitance of an input pin";
    151 drive_strength: u8 = "drive strengths";
    152 t_r_multi_plane: Micros = "longest multi-plane page read";
    154 t_adl: Nanos = "address to data with page register clear";
    156 t_r_ez_nand: Micros = "typical page read of EZ-NAND";
    158 nv_ddr2_features: u8 = "bit 0 self-termination, 1 matrix termination, 2 30 ohm, 3 and 4 differential RE and DQS";
    159 warm_up_cycles: u8 = "warm-up cycles in (high four bits) and out";
    160 nv_ddr3_modes: u16 = "NV-DDR3 modes, ONFI 4";
    162 nv_ddr2_modes_high: u8 = "NV-DDR2 modes 8 to 10";
    164 vendor_revision: u16 = "revision of the vendor's part";
    166 vendor: Opaque<88> = "the vendor's part";
}

/// The reason why bytes are not a valid parameter page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageError {
    /// Too few bytes.
    Short {
        /// Number of bytes.
        found: usize,
        /// Required number of bytes.
        wanted: usize,
    },
    /// A wrong signature.
    Signature {
        /// The bytes found.
        found: [u8; 4],
        /// The expected bytes.
        wanted: [u8; 4],
    },
    /// The CRC does not match the bytes.
    Crc {
        /// The CRC in the page.
        found: u16,
        /// The CRC of its bytes.
        wanted: u16,
    },
    /// A section of the extended page ends beyond the page.
    Section {
        /// Number of the section, from 0.
        section: usize,
        /// End of the section.
        end: usize,
        /// Bytes of the page.
        length: usize,
    },
}

impl fmt::Display for PageError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Short { found, wanted } => write!(out, "found {found} bytes, wanted {wanted}"),
            Self::Signature { found, wanted } => {
                let (found, wanted) = (found.escape_ascii(), wanted.escape_ascii());
                write!(out, "found the signature `{found}`, wanted `{wanted}`")
            }
            Self::Crc { found, wanted } => write!(out, "found CRC {found:04X}h, wanted {wanted:04X}h"),
            Self::Section { section, end, length } => {
                write!(out, "section {section}: found its end at byte {end}, wanted at most {length}")
            }
        }
    }
}

impl std::error::Error for PageError {}

impl ParameterPage {
    /// Encodes the page with signature and CRC.
    pub fn encode(&self) -> [u8; PAGE_LENGTH] {
        let mut bytes = [0; PAGE_LENGTH];
        bytes[..SIGNATURE.len()].copy_from_slice(&SIGNATURE);
        for row in LAYOUT {
            (row.put)(self, &mut bytes[row.offset..row.offset + row.width]);
        }
        let crc = crc16(&bytes[..CRC_OFFSET]);
        crc.put(&mut bytes[CRC_OFFSET..]);
        bytes
    }

    /// Decodes the page at the start of `bytes`.
    ///
    /// # Errors
    /// Too few bytes, a wrong signature, or a wrong CRC.
    pub fn decode(bytes: &[u8]) -> Result<Self, PageError> {
        let short = PageError::Short { found: bytes.len(), wanted: PAGE_LENGTH };
        let bytes = bytes.get(..PAGE_LENGTH).ok_or(short)?;
        check_signature(&bytes[..SIGNATURE.len()], SIGNATURE)?;
        check_crc(u16::take(&bytes[CRC_OFFSET..]), &bytes[..CRC_OFFSET])?;
        let mut page = Self::default();
        for row in LAYOUT {
            (row.take)(&mut page, &bytes[row.offset..row.offset + row.width]);
        }
        Ok(page)
    }

    /// Number of planes that the plane address bits can distinguish.
    pub fn planes(&self) -> u32 {
        1u32.checked_shl(u32::from(self.plane_bits & 0xf)).unwrap_or(u32::MAX)
    }
}

fn check_signature(found: &[u8], wanted: [u8; 4]) -> Result<(), PageError> {
    let found: [u8; 4] = found.try_into().expect("a signature has four bytes");
    if found == wanted { Ok(()) } else { Err(PageError::Signature { found, wanted }) }
}

fn check_crc(found: u16, covered: &[u8]) -> Result<(), PageError> {
    let wanted = crc16(covered);
    if found == wanted { Ok(()) } else { Err(PageError::Crc { found, wanted }) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A 4 KiB SLC part made up for the test; its CRC was computed with the algorithm of Linux' `onfi_crc16`.
    pub(crate) fn example() -> ParameterPage {
        ParameterPage {
            revisions: Revisions(0x007e),
            features: PageFeatures(0x0dd8),
            optional_commands: OptionalCommands(0x0fff),
            parameter_pages: 3,
            manufacturer: Text::new("EXAMPLE"),
            model: Text::new("SIM-SLC-4K"),
            jedec_manufacturer: 0x2c,
            page_bytes: 4096,
            spare_bytes: 224,
            pages_per_block: 128,
            blocks_per_lun: 2048,
            luns: 1,
            address_cycles: AddressCycles { column: 2, row: 3 },
            bits_per_cell: 1,
            most_bad_blocks: 40,
            endurance: Scaled { value: 6, power: 4 },
            valid_blocks: 1,
            programs_per_page: 4,
            ecc_bits: 8,
            plane_bits: 1,
            multi_plane: MultiPlane(0x0e),
            pin_capacitance: 10,
            sdr_modes: 0x003f,
            t_prog: Micros(500),
            t_bers: Micros(7000),
            t_r: Micros(25),
            t_ccs: Nanos(200),
            nv_ddr_modes: 0x3f,
            ..ParameterPage::default()
        }
    }

    #[test]
    fn the_example_page_has_its_crc() {
        let bytes = example().encode();
        assert_eq!(bytes[254..], [0x47, 0x98]);
        assert_eq!(bytes[100..103], [1, 0x23, 1]);
        assert_eq!(ParameterPage::decode(&bytes), Ok(example()));
    }

    #[test]
    fn the_example_page_is_read_in_words_and_units() {
        let page = example();
        assert_eq!((page.planes(), page.endurance.count()), (2, 60_000));
        assert_eq!((page.t_bers.duration().us(), page.t_ccs.duration().ns()), (7_000.0, 200));
        assert_eq!(
            (page.manufacturer.shown().as_str(), page.model.shown().as_str()),
            ("EXAMPLE", "SIM-SLC-4K")
        );
        assert!(page.features.has(PageFeatures::NV_DDR2) && !page.features.has(PageFeatures::NV_DDR));
    }

    #[test]
    fn no_field_overlaps_the_next_and_the_gaps_are_the_reserved_bytes() {
        let mut reserved = Vec::new();
        let mut end = SIGNATURE.len();
        for row in LAYOUT {
            assert!(row.offset >= end, "{} begins at {} within the field before it", row.name, row.offset);
            reserved.extend(end..row.offset);
            end = row.offset + row.width;
        }
        assert_eq!(end, CRC_OFFSET);
        let wanted: Vec<usize> = (15..32).chain(67..80).chain(122..128).chain([163]).collect();
        assert_eq!(reserved, wanted);
    }

    #[test]
    fn a_page_that_is_none_says_why() {
        let bytes = example().encode();
        let wrong = |bytes: &[u8]| ParameterPage::decode(bytes).expect_err("no page").to_string();
        assert_eq!(wrong(&bytes[..255]), "found 255 bytes, wanted 256");
        assert_eq!(wrong(&[0xff; 256]), r"found the signature `\xff\xff\xff\xff`, wanted `ONFI`");
        let mut damaged = bytes;
        damaged[255] ^= 1;
        assert_eq!(wrong(&damaged), "found CRC 9947h, wanted 9847h");
    }

    proptest! {
        /// Any bytes with a correct signature and CRC are a page. Encoding it returns the same bytes, except
        /// for reserved ones.
        #[test]
        fn what_is_decoded_is_encoded_alike(content in proptest::collection::vec(any::<u8>(), PAGE_LENGTH)) {
            let mut bytes = [0; PAGE_LENGTH];
            bytes[..4].copy_from_slice(&SIGNATURE);
            for row in LAYOUT {
                let field = row.offset..row.offset + row.width;
                bytes[field.clone()].copy_from_slice(&content[field]);
            }
            let crc = crc16(&bytes[..CRC_OFFSET]);
            bytes[CRC_OFFSET..].copy_from_slice(&crc.to_le_bytes());
            let page = ParameterPage::decode(&bytes).expect("signature and CRC are right");
            prop_assert_eq!(page.encode(), bytes);
            prop_assert_eq!(ParameterPage::decode(&page.encode()), Ok(page));
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = ParameterPage::decode(&bytes);
            let _ = ParameterPage::recover(&bytes);
            let _ = ExtendedPage::decode(&bytes);
        }

        #[test]
        fn a_scaled_count_is_at_most_four_hundredths_below_its_count(count in any::<u32>()) {
            let scaled = Scaled::at_most(count).count();
            prop_assert!(scaled <= u64::from(count) && u64::from(count) - scaled <= u64::from(count) / 25);
        }
    }
}
