//! The CRC-16 of ONFI parameter pages.

/// The initial value of the register (ONFI, and Linux `onfi_crc16`).
const BASE: u16 = 0x4f4e;
/// x^16 + x^15 + x^2 + 1.
const POLYNOMIAL: u16 = 0x8005;

/// The CRC of `bytes`: most significant bit first, not reflected, without final inversion.
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(BASE, |register, byte| {
        let mut register = register ^ (u16::from(*byte) << 8);
        for _ in 0..8 {
            let carry = register >> 15;
            register = (register << 1) ^ (carry * POLYNOMIAL);
        }
        register
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with the algorithm of Linux' `onfi_crc16`.
    #[test]
    fn the_crc_is_that_of_onfi() {
        assert_eq!(crc16(b""), 0x4f4e);
        assert_eq!(crc16(b"ONFI"), 0x15b3);
        assert_eq!(crc16(b"123456789"), 0x2771);
        assert_eq!(crc16(&[0x00; 254]), 0x3eee);
        assert_eq!(crc16(&[0xff; 254]), 0xc1e2);
    }
}
