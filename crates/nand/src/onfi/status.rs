//! The status byte of 70h and 78h.

use std::fmt;
use std::ops::{BitAnd, BitOr, Not};

/// A status byte. The bits are as in Xilinx' `xnandpsu_onfi.h`; their meanings are also in the data sheet of
/// Micron M40A.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status(pub u8);

impl Status {
    /// The last command to the LUN (with 78h: to the plane) failed. Valid while ready; for cache programs,
    /// while the array is idle.
    pub const FAIL: Self = Self(0x01);
    /// The cache program before the last failed.
    pub const FAIL_BEFORE: Self = Self(0x02);
    /// A command-specific bit.
    pub const COMMAND_SPECIFIC: Self = Self(0x08);
    /// A vendor-specific bit.
    pub const VENDOR_SPECIFIC: Self = Self(0x10);
    /// The array is idle (ARDY).
    pub const ARRAY_READY: Self = Self(0x20);
    /// The LUN accepts a command, and the other bits are valid (RDY).
    pub const READY: Self = Self(0x40);
    /// Not write-protected (WP_n).
    pub const UNPROTECTED: Self = Self(0x80);
    /// Idle, unprotected, no failure.
    pub const IDLE: Self = Self(0xE0);
    /// Busy: no command is accepted.
    pub const BUSY: Self = Self(0x80);

    const NAMES: [(Self, &'static str); 7] = [
        (Self::UNPROTECTED, "WP_n"),
        (Self::READY, "RDY"),
        (Self::ARRAY_READY, "ARDY"),
        (Self::VENDOR_SPECIFIC, "VSP"),
        (Self::COMMAND_SPECIFIC, "CSP"),
        (Self::FAIL_BEFORE, "FAILC"),
        (Self::FAIL, "FAIL"),
    ];

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The status with the bits of `other` set or cleared.
    #[must_use]
    pub const fn with(self, other: Self, on: bool) -> Self {
        Self(if on { self.0 | other.0 } else { self.0 & !other.0 })
    }
}

impl BitOr for Status {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Status {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for Status {
    type Output = Self;
    fn not(self) -> Self {
        Self(!self.0)
    }
}

/// The byte in hexadecimal and its bits by their ONFI names: `E1h (WP_n RDY ARDY FAIL)`.
impl fmt::Display for Status {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set: Vec<&str> =
            Self::NAMES.iter().filter(|(bit, _)| self.has(*bit)).map(|(_, name)| *name).collect();
        write!(out, "{:02X}h ({})", self.0, set.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The states of a LUN and their status bytes.
    #[test]
    fn the_vectors_are_sums_of_their_bits() {
        let ready = Status::READY | Status::UNPROTECTED;
        let rest = ready | Status::ARRAY_READY;
        for (status, byte, text) in [
            (rest, 0xE0, "E0h (WP_n RDY ARDY)"),
            (Status::UNPROTECTED, 0x80, "80h (WP_n)"),
            (ready, 0xC0, "C0h (WP_n RDY)"),
            (rest | Status::FAIL, 0xE1, "E1h (WP_n RDY ARDY FAIL)"),
            (rest | Status::FAIL_BEFORE, 0xE2, "E2h (WP_n RDY ARDY FAILC)"),
            (rest & !Status::UNPROTECTED, 0x60, "60h (RDY ARDY)"),
        ] {
            assert_eq!(status, Status(byte));
            assert_eq!(status.to_string(), text);
        }
        assert_eq!(Status::IDLE.with(Status::READY, false), Status(0xA0));
    }
}
