//! Identities of a part: Read ID (90h) and Read Unique ID (EDh).

use std::fmt;

use wordline_kernel::random::Seed;

use crate::Part;

/// The manufacturer code of simulated parts. Chosen so that no manufacturer has it: JEDEC's codes (JEP106)
/// have an odd number of bits set, this one has an even number.
pub const MANUFACTURER: u8 = 0x53;
/// Bytes of a unique ID.
pub const UNIQUE_ID_LENGTH: usize = 16;
/// Copies of the unique ID, each with its complement, that Read Unique ID returns (ONFI).
pub const UNIQUE_ID_COPIES: usize = 16;

/// Addresses of Read ID.
pub mod address {
    /// Codes of manufacturer and device.
    pub const CODES: u8 = 0x00;
    /// The ONFI signature.
    pub const ONFI: u8 = 0x20;
    /// The JEDEC signature.
    pub const JEDEC: u8 = 0x40;
}

/// An invalid address of Read ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownIdAddress(pub u8);

impl fmt::Display for UnknownIdAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "address of Read ID: found {:02X}h, wanted one of 00h 20h 40h", self.0)
    }
}

impl std::error::Error for UnknownIdAddress {}

/// The identity of a target of simulated LUNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    codes: [u8; 3],
    unique: [u8; UNIQUE_ID_LENGTH],
}

impl Identity {
    /// The identity of target `target` with LUNs of `part`.
    ///
    /// Chosen: the device code is a random number that depends only on the part's name; the unique ID depends
    /// on the name and the number of the target. Parts of one name share the code, and no two targets share
    /// the unique ID. The third byte contains the bits per cell, minus one, where Linux
    /// (`nand_get_bits_per_cell`) reads them: four bits per cell at most.
    pub fn of(part: &Part, target: u32) -> Self {
        let random = |purpose: &str, index| Seed(0).stream(&format!("{purpose} of {}", part.name), index);
        let device = random("device code", 0).bits() as u8;
        let mut bits = random("unique ID", u64::from(target));
        let mut unique = [0; UNIQUE_ID_LENGTH];
        for bytes in unique.chunks_exact_mut(8) {
            bytes.copy_from_slice(&bits.bits().to_le_bytes());
        }
        let cell = part.geometry.bits_per_cell.clamp(1, 4) as u8 - 1;
        Self { codes: [MANUFACTURER, device, cell << 2], unique }
    }

    /// `length` bytes that Read ID returns from `address`; zeros after its end (chosen: ONFI does not define
    /// them).
    ///
    /// # Errors
    /// The address is invalid.
    pub fn read_id(&self, address: u8, length: usize) -> Result<Vec<u8>, UnknownIdAddress> {
        let known: &[u8] = match address {
            address::CODES => &self.codes,
            address::ONFI => b"ONFI",
            address::JEDEC => b"JEDEC",
            _ => return Err(UnknownIdAddress(address)),
        };
        Ok(known.iter().copied().chain(std::iter::repeat(0)).take(length).collect())
    }

    /// The data of Read Unique ID: the unique ID and its complement, in sixteen copies.
    pub fn unique_id_data(&self) -> Vec<u8> {
        let complement = self.unique.map(|byte| !byte);
        [self.unique, complement].concat().repeat(UNIQUE_ID_COPIES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::tests::{mqsim, mqsim_file};

    #[test]
    fn read_id_gives_codes_and_signatures() {
        let identity = Identity::of(&mqsim(), 0);
        assert_eq!(identity.read_id(0x20, 4), Ok(b"ONFI".to_vec()));
        assert_eq!(identity.read_id(0x40, 6), Ok(b"JEDEC\0".to_vec()));
        let codes = identity.read_id(0x00, 5).expect("00h has a meaning");
        assert_eq!((codes[0], &codes[2..]), (MANUFACTURER, &[1 << 2, 0, 0][..]));
        assert_eq!(MANUFACTURER.count_ones() % 2, 0, "it would be somebody's code");
        let wrong = identity.read_id(0x10, 1).expect_err("10h has no meaning").to_string();
        assert_eq!(wrong, "address of Read ID: found 10h, wanted one of 00h 20h 40h");
    }

    #[test]
    fn cells_of_more_bits_than_the_field_holds_are_not_taken_for_slc() {
        let mut file = mqsim_file();
        (file.geometry.bits_per_cell, file.geometry.pages_per_block) = (5, 10);
        let identity = Identity::of(&file.check().expect("the part is sound"), 0);
        assert_eq!(identity.read_id(0x00, 3).expect("00h has a meaning")[2], 3 << 2);
    }

    #[test]
    fn the_unique_id_depends_on_name_and_target_alone() {
        let id = |target| Identity::of(&mqsim(), target).unique_id_data();
        assert_eq!(id(0), id(0));
        assert_ne!(id(0), id(1));
        let mut file = mqsim_file();
        file.endurance += 1;
        let same_name = file.clone().check().expect("the part is sound");
        assert_eq!(Identity::of(&same_name, 0), Identity::of(&mqsim(), 0));
        file.name.push('2');
        let renamed = file.check().expect("the part is sound");
        assert_ne!(Identity::of(&renamed, 0).unique_id_data(), id(0));
    }
}
