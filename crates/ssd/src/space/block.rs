//! The state of a single block.

use serde::{Deserialize, Serialize};
use wordline_nand::CellMode;

use super::StreamId;

/// The state of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Erased and waiting.
    Free,
    /// A write point.
    Open,
    /// Full, but not all of its programs are done.
    Filling,
    /// Full: a candidate for cleaning.
    Closed,
    /// As closed, but to be emptied and taken out of use because something failed in it.
    Condemned,
    /// Being cleaned.
    Victim,
    /// Out of use.
    Bad,
}

/// The mode of a block, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::space) enum BlockMode {
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
            CellMode::TwoBit | CellMode::Reprogrammed(_) => Self::TwoBit,
        }
    }
}

impl From<BlockMode> for CellMode {
    #[inline]
    fn from(mode: BlockMode) -> Self {
        match mode {
            BlockMode::Native => Self::Native,
            BlockMode::Slc => Self::Slc,
            BlockMode::TwoBit => Self::TwoBit,
        }
    }
}

/// The state and counts of a block, in one place because they are looked up together.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(in crate::space) struct Block {
    /// Its valid pages.
    pub valid: u32,
    /// Programs under way: it is closed only when they are done.
    pub programs: u32,
    /// Reads queued: it is erased only when they are done.
    pub readers: u32,
    /// Its state.
    pub state: State,
    /// The stream that opened it.
    pub written_by: StreamId,
    /// To be taken out of use, in whatever state it is.
    pub condemned: bool,
    /// How many bits its cells store.
    pub mode: BlockMode,
}

const _: () = assert!(size_of::<Block>() == 16, "a block never lies in two cache lines");

impl Block {
    /// One that is erased and waits.
    pub const FREE: Self = Self {
        valid: 0,
        programs: 0,
        readers: 0,
        state: State::Free,
        written_by: StreamId(0),
        condemned: false,
        mode: BlockMode::Native,
    };
}
