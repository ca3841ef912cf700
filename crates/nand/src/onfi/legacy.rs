//! Legacy (pre-ONFI) command bytes of multi-plane operations.

/// A legacy command byte that a part in compatibility mode accepts (Hynix H27(U_S)4G8_6F2D, page 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Legacy {
    /// The legacy byte.
    pub found: u8,
    /// The ONFI byte with the same meaning.
    pub stands_for: u8,
    /// Position in the sequence.
    pub place: LegacyPosition,
}

/// The position of a legacy byte in a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegacyPosition {
    /// Opens the next plane of a multi-plane program.
    AfterQueuedProgram,
    /// Opens the next plane of a multi-plane copyback program.
    AfterQueuedCopyback,
    /// Follows the row of a block to erase, instead of the confirm byte for further planes.
    AfterEraseRow,
}

/// All legacy bytes.
pub static LEGACY: [Legacy; 3] = [
    Legacy { found: 0x81, stands_for: 0x80, place: LegacyPosition::AfterQueuedProgram },
    Legacy { found: 0x81, stands_for: 0x85, place: LegacyPosition::AfterQueuedCopyback },
    Legacy { found: 0x60, stands_for: 0xD1, place: LegacyPosition::AfterEraseRow },
];
