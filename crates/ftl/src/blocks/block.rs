//! State of a single block.

use serde::{Deserialize, Serialize};
use wordline_nand::CellMode;

use super::streams::StreamId;

/// State of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Erased, on the free-block list.
    Free,
    /// Active: it accepts programs.
    Open,
    /// Full, with programs still in progress.
    Closing,
    /// Full: a GC candidate.
    Closed,
    /// Full and pending retirement, because an operation in it failed.
    PendingRetirement,
    /// A GC victim.
    Victim,
    /// Out of service.
    Bad,
    /// Suspended by its design before it was full. It accepts no programs until the design resumes it. It is
    /// also a GC candidate.
    Suspended,
}

/// Cell mode of a block, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::blocks) enum BlockMode {
    Native,
    Slc,
    TwoBit,
}

impl From<CellMode> for BlockMode {
    #[inline]
    fn from(mode: CellMode) -> Self {
        match mode {
            CellMode::Native => Self::Native,
            CellMode::Slc => Self::Slc,
            CellMode::Mlc | CellMode::Reprogrammed(_) => Self::TwoBit,
        }
    }
}

impl From<BlockMode> for CellMode {
    #[inline]
    fn from(mode: BlockMode) -> Self {
        match mode {
            BlockMode::Native => Self::Native,
            BlockMode::Slc => Self::Slc,
            BlockMode::TwoBit => Self::Mlc,
        }
    }
}

/// State and counters of a block, kept together for locality.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::blocks) struct Block {
    /// Valid pages.
    pub valid: u32,
    /// Programs in progress. A full block closes when they are done.
    pub programs: u32,
    /// Reads queued or in progress. A victim is erased when they are done.
    pub readers: u32,
    /// State of the block.
    pub state: State,
    /// Stream that opened the block.
    pub written_by: StreamId,
    /// Whether the block is pending retirement, in any state.
    pub pending_retirement: bool,
    /// Cell mode.
    pub mode: BlockMode,
}

const _: () = assert!(size_of::<Block>() == 16, "a block never lies in two cache lines");

impl Block {
    /// An erased block.
    pub const FREE: Self = Self {
        valid: 0,
        programs: 0,
        readers: 0,
        state: State::Free,
        written_by: StreamId(0),
        pending_retirement: false,
        mode: BlockMode::Native,
    };

    /// Whether the block accepts no pages now, but may accept some before its next erase.
    #[inline]
    pub fn takes_more_later(&self) -> bool {
        self.state == State::Suspended
    }
}
