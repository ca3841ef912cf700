//! Spellings of multi-plane commands from before ONFI.

/// A spelling from before ONFI that a part in compatibility mode takes (Hynix H27(U_S)4G8_6F2D, page 11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Legacy {
    /// The byte found.
    pub found: u8,
    /// The byte that it stands for.
    pub stands_for: u8,
    /// Where it may stand.
    pub place: Place,
}

/// Where a legacy byte may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It opens the next plane of a multi-plane program.
    AfterQueuedProgram,
    /// It opens the next plane of a multi-plane copyback program.
    AfterQueuedCopyback,
    /// It follows the row of a block to erase, in place of the confirmation that more planes follow.
    AfterEraseRow,
}

/// The legacy spellings.
pub static LEGACY: [Legacy; 3] = [
    Legacy { found: 0x81, stands_for: 0x80, place: Place::AfterQueuedProgram },
    Legacy { found: 0x81, stands_for: 0x85, place: Place::AfterQueuedCopyback },
    Legacy { found: 0x60, stands_for: 0xD1, place: Place::AfterEraseRow },
];
