//! The steps that a target carries out after the cycles of a sequence.

use super::command::{Command, Operation};

/// How the cells are used by the next operation, said by a prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As the part does.
    #[default]
    Usual,
    /// With one bit a cell.
    Slc,
    /// With two bits a cell, so that the word line can be programmed again.
    TwoBit,
    /// A word line that holds data is programmed again.
    Reprogram,
}

/// A step of a target after a cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The row of a command is known, and with it the LUN that it concerns.
    Row {
        /// A row of the table with the command's first byte.
        command: &'static Command,
        /// The row address.
        row: u32,
    },
    /// Data that follow go to this place.
    Load {
        /// 80h, 85h that opens a copyback program, or 85h that changes the row.
        operation: Operation,
        /// The byte of the page.
        column: u32,
        /// The row address.
        row: u32,
    },
    /// Data that follow go to this byte of the same page.
    Column(u32),
    /// This many bytes of data go to the register.
    Store(u32),
    /// 00h alone: data out come from what was read before the status.
    Back,
    /// A command is complete.
    Do(Order),
}

/// A complete command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Order {
    /// Its row of the table.
    pub command: &'static Command,
    /// The byte of the page.
    pub column: u32,
    /// The row address.
    pub row: u32,
    /// The address of an identity, a feature, a volume or a LUN; the second is the feature's after a LUN's.
    pub bytes: [u8; 2],
    /// The four bytes of a feature.
    pub feature: [u8; 4],
    /// The mode, from a prefix.
    pub mode: Mode,
    /// Whether it was spelled as before ONFI, without a busy time to wait for.
    pub legacy: bool,
}
