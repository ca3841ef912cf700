//! The array parameters that a controller sets before a command.

use serde::{Deserialize, Serialize};
use wordline_kernel::Duration;

use crate::page_type::MAX_BITS_PER_CELL;

/// Maximum number of program states (above the erased state) of a cell, and of read reference voltages
/// between states.
pub const MAX_PROGRAM_STATES: usize = (1 << MAX_BITS_PER_CELL) - 1;

/// The array parameters that a controller sets before a command (cubeFTL, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// Read offsets: steps by which each read reference voltage is shifted, the lowest first.
    pub read_offsets: [i8; MAX_PROGRAM_STATES],
    /// Increase of the start voltage of a program, in millivolts.
    pub start_margin: u16,
    /// Decrease of the final voltage of a program, in millivolts.
    pub final_margin: u16,
    /// Verifies of each program state that are skipped at the beginning, the lowest state first.
    pub skipped_verifies: [u8; MAX_PROGRAM_STATES],
    /// Time of an erase; `None` for the time of the part in the mode of the block.
    pub erase: Option<Duration>,
    /// Time that setting the parameters adds to the command.
    pub setting: Duration,
    /// Whether the outcome is requested.
    pub outcome: bool,
}

impl Parameters {
    /// The parameters of the data sheet; no outcome is requested.
    pub const DATA_SHEET: Self = Self {
        read_offsets: [0; MAX_PROGRAM_STATES],
        start_margin: 0,
        final_margin: 0,
        skipped_verifies: [0; MAX_PROGRAM_STATES],
        erase: None,
        setting: Duration::ZERO,
        outcome: false,
    };
}

impl Default for Parameters {
    fn default() -> Self {
        Self::DATA_SHEET
    }
}
