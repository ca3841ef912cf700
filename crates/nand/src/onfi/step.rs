//! The steps that a target executes after decoded cycles.

use super::command::{Command, Operation};

/// The cell mode of the next operation, set by a prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No prefix.
    #[default]
    Usual,
    /// SLC mode.
    Slc,
    /// MLC mode, in which the word line can be reprogrammed.
    Mlc,
    /// Reprogram of a word line.
    Reprogram,
}

/// A step of a target after a cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The row of a command is known, and therefore its LUN.
    Row {
        /// A row of the table with the command's first byte.
        command: &'static Command,
        /// The row address.
        row: u32,
    },
    /// The following data go to this address.
    Load {
        /// A program (80h), a copyback program (85h), or a change of the row (85h).
        operation: Operation,
        /// Byte offset in the page.
        column: u32,
        /// The row address.
        row: u32,
    },
    /// The following data go to this byte of the same page.
    Column(u32),
    /// This many bytes of data go to the register.
    Store(u32),
    /// 00h alone: data out continue with the read before the status.
    ReturnToData,
    /// A command is complete.
    Do(DecodedCommand),
}

/// A complete command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecodedCommand {
    /// Row of the command table.
    pub command: &'static Command,
    /// Byte offset in the page.
    pub column: u32,
    /// The row address.
    pub row: u32,
    /// One-byte addresses: identity, feature, volume or LUN. After a LUN the second byte is the feature.
    pub bytes: [u8; 2],
    /// The four bytes of a feature.
    pub feature: [u8; 4],
    /// The cell mode from a prefix.
    pub mode: Mode,
    /// Whether the command was in the form before ONFI, which has no busy time.
    pub legacy: bool,
}
