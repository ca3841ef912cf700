//! The status of a LUN, or of one of its planes.

/// The status bits of a LUN (70h) or of one of its planes (78h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// RDY: the LUN accepts a command.
    pub ready: bool,
    /// ARDY: the array is idle.
    pub array_ready: bool,
    /// FAIL: the last operation failed.
    pub failed: bool,
    /// FAILC: in a sequence of cache programs, the program before the last one failed.
    pub failed_before: bool,
    /// Whether the write-protect pin forbids programs and erases.
    pub protected: bool,
}

/// Bits of the status register in order: FAIL, FAILC, two reserved or vendor bits, CSP, ARDY, RDY, WP_n
/// (ONFI). The masks are as in Xilinx's NAND driver, `xnandpsu_onfi.h`.
const FAIL: u8 = 0x01;
const FAILC: u8 = 0x02;
const ARDY: u8 = 0x20;
const RDY: u8 = 0x40;
const WP_N: u8 = 0x80;

impl Condition {
    /// The byte that a status command returns. FAIL and FAILC are valid when RDY is 1; FAIL of a cache
    /// program is valid only when ARDY is 1, too. Otherwise they are 0.
    pub fn byte(self) -> u8 {
        let bit = |set: bool, mask: u8| if set { mask } else { 0 };
        bit(self.failed && self.ready && self.array_ready, FAIL)
            | bit(self.failed_before && self.ready, FAILC)
            | bit(self.array_ready, ARDY)
            | bit(self.ready, RDY)
            | bit(!self.protected, WP_N)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_byte_has_the_bits_of_the_standard() {
        let idle = Condition {
            ready: true,
            array_ready: true,
            failed: false,
            failed_before: false,
            protected: false,
        };
        assert_eq!(idle.byte(), 0xe0);
        assert_eq!(Condition { ready: false, array_ready: false, failed: true, ..idle }.byte(), 0x80);
        assert_eq!(Condition { array_ready: false, ..idle }.byte(), 0xc0);
        assert_eq!(Condition { failed: true, ..idle }.byte(), 0xe1);
        assert_eq!(Condition { failed_before: true, ..idle }.byte(), 0xe2);
        assert_eq!(Condition { protected: true, ..idle }.byte(), 0x60);
    }
}
